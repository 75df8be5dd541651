"""Demands: constraints of hard rules, applied to windows.

Only the documents that rules name have windows. They are numbered from the best score to the worst,
so the smaller number is the better document. The members of a demand are such numbers, not rows of
the list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from podium.postranking.places.windows import Choice, NoRoom, Windows
from podium.work_budget import check_time


class ListScores:
    """The scores of a list, best first, and the ranks of the documents that rules name."""

    def __init__(self, scores: Sequence[float], ranks: Sequence[int]) -> None:
        self.scores, self.ranks = scores, ranks
        self.negated = [-score for score in scores]  # bisect needs rising numbers

    def mean(self, members: Sequence[int]) -> float:
        """Return the mean score of documents by their numbers."""
        return sum([self.scores[self.ranks[i]] for i in members]) / len(members)

    def count_at_least(self, score: float) -> int:
        """Return how many documents of the list have this score or a better one."""
        return bisect_right(self.negated, -score)


class Demand(ABC):
    """A constraint on the documents that rules name.

    Propagation narrows windows to what follows from the demand alone. If an order breaks the
    demand, the search branches: the choices together cover all orders, and the more likely one
    comes first.
    """

    members: Sequence[int]
    """The numbers of its documents."""

    @abstractmethod
    def narrow(self, windows: Windows) -> None:
        """Leave only places that can meet the demand; raise `NoRoom` if there are none."""

    @abstractmethod
    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """Return the choices to try if these places break the demand; none if they meet it."""


class BeforeDemand(Demand):
    """Every document of `upper` stands before every document of `lower`."""

    def __init__(self, upper: Sequence[int], lower: Sequence[int], scores: ListScores) -> None:
        self.upper, self.lower, self.members, self.scores = upper, lower, [*upper, *lower], scores

    def narrow(self, windows: Windows) -> None:
        """Let lower documents start after the upper ones, and let upper ones end before the lower ones.

        The m upper documents with the latest starts need m places from the earliest of these starts
        on. So a lower document stands at max_m (m-th latest start + m) or below. The same holds
        from the end.
        """
        first, last = windows.first, windows.last
        starts = sorted([first[i] for i in self.upper], reverse=True)
        earliest = max([start + m for m, start in enumerate(starts, start=1)])
        for i in self.lower:
            windows.at_least(i, earliest)
        ends = sorted([last[i] for i in self.lower])
        latest = min([end - m for m, end in enumerate(ends, start=1)])
        for i in self.upper:
            windows.at_most(i, latest)

    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """Split the window of one document of the worst pair at the place where the two would meet.

        Two documents that must change their order cost least side by side, at the place of their
        mean score. The lower one, b, goes below that place, or stays above it, and then the upper
        one must rise.
        """
        a = max(self.upper, key=place.__getitem__)
        b = min(self.lower, key=place.__getitem__)
        if place[a] < place[b]:
            return []
        meeting = min(self.scores.count_at_least(self.scores.mean((a, b))), place[a] - 1)
        if meeting >= place[b]:
            return [[(b, meeting + 1, windows.last[b])], [(b, windows.first[b], meeting)]]
        # The place of the mean is above both: then a rises to the place of b.
        meeting = place[b]
        return [[(a, windows.first[a], meeting)], [(a, meeting + 1, windows.last[a])]]


class TogetherDemand(Demand):
    """The members stand side by side, in any order."""

    def __init__(self, members: Sequence[int], scores: ListScores) -> None:
        self.members, self.scores = members, scores

    def _natural_start(self) -> int:
        """Return the start of the block if its mean score decides which other documents stand above it."""
        n_better = self.scores.count_at_least(self.scores.mean(self.members))
        own = len([i for i in self.members if self.scores.ranks[i] < n_better])
        return n_better - own + 1

    def starts(self, windows: Windows) -> tuple[int, int]:
        """Return the first and the last place at which the block can start.

        Every member lies in the block, so the block cannot start after the last place of a member,
        nor end before the first place of a member.
        """
        first = [windows.first[i] for i in self.members]
        last = [windows.last[i] for i in self.members]
        size = len(self.members)
        return max(max(first) - size + 1, min(first)), min(min(last), max(last) - size + 1)

    def narrow(self, windows: Windows) -> None:
        """Keep all members between the first start and the last end of the block."""
        earliest, latest = self.starts(windows)
        if earliest > latest:
            raise NoRoom
        end = latest + len(self.members) - 1
        for i in self.members:
            windows.at_least(i, earliest)
            windows.at_most(i, end)

    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """Start the block at the place of its mean score, or later, or earlier."""
        places = [place[i] for i in self.members]
        size = len(places)
        if max(places) - min(places) == size - 1:
            return []
        earliest, latest = self.starts(windows)
        start = min(max(self._natural_start(), earliest), latest)
        spans = [(start, start), (start + 1, latest), (earliest, start - 1)]
        return [[(i, a, b + size - 1) for i in self.members] for a, b in spans if a <= b]


class ApartDemand(Demand):
    """Any two members are at least `step` places apart."""

    def __init__(self, members: Sequence[int], gap: int) -> None:
        self.members, self.step = members, gap + 1

    def narrow(self, windows: Windows) -> None:
        """Push members away from those that cannot move, and check that all fit."""
        first, last, step = windows.first, windows.last, self.step
        for j in self.members:
            # Wherever j stands in a window this short, the places near..far are too close to it.
            if last[j] - first[j] <= 2 * step - 2:
                check_time()  # all pairs of many members would take too long
                near, far = last[j] - step + 1, first[j] + step - 1
                for i in self.members:
                    if i != j:
                        if near <= first[i] <= far:
                            windows.at_least(i, far + 1)
                        if near <= last[i] <= far:
                            windows.at_most(i, near - 1)
        # The members with the m + 1 latest starts need m steps after the earliest of these starts, and
        # must end by the latest end. The same from the other side.
        starts = sorted([first[i] for i in self.members], reverse=True)
        ends = sorted([last[i] for i in self.members])
        if (
            max([start + m * step for m, start in enumerate(starts)]) > ends[-1]
            or min([end - m * step for m, end in enumerate(ends)]) < starts[-1]
        ):
            raise NoRoom

    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """Fix the upper one of two members that are too near; if one is fixed, move the other away."""
        members = sorted(self.members, key=place.__getitem__)
        near = [(i, j) for i, j in pairwise(members) if place[j] - place[i] < self.step]
        if not near:
            return []
        first, last = windows.first, windows.last
        for i, j in near:
            for fixed, other in ((i, j), (j, i)):
                if first[fixed] == last[fixed]:
                    at = first[fixed]
                    return [
                        [(other, at + self.step, last[other])],
                        [(other, first[other], at - self.step)],
                    ]
        i, j = near[0]
        at = place[i]
        return [[(i, at, at)], [(i, at + 1, last[i])], [(i, first[i], at - 1)]]


class CountDemand(Demand):
    """From `least` to `most` of the members are in the top k."""

    def __init__(self, members: Sequence[int], k: int, least: int, most: int) -> None:
        self.members, self.k, self.least, self.most = members, k, least, most

    def narrow(self, windows: Windows) -> None:
        """Keep the others out once `most` must be in the top k; keep all in once only `least` can be."""
        k, first, last = self.k, windows.first, windows.last
        can_be_in = [i for i in self.members if first[i] <= k]
        must_be_in = len([i for i in can_be_in if last[i] <= k])
        if must_be_in > self.most or len(can_be_in) < self.least:
            raise NoRoom
        if must_be_in == self.most and must_be_in < len(can_be_in):
            for i in can_be_in:
                if last[i] > k:
                    windows.at_least(i, k + 1)
        elif len(can_be_in) == self.least and must_be_in < len(can_be_in):
            for i in can_be_in:
                windows.at_most(i, k)

    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """Move the worst of too many out of the top k, or the best of too few into it."""
        k, first, last = self.k, windows.first, windows.last
        inside = [i for i in self.members if place[i] <= k]
        if len(inside) > self.most:
            i = max([i for i in inside if last[i] > k])
            return [[(i, k + 1, last[i])], [(i, first[i], k)]]
        if len(inside) < self.least:
            i = min([i for i in self.members if place[i] > k and first[i] <= k])
            return [[(i, first[i], k)], [(i, k + 1, last[i])]]
        return []


class SymmetryDemand(Demand):
    """Documents with the same roles in the same constraints are ordered from best to worst.

    Exchanging two of them breaks no constraint, and the better one first costs no more. So this
    demand loses no best order; it only saves the search from trying equivalent ones.
    """

    def __init__(self, members: Sequence[int], step: int) -> None:
        self.members, self.step = members, step

    def narrow(self, windows: Windows) -> None:
        """Let no document start before a better one or end after a worse one."""
        first, last, step = windows.first, windows.last, self.step
        for i, j in pairwise(self.members):
            if first[i] + step > first[j]:
                windows.at_least(j, first[i] + step)
        for j, i in pairwise(reversed(self.members)):
            if last[j] - step < last[i]:
                windows.at_most(i, last[j] - step)

    def choices(self, place: Sequence[int], windows: Windows) -> list[Choice]:
        """Return no choices, because another sequence of these documents is also valid."""
        return []
