"""How long a whole fit of RPC-MTL takes, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from threadpoolctl import threadpool_limits

from podium_papers.markdown import table
from podium_papers.records import from_json
from podium_papers.rpc_mtl.fits import Timing, timed_fit

TIMED = ((1700, 40), (1700, 700))
"""Lists, and documents of each."""
QUICK_TIMED = ((100, 40),)
STAGES = ("preparing", "metric", "clusters", "ordinal", "tasks")


def times(quick: bool = False, seed: int = 0) -> list[dict[str, Any]]:
    """One fit after the other, on one thread; run it where nothing else runs."""
    with threadpool_limits(1):
        return [asdict(timed_fit(*s, seed=seed)) for s in (QUICK_TIMED if quick else TIMED)]


def time_sections(timings: Sequence[Any], quick: bool = False) -> list[str]:
    """The table, of timings as JSON has them; the paper prints none."""
    del quick  # nothing to compare with
    rows = [
        [
            f"{t.n_lists:,} x {t.n_docs}", f"{t.n_lists * t.n_docs:,}",
            *(f"{t.stages.get(stage, 0.0):.1f}" for stage in STAGES),
            f"{t.seconds:.0f}", f"{t.quality:.4f}", "yes" if t.converged else "no",
        ]
        for t in from_json(tuple[Timing, ...], timings)
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
