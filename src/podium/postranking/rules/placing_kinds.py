"""Kinds of rules that give documents places: Boost and Bury move them, Insert adds them to the list."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from podium.postranking.methods.preferences import Preferences
from podium.postranking.places.constraints import (
    Constraint,
    ImpossibleConstraint,
    WindowConstraint,
)
from podium.postranking.rules.rule import (
    BoundRule,
    FromOne,
    FromZero,
    RealNumbers,
    Rule,
    WholeNumbers,
)
from podium.postranking.rules.selectors import Selector

Factor = Annotated[float, RealNumbers(1, 1e6)]
Percent = Annotated[int, WholeNumbers(0, 100)]


class _ShiftRule(Rule):
    """A rule that moves each document by a factor of its place, or to a percentile of the list."""

    roles: ClassVar[tuple[str, ...]] = ("doc",)
    factor: float
    percentile: int

    def _check(self) -> None:
        super()._check()
        if self.factor == 1 and self.percentile == 0:
            self._refuse("a factor above 1 or a percentile above 0", "neither")
        if self.factor != 1 and self.percentile != 0:
            self._refuse("a factor or a percentile", "both")


@dataclass(frozen=True, repr=False)
class Boost(_ShiftRule):
    """A document belongs at its place divided by a factor, or in the first percent of the list.

    The place is that of the original list without hidden documents, rounded up: a factor of 2 asks
    document 7 to stand at place 4 or above. If there are several documents, those that stood above
    stay above, and each takes a place of its own.

    Examples
    --------
    >>> Boost("a", factor=2)
    Boost('a', 2, 0)
    """

    kind: ClassVar[str] = "boost"
    wishes: ClassVar[tuple[int, ...]] = (-1,)
    doc: Selector
    factor: Factor = 1
    percentile: Percent = 0

    def targets(self, bound_rule: BoundRule) -> list[tuple[int, int]]:
        """Return the place that each row should reach, in the order of the list."""
        top = math.ceil(bound_rule.n * self.percentile / 100)
        return [
            (
                row,
                max(
                    at, min(row + 1, top if self.percentile else math.ceil((row + 1) / self.factor))
                ),
            )
            for at, row in enumerate(sorted(bound_rule.rows), start=1)
        ]

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many places a document stands below the place it should reach."""
        return max((max(place[row] - at, 0) for row, at in self.targets(bound_rule)), default=0)

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield the window from the first place to that of each document."""
        for row, at in self.targets(bound_rule):
            yield WindowConstraint(row, 1, at)

    def prefer(self, bound_rule: BoundRule, preferences: Preferences) -> None:
        """Prefer each document to those from its place on."""
        for row, at in self.targets(bound_rule):
            preferences.promote((row,), at, self.weight)


@dataclass(frozen=True, repr=False)
class Bury(_ShiftRule):
    """A document belongs at its place times a factor, or below the first percent of the list.

    The place is that of the original list without hidden documents. If there are several documents,
    those that stood below stay below, and each takes a place of its own.
    """

    kind: ClassVar[str] = "bury"
    wishes: ClassVar[tuple[int, ...]] = (1,)
    doc: Selector
    factor: Factor = 1
    percentile: Percent = 0

    def targets(self, bound_rule: BoundRule) -> list[tuple[int, int]]:
        """Return the place that each row should reach, in the order of the list."""
        n, m = bound_rule.n, len(bound_rule.rows)
        after_percentile = math.floor(n * self.percentile / 100) + 1
        return [
            (
                row,
                min(
                    n - (m - at),
                    max(
                        row + 1,
                        after_percentile
                        if self.percentile
                        else math.floor((row + 1) * self.factor),
                    ),
                ),
            )
            for at, row in enumerate(sorted(bound_rule.rows), start=1)
        ]

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many places a document stands above the place it should reach."""
        return max((max(at - place[row], 0) for row, at in self.targets(bound_rule)), default=0)

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield the window from the place of each document to the end."""
        for row, at in self.targets(bound_rule):
            yield WindowConstraint(row, at, bound_rule.n)

    def prefer(self, bound_rule: BoundRule, preferences: Preferences) -> None:
        """Prefer the documents above its place to each document."""
        for row, at in self.targets(bound_rule):
            if at > 1:
                preferences.demote((row,), at - 1, self.weight)


@dataclass(frozen=True, repr=False)
class Insert(Rule):
    """A document is added to the list if it is not in it, and stands at a position or in a window.

    It comes from the catalogue of fields or from the request. A soft rule adds it at the end and
    prefers it as a pin or top-k rule does.

    Examples
    --------
    >>> from podium.postranking import postrank
    >>> result = postrank(["a", "b"], [Insert("new", 2, hard=True)], insertable=["new"])
    >>> result.order, result.inserted
    (('a', 'new', 'b'), ('new',))
    """

    kind: ClassVar[str] = "insert"
    roles: ClassVar[tuple[str, ...]] = ("doc",)
    inserts: ClassVar[bool] = True
    doc: Selector
    position: FromOne
    to: FromZero = 0

    def _check(self) -> None:
        super()._check()
        if self.to and self.to < self.position:
            self._refuse(f"to of {self.position} or more", self.to, "or 0 for the position alone")
        if not self.named_docs:
            self._refuse("ids of documents", self.doc, "a condition names no new document")

    @property
    def last(self) -> int:
        """The last place of its window."""
        return self.to or self.position

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many places the document stands outside the window."""
        return max(
            (max(self.position - at, at - self.last, 0) for at in bound_rule.places(place)),
            default=0,
        )

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield the window of each document."""
        if bound_rule.hidden:
            yield ImpossibleConstraint()
        for row in bound_rule.rows:
            yield WindowConstraint(row, self.position, self.last)

    def prefer(self, bound_rule: BoundRule, preferences: Preferences) -> None:
        """Prefer the document to those below the window, and those above the window to it."""
        if self.last == self.position:
            preferences.pin(bound_rule.rows, self.position, self.weight)
            return
        preferences.promote(bound_rule.rows, self.last, self.weight)
        if self.position > 1:
            preferences.demote(bound_rule.rows, self.position - 1, self.weight)
