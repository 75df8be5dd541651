"""Kinds of rules about every prefix of a list: Mix, TakeTurns, FairShare and Exposure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from podium.postranking.methods.preferences import Preferences
from podium.postranking.places.constraints import Constraint, CountConstraint
from podium.postranking.rules.fair_shares import (
    corrected_counts,
    places_for_exposure,
    running_targets,
)
from podium.postranking.rules.rule import BoundRule, FromOne, RealNumbers, Rule, WholeNumbers
from podium.postranking.rules.selectors import Each, Selector
from podium.work_budget import spend

MAX_PREFIX = 1_000
"""The largest prefix that a rule about every prefix looks at."""
Prefix = Annotated[int, WholeNumbers(1, MAX_PREFIX)]
GroupShare = Annotated[float, RealNumbers(0.001, 0.999)]
Significance = Annotated[float, RealNumbers(0.001, 0.5)]
ExposureShare = Annotated[float, RealNumbers(0, 1)]


class _PrefixRule(Rule):
    """A rule that bounds how many documents of its groups stand in prefixes of the list."""

    chooses: ClassVar[bool] = True
    roles: ClassVar[tuple[str, ...]] = ("group",)

    def counts(self, bound_rule: BoundRule) -> Iterator[CountConstraint]:
        """Yield a bound for each prefix in which one matters."""
        raise NotImplementedError

    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how many documents are too many or missing in the worst prefix."""
        worst = 0
        places: dict[tuple[int, ...], list[int]] = {}
        for bound in self.counts(bound_rule):
            if bound.rows not in places:
                spend(len(bound.rows))
                places[bound.rows] = sorted([place[row] for row in bound.rows])
            inside = bisect_right(places[bound.rows], bound.k)
            worst = max(worst, bound.least - inside, inside - bound.most)
        return worst

    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield the bounds of all prefixes."""
        yield from self.counts(bound_rule)

    def choose(self, bound_rule: BoundRule, order: Sequence[int], preferences: Preferences) -> None:
        """Promote or demote the documents that stand too low or too high in this order."""
        place = {row: at for at, row in enumerate(order, start=1)}
        for row, (first, last) in self._windows(bound_rule, place).items():
            if place[row] > last:
                preferences.promote((row,), last, self.weight)
            elif place[row] < first:
                preferences.demote((row,), first - 1, self.weight)

    def _windows(self, bound_rule: BoundRule, place: dict[int, int]) -> dict[int, tuple[int, int]]:
        """Return the first and last place of each row that the bounds leave it in this order."""
        windows: dict[int, tuple[int, int]] = {}
        by_place: dict[tuple[int, ...], list[int]] = {}
        for bound in self.counts(bound_rule):
            spend(1 + len(bound.rows) // 4)
            if bound.rows not in by_place:
                by_place[bound.rows] = sorted(bound.rows, key=place.__getitem__)
            rows = by_place[bound.rows]
            for row in rows[: bound.least]:
                first, last = windows.get(row, (1, bound_rule.n))
                windows[row] = first, min(last, bound.k)
            for row in rows[bound.most :]:
                first, last = windows.get(row, (1, bound_rule.n))
                windows[row] = max(first, bound.k + 1), last
        return windows


@dataclass(frozen=True, repr=False)
class Mix(_PrefixRule):
    """Documents of a group and others take turns in a ratio: m of every `of` in the top k.

    Every prefix of i places has floor(m i / of) to ceil(m i / of) documents of the group, as long as
    there are documents of both kinds.

    Examples
    --------
    >>> Mix("a", 2, 3, 12)
    Mix('a', 2, 3, 12)
    """

    kind: ClassVar[str] = "mix"
    group: Selector
    m: FromOne
    of: Annotated[int, WholeNumbers(2, MAX_PREFIX)]
    k: Prefix

    def _check(self) -> None:
        super()._check()
        if self.m >= self.of:
            self._refuse(f"m below {self.of}", self.m, "fewer than all")

    def counts(self, bound_rule: BoundRule) -> Iterator[CountConstraint]:
        """Yield both bounds of each prefix."""
        rows, n = bound_rule.rows, bound_rule.n
        n_others = n - len(rows)
        for i in range(1, min(self.k, n) + 1):
            least = min(self.m * i // self.of, len(rows))
            most = max(-(-self.m * i // self.of), i - n_others)
            if least > 0 or most < min(i, len(rows)):
                yield CountConstraint(rows, i, least, min(max(most, least), i))


@dataclass(frozen=True, repr=False)
class TakeTurns(_PrefixRule):
    """The values of a field take turns in the top k: each has one document before any has a second.

    In a round every value that has documents left places one. Documents without the field are a
    value of their own.
    """

    kind: ClassVar[str] = "take-turns"
    grouped: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    group: Selector
    k: Prefix

    def _check(self) -> None:
        super()._check()
        if not isinstance(self.group, Each):
            self._refuse("a field", self.group, "Each('brand')")

    def movable(self, bound_rule: BoundRule, place: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return all rows as one part."""
        return (tuple(row for rows in bound_rule.parts for row in rows),)

    def counts(self, bound_rule: BoundRule) -> Iterator[CountConstraint]:
        """Yield how many of each value stand in the prefix of each round."""
        sizes = [len(rows) for rows in bound_rule.parts]
        top, turn, end = min(self.k, bound_rule.n), 0, 0
        while end < top:
            turn += 1
            end = sum(min(size, turn) for size in sizes)
            for rows, size in zip(bound_rule.parts, sizes, strict=True):
                full = min(size, turn)
                if end <= top:
                    yield CountConstraint(rows, end, full, full)
                else:
                    yield CountConstraint(rows, top, min(size, turn - 1), full)


@dataclass(frozen=True, repr=False)
class FairShare(_PrefixRule):
    """Every prefix of the top k has as many protected documents as a fair draw (FA*IR).

    A prefix is unfair if a draw that takes protected documents with the probability `share` has so
    few of them with a probability of at most `significance`, corrected for the k tests (Zehlike et
    al., CIKM 2017). If the list has too few protected documents, all of them count.

    Examples
    --------
    >>> FairShare("a", 0.5, 10)
    FairShare('a', 0.5, 10, 0.1)
    """

    kind: ClassVar[str] = "fair-share"
    wishes: ClassVar[tuple[int, ...]] = (-1,)
    group: Selector
    share: GroupShare
    k: Prefix
    significance: Significance = 0.1

    def counts(self, bound_rule: BoundRule) -> Iterator[CountConstraint]:
        """Yield the smallest count of each prefix in which it rises."""
        table = corrected_counts(min(self.k, bound_rule.n), self.share, self.significance)
        for count, place in enumerate(running_targets(table, len(bound_rule.rows)), start=1):
            yield CountConstraint(bound_rule.rows, place, count, place)


@dataclass(frozen=True, repr=False)
class Exposure(_PrefixRule):
    """A group has at least, or at most, a share of the exposure of the top k.

    A place has the exposure 1 / log2(1 + place). The rule moves documents of the group in the
    original list until it has the share, at each step where a place moved gains the most: few moves,
    not always the fewest. It asks that the group stands at these places or above, or below: bounds
    on prefixes, under which the share holds. It may hold with other places, too.
    """

    kind: ClassVar[str] = "exposure"
    group: Selector
    k: Prefix
    least: ExposureShare = 0
    most: ExposureShare = 1

    def _check(self) -> None:
        super()._check()
        if self.least == 0 and self.most == 1:
            self._refuse("least above 0 or most below 1", "neither")
        if self.least > 0 and self.most < 1:
            self._refuse("least or most", "both")

    def counts(self, bound_rule: BoundRule) -> Iterator[CountConstraint]:
        """Yield the prefixes in which the group has so many documents, or no more."""
        rows, n = bound_rule.rows, bound_rule.n
        k = min(self.k, n)
        own = sorted(row + 1 for row in rows)
        if self.least > 0:
            for count, place in enumerate(places_for_exposure(own, n, k, self.least), start=1):
                if place <= k:
                    yield CountConstraint(rows, place, count, place)
            return
        others = sorted(set(range(1, n + 1)) - set(own))
        raised = set(places_for_exposure(others, n, k, 1 - self.most))
        lowered = sorted(set(range(1, n + 1)) - raised)
        for count, place in enumerate(lowered):
            if place > 1:
                yield CountConstraint(rows, min(place - 1, k), 0, count)
