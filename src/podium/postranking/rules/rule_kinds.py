"""The kinds of rules: TopK, NotTopK, Pin, Before, Together, Apart, AtMost, AtLeast, Hide and others.

Each rule is a frozen value. A soft rule adds preferences with its weight; a hard rule adds
constraints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from podium.plugins import Registry, subclasses_of
from podium.postranking.methods.preferences import Preferences
from podium.postranking.places.constraints import (
    ApartConstraint,
    BeforeConstraint,
    Constraint,
    CountConstraint,
    ImpossibleConstraint,
    TogetherConstraint,
    WindowConstraint,
)
from podium.postranking.rules.mixing_kinds import Exposure, FairShare, Mix, TakeTurns
from podium.postranking.rules.placing_kinds import Boost, Bury, Insert
from podium.postranking.rules.rule import BoundRule, FromOne, FromZero, Rule
from podium.postranking.rules.selectors import Selector, ids, show


@dataclass(frozen=True, repr=False)
class TopK(Rule):
    """A document, or each of several documents, belongs in the top k.

    A soft rule prefers it to the documents at ranks k and below, counted without it (Wu et al.,
    section 4.2).

    Examples
    --------
    >>> TopK("a", 3, weight=10)
    TopK('a', 3, weight=10)
    """

    kind: ClassVar[str] = "top-k"
    roles: ClassVar[tuple[str, ...]] = ("doc",)
    wishes: ClassVar[tuple[int, ...]] = (-1,)
    doc: Selector
    k: FromOne

    def reason_no_effect(self, bound_rule: BoundRule) -> str:
        """Return a reason if k is at least n: all documents are in the top k."""
        return super().reason_no_effect(bound_rule) or _all_in_top(self.k, bound_rule)

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many places below k the lowest document stands."""
        return max((max(at - self.k, 0) for at in bound_rule.places(place)), default=0)

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield the window 1..k for each document."""
        if bound_rule.hidden:
            yield ImpossibleConstraint()
        for row in bound_rule.rows:
            yield WindowConstraint(row, 1, self.k)

    def prefer(self, bound_rule: BoundRule, preferences: Preferences) -> None:
        """Prefer its documents to those at ranks k and below."""
        preferences.promote(bound_rule.rows, self.k, self.weight)


@dataclass(frozen=True, repr=False)
class NotTopK(Rule):
    """A document does not belong in the top k; if there are several, none of them does.

    A soft rule prefers the documents at ranks up to k, counted without it, to it (Wu et al.,
    section 4.2).
    """

    kind: ClassVar[str] = "not-top-k"
    roles: ClassVar[tuple[str, ...]] = ("doc",)
    wishes: ClassVar[tuple[int, ...]] = (1,)
    doc: Selector
    k: FromOne

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many places above k + 1 the highest document stands."""
        return max((max(self.k + 1 - place[row], 0) for row in bound_rule.rows), default=0)

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield the window k + 1..n for each document."""
        for row in bound_rule.rows:
            yield WindowConstraint(row, self.k + 1, bound_rule.n)

    def prefer(self, bound_rule: BoundRule, preferences: Preferences) -> None:
        """Prefer documents at ranks up to k to its documents."""
        preferences.demote(bound_rule.rows, self.k, self.weight)


@dataclass(frozen=True, repr=False)
class Pin(Rule):
    """A document stands at a position, counted from 1.

    A soft rule prefers it to the documents at this rank and below, counted without it, and prefers
    those above to it.
    """

    kind: ClassVar[str] = "pin"
    roles: ClassVar[tuple[str, ...]] = ("doc",)
    doc: Selector
    position: FromOne

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many places the document stands from the position."""
        return max((abs(at - self.position) for at in bound_rule.places(place)), default=0)

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield the window of one place."""
        if bound_rule.hidden:
            yield ImpossibleConstraint()
        for row in bound_rule.rows:
            yield WindowConstraint(row, self.position, self.position)

    def prefer(self, bound_rule: BoundRule, preferences: Preferences) -> None:
        """Prefer the document to those below the position, and those above to it."""
        preferences.pin(bound_rule.rows, self.position, self.weight)


@dataclass(frozen=True, repr=False)
class Before(Rule):
    """Document a stands before document b; if there are several, each a stands before each b.

    A soft rule adds a preference pair for each a and b.
    """

    kind: ClassVar[str] = "before"
    roles: ClassVar[tuple[str, ...]] = ("a", "b")
    wishes: ClassVar[tuple[int, ...]] = (-1, 1)
    a: Selector
    b: Selector

    def _check(self) -> None:
        super()._check()
        both = set(ids(self.a)) & set(ids(self.b))
        if both:
            self._refuse("different documents", show(min(both, key=show)) + " on both sides")

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many places the lowest a stands below the highest b."""
        first, second = bound_rule.parts
        if not first or not second:
            return 0
        lowest, highest = max(place[row] for row in first), min(place[row] for row in second)
        # No document stands before itself.
        return max(lowest - highest, int(lowest == highest))

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield that all a stand before all b."""
        first, second = bound_rule.parts
        if first and second:
            yield BeforeConstraint(first, second)

    def prefer(self, bound_rule: BoundRule, preferences: Preferences) -> None:
        """Prefer each a to each b."""
        first, second = bound_rule.parts
        preferences.before(first, second, self.weight)


@dataclass(frozen=True, repr=False)
class Together(Rule):
    """Documents stand side by side. A soft rule is a spring between their scores, which is also convex."""

    kind: ClassVar[str] = "together"
    roles: ClassVar[tuple[str, ...]] = ("docs",)
    grouped: ClassVar[bool] = True
    docs: Selector

    def reason_no_effect(self, bound_rule: BoundRule) -> str:
        """Return a reason if the list has only one of the documents."""
        return super().reason_no_effect(bound_rule) or _reason_single(bound_rule)

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many other documents stand among them."""
        places = [place[row] for row in bound_rule.rows]
        return max(places) - min(places) + 1 - len(places) if places else 0

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield that the documents stand side by side."""
        if len(bound_rule.rows) > 1:
            yield TogetherConstraint(bound_rule.rows)

    def prefer(self, bound_rule: BoundRule, preferences: Preferences) -> None:
        """Add a spring between the scores."""
        preferences.spring(bound_rule.rows, self.weight)


@dataclass(frozen=True, repr=False)
class Apart(Rule):
    """At least `gap` other documents stand between any two of these.

    A soft rule takes the order of the other rules and moves documents that are too near up or down,
    by top-k and not-top-k pairs. This is an approximation, because the rule itself is not convex.
    """

    kind: ClassVar[str] = "apart"
    roles: ClassVar[tuple[str, ...]] = ("docs",)
    grouped: ClassVar[bool] = True
    chooses: ClassVar[bool] = True
    docs: Selector
    gap: FromOne = 1

    def reason_no_effect(self, bound_rule: BoundRule) -> str:
        """Return a reason if the list has only one of the documents."""
        return super().reason_no_effect(bound_rule) or _reason_single(bound_rule)

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many more places the nearest two documents must be apart."""
        places = sorted(place[row] for row in bound_rule.rows)
        nearest = min((b - a for a, b in pairwise(places)), default=self.gap + 1)
        return max(self.gap + 1 - nearest, 0)

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield that every two stand apart."""
        if len(bound_rule.rows) > 1:
            yield ApartConstraint(bound_rule.rows, self.gap)

    def choose(self, bound_rule: BoundRule, order: Sequence[int], preferences: Preferences) -> None:
        """Promote or demote documents to places that are far enough apart."""
        place = {row: at for at, row in enumerate(order, start=1)}
        rows = sorted(bound_rule.rows, key=place.__getitem__)
        for row, target in zip(
            rows, self._spread([place[row] for row in rows], bound_rule.n), strict=True
        ):
            if target > place[row]:
                preferences.demote((row,), target - 1, self.weight)
            elif target < place[row]:
                preferences.promote((row,), target, self.weight)

    def _spread(self, places: Sequence[int], n: int) -> list[int]:
        """Return places `gap` apart and no higher than these; move them up if they exceed the list."""
        targets: list[int] = []
        for place in places:
            targets.append(max(place, targets[-1] + self.gap + 1) if targets else place)
        last = n
        for at in reversed(range(len(targets))):
            targets[at] = max(min(targets[at], last), 1)
            last = targets[at] - self.gap - 1
        return targets


@dataclass(frozen=True, repr=False)
class AtMost(Rule):
    """At most m documents of a group stand in the top k.

    A soft rule keeps the first m of the group in the order of the other rules; the rest become
    not-top-k.
    """

    kind: ClassVar[str] = "at-most"
    roles: ClassVar[tuple[str, ...]] = ("group",)
    grouped: ClassVar[bool] = True
    wishes: ClassVar[tuple[int, ...]] = (1,)
    chooses: ClassVar[bool] = True
    group: Selector
    m: FromZero
    k: FromOne

    def reason_no_effect(self, bound_rule: BoundRule) -> str:
        """Return a reason if no more than m of the group can be in the top k."""
        most = min(self.k, len(bound_rule.rows))
        few = f"no more than {most} of the group can be in the top {self.k}"
        return super().reason_no_effect(bound_rule) or (few if most <= self.m else "")

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many documents are too many in the top k."""
        return max(sum(place[row] <= self.k for row in bound_rule.rows) - self.m, 0)

    def movable(self, bound_rule: BoundRule, place: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return all rows but the first m."""
        return (tuple(sorted(bound_rule.rows, key=place.__getitem__)[self.m :]),)

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield a count in the top k."""
        yield CountConstraint(bound_rule.rows, self.k, 0, self.m)

    def choose(self, bound_rule: BoundRule, order: Sequence[int], preferences: Preferences) -> None:
        """Demote all but the first m of the group."""
        rows = set(bound_rule.rows)
        rest = [row for row in order if row in rows][self.m :]
        preferences.demote(tuple(rest), self.k, self.weight)


@dataclass(frozen=True, repr=False)
class AtLeast(Rule):
    """At least m documents of a group stand in the top k.

    A soft rule makes the first m of the group, in the order of the other rules, top-k.
    """

    kind: ClassVar[str] = "at-least"
    roles: ClassVar[tuple[str, ...]] = ("group",)
    grouped: ClassVar[bool] = True
    wishes: ClassVar[tuple[int, ...]] = (-1,)
    chooses: ClassVar[bool] = True
    group: Selector
    m: FromOne
    k: FromOne

    def reason_no_effect(self, bound_rule: BoundRule) -> str:
        """Return a reason if the top k is the whole list and has enough of the group."""
        enough = len(bound_rule.rows) >= self.m
        return super().reason_no_effect(bound_rule) or (
            _all_in_top(self.k, bound_rule) if enough else ""
        )

    def lacks_documents(self, bound_rule: BoundRule) -> bool:
        """Whether the list has fewer than m of the group."""
        return len(bound_rule.rows) < self.m

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many documents are too few in the top k."""
        return max(self.m - sum(place[row] <= self.k for row in bound_rule.rows), 0)

    def movable(self, bound_rule: BoundRule, place: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return the first m rows."""
        return (tuple(sorted(bound_rule.rows, key=place.__getitem__)[: self.m]),)

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield a count in the top k."""
        yield CountConstraint(bound_rule.rows, self.k, self.m, self.k)

    def choose(self, bound_rule: BoundRule, order: Sequence[int], preferences: Preferences) -> None:
        """Promote the first m of the group."""
        rows = set(bound_rule.rows)
        first = [row for row in order if row in rows][: self.m]
        preferences.promote(tuple(first), self.k, self.weight)


@dataclass(frozen=True, repr=False)
class Hide(Rule):
    """A document is not shown. With a soft rule, it moves to the end of the list."""

    kind: ClassVar[str] = "hide"
    roles: ClassVar[tuple[str, ...]] = ("doc",)
    wishes: ClassVar[tuple[int, ...]] = (1,)
    doc: Selector

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many places above the end it stands, if the rule is soft."""
        last = bound_rule.n - len(bound_rule.rows) + 1
        return max((max(last - place[row], 0) for row in bound_rule.rows), default=0)

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield nothing, because hidden documents are removed before the others are placed."""
        return iter(())

    def prefer(self, bound_rule: BoundRule, preferences: Preferences) -> None:
        """Prefer all other documents to its documents."""
        preferences.demote(bound_rule.rows, bound_rule.n, self.weight)


def _all_in_top(k: int, bound_rule: BoundRule) -> str:
    return (
        f"all {bound_rule.n} documents of the list are in the top {k}" if k >= bound_rule.n else ""
    )


def _reason_single(bound_rule: BoundRule) -> str:
    return "it names only one document of the list" if len(bound_rule.rows) == 1 else ""


RULES: Registry[type[Rule]] = Registry(
    "podium.rules",
    {
        "top-k": TopK,
        "not-top-k": NotTopK,
        "pin": Pin,
        "before": Before,
        "together": Together,
        "apart": Apart,
        "at-most": AtMost,
        "at-least": AtLeast,
        "hide": Hide,
        "boost": Boost,
        "bury": Bury,
        "insert": Insert,
        "mix": Mix,
        "take-turns": TakeTurns,
        "fair-share": FairShare,
        "exposure": Exposure,
    },
    subclasses_of(Rule, "kind"),
)
"""Every rule by name."""
