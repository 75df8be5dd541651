"""CallPace: no more calls per minute than allowed, and none before the time that the endpoint named."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from podium.errors import UsageError

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds to wait after the first failure, and at most; each wait is twice the one before."""


class CallPace:
    """Spaces calls in time, for all threads.

    Parameters
    ----------
    per_minute
        The most calls per minute; None is no limit.
    clock, sleep
        The seconds now, and how to wait.

    Examples
    --------
    >>> waits = []
    >>> pace = CallPace(per_minute=30, clock=lambda: sum(waits), sleep=waits.append)
    >>> pace.wait_for_turn(); pace.wait_for_turn(); pace.hold(5.0); pace.wait_for_turn()
    >>> waits
    [2.0, 5.0]
    """

    def __init__(
        self,
        per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if per_minute is not None and not per_minute > 0:
            raise UsageError(f"expected more than 0 calls per minute, got {per_minute}")
        self._gap = 0.0 if per_minute is None else 60.0 / per_minute
        self._clock, self._sleep, self._lock = clock, sleep, threading.Lock()
        self._next = self._hold_end = clock()

    def wait_for_turn(self) -> None:
        """Wait until the next call may be made."""
        is_held = True
        while is_held:
            with self._lock:
                now = self._clock()
                at = max(now, self._next)
                self._next = at + self._gap
            if at > now:
                self._sleep(at - now)
            with self._lock:
                is_held = (
                    at < self._hold_end
                )  # since this thread took its turn: it takes another one

    def hold(self, seconds: float) -> None:
        """Let no thread call before some seconds are over."""
        with self._lock:
            self._hold_end = max(self._hold_end, self._clock() + seconds)
            self._next = max(self._next, self._hold_end)


def back_off(failures: int, jitter: float) -> float:
    """Return the seconds to wait after some failures in a row; jitter from 0 to 1 spreads threads.

    Examples
    --------
    >>> [back_off(n, 1.0) for n in (1, 2, 3, 10)], back_off(3, 0.0)
    ([1.0, 2.0, 4.0, 60.0], 2.0)
    """
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(failures - 1, 30))
    return wait * (0.5 + 0.5 * jitter)
