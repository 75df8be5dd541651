"""Which places hard rules leave to each document: windows, narrowed until nothing more follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise

from podium.errors import UndecidedError
from podium.postranking.work_budget import check_time, search_seconds


class NoRoom(Exception):  # noqa: N818 an answer, not an error
    """A window is empty: nothing meets the demands."""


class Windows:
    """first[i]..last[i], the places left to document i; `moved` are those narrowed of late."""

    def __init__(self, first: Iterable[int], last: Iterable[int]) -> None:
        self.first, self.last = list(first), list(last)
        self.moved: set[int] = set()

    def at_least(self, i: int, place: int) -> None:
        """Document i stands at this place or below."""
        if place > self.first[i]:
            self.first[i] = place
            self.moved.add(i)
            if place > self.last[i]:
                raise NoRoom

    def at_most(self, i: int, place: int) -> None:
        """Document i stands at this place or above."""
        if place < self.last[i]:
            self.last[i] = place
            self.moved.add(i)
            if place < self.first[i]:
                raise NoRoom


Choice = list[tuple[int, int, int]]
"""Windows (document, first, last) to narrow to."""


class Worth:
    """The scores of a list best first, and those of the documents that rules name."""

    def __init__(self, scores: Sequence[float], named: Sequence[int]) -> None:
        self.scores, self.named = scores, named
        self.falling = [-score for score in scores]

    def mean(self, rows: Sequence[int]) -> float:
        """The mean score of documents by their numbers."""
        return sum([self.scores[self.named[i]] for i in rows]) / len(rows)

    def better(self, score: float) -> int:
        """How many documents of the list have this score or a better one."""
        return bisect_right(self.falling, -score)


class Demand(ABC):
    """A constraint on the documents that rules name, numbered from the best to the worst.

    It narrows windows to what follows from it alone. Where places break it, it splits the orders
    into choices, the likelier first, that leave no order out.
    """

    rows: Sequence[int]

    @abstractmethod
    def narrow(self, windows: Windows) -> None:
        """Leave only places that can meet it; NoRoom where there are none."""

    @abstractmethod
    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """What to try where these places break it; nothing where they meet it."""


class BeforeDemand(Demand):
    """Every one of `above` before every one of `below`."""

    def __init__(self, above: Sequence[int], below: Sequence[int], worth: Worth) -> None:
        self.above, self.below, self.rows, self.worth = above, below, [*above, *below], worth

    def narrow(self, windows: Windows) -> None:
        """Below where the first can all stand, above where the second can."""
        first, last = windows.first, windows.last
        starts = sorted([first[i] for i in self.above], reverse=True)
        earliest = max([start + m for m, start in enumerate(starts, start=1)])
        for i in self.below:
            windows.at_least(i, earliest)
        ends = sorted([last[i] for i in self.below])
        latest = min([end - m for m, end in enumerate(ends, start=1)])
        for i in self.above:
            windows.at_most(i, latest)

    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """The lower one down to where both are worth their places, then the other up to it."""
        a = max(self.above, key=place.__getitem__)
        b = min(self.below, key=place.__getitem__)
        if place[a] < place[b]:
            return []
        meet = min(self.worth.better(self.worth.mean((a, b))), place[a] - 1)
        if meet >= place[b]:
            return [[(b, meet + 1, windows.last[b])], [(b, windows.first[b], meet)]]
        meet = place[b]
        return [[(a, windows.first[a], meet)], [(a, meet + 1, windows.last[a])]]


class TogetherDemand(Demand):
    """The rows side by side."""

    def __init__(self, rows: Sequence[int], worth: Worth) -> None:
        self.rows, self.worth = rows, worth

    def _natural(self) -> int:
        """Where they start if the others stand above or below their mean score."""
        above = self.worth.better(self.worth.mean(self.rows))
        return above - len([i for i in self.rows if self.worth.named[i] < above]) + 1

    def starts(self, windows: Windows) -> tuple[int, int]:
        """The first and the last place at which they can start."""
        first = [windows.first[i] for i in self.rows]
        last = [windows.last[i] for i in self.rows]
        size = len(self.rows)
        return max(max(first) - size + 1, min(first)), min(min(last), max(last) - size + 1)

    def narrow(self, windows: Windows) -> None:
        """Within reach of each other."""
        earliest, latest = self.starts(windows)
        if earliest > latest:
            raise NoRoom
        end = latest + len(self.rows) - 1
        for i in self.rows:
            windows.at_least(i, earliest)
            windows.at_most(i, end)

    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """From the place its mean score is worth, or later, or earlier."""
        places = [place[i] for i in self.rows]
        size = len(places)
        if max(places) - min(places) == size - 1:
            return []
        earliest, latest = self.starts(windows)
        start = min(max(self._natural(), earliest), latest)
        spans = [(start, start), (start + 1, latest), (earliest, start - 1)]
        return [[(i, a, b + size - 1) for i in self.rows] for a, b in spans if a <= b]


class ApartDemand(Demand):
    """At least `step` places from any of the rows to any other."""

    def __init__(self, rows: Sequence[int], gap: int) -> None:
        self.rows, self.step = rows, gap + 1

    def narrow(self, windows: Windows) -> None:
        """Out of reach of those that cannot get away; as many as fit between two places."""
        first, last, step = windows.first, windows.last, self.step
        for j in self.rows:
            if last[j] - first[j] <= 2 * step - 2:
                check_time()  # all pairs of many rows take long
                near, far = last[j] - step + 1, first[j] + step - 1
                for i in self.rows:
                    if i != j:
                        if near <= first[i] <= far:
                            windows.at_least(i, far + 1)
                        if near <= last[i] <= far:
                            windows.at_most(i, near - 1)
        starts = sorted([first[i] for i in self.rows], reverse=True)
        ends = sorted([last[i] for i in self.rows])
        if (
            max([start + m * step for m, start in enumerate(starts)]) > ends[-1]
            or min([end - m * step for m, end in enumerate(ends)]) < starts[-1]
        ):
            raise NoRoom

    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """The better of two that are too near stays; the other goes below it, or above."""
        rows = sorted(self.rows, key=place.__getitem__)
        near = [(i, j) for i, j in pairwise(rows) if place[j] - place[i] < self.step]
        if not near:
            return []
        first, last = windows.first, windows.last
        for i, j in near:
            for stays, goes in ((i, j), (j, i)):
                if first[stays] == last[stays]:
                    at = first[stays]
                    return [[(goes, at + self.step, last[goes])],
                            [(goes, first[goes], at - self.step)]]  # fmt: skip
        i, j = near[0]
        at = place[i]
        return [[(i, at, at)], [(i, at + 1, last[i])], [(i, first[i], at - 1)]]


class CountDemand(Demand):
    """From `least` to `most` of the rows in the top k."""

    def __init__(self, rows: Sequence[int], k: int, least: int, most: int) -> None:
        self.rows, self.k, self.least, self.most = rows, k, least, most

    def narrow(self, windows: Windows) -> None:
        """When enough are in or out, the others are not."""
        k, first, last = self.k, windows.first, windows.last
        can = [i for i in self.rows if first[i] <= k]
        must = len([i for i in can if last[i] <= k])
        if must > self.most or len(can) < self.least:
            raise NoRoom
        if must == self.most and must < len(can):
            for i in can:
                if last[i] > k:
                    windows.at_least(i, k + 1)
        elif len(can) == self.least and must < len(can):
            for i in can:
                windows.at_most(i, k)

    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """The worst of too many out, or the best of too few in."""
        k, first, last = self.k, windows.first, windows.last
        inside = [i for i in self.rows if place[i] <= k]
        if len(inside) > self.most:
            i = max([i for i in inside if last[i] > k])
            return [[(i, k + 1, last[i])], [(i, first[i], k)]]
        if len(inside) < self.least:
            i = min([i for i in self.rows if place[i] > k and first[i] <= k])
            return [[(i, first[i], k)], [(i, k + 1, last[i])]]
        return []


class SymmetryDemand(Demand):
    """Documents that the same constraints name: they may as well stand from the best to the worst.

    No order is better than the one with two of them exchanged, and so no answer is lost.
    """

    def __init__(self, rows: Sequence[int], step: int) -> None:
        self.rows, self.step = rows, step

    def narrow(self, windows: Windows) -> None:
        """No better one after a worse one."""
        first, last, step = windows.first, windows.last, self.step
        for i, j in pairwise(self.rows):
            if first[i] + step > first[j]:
                windows.at_least(j, first[i] + step)
        for j, i in pairwise(reversed(self.rows)):
            if last[j] - step < last[i]:
                windows.at_most(i, last[j] - step)

    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """None: it is no constraint."""
        return []


class Narrowing:
    """Demands, and who is asked again when a window has moved."""

    def __init__(self, demands: Sequence[Demand], m: int, limit: int) -> None:
        self.demands, self.limit = demands, limit
        self.steps = 0
        """How much was looked at so far."""
        self.trouble = [0] * len(demands)
        """How often each demand had no room."""
        self.demands_of: list[list[int]] = [[] for _ in range(m)]
        for number, demand in enumerate(demands):
            for i in demand.rows:
                self.demands_of[i].append(number)

    def start(self, windows: Windows) -> None:
        """Everything that follows from all demands."""
        windows.moved.clear()
        self._run(windows, deque(range(len(self.demands))))

    def follow(self, windows: Windows) -> None:
        """Everything that follows from the windows that have moved."""
        self._run(windows, deque(self._of(windows)))

    def spend(self, steps: int) -> None:
        """Count steps; raises `UndecidedError` at the limit."""
        self.steps += steps
        if self.steps > self.limit:
            raise UndecidedError(
                f"the search for an order that meets the hard rules reached its limit of {self.limit} "
                "steps without one, and without proof that there is none; raise the limit, or make a "
                "rule soft"
            )
        if search_seconds() <= 0:
            raise UndecidedError(
                "the search for an order that meets the hard rules took its share of the time and "
                "found none, nor proof that there is none; make a rule soft"
            )

    def _of(self, windows: Windows) -> list[int]:
        numbers = sorted({number for i in windows.moved for number in self.demands_of[i]})
        windows.moved.clear()
        return numbers

    def _run(self, windows: Windows, queue: deque[int]) -> None:
        waiting = set(queue)
        while queue:
            number = queue.popleft()
            waiting.discard(number)
            demand = self.demands[number]
            self.spend(1 + len(demand.rows) // 8)
            try:
                demand.narrow(windows)
            except NoRoom:
                self.trouble[number] += 1
                raise
            if windows.moved:
                for other in self._of(windows):
                    if other not in waiting:
                        waiting.add(other)
                        queue.append(other)
