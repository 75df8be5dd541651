"""Threads for long work: a limited number at a time, each with a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from podium.apps.http.refusals import Refusal
from podium.apps.serving.error_answers import refusal_of
from podium.errors import DeadlineError
from podium.work_budget import bounded_time, too_slow

Result = TypeVar("Result")


class ThreadLimiter:
    """Runs work in threads, a limited number at a time, each for a limited time.

    Long loops end at the deadline by themselves (`podium.work_budget`). Other work goes on in
    its thread and keeps its place until it is done. If all places are taken, work is refused with 503.

    Parameters
    ----------
    seconds
        How long a request may take.
    n_threads
        How many run at a time.
    n_waiting
        How many more may wait.
    """

    def __init__(self, seconds: float, n_threads: int = 4, n_waiting: int = 64) -> None:
        self._seconds = seconds
        self._n_places = self._n_free = n_threads + n_waiting
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="podium")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run work in a thread; 503 if no place is free, or the time is over."""
        if self._n_free <= 0:
            raise Refusal(503, "busy", "the service is busy; try again")
        self._n_free -= 1
        loop = asyncio.get_running_loop()
        start = time.monotonic()

        def run_in_time() -> Result:
            if time.monotonic() > start + self._seconds:
                raise too_slow(self._seconds)  # the deadline is over: nobody waits for the result
            with bounded_time(self._seconds, start):
                return work()

        future = loop.run_in_executor(self._pool, run_in_time)
        future.add_done_callback(self._free_place)
        await asyncio.wait((future,), timeout=self._seconds)
        if not future.done() or isinstance(future.exception(), DeadlineError):
            raise refusal_of(too_slow(self._seconds))
        return future.result()

    def run_without_thread(self, work: Callable[[], Result]) -> Result:
        """Run quick work here, without a thread; it has the same deadline."""
        with bounded_time(self._seconds):
            return work()

    def _free_place(self, future: asyncio.Future[Any]) -> None:
        self._n_free += 1
        if not future.cancelled():
            future.exception()  # asyncio would log an exception that nobody reads

    @property
    def is_busy(self) -> bool:
        """Whether a thread is at work, or something waits for one."""
        return self._n_free < self._n_places

    def close(self) -> None:
        """Let threads end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
