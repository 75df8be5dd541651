"""Propagation: narrow windows by all demands until nothing changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from podium.errors import UndecidedError
from podium.postranking.places.demands import Demand
from podium.postranking.places.windows import NoRoom, Windows
from podium.work_budget import search_seconds


def check_search_time() -> None:
    """Raise `UndecidedError` at the end of the time for searches."""
    if search_seconds() <= 0:
        raise UndecidedError(
            "the search for an order that meets the hard rules ran out of time without a "
            "result; make a rule soft"
        )


class Propagation:
    """Narrows windows by all demands, and counts the steps of the whole search.

    When a window changes, the demands that name its document are queued again. Windows only shrink,
    so this ends.
    """

    def __init__(self, demands: Sequence[Demand], m: int, limit: int) -> None:
        self.demands, self.limit = demands, limit
        self.steps = 0
        """Steps so far."""
        self.failures = [0] * len(demands)
        """How often each demand could not be met."""
        self.demands_of: list[list[int]] = [[] for _ in range(m)]
        for number, demand in enumerate(demands):
            check_search_time()
            for i in demand.members:
                self.demands_of[i].append(number)

    def start(self, windows: Windows) -> None:
        """Narrow windows by all demands."""
        windows.moved.clear()
        self._run(windows, deque(range(len(self.demands))))

    def follow(self, windows: Windows) -> None:
        """Narrow windows by the demands on documents whose windows have changed."""
        self._run(windows, deque(self._affected(windows)))

    def count_steps(self, steps: int) -> None:
        """Count steps of the search; raise `UndecidedError` at its limit or at the end of its time.

        The limit is a setting of the user; the work budget of a service bounds the whole call.
        """
        self.steps += steps
        if self.steps > self.limit:
            raise UndecidedError(
                "the search for an order that meets the hard rules reached its limit of "
                f"{self.limit} steps without a result; raise the limit, or make a rule soft"
            )
        check_search_time()

    def _affected(self, windows: Windows) -> list[int]:
        """Return the demands on documents whose windows have changed since the last call."""
        numbers = sorted({number for i in windows.moved for number in self.demands_of[i]})
        windows.moved.clear()
        return numbers

    def _run(self, windows: Windows, queue: deque[int]) -> None:
        queued = set(queue)
        while queue:
            number = queue.popleft()
            queued.discard(number)
            demand = self.demands[number]
            self.count_steps(1 + len(demand.members) // 8)
            try:
                demand.narrow(windows)
            except NoRoom:
                self.failures[number] += 1
                raise
            if windows.moved:
                for other in self._affected(windows):
                    if other not in queued:
                        queued.add(other)
                        queue.append(other)
