"""Deadline scheduling of documents: places within windows that also meet `Before` rules.

A window is a release place and a deadline; a document is a job of length one. If windows are
narrowed by all `Before` rules, taking the earliest deadline first also meets the rules: a document
that must precede another has an earlier release and an earlier deadline (Jackson 1955; Lageweg and
Lenstra 1976). This meets many `Before` rules at once, which branching meets one by one.
"""

from __future__ import annotations

from heapq import heappop, heappush

from podium.postranking.places.demand_set import DemandSet
from podium.postranking.places.demands import BeforeDemand
from podium.postranking.places.windows import Windows


def schedule(demands: DemandSet, windows: Windows, n: int) -> list[int] | None:
    """Return the places of the named documents; None if windows leave no room.

    Each place goes to the most urgent document. If none is urgent, it goes to the best document
    that waits for nothing, named or not.
    """
    return _Schedule(demands, windows, n).run()


class _Schedule:
    """Places that are filled from the first to the last."""

    def __init__(self, demands: DemandSet, windows: Windows, n: int) -> None:
        self.n, self.ranks = n, demands.ranks
        self.first, self.last = windows.first, windows.last
        self.place = [0] * len(self.ranks)
        self.urgent_from = urgent_places(self.last, n)
        # Released documents that wait for nothing, by deadline and by score. A document that got
        # its place stays in the other heap until it comes to its top.
        self.by_deadline: list[tuple[int, int]] = []
        self.by_score: list[int] = []
        self._count_predecessors(demands)

    def _count_predecessors(self, demands: DemandSet) -> None:
        """Count the rules that each document waits for; a rule ends once its upper documents are placed."""
        m = len(self.ranks)
        self.befores = [demand for demand in demands.demands if isinstance(demand, BeforeDemand)]
        self.unplaced_upper = [len(before.upper) for before in self.befores]
        self.rules_with_upper: list[list[int]] = [[] for _ in range(m)]
        self.n_closed_rules = [0] * m
        for number, before in enumerate(self.befores):
            for i in before.upper:
                self.rules_with_upper[i].append(number)
            for i in before.lower:
                self.n_closed_rules[i] += 1

    def run(self) -> list[int] | None:
        """Fill one place after another; return the places of the named documents or None."""
        by_release = sorted(range(len(self.ranks)), key=self.first.__getitem__)
        others = set(range(self.n)).difference(self.ranks)
        unnamed = iter(sorted(others))  # ranks of documents that may stand anywhere
        next_unnamed = next(unnamed, self.n)
        n_released = 0
        for place in range(1, self.n + 1):
            while n_released < len(by_release) and self.first[by_release[n_released]] <= place:
                if not self.n_closed_rules[by_release[n_released]]:
                    self._make_ready(by_release[n_released])
                n_released += 1
            i = self._next_document(place, next_unnamed)
            if i is not None:
                if self.last[i] < place:
                    return None
                self._put(i, place)
            elif next_unnamed < self.n:
                next_unnamed = next(unnamed, self.n)
            else:
                return None  # no document may stand here
        return self.place

    def _next_document(self, place: int, next_unnamed: int) -> int | None:
        """Return the number of the document for a place; None leaves it to the best unnamed document."""
        while self.by_deadline and self.place[self.by_deadline[0][1]]:
            heappop(self.by_deadline)
        while self.by_score and self.place[self.by_score[0]]:
            heappop(self.by_score)
        if self.by_deadline and self.urgent_from[self.by_deadline[0][1]] <= place:
            return self.by_deadline[0][1]
        # Nothing is urgent: the best document by rank, named or not. Numbers grow with ranks, so that the
        # smallest number in the heap has the smallest rank.
        if self.by_score and self.ranks[self.by_score[0]] < next_unnamed:
            return self.by_score[0]
        return None

    def _put(self, i: int, place: int) -> None:
        """Place a document, and release those that waited only for it."""
        self.place[i] = place
        for number in self.rules_with_upper[i]:
            self.unplaced_upper[number] -= 1
            if self.unplaced_upper[number]:
                continue
            for j in self.befores[number].lower:
                self.n_closed_rules[j] -= 1
                # Those that are not released yet become ready on their first place.
                if not self.n_closed_rules[j] and self.first[j] <= place:
                    self._make_ready(j)

    def _make_ready(self, i: int) -> None:
        heappush(self.by_deadline, (self.last[i], i))
        heappush(self.by_score, i)


def urgent_places(last: list[int], n: int) -> list[int]:
    """Return the place from which each document is urgent.

    It is the last place that still leaves enough places, before their deadlines, for this document
    and all that are due later. A document without a deadline is urgent only at the last place.

    Examples
    --------
    >>> urgent_places([3, 3, 5], 5)
    [3, 2, 5]
    """
    urgent = [n] * len(last)
    start = n + 1
    # From the latest deadline back: each needs its own place before those that are due later.
    for i in sorted(range(len(last)), key=lambda i: -last[i]):
        if last[i] < n:
            start = min(last[i], start - 1)
            urgent[i] = start
    return urgent
