"""Quality of the rankers on MQ2008: ``python -m benchmarks.quality [--data DIR] [--docs]``.

Five folds; every choice (parameters, iterations) is made on validation queries only. Writes
results/quality.json and docs/results.md; with --docs only the page, from the saved results.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import podium
from podium.data import Fold
from podium.experiments.contestants import Contestant, read_contestants
from podium.experiments.folds import read_folds
from podium.metrics import paired_test
from podium.rankers import LambdaMART, tune
from podium_papers.markdown import table
from podium_papers.topk.rankers import contestants

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "quality.json"
PAGE = HERE.parent / "docs" / "results.md"
DATA = HERE.parents[1] / "shared" / "data"

LETOR = ("NDCG(rule='letor')@1", "NDCG(rule='letor')@3", "NDCG(rule='letor')@10", "P@10", "MAP")
GRADED = (*LETOR, "NDCG@10", "ERR@10")

# Published for LETOR 4.0, three digits: NDCG@10 by the LETOR rule, and MAP.
PUBLISHED = {
    "ranksvm": (0.228, 0.470),
    "rankboost": (0.226, 0.478),
    "listnet": (0.230, 0.478),
    "adarank": (0.230, 0.476),
}
# NDCG@10 by the bare name's rule, measured with LightGBM itself on the same folds.
PEERS = {"lambdamart lambdarank": 0.5022, "lambdamart xendcg": 0.5058}

LINEAR = ("regression", "ranksvm", "ranknet", "listnet", "listmle", "topk-listmle", "svm-map")

LEAVES = (7, 15, 31)


def contenders() -> list[Contestant]:
    """Return the top-k paper's rankers, others, and trees."""
    trees = {f"lambdamart {loss}": LambdaMART(loss=loss) for loss in ("lambdarank", "xendcg")}
    return [
        *read_contestants(trees, tune={name: {"leaves": LEAVES} for name in trees}),
        *read_contestants(["regression", "listmle", "coordinate-ascent"]),
        *contestants("graded", 10).values(),
    ]


def run_cell(contestant: Contestant, fold: Fold) -> dict[str, Any]:
    """Run one ranker on one fold: tune on validation, measure on test."""
    choice_metric = "NDCG@10" if contestant.label in PEERS else "MAP"
    started = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):
        tuning = tune(contestant.ranker, fold.train, fold.valid, choice_metric, contestant.grid)
    seconds = time.perf_counter() - started
    result = podium.evaluate(fold.test, tuning.ranker.predict(fold.test), GRADED)
    return {
        "settings": {name: str(value) for name, value in tuning.settings.items()},
        "seconds": seconds,
        "per_query": {m: result[m].per_query.tolist() for m in GRADED},
    }


def measure(data: Path, jobs: int) -> dict[str, Any]:
    """Measure every ranker on every fold."""
    folds = read_folds(data / "MQ2008")
    work = [(contestant, fold) for contestant in contenders() for fold in folds]
    # Each process has one thread: more threads would only wait for each other.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    cells = Parallel(n_jobs=jobs, verbose=1, batch_size=1)(delayed(run_cell)(*c) for c in work)
    table: dict[str, Any] = {}
    for (contestant, _), cell in zip(work, cells, strict=True):
        table.setdefault(contestant.label, []).append(cell)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "podium": podium.__version__,
        "summary": summarise(table),
    }


def summarise(table: dict[str, Any]) -> dict[str, Any]:
    """Return means over all test queries of the five folds, and tests between rankers."""
    out: dict[str, Any] = {"graded": {}}
    for name, cells in table.items():
        out["graded"][name] = {
            "mean": {m: fold_mean(cells, m) for m in GRADED},
            "seconds": float(np.mean([c["seconds"] for c in cells])),
            "settings": [c["settings"] for c in cells],
        }
    best = max(PEERS, key=lambda name: out["graded"][name]["mean"]["NDCG@10"])
    out["lambdamart"] = {"best": best, "against": {}}
    for name in LINEAR:
        test = paired_test(pooled(table[best]), pooled(table[name]), "t")
        out["lambdamart"]["against"][name] = [test.difference, test.p_value]
    return out


def fold_mean(cells: Sequence[dict[str, Any]], metric: str) -> float:
    """Return the mean of the folds' means, as in LETOR's tables."""
    return float(np.mean([np.mean(c["per_query"][metric]) for c in cells]))


def pooled(cells: Sequence[dict[str, Any]]) -> Any:
    """Return each query's NDCG@10; each is tested once in the five folds."""
    return np.concatenate([cell["per_query"]["NDCG@10"] for cell in cells])


def page(result: dict[str, Any]) -> str:
    """Return the page docs/results.md."""
    from benchmarks import (
        click_learning,
        papers,
        quality_aggregation,
        quality_auto_tables,
        quality_members,
        quality_trees,
    )

    s = result["summary"]
    return "\n".join(
        [
            "# Results",
            "",
            f"Made by `python -m benchmarks.quality` with podium {result['podium']} on "
            f"{result['date']}, where a section does not say otherwise; the data is LETOR 4.0's "
            "MQ2008 (784 queries, 15,211 documents, 46 features) in its own five folds. "
            "Parameters (each ranker's own grid) and iterations are chosen on the validation "
            "queries, by MAP (NDCG@10 for lambdamart); test queries are used once.",
            "",
            *graded_section(s),
            *lambdamart_section(s),
            *quality_auto_tables.section(),
            *quality_members.section(),
            *quality_trees.section(),
            *quality_aggregation.section(),
            *click_learning.section(),
            *papers.sections(),
        ]
    )


def graded_section(s: dict[str, Any]) -> list[str]:
    rows = []
    for name, cell in s["graded"].items():
        mean = cell["mean"]
        row = [name, *(f"{mean[m]:.4f}" for m in GRADED), f"{cell['seconds']:.1f}"]
        if name in PUBLISHED:
            ndcg, ap = PUBLISHED[name]
            row.append(
                f"{ndcg:.3f} ({mean[LETOR[2]] - ndcg:+.4f}), {ap:.3f} ({mean['MAP'] - ap:+.4f})"
            )
        rows.append([*row, ""] if name not in PUBLISHED else row)
    heads = ["ranker", "NDCG@1", "@3", "@10", "P@10", "MAP", "NDCG@10 bare", "ERR@10"]
    return [
        "## Graded labels",
        "",
        "NDCG@1, @3, @10, P@10 and MAP by the rule of LETOR's script (see "
        "[conventions](conventions.md)); NDCG@10 bare and ERR@10 by podium's own. Seconds are "
        "those of tuning one fold on one core. Published values are NDCG@10 and MAP of LETOR "
        "4.0's tables, with the difference. `adarank` is AdaRank-MAP; its features count only "
        "upwards, as in the paper.",
        "",
        *table([*heads, "seconds", "published NDCG@10, MAP"], rows),
        "",
    ]


def lambdamart_section(s: dict[str, Any]) -> list[str]:
    best = s["lambdamart"]["best"]
    rows = [
        [name, f"{difference:+.4f}", f"{p:.3f}", "yes" if p < 0.05 and difference < 0 else "no"]
        for name, (difference, p) in s["lambdamart"]["against"].items()
    ]
    peers = "; ".join(
        f"{name} {s['graded'][name]['mean']['NDCG@10']:.4f}, LightGBM itself {value:.4f}"
        for name, value in PEERS.items()
    )
    return [
        "## Trees against linear rankers",
        "",
        f"The table compares NDCG@10 (bare) of {best}, the better of the two losses on test, "
        "with each linear ranker. The paired t-test over 784 queries is not corrected for seven "
        "comparisons.",
        "",
        *table(["ranker", "difference", "p", "significantly below?"], rows),
        "",
        f"The same losses measured with LightGBM directly, lightly tuned: {peers}.",
        "",
    ]


def options_of(name: str, doc: str | None) -> argparse.Namespace:
    """Return the options of a command that measures quality."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=doc)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PODIUM_LETOR") or DATA))
    parser.add_argument("--jobs", type=int, default=-1, help="processes")
    parser.add_argument("--docs", action="store_true", help="only write the page from the results")
    return parser.parse_args()


def main() -> None:
    """Measure and write the page."""
    options = options_of("quality", __doc__)
    if not options.docs:
        RESULTS.write_text(json.dumps(measure(options.data, options.jobs), indent=1) + "\n")
    write_page()


def write_page() -> None:
    PAGE.write_text(page(json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()
