"""Resolve conflicts of hard rules: rules of lower priority give way until the others do not conflict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from podium.errors import UndecidedError
from podium.postranking.conflicts import CONFLICT_SEARCH_PARTS, minimal_conflict
from podium.postranking.places.placement import place
from podium.postranking.preparation import PreparedList
from podium.postranking.rule_strength import StrengthOrder
from podium.postranking.rules.rule_kinds import Hide
from podium.postranking.settings import Settings


class ConflictResolution(NamedTuple):
    """The hard rules that gave way, and an order of the visible documents that meets the others."""

    prepared: PreparedList
    order: list[int]


def resolve_conflicts(prepared: PreparedList, settings: Settings) -> ConflictResolution:
    """Make hard rules soft until the others do not conflict.

    Rules take turns, by class, by priority and then by label. A rule that conflicts with the rules
    before it gives way. A `Hide` holds from the start. It gives way to a rule of a stronger class or
    of higher priority. At equal class and priority it gives way to a rule whose label sorts first,
    unless that rule is a `Pin`. A rule also gives way if the search reaches its limit; the result
    marks such rules as undecided.
    """
    return _RuleTurns(prepared, settings).run()


class _RuleTurns:
    """Hard rules by their numbers take turns: each joins those that hold, or gives way."""

    def __init__(self, prepared: PreparedList, settings: Settings) -> None:
        self.prepared, self.rules = prepared, prepared.rules
        self.strength = StrengthOrder(settings.classes)
        self.steps_per_search = max(settings.limit // CONFLICT_SEARCH_PARTS, 1)
        self.steps_left = settings.limit
        ranked = sorted(prepared.hard_numbers, key=self._sort_key)
        self.hides = [number for number in ranked if isinstance(self.rules[number], Hide)]
        self.others = [number for number in ranked if not isinstance(self.rules[number], Hide)]
        self.holding: list[int] = []
        self.yielded: list[int] = []
        self.undecided: set[int] = set()
        self.is_unsure = False
        """Whether the last failed attempt reached the limit."""
        self.order = list(range(len(prepared.visible_rows(self.hides))))

    def run(self) -> ConflictResolution:
        """Give every rule its turn; rules that lost to a hide get a second turn if the hide loses later."""
        rest = self.others
        while rest:
            size = self._count_fitting(
                rest, lambda some: self._can_hold(self.hides, [*self.holding, *some])
            )
            self.holding += rest[:size]
            if size < len(rest):
                self._decide(rest[size])
            rest = rest[size + 1 :]
        if any(isinstance(self.rules[number], Hide) for number in self.yielded):
            while self._take_back_one():
                pass
        agreed = replace(
            self.prepared,
            yielded=frozenset(self.yielded),
            undecided=frozenset(self.undecided.intersection(self.yielded)),
            # A rule that clashes with others has an effect, even if it holds in every order without them.
            notes={n: note for n, note in self.prepared.notes.items() if n not in self.yielded},
        )
        order = self.order  # the search for clashes changes self.order
        return ConflictResolution(replace(agreed, yielded_to=self._clashes()), order)

    def _clashes(self) -> dict[int, tuple[int, ...]]:
        """For each rule that gave way, return a minimal set of rules that hold and conflict with it."""
        # The reasons may take only a part of the time of the order.
        self.steps_left = min(self.steps_left, self.steps_per_search)
        decided = [number for number in self.yielded if number not in self.undecided]
        return {number: self._clash(number) for number in decided}

    def _clash(self, number: int) -> tuple[int, ...]:
        holding = [*self.hides, *self.holding]
        stronger = [other for other in holding if self._sort_key(other) < self._sort_key(number)]
        stronger += [
            hide for hide in self.hides if hide not in stronger and self._bars(hide, number)
        ]
        try:
            for others in (stronger, holding) if self._can_hold_all([number]) else ():
                if not self._can_hold_all([*others, number]):
                    part = minimal_conflict(
                        others,
                        lambda some: self._can_hold_all([*some, number]),
                        monotone=not self.hides,
                    )
                    return tuple(sorted(part))
        except UndecidedError:
            pass
        return ()

    def _bars(self, hide: int, number: int) -> bool:
        """Whether this hide is stronger than a rule that hides nothing."""
        rule = self.rules[number]
        return not isinstance(rule, Hide) and not self.strength.beats(rule, self.rules[hide])

    def _can_hold_all(self, numbers: Sequence[int]) -> bool:
        """Whether an order meets all these rules; raise if the search reaches its limit."""
        hides = [number for number in numbers if isinstance(self.rules[number], Hide)]
        can = self._can_hold(hides, [number for number in numbers if number not in hides])
        if self.is_unsure:
            raise UndecidedError("the search for a conflict reached its limit")
        return can

    def _decide(self, number: int) -> None:
        """Let a rule that does not fit give way, or let the weaker hides give way."""
        weaker = [
            hide for hide in self.hides if self.strength.beats(self.rules[number], self.rules[hide])
        ]
        stronger = [hide for hide in self.hides if hide not in weaker]
        if not weaker or not self._can_hold(stronger, [*self.holding, number]):
            self._yield(number)
            return
        self.holding.append(number)
        self.hides = stronger
        while weaker:
            size = self._count_fitting(
                weaker, lambda some: self._can_hold([*self.hides, *some], self.holding)
            )
            self.hides += weaker[:size]
            if size < len(weaker):
                self._yield(weaker[size])
            weaker = weaker[size + 1 :]

    def _yield(self, number: int) -> None:
        self.yielded.append(number)
        if self.is_unsure:
            self.undecided.add(number)

    def _take_back_one(self) -> bool:
        """Make the strongest rule that fits again hard; return whether there is one."""
        for number in sorted(self.yielded, key=self._sort_key):
            side = self.hides if isinstance(self.rules[number], Hide) else self.holding
            side.append(number)
            if self._can_hold(self.hides, self.holding):
                self.yielded.remove(number)
                return True
            side.pop()
        return False

    def _count_fitting(self, rest: Sequence[int], fits: Callable[[Sequence[int]], bool]) -> int:
        """Return how many of the first rules fit: try 1, 2, 4, ... of them, then bisect."""
        low, high = 0, len(rest) + 1
        while high - low > 1:
            none_failed = high > len(rest)
            middle = min(max(2 * low, 1), len(rest)) if none_failed else (low + high) // 2
            if fits(rest[:middle]):
                low = middle
            else:
                high = middle
        return low

    def _can_hold(self, hides: Sequence[int], others: Sequence[int]) -> bool:
        """Return whether the search finds an order that meets all rules; keep the order."""
        self.is_unsure = self.steps_left <= 0
        if self.is_unsure:
            return False
        n, by_rule = self.prepared.constraints_by_rule(frozenset(hides))
        constraints = [constraint for number in others for constraint in by_rule.get(number, ())]
        self.steps_left -= 1 + (n + len(constraints)) // 8
        try:
            placed = place(np.zeros(n), constraints, self.steps_per_search)
        except UndecidedError:
            self.is_unsure = True
            self.steps_left -= self.steps_per_search
            return False
        if placed is not None:
            self.order = placed.order
        return placed is not None

    def _sort_key(self, number: int) -> tuple[object, ...]:
        """Return a key; smaller is stronger. Equal rules are ordered by their numbers."""
        return *self.strength.sort_key(self.rules[number]), number
