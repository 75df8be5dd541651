"""Times of a whole fit of RPC-MTL, stage by stage."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
from threadpoolctl import threadpool_limits

from podium.data import make_opposed
from podium.metrics import evaluate
from podium.multitask import RPCMTL
from podium.rankers import FitStep
from podium_papers.markdown import table
from podium_papers.rpc_mtl.rankers import CHOICE_MEASURE, ignore_early_stops

TIMED_SIZES = ((1700, 40), (1700, 700))
"""Numbers of lists, and of documents in each."""
QUICK_TIMED_SIZES = ((100, 40),)
STAGES = ("preparing", "metric", "clusters", "ordinal", "tasks")


@dataclass(frozen=True)
class Timing:
    """Seconds of one whole fit on lists by `make_opposed`, stage by stage, and NDCG@10 on 100 other lists."""

    n_lists: int
    n_docs: int
    n_clusters: int
    seconds: float
    stages: Mapping[str, float]
    quality: float
    converged: bool


def timed_fit(n_lists: int, n_docs: int, n_clusters: int = 3, seed: int = 0) -> Timing:
    """Fit RPC-MTL with its defaults and time each stage."""
    train, test = make_opposed(n_lists, n_docs, seed=seed), make_opposed(100, n_docs, seed=seed + 1)
    marks: list[tuple[str, float]] = [("preparing", time.perf_counter())]

    def mark(step: FitStep) -> None:
        if step.stage != marks[-1][0]:
            marks.append((step.stage, time.perf_counter()))

    with ignore_early_stops():
        ranker = RPCMTL(n_clusters=n_clusters).fit(train, callback=mark)
    marks.append(("", time.perf_counter()))
    stages = {name: end - start for (name, start), (_, end) in itertools.pairwise(marks)}
    quality = evaluate(test, ranker.predict(test), CHOICE_MEASURE)[CHOICE_MEASURE].mean
    return Timing(
        n_lists, n_docs, n_clusters, sum(stages.values()), stages, quality, ranker.converged_
    )


def times(quick: bool = False, seed: int = 0) -> list[dict[str, Any]]:
    """Time one fit after the other on one thread; run it on an idle machine."""
    with threadpool_limits(1):
        return [
            asdict(timed_fit(*s, seed=seed)) for s in (QUICK_TIMED_SIZES if quick else TIMED_SIZES)
        ]


def time_sections(timings: Sequence[Any], quick: bool = False) -> list[str]:
    """Return the table of timings, which are plain values; the paper prints none."""
    del quick  # nothing to compare with
    rows = [
        [
            f"{t.n_lists:,} x {t.n_docs}", f"{t.n_lists * t.n_docs:,}",
            *(f"{t.stages.get(stage, 0.0):.1f}" for stage in STAGES),
            f"{t.seconds:.0f}", f"{t.quality:.4f}", "yes" if t.converged else "no",
        ]
        for t in msgspec.convert(timings, tuple[Timing, ...])
    ]  # fmt: skip
    heads = ["lists", "documents", *STAGES, "seconds in all", "NDCG@10", "converged"]
    return [
        "### A whole fit",
        "",
        "One fit with K = 3 and the defaults on lists by `make_opposed`, one thread, in seconds by "
        "stage, and its NDCG@10 on 100 other lists:",
        "",
        *table(heads, rows),
        "",
    ]
