"""Two local workers against one: tune, compare and a fit over parts, in processor time and by the clock.

Processor time of the busiest worker is what a job takes on a machine with a free core per worker. The clock
says the same only if no other program uses the cores.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import podium
from benchmarks.measure import Report, Row
from podium.data import make_synthetic, split

MIN_SPEED_UP = 1.6


@dataclass(frozen=True)
class JobTimes:
    """Seconds of a job: by the clock, of the processor in this process, and in each worker."""

    clock: float
    own: float
    workers: tuple[float, ...]

    @property
    def busiest(self) -> float:
        """Processor seconds of this process and of the busiest worker, one after the other."""
        return self.own + max(self.workers)


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    n_queries = 100 if quick else 1_500
    train, valid = split(
        make_synthetic(n_queries=n_queries, n_docs=60, n_features=40, seed=0), [0.7, 0.3]
    )
    setting = {"queries": n_queries, "documents per query": 60, "features": 40}
    report = Report("cluster", "A cluster of local workers", setting)
    with tempfile.TemporaryDirectory() as folder:
        train.to_parquet(Path(folder) / "train.parquet")
        parts = podium.partition(
            [Path(folder) / "train.parquet"], Path(folder) / "parts", rows=4_000
        )
        jobs = _jobs(train, valid, parts)
        one, two = (_measure(f"local:{n}", jobs) for n in (1, 2))
    for name in jobs:
        report.rows.append(
            Row(
                f"{name}, two workers", two[name].busiest, peer="one worker", theirs=one[name].busiest,
                ratio=one[name].busiest / two[name].busiest, says="faster",
                at_least=None if name.startswith("fit") else MIN_SPEED_UP,
            )
        )  # fmt: skip
    header = ["job", "workers", "clock", "processor, each worker", "processor, client"]
    lines = [
        [name, str(len(times.workers)), f"{times.clock:.1f} s",
         ", ".join(f"{s:.1f} s" for s in times.workers), f"{times.own:.1f} s"]
        for name in jobs for times in (one[name], two[name])
    ]  # fmt: skip
    report.tables.append([header, *lines])
    report.notes.append(
        "The rows compare processor seconds: those of the client plus those of the busiest worker. "
        "The machine was shared while this was measured, so that the clock says little."
    )
    return report


def _jobs(train: Any, valid: Any, parts: Any) -> dict[str, Callable[[], object]]:
    grid = {"leaves": [7, 15, 31], "learning_rate": [0.05, 0.1, 0.2, 0.4]}
    ranker = podium.LambdaMART(trees=30, patience=30, threads=1)
    rankers = ["regression", "ranksvm", "listnet", "ranknet"]
    return {
        "tune, 12 settings": lambda: podium.tune(ranker, train, valid, grid=grid),
        "compare, 4 rankers on 5 folds": lambda: podium.compare(
            train, rankers, "NDCG@10", tune=True
        ),
        "fit of listnet over parts": lambda: podium.ListNet(early_stopping=False).fit(parts),
    }


def _measure(address: str, jobs: dict[str, Callable[[], object]]) -> dict[str, JobTimes]:
    """Run the jobs on a cluster whose workers have imported what they need."""
    times = {}
    with podium.use(address) as runner:
        podium.tune(podium.LambdaMART(trees=1), *_small(), grid={"leaves": [2, 3, 4, 5]})
        for name, job in jobs.items():
            before = runner.client.run(time.process_time)
            own, clock = time.process_time(), time.perf_counter()
            job()
            clock, own = time.perf_counter() - clock, time.process_time() - own
            after = runner.client.run(time.process_time)
            times[name] = JobTimes(
                clock, own, tuple(float(after[a] - before[a]) for a in sorted(after))
            )
    assert all(np.isfinite(one.busiest) for one in times.values())
    return times


def _small() -> list[Any]:
    return split(make_synthetic(n_queries=40, n_features=4, seed=0), [0.5, 0.5])
