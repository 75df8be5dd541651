"""How good the rankers are on MQ2008: ``python -m benchmarks.quality [--data DIR] [--docs]``.

Five folds, every choice (parameters, iterations) on validation queries only. Writes
results/quality.json and docs/results.md; with --docs only the page, from the results kept.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import podium
from podium.aggregation import Borda, Rankings
from podium.data import Fold, RankingData, concatenate, draw_truth, rotate
from podium.metrics import paired_test
from podium.rankers import Ranker, tune
from podium.registry import make_ranker

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "quality.json"
PAGE = HERE.parent / "docs" / "results.md"
DATA = HERE.parents[1] / "shared" / "data"

LETOR = ("NDCG(rule='letor')@1", "NDCG(rule='letor')@3", "NDCG(rule='letor')@10", "P@10", "MAP")
GRADED = (*LETOR, "NDCG@10", "ERR@10")
TOPK = ("kNDCG@10", "kERR")
KS, SEEDS = (10, 5, 3), (0, 1, 2, 3, 4)

# Published for LETOR 4.0, three digits: NDCG@10 by the LETOR rule, and MAP.
PUBLISHED = {
    "ranksvm": (0.228, 0.470),
    "rankboost": (0.226, 0.478),
    "listnet": (0.230, 0.478),
    "adarank": (0.230, 0.476),
}
# NDCG@10 by the bare name's rule, measured with LightGBM itself on the same folds.
PEERS = {"lambdamart lambdarank": 0.5022, "lambdamart xendcg": 0.5058}

FAMILIES = {
    "focused-svm": ("svm-map", "ranksvm"),
    "focused-boost": ("adarank", "rankboost"),
    "focused-net": ("listnet", "ranknet"),
}
LINEAR = ("regression", "ranksvm", "ranknet", "listnet", "listmle", "topk-listmle", "svm-map")

TENTHS = tuple(i / 10 for i in range(11))
LEAVES = (7, 15, 31)


def contenders(topk: bool, k: int) -> dict[str, tuple[Ranker, dict[str, Any] | None]]:
    """Name -> ranker and grid (None: its own)."""
    plain = ["ranksvm", "ranknet", "listnet", "svm-map", "rankboost"]
    out: dict[str, tuple[Ranker, dict[str, Any] | None]] = {}
    if not topk:
        plain = ["regression", "listmle", "coordinate-ascent", *plain]
        for loss in ("lambdarank", "xendcg"):
            out[f"lambdamart {loss}"] = make_ranker("lambdamart", loss=loss), {"leaves": LEAVES}
    out |= {name: (make_ranker(name), None) for name in plain}
    paper = make_ranker("adarank", reverse=False)
    out["adarank"] = paper, {"measure": ("MAP", "NDCG@10")} if topk else None
    out["topk-listmle"] = make_ranker("topk-listmle", k=k), None
    out["focused-svm"] = make_ranker("focused-svm", k=k), None
    out["focused-net"] = make_ranker("focused-net", k=k), None
    out["focused-boost"] = make_ranker("focused-boost", k=k), {"beta": TENTHS}
    return out


def borda(agg: RankingData) -> dict[tuple[str, str], float]:
    """(query, document) -> mean over the 25 rankers of the documents below it."""
    scores = Borda()(Rankings.from_data(agg)).scores
    queries = np.asarray(agg.groups.spread(agg.qids)).tolist()
    assert agg.docids is not None
    return dict(zip(zip(queries, agg.docids, strict=True), scores.tolist(), strict=True))


def truths(parts: Sequence[RankingData], agg: RankingData) -> Iterator[tuple[str, int, list[Fold]]]:
    """Name, k and folds of every top-k truth: ties by Borda's consensus, or at random."""
    consensus = borda(agg)

    def wishes(part: RankingData) -> Any:
        queries = np.asarray(part.groups.spread(part.qids)).tolist()
        return [consensus[pair] for pair in zip(queries, part.docids, strict=True)]  # type: ignore[arg-type]

    tie_breaks = [wishes(part) for part in parts]
    for k in KS:
        drawn = [draw_truth(p, k, 0, t) for p, t in zip(parts, tie_breaks, strict=True)]
        yield "Borda", k, rotate(drawn)
        for seed in SEEDS:
            yield f"random {seed}", k, rotate([draw_truth(p, k, seed) for p in parts])


def run_cell(
    ranker: Ranker, grid: dict[str, Any] | None, fold: Fold, choose: str, metrics: Sequence[str]
) -> dict[str, Any]:
    """One ranker on one fold: tuned on validation, measured on test."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = tune(ranker, fold.train, fold.valid, choose, grid)
    seconds = time.perf_counter() - started
    result = podium.evaluate(fold.test, found.ranker.predict(fold.test), metrics)
    return {
        "settings": {name: str(value) for name, value in found.settings.items()},
        "seconds": seconds,
        "warnings": len(caught),
        "per_query": {m: result[m].per_query.tolist() for m in metrics},
    }


def measure(data: Path, jobs: int) -> dict[str, Any]:
    """Every cell of every table."""
    parts = [podium.read_letor(data / "MQ2008" / f"S{i}.txt.xz") for i in range(1, 6)]
    agg = concatenate(
        [
            podium.read_letor(data / "MQ2008-agg" / f"A{i}.txt.xz", missing="nan")
            for i in range(1, 6)
        ]
    )
    work: list[tuple[tuple[str, int, str], tuple[Any, ...]]] = []
    for name, (ranker, grid) in contenders(False, 10).items():
        choose = "NDCG@10" if name.startswith("lambdamart") else "MAP"
        work += [
            (("graded", 0, name), (ranker, grid, fold, choose, GRADED)) for fold in rotate(parts)
        ]
    for truth, k, folds in truths(parts, agg):
        for name, (ranker, grid) in contenders(True, k).items():
            work += [((truth, k, name), (ranker, grid, fold, TOPK[0], TOPK)) for fold in folds]
    # Cells side by side, each on one thread: more threads within a cell would only wait.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    cells = Parallel(n_jobs=jobs, verbose=1, batch_size=1)(delayed(run_cell)(*c) for _, c in work)
    tables: dict[str, Any] = {}
    for ((truth, k, name), _), cell in zip(work, cells, strict=True):
        tables.setdefault(f"{truth}@{k}", {}).setdefault(name, []).append(cell)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "podium": podium.__version__,
        "summary": summarise(tables),
    }


def summarise(tables: dict[str, Any]) -> dict[str, Any]:
    """Means over all test queries of the five folds, and the tests between rankers."""
    graded = pooled(tables["graded@0"])
    out: dict[str, Any] = {"graded": {}, "topk": {}}
    for name, cells in tables["graded@0"].items():
        out["graded"][name] = {
            "mean": {m: fold_mean(cells, m) for m in GRADED},
            "seconds": float(np.mean([c["seconds"] for c in cells])),
            "settings": [c["settings"] for c in cells],
        }
    best = max(PEERS, key=lambda name: out["graded"][name]["mean"]["NDCG@10"])
    out["lambdamart"] = {"best": best, "against": {}}
    for name in LINEAR:
        test = paired_test(graded[best]["NDCG@10"], graded[name]["NDCG@10"], "t")
        out["lambdamart"]["against"][name] = [test.difference, test.p_value]
    for focused, parents in FAMILIES.items():
        out["graded"][focused]["parents"] = compare(graded, focused, parents, "NDCG@10")
    for k in KS:
        truths_of_k = {
            "Borda": [pooled(tables[f"Borda@{k}"])],
            "random": [pooled(tables[f"random {seed}@{k}"]) for seed in SEEDS],
        }
        for truth, draws in truths_of_k.items():
            # A query's value is its mean over the draws: they are not independent queries.
            values = {
                name: {m: np.mean([d[name][m] for d in draws], axis=0) for m in TOPK}
                for name in draws[0]
            }
            out["topk"][f"{truth}, k = {k}"] = {
                "mean": {n: {m: float(v[m].mean()) for m in TOPK} for n, v in values.items()},
                "families": {
                    m: {f: compare(values, f, parents, m) for f, parents in FAMILIES.items()}
                    for m in TOPK
                },
                "topk-listmle": {
                    f: compare(values, f, ("topk-listmle",), TOPK[0]) for f in FAMILIES
                },
            }
    return out


def fold_mean(cells: Sequence[dict[str, Any]], metric: str) -> float:
    """The mean of the folds' means, as LETOR's tables have it."""
    return float(np.mean([np.mean(c["per_query"][metric]) for c in cells]))


def pooled(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each query's value, tested once in the five folds."""
    return {
        name: {m: np.concatenate([c["per_query"][m] for c in cells]) for m in cells[0]["per_query"]}
        for name, cells in table.items()
    }


def compare(values: Any, name: str, others: Sequence[str], metric: str) -> list[Any]:
    """Against the better one of others: who, the difference, p of a paired t-test."""
    best = max(others, key=lambda other: values[other][metric].mean())
    test = paired_test(values[name][metric], values[best][metric], "t")
    return [best, test.difference, test.p_value]


def page(result: dict[str, Any]) -> str:
    """docs/results.md."""
    from benchmarks import (
        quality_aggregation,
        quality_cfbrs,
        quality_rankopt,
        quality_rpc_mtl,
        quality_toprank,
    )

    s = result["summary"]
    return "\n".join(
        [
            "# Results",
            "",
            "Made by `python -m benchmarks.quality` with podium "
            f"{result['podium']} on {result['date']}, but for the last five sections, which say how "
            "they were made; the data is LETOR 4.0's MQ2008 (784 queries, 15,211 documents, 46 "
            "features) in its own five folds. Parameters (each ranker's own grid) and iterations are "
            "chosen on the validation queries, by MAP on graded labels (NDCG@10 for lambdamart) and "
            "by kNDCG@10 on top-k truth; test queries are looked at once.",
            "",
            *graded_section(s),
            *lambdamart_section(s),
            *topk_section(s),
            *claims_section(s),
            *quality_aggregation.section(),
            *quality_toprank.section(),
            *quality_rankopt.section(),
            *quality_cfbrs.section(),
            *quality_rpc_mtl.section(),
        ]
    )


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    rule = ["---", *("---:" for _ in headers[1:])]
    return ["| " + " | ".join(row) + " |" for row in [headers, rule, *rows]]


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
        "NDCG@1, @3, @10, P@10 and MAP by the rule of LETOR's script (see [conventions]"
        "(conventions.md)); NDCG@10 bare and ERR@10 by podium's own. Seconds are those of tuning "
        "one fold on one core. Published: NDCG@10 and MAP of LETOR 4.0's tables, with the "
        "difference; `adarank` is AdaRank-MAP, its features counting upwards only, as in the paper.",
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
        f"NDCG@10 (bare) of {best}, the better of the two losses on test, against each linear "
        "ranker: paired t-test over 784 queries, not corrected for seven comparisons.",
        "",
        *table(["ranker", "difference", "p", "significantly below?"], rows),
        "",
        f"The same losses measured with LightGBM directly, lightly tuned: {peers}.",
        "",
    ]


def topk_section(s: dict[str, Any]) -> list[str]:
    order = [n for focused, parents in FAMILIES.items() for n in (*parents, focused)]
    order.append("topk-listmle")
    lines = [
        "## Top-k truth",
        "",
        "The first k places of a total order that agrees with the grades: ties by the Borda "
        "consensus of MQ2008-agg's 25 rankers, or at random (five seeds; a query's value is its "
        "mean over them). Half of the queries have at most 10 documents, so with k = 10 they have "
        "no rest F to tell from the top.",
        "",
    ]
    for metric in TOPK:
        headers = [metric, *s["topk"]]
        rows = [
            [name, *(f"{case['mean'][name][metric]:.4f}" for case in s["topk"].values())]
            for name in order
        ]
        lines += [*table(headers, rows), ""]
    return lines


def claims_section(s: dict[str, Any]) -> list[str]:
    rows = []
    for (case, found), metric in itertools.product(s["topk"].items(), TOPK):
        for focused in FAMILIES:
            parent, difference, p = found["families"][metric][focused]
            verdict = "holds" if p < 0.05 and difference > 0 else "does not hold"
            rows.append([case, metric, focused, parent, f"{difference:+.4f}", f"{p:.3f}", verdict])
    graded = [
        [f, *(str(v) if isinstance(v, str) else f"{v:+.4f}" for v in s["graded"][f]["parents"][:2]),
         f"{s['graded'][f]['parents'][2]:.3f}",
         "holds" if s["graded"][f]["parents"][2] >= 0.05 or s["graded"][f]["parents"][1] > 0
         else "does not hold"]
        for f in FAMILIES
    ]  # fmt: skip
    against = [
        [case, f, f"{d:+.4f}", f"{p:.3f}", "does not hold" if p < 0.05 and d < 0 else "holds"]
        for case, found in s["topk"].items()
        for f, (_, d, p) in found["topk-listmle"].items()
    ]
    return [
        "## The paper's claims",
        "",
        "Niu, Guo, Lan, Cheng (SIGIR 2012), on this data. *Focused rankers are significantly better "
        "than both of their parents on top-k truth*: against the better parent, paired t-test over "
        "queries, p < 0.05, not corrected for many comparisons.",
        "",
        *table(["truth", "metric", "ranker", "better parent", "difference", "p", "claim"], rows),
        "",
        "*On graded labels they are comparable with their parents* (NDCG@10, bare rule; comparable: "
        "not significantly below the better one).",
        "",
        *table(["ranker", "better parent", "difference", "p", "claim"], graded),
        "",
        "*They are comparable with top-k ListMLE* (kNDCG@10; not significantly below it).",
        "",
        *table(["truth", "ranker", "difference", "p", "claim"], against),
        "",
    ]


def options_of(name: str, doc: str | None) -> argparse.Namespace:
    """The options of a command that measures quality."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=doc)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PODIUM_LETOR") or DATA))
    parser.add_argument("--jobs", type=int, default=-1, help="processes")
    parser.add_argument("--docs", action="store_true", help="only write the page from the results")
    return parser.parse_args()


def p_text(value: float) -> str:
    """A p-value in a table."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


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
