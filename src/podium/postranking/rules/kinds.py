"""The rules people put on a list: each a frozen value, soft with a weight or hard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from podium.plugins import Registry, subclasses_of
from podium.postranking.places.constraints import (
    ApartConstraint,
    BeforeConstraint,
    Constraint,
    CountConstraint,
    ImpossibleConstraint,
    TogetherConstraint,
    WindowConstraint,
)
from podium.postranking.rules.rule import FromOne, FromZero, Rule, ids
from podium.postranking.rules.selectors import Selector, show

if TYPE_CHECKING:
    from podium.postranking.binding import BoundRule
    from podium.postranking.methods.preferences import Preferences


@dataclass(frozen=True, repr=False)
class TopK(Rule):
    """A document belongs in the top k; of several, each does.

    Soft, it is preferred to those at ranks k and below, counted without it (Wu et al., section 4.2).

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

    def idle(self, bound: BoundRule) -> str:
        """All documents are in the top n."""
        return super().idle(bound) or _all_top(self.k, bound)

    def slack(self, bound: BoundRule, place: Sequence[int]) -> int:
        """Places below k of the lowest."""
        return max((max(at - self.k, 0) for at in bound.places(place)), default=0)

    def constraints(self, bound: BoundRule) -> Iterator[Constraint]:
        """Each from 1 to k."""
        if bound.hidden:
            yield ImpossibleConstraint()
        for row in bound.rows:
            yield WindowConstraint(row, 1, self.k)

    def prefer(self, bound: BoundRule, preferences: Preferences) -> None:
        """Above those at ranks k and below."""
        preferences.promote(bound.rows, self.k, self.weight)


@dataclass(frozen=True, repr=False)
class NotTopK(Rule):
    """A document does not belong in the top k; of several, none does.

    Soft, those at ranks up to k, counted without it, are preferred to it (Wu et al., section 4.2).
    """

    kind: ClassVar[str] = "not-top-k"
    roles: ClassVar[tuple[str, ...]] = ("doc",)
    wishes: ClassVar[tuple[int, ...]] = (1,)
    doc: Selector
    k: FromOne

    def slack(self, bound: BoundRule, place: Sequence[int]) -> int:
        """Places short of k + 1 of the highest."""
        return max((max(self.k + 1 - place[row], 0) for row in bound.rows), default=0)

    def constraints(self, bound: BoundRule) -> Iterator[Constraint]:
        """Each below k."""
        for row in bound.rows:
            yield WindowConstraint(row, self.k + 1, bound.n)

    def prefer(self, bound: BoundRule, preferences: Preferences) -> None:
        """Below those at ranks up to k."""
        preferences.demote(bound.rows, self.k, self.weight)


@dataclass(frozen=True, repr=False)
class Pin(Rule):
    """A document at a position, counted from 1.

    Soft, it is preferred to those at this rank and below, counted without it, and those above to it.
    """

    kind: ClassVar[str] = "pin"
    roles: ClassVar[tuple[str, ...]] = ("doc",)
    doc: Selector
    position: FromOne

    def slack(self, bound: BoundRule, place: Sequence[int]) -> int:
        """Places from the position."""
        return max((abs(at - self.position) for at in bound.places(place)), default=0)

    def constraints(self, bound: BoundRule) -> Iterator[Constraint]:
        """The position."""
        if bound.hidden:
            yield ImpossibleConstraint()
        for row in bound.rows:
            yield WindowConstraint(row, self.position, self.position)

    def prefer(self, bound: BoundRule, preferences: Preferences) -> None:
        """Both ways to the position."""
        preferences.pin(bound.rows, self.position, self.weight)


@dataclass(frozen=True, repr=False)
class Before(Rule):
    """Document a before document b; of several, each a before each b. Soft, pairs of their own."""

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

    def slack(self, bound: BoundRule, place: Sequence[int]) -> int:
        """Places from the lowest a up to the highest b."""
        first, second = bound.parts
        if not first or not second:
            return 0
        lowest, highest = max(place[row] for row in first), min(place[row] for row in second)
        # No document is before itself.
        return max(lowest - highest, int(lowest == highest))

    def constraints(self, bound: BoundRule) -> Iterator[Constraint]:
        """All of the first above all of the second."""
        first, second = bound.parts
        if first and second:
            yield BeforeConstraint(first, second)

    def prefer(self, bound: BoundRule, preferences: Preferences) -> None:
        """A pair of its own for each two."""
        first, second = bound.parts
        preferences.before(first, second, self.weight)


@dataclass(frozen=True, repr=False)
class Together(Rule):
    """Documents side by side. Soft, a spring between their scores, convex as the rest."""

    kind: ClassVar[str] = "together"
    roles: ClassVar[tuple[str, ...]] = ("docs",)
    grouped: ClassVar[bool] = True
    docs: Selector

    def idle(self, bound: BoundRule) -> str:
        """One document is beside itself."""
        return super().idle(bound) or _alone(bound)

    def slack(self, bound: BoundRule, place: Sequence[int]) -> int:
        """Strangers among them."""
        places = [place[row] for row in bound.rows]
        return max(places) - min(places) + 1 - len(places) if places else 0

    def constraints(self, bound: BoundRule) -> Iterator[Constraint]:
        """Side by side."""
        if len(bound.rows) > 1:
            yield TogetherConstraint(bound.rows)

    def prefer(self, bound: BoundRule, preferences: Preferences) -> None:
        """A spring."""
        preferences.spring(bound.rows, self.weight)


@dataclass(frozen=True, repr=False)
class Apart(Rule):
    """At least `gap` other documents between any two of these.

    Soft, the documents that are too near in the order of the other rules are sent up or down by
    top-k and not-top-k pairs: an approximation, because the wish itself is not convex.
    """

    kind: ClassVar[str] = "apart"
    roles: ClassVar[tuple[str, ...]] = ("docs",)
    grouped: ClassVar[bool] = True
    chooses: ClassVar[bool] = True
    docs: Selector
    gap: FromOne = 1

    def idle(self, bound: BoundRule) -> str:
        """One document is near nothing."""
        return super().idle(bound) or _alone(bound)

    def slack(self, bound: BoundRule, place: Sequence[int]) -> int:
        """Places missing between the nearest two."""
        places = sorted(place[row] for row in bound.rows)
        nearest = min((b - a for a, b in pairwise(places)), default=self.gap + 1)
        return max(self.gap + 1 - nearest, 0)

    def constraints(self, bound: BoundRule) -> Iterator[Constraint]:
        """Every two of them."""
        if len(bound.rows) > 1:
            yield ApartConstraint(bound.rows, self.gap)

    def choose(self, bound: BoundRule, order: Sequence[int], preferences: Preferences) -> None:
        """Up or down to places far enough apart."""
        place = {row: at for at, row in enumerate(order, start=1)}
        rows = sorted(bound.rows, key=place.__getitem__)
        for row, target in zip(
            rows, self._spread([place[row] for row in rows], bound.n), strict=True
        ):
            if target > place[row]:
                preferences.demote((row,), target - 1, self.weight)
            elif target < place[row]:
                preferences.promote((row,), target, self.weight)

    def _spread(self, places: Sequence[int], n: int) -> list[int]:
        """Places no lower than these, `gap` apart; raised where the list ends before they do."""
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
    """At most m of a group in the top k.

    Soft, the first m of the group in the order of the other rules stay, and the rest are not-top-k.
    """

    kind: ClassVar[str] = "at-most"
    roles: ClassVar[tuple[str, ...]] = ("group",)
    grouped: ClassVar[bool] = True
    wishes: ClassVar[tuple[int, ...]] = (1,)
    chooses: ClassVar[bool] = True
    group: Selector
    m: FromZero
    k: FromOne

    def idle(self, bound: BoundRule) -> str:
        """More than m cannot be there."""
        most = min(self.k, len(bound.rows))
        few = f"no more than {most} of the group can be in the top {self.k}"
        return super().idle(bound) or (few if most <= self.m else "")

    def slack(self, bound: BoundRule, place: Sequence[int]) -> int:
        """Documents too many."""
        return max(sum(place[row] <= self.k for row in bound.rows) - self.m, 0)

    def movable(self, bound: BoundRule, place: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """All but the first m."""
        return (tuple(sorted(bound.rows, key=place.__getitem__)[self.m :]),)

    def constraints(self, bound: BoundRule) -> Iterator[Constraint]:
        """A count."""
        yield CountConstraint(bound.rows, self.k, 0, self.m)

    def choose(self, bound: BoundRule, order: Sequence[int], preferences: Preferences) -> None:
        """All but the first m are not top-k."""
        rows = set(bound.rows)
        rest = [row for row in order if row in rows][self.m :]
        preferences.demote(tuple(rest), self.k, self.weight)


@dataclass(frozen=True, repr=False)
class AtLeast(Rule):
    """At least m of a group in the top k.

    Soft, the first m of the group in the order of the other rules are top-k.
    """

    kind: ClassVar[str] = "at-least"
    roles: ClassVar[tuple[str, ...]] = ("group",)
    grouped: ClassVar[bool] = True
    wishes: ClassVar[tuple[int, ...]] = (-1,)
    chooses: ClassVar[bool] = True
    group: Selector
    m: FromOne
    k: FromOne

    def idle(self, bound: BoundRule) -> str:
        """All are in the top n."""
        enough = len(bound.rows) >= self.m
        return super().idle(bound) or (_all_top(self.k, bound) if enough else "")

    def lacks(self, bound: BoundRule) -> bool:
        """There are fewer than m."""
        return len(bound.rows) < self.m

    def slack(self, bound: BoundRule, place: Sequence[int]) -> int:
        """Documents too few."""
        return max(self.m - sum(place[row] <= self.k for row in bound.rows), 0)

    def movable(self, bound: BoundRule, place: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """The first m."""
        return (tuple(sorted(bound.rows, key=place.__getitem__)[: self.m]),)

    def constraints(self, bound: BoundRule) -> Iterator[Constraint]:
        """A count."""
        yield CountConstraint(bound.rows, self.k, self.m, self.k)

    def choose(self, bound: BoundRule, order: Sequence[int], preferences: Preferences) -> None:
        """The first m are top-k."""
        rows = set(bound.rows)
        first = [row for row in order if row in rows][: self.m]
        preferences.promote(tuple(first), self.k, self.weight)


@dataclass(frozen=True, repr=False)
class Hide(Rule):
    """A document out of the list. Soft, at the end of it."""

    kind: ClassVar[str] = "hide"
    roles: ClassVar[tuple[str, ...]] = ("doc",)
    wishes: ClassVar[tuple[int, ...]] = (1,)
    doc: Selector

    def slack(self, bound: BoundRule, place: Sequence[int]) -> int:
        """Places short of the end, where it is soft."""
        last = bound.n - len(bound.rows) + 1
        return max((max(last - place[row], 0) for row in bound.rows), default=0)

    def constraints(self, bound: BoundRule) -> Iterator[Constraint]:
        """None: a hidden document is taken out before the others are placed."""
        return iter(())

    def prefer(self, bound: BoundRule, preferences: Preferences) -> None:
        """Below all others."""
        preferences.demote(bound.rows, bound.n, self.weight)


def _all_top(k: int, bound: BoundRule) -> str:
    return f"all {bound.n} documents of the list are in the top {k}" if k >= bound.n else ""


def _alone(bound: BoundRule) -> str:
    return "it names one document of the list only" if len(bound.rows) == 1 else ""


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
    },
    subclasses_of(Rule, "kind"),
)
"""Every rule by name."""
