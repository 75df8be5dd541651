"""Constraints of hard rules on places: window, before, together, apart, count and impossible.

Documents are rows 0..n-1 of the list; places count from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class WindowConstraint:
    """first <= place(row) <= last: the constraint of TopK, NotTopK and Pin."""

    row: int
    first: int
    last: int

    def is_met(self, place: Sequence[int]) -> bool:
        """Whether the constraint is met if row i stands at place[i]."""
        return self.first <= place[self.row] <= self.last


@dataclass(frozen=True)
class BeforeConstraint:
    """place(a) < place(b) for every a of the first rows and b of the second."""

    a: tuple[int, ...]
    b: tuple[int, ...]

    def is_met(self, place: Sequence[int]) -> bool:
        """Whether the constraint is met if row i stands at place[i]."""
        return max(place[row] for row in self.a) < min(place[row] for row in self.b)


@dataclass(frozen=True)
class TogetherConstraint:
    """The rows stand side by side, in any order."""

    rows: tuple[int, ...]

    def is_met(self, place: Sequence[int]) -> bool:
        """Whether the constraint is met if row i stands at place[i]."""
        places = [place[row] for row in self.rows]
        return max(places) - min(places) == len(places) - 1


@dataclass(frozen=True)
class ApartConstraint:
    """|place(a) - place(b)| > gap for every two of the rows."""

    rows: tuple[int, ...]
    gap: int

    def is_met(self, place: Sequence[int]) -> bool:
        """Whether the constraint is met if row i stands at place[i]."""
        places = sorted([place[row] for row in self.rows])
        return all(b - a > self.gap for a, b in pairwise(places))


@dataclass(frozen=True)
class CountConstraint:
    """least <= #{row: place(row) <= k} <= most: the constraint of AtMost and AtLeast."""

    rows: tuple[int, ...]
    k: int
    least: int
    most: int

    def is_met(self, place: Sequence[int]) -> bool:
        """Whether the constraint is met if row i stands at place[i]."""
        k = self.k
        return self.least <= len([row for row in self.rows if place[row] <= k]) <= self.most


@dataclass(frozen=True)
class ImpossibleConstraint:
    """A constraint that no order meets, because a document that must stand high up is hidden."""

    def is_met(self, place: Sequence[int]) -> bool:
        """Return False."""
        return False


Constraint = (
    WindowConstraint
    | BeforeConstraint
    | TogetherConstraint
    | ApartConstraint
    | CountConstraint
    | ImpossibleConstraint
)
