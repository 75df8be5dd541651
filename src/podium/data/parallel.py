"""Parallel work on the pieces of a file by threads, in order and with few pieces in memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count() -> int:
    """Threads worth starting: the cores that this process may use, at most 8."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(8, cores or 1)


def map_in_parallel(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield work(item) of each item, in order; at most thread_count() + 1 items are in progress.

    It pays if work releases the interpreter's lock, as the kernels do.

    Examples
    --------
    >>> list(map_in_parallel(abs, [-3, 2, -1]))
    [3, 2, 1]
    """
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(thread_count()) as pool:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > thread_count():
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items in order while a thread fetches the next one; at most one is waiting.

    Examples
    --------
    >>> list(read_ahead(n * n for n in range(4)))
    [0, 1, 4, 9]
    """
    iterator = iter(items)
    end: Any = object()
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(next, iterator, end)
        while (item := pending.result()) is not end:
            pending = pool.submit(next, iterator, end)
            yield item
