"""Boosted trees with the same budget of fits: ``python -m benchmarks.quality_trees``.

Five folds of MQ2008 and of OHSUMED. Every contender has three settings, and validation queries choose
setting and number of trees; test queries are used once. Writes results/quality_trees.json and the page
docs/results.md; with --docs only the page.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import podium
from benchmarks.quality import HERE, LEAVES, options_of, write_page
from podium.data import Fold
from podium.experiments.contestants import Contestant, read_contestants
from podium.experiments.folds import read_folds
from podium.metrics import bootstrap_interval, paired_test
from podium.rankers import CatBoostTrees, LambdaMART, tune
from podium_papers.markdown import p_text, table

RESULTS = HERE / "results" / "quality_trees.json"
SETS = ("MQ2008", "OHSUMED")
METRICS = ("NDCG@10", "MAP")
CATBOOST = "catboost YetiRank"
DEPTHS = (4, 6, 8)


def contenders() -> tuple[Contestant, ...]:
    """Return the contenders: the same number of settings, trees and rounds of patience for each."""
    rankers = {
        "lambdamart lambdarank": LambdaMART(loss="lambdarank"),
        "lambdamart xendcg": LambdaMART(loss="xendcg"),
        CATBOOST: CatBoostTrees(),
    }
    grids = {
        name: {"depth": DEPTHS} if name == CATBOOST else {"leaves": LEAVES} for name in rankers
    }
    return read_contestants(rankers, tune=grids)


def run_cell(contestant: Contestant, fold: Fold) -> dict[str, Any]:
    """Tune on the validation queries of one fold and measure on its test queries."""
    started = time.process_time()
    tuning = tune(contestant.ranker, fold.train, fold.valid, "NDCG@10", contestant.grid)
    seconds = time.process_time() - started
    result = podium.evaluate(fold.test, tuning.ranker.predict(fold.test), METRICS)
    return {
        "settings": {name: str(value) for name, value in tuning.settings.items()},
        "seconds": seconds,
        "per_query": {m: result[m].per_query.tolist() for m in METRICS},
    }


def measure(data: Path, jobs: int) -> dict[str, Any]:
    """Measure every contender on every fold of every set."""
    # Each process has one thread: more threads would only wait for each other.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    work = [(s, c, fold) for s in SETS for fold in read_folds(data / s) for c in contenders()]
    cells = Parallel(n_jobs=jobs, verbose=1, batch_size=1)(delayed(run_cell)(*c[1:]) for c in work)
    tables: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for (name, contestant, _), cell in zip(work, cells, strict=True):
        tables.setdefault(name, {}).setdefault(contestant.label, []).append(cell)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "podium": podium.__version__,
        "sets": {name: summarise(contested) for name, contested in tables.items()},
        "pooled": differences(list(tables.values())),
    }


def summarise(contested: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the means over all test queries of one set, seconds per fold, and differences."""
    against = differences([contested])
    return {
        name: {
            "mean": {m: float(values([cells], m).mean()) for m in METRICS},
            "seconds": float(np.mean([cell["seconds"] for cell in cells])),
            "settings": [cell["settings"] for cell in cells],
            "difference": against.get(name),
        }
        for name, cells in contested.items()
    }


def differences(tables: Sequence[dict[str, list[dict[str, Any]]]]) -> dict[str, Any]:
    """Return NDCG@10 of each contender minus CatBoost's, its 95% interval and p, over all queries."""
    catboost = values([contested[CATBOOST] for contested in tables], "NDCG@10")
    out = {}
    for name in tables[0]:
        if name != CATBOOST:
            own = values([contested[name] for contested in tables], "NDCG@10")
            interval = bootstrap_interval(own - catboost)
            test = paired_test(own, catboost)
            out[name] = [test.difference, interval.low, interval.high, test.p_value]
    return out


def values(cells_of_sets: Sequence[list[dict[str, Any]]], metric: str) -> Any:
    """Return the value of each query; each is tested once in the five folds of its set."""
    per_query = [cell["per_query"][metric] for cells in cells_of_sets for cell in cells]
    return np.concatenate(per_query)


def section() -> list[str]:
    """Return the section of docs/results.md, from the saved results."""
    result = json.loads(RESULTS.read_text())
    heads = ["ranker"]
    for name in SETS:
        heads += [f"{name} {metric}" for metric in METRICS]
        heads += [f"{name} NDCG@10 - CatBoost's", f"{name} s"]
    return [
        "## Boosted trees: LightGBM and CatBoost",
        "",
        f"Made by `python -m benchmarks.quality_trees` with podium {result['podium']} on "
        f"{result['date']}, on the five folds of MQ2008 and of OHSUMED (106 queries). All contenders "
        "have the same budget: three settings (7, 15 or 31 leaves; 4, 6 or 8 levels), at most 500 "
        "trees with the rate 0.05, and a patience of 50. NDCG@10 on the validation queries chooses "
        "setting and number of trees; test queries are used once. Bare NDCG@10 and MAP, means over "
        "test queries. Differences have a paired bootstrap interval of 95%. Seconds are processor "
        "seconds of tuning one fold.",
        "",
        *table([*heads, "pooled NDCG@10 - CatBoost's", "p"], rows(result)),
        "",
        "p is from a paired permutation test over the queries of both sets, not corrected for "
        "several comparisons.",
        "",
    ]


def rows(result: dict[str, Any]) -> list[list[str]]:
    """Return the rows of the table."""
    lines = []
    for name in result["sets"][SETS[0]]:
        row = [name]
        for cells in (result["sets"][data][name] for data in SETS):
            row += [f"{cells['mean'][m]:.4f}" for m in METRICS]
            row += [difference_text(cells["difference"]), f"{cells['seconds']:.1f}"]
        pooled = result["pooled"].get(name)
        row += [difference_text(pooled), "" if pooled is None else p_text(pooled[3])]
        lines.append(row)
    return lines


def difference_text(difference: Sequence[float] | None) -> str:
    if difference is None:
        return ""
    mean, low, high, _ = difference
    return f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"


def main() -> None:
    """Measure and write the page."""
    options = options_of("quality_trees", __doc__)
    if not options.docs:
        RESULTS.write_text(json.dumps(measure(options.data, options.jobs), indent=1) + "\n")
    write_page()


if __name__ == "__main__":
    main()
