"""Resamples of queries in ranges: one range here, or one range per worker of the cluster in use."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from podium.task_runner import current_runner, map_items

Result = TypeVar("Result")

MIN_DRAWS = 50_000_000
"""With fewer random numbers, a test takes less time than the calls of a cluster."""


def map_ranges(
    work: Callable[..., Result], shared: Sequence[Any], n_queries: int, resamples: int, batch: int
) -> Iterator[Result]:
    """Yield work(*shared, (first, last)) of ranges of resamples, in order; ranges begin with a batch.

    Examples
    --------
    >>> list(map_ranges(lambda shared, ends: ends, [0], n_queries=20, resamples=1000, batch=100))
    [(0, 1000)]
    """
    runner = current_runner()
    n_ranges = 1
    if runner is not None and n_queries * resamples >= MIN_DRAWS:
        n_ranges = runner.n_workers()
    n_batches = -(-resamples // batch)
    starts = sorted({batch * (n_batches * i // n_ranges) for i in range(n_ranges)})
    ranges = list(itertools.pairwise([*starts, resamples]))
    if len(ranges) == 1:
        return (work(*shared, ends) for ends in ranges)
    return map_items(work, shared, ranges)
