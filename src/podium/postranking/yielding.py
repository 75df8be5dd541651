"""Hard rules of a list that cannot hold together: which they are, and which of them give way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from podium.errors import ConflictError, UndecidedError
from podium.postranking.conflicts import minimal_conflict
from podium.postranking.places.constraints import Constraint
from podium.postranking.places.placement import place
from podium.postranking.posing import Posed, Settings
from podium.postranking.rules.kinds import Hide, Pin
from podium.postranking.rules.rule import Rule

TRIES = 10
"""The part of the limit that each step of the search for a minimal conflict has."""
SHOWN = 20
"""Rules that the text of an error lists; the error has them all."""


Reason = Literal["priority", "pin", "name"]
"""Why a rule gives way: the lowest priority; a pin to a hide; the name that sorts last."""
_Demanded = tuple[int, Mapping[int, Sequence[Constraint]]]


class Agreement(NamedTuple):
    """Hard rules of which some gave way, and an order of the documents shown that meets the others."""

    posed: Posed
    order: list[int]


def give_way(posed: Posed, settings: Settings) -> Agreement:
    """Make hard rules soft until the others can hold together.

    Rules take turns, by priority and then by label. One that cannot hold with those before it gives
    way. A `Hide` holds from the start. It gives way to a rule of higher priority; at equal priority to
    one whose label sorts before its own, unless that is a `Pin`. A rule also gives way where the
    search reaches its limit; the result marks such rules as undecided.
    """
    return _Turns(posed, settings).run()


class _Turns:
    """Hard rules by their numbers, one after the other: which are kept and which gave way."""

    def __init__(self, posed: Posed, settings: Settings) -> None:
        self.posed, self.rules = posed, posed.rules
        self.limit, self.steps = max(settings.limit // TRIES, 1), settings.limit
        ranked = sorted(posed.hard, key=self._strength)
        self.hides = [number for number in ranked if isinstance(self.rules[number], Hide)]
        self.others = [number for number in ranked if not isinstance(self.rules[number], Hide)]
        self.kept: list[int] = []
        self.lost: list[int] = []
        self.undecided: set[int] = set()
        self.is_unsure = False
        """Whether the last try that failed reached the limit."""
        self._demanded = lru_cache(maxsize=2)(self._demanded_where)  # mostly the same hides again
        self.order = list(range(len(posed.showing(self.hides))))

    def run(self) -> Agreement:
        """Give every rule its turn, and another one to rules that lost to a hide that lost later."""
        rest = self.others
        while rest:
            size = self._fitting(rest, lambda some: self._can(self.hides, [*self.kept, *some]))
            self.kept += rest[:size]
            if size < len(rest):
                self._decide(rest[size])
            rest = rest[size + 1 :]
        if any(isinstance(self.rules[number], Hide) for number in self.lost):
            while self._return_one():
                pass
        agreed = replace(
            self.posed,
            yielded=frozenset(self.lost),
            undecided=frozenset(self.undecided.intersection(self.lost)),
        )
        order = self.order  # the search for clashes finds other orders
        return Agreement(replace(agreed, yielded_to=self._clashes()), order)

    def _clashes(self) -> dict[int, tuple[int, ...]]:
        """For each rule that gave way, a least set of rules that were kept and clash with it."""
        self.steps = min(self.steps, self.limit)  # to say why takes less time than the order
        decided = [number for number in self.lost if number not in self.undecided]
        return {number: self._clash(number) for number in decided}

    def _clash(self, number: int) -> tuple[int, ...]:
        kept = [*self.hides, *self.kept]
        stronger = [other for other in kept if self._strength(other) < self._strength(number)]
        stronger += [
            hide for hide in self.hides if hide not in stronger and self._bars(hide, number)
        ]
        try:
            for others in (stronger, kept) if self._possible([number]) else ():
                if not self._possible([*others, number]):
                    part = minimal_conflict(
                        others,
                        lambda some: self._possible([*some, number]),
                        monotone=not self.hides,
                    )
                    return tuple(sorted(part))
        except UndecidedError:
            pass
        return ()

    def _bars(self, hide: int, number: int) -> bool:
        """Whether a hide is kept though its name sorts after that of a pin."""
        return not isinstance(self.rules[number], Hide) and not self._beats(number, hide)

    def _possible(self, numbers: Sequence[int]) -> bool:
        """Whether rules can hold together; raise where the limit is reached."""
        hides = [number for number in numbers if isinstance(self.rules[number], Hide)]
        others = [number for number in numbers if number not in hides]
        can = self._can(hides, others)
        if self.is_unsure:
            raise UndecidedError("the search for a clash reached its limit")
        return can

    def _decide(self, number: int) -> None:
        """A rule that does not fit gives way, or the hides that are weaker do."""
        weaker = [hide for hide in self.hides if self._beats(number, hide)]
        stronger = [hide for hide in self.hides if hide not in weaker]
        if not weaker or not self._can(stronger, [*self.kept, number]):
            self._lose(number)
            return
        self.kept.append(number)
        self.hides = stronger
        while weaker:
            size = self._fitting(weaker, lambda some: self._can([*self.hides, *some], self.kept))
            self.hides += weaker[:size]
            if size < len(weaker):
                self._lose(weaker[size])
            weaker = weaker[size + 1 :]

    def _lose(self, number: int) -> None:
        self.lost.append(number)
        if self.is_unsure:
            self.undecided.add(number)

    def _return_one(self) -> bool:
        """Keep the strongest rule that gave way and can hold now; whether there is one."""
        for number in sorted(self.lost, key=self._strength):
            taken = self.hides if isinstance(self.rules[number], Hide) else self.kept
            taken.append(number)
            if self._can(self.hides, self.kept):
                self.lost.remove(number)
                return True
            taken.pop()
        return False

    def _fitting(self, rest: Sequence[int], fits: Callable[[Sequence[int]], bool]) -> int:
        """How many of the first rules fit: try 1, 2, 4, ... of them, then between the last two."""
        low, high = 0, len(rest) + 1
        while high - low > 1:
            none_failed = high > len(rest)
            middle = min(max(2 * low, 1), len(rest)) if none_failed else (low + high) // 2
            if fits(rest[:middle]):
                low = middle
            else:
                high = middle
        return low

    def _can(self, hides: Sequence[int], others: Sequence[int]) -> bool:
        """Whether rules can hold together, as far as the limit tells; keeps the order that shows it."""
        self.is_unsure = self.steps <= 0
        if self.is_unsure:
            return False
        n, demanded = self._demanded(frozenset(hides))
        constraints = [constraint for number in others for constraint in demanded.get(number, ())]
        self.steps -= 1 + (n + len(constraints)) // 8
        try:
            placed = place(np.zeros(n), constraints, self.limit)
        except UndecidedError:
            self.is_unsure = True
            self.steps -= self.limit
            return False
        if placed is not None:
            self.order = placed.order
        return placed is not None

    def _demanded_where(self, hides: frozenset[int]) -> _Demanded:
        """How many documents are shown where these rules hide some, and what each rule demands then."""
        shown = self.posed.showing(hides)
        constraints: dict[int, list[Constraint]] = {}
        for number, bound in self.posed.among(shown):
            if self.rules[number].hard:
                constraints.setdefault(number, []).extend(bound.rule.constraints(bound))
        return len(shown), constraints

    def _strength(self, number: int) -> tuple[object, ...]:
        """Smaller is stronger: a higher priority, then the label that sorts first.

        Rules with one label are told apart by what they say, and last by which came first.
        """
        return *_strength(self.rules[number]), number

    def _beats(self, number: int, hide: int) -> bool:
        """Whether a rule is stronger than one that hides."""
        return _beats(self.rules[number], self.rules[hide])


def find_weakest(rules: Sequence[Rule]) -> tuple[int, Reason]:
    """Return the index of the rule of a minimal conflict that gives way, and why it does."""
    ranked = sorted(range(len(rules)), key=lambda at: _strength(rules[at]))
    hides = [at for at in ranked if isinstance(rules[at], Hide)]
    others = [at for at in ranked if at not in hides]
    weakest = others[-1] if others else hides[-1]
    beaten = [hide for hide in hides if hide != weakest and _beats(rules[weakest], rules[hide])]
    loser = beaten[-1] if beaten else weakest
    equals = [rule for rule in rules if rule.priority == rules[loser].priority]
    if len(equals) == 1 < len(rules):
        return loser, "priority"
    if isinstance(rules[loser], Pin) and any(isinstance(rule, Hide) for rule in equals):
        return loser, "pin"
    return loser, "name"


def _strength(rule: Rule) -> tuple[object, ...]:
    """Smaller is stronger: a higher priority, then the label that sorts first."""
    return -rule.priority, rule.label, *_sort_key(rule)


def _beats(rule: Rule, hide: Rule) -> bool:
    """Whether a rule is stronger than one that hides."""
    if isinstance(rule, Pin) and rule.priority == hide.priority:
        return False
    return _strength(rule) < _strength(hide)


def conflict_error(posed: Posed, settings: Settings) -> ConflictError:
    """The error of hard rules that cannot hold together."""
    rules = [posed.rules[number] for number in find_conflict(posed, settings)]
    return ConflictError(_cannot_hold(rules), rules)


def find_conflict(posed: Posed, settings: Settings) -> list[int]:
    """The numbers of hard rules that cannot hold together, while without any one they can; or none."""

    def possible(numbers: Sequence[int], limit: int = settings.limit // TRIES) -> bool:
        n, constraints = posed.constraints(numbers)
        return not constraints or place(np.zeros(n), constraints, limit) is not None

    if possible(posed.hard, settings.limit):
        return []
    try:
        return _shrunk(posed, possible)
    except UndecidedError as error:
        raise UndecidedError(
            f"the {len(posed.hard)} hard rules cannot hold together, but which of them cannot was "
            f"not found within the limit of {settings.limit} steps; raise the limit, or make rules "
            "soft"
        ) from error


def _shrunk(posed: Posed, possible: Callable[[Sequence[int]], bool]) -> list[int]:
    """A conflict with few rules: first of those that hide nothing, then of those that hide.

    To hide a document can make other rules possible: the rest is tried once more by itself.
    """
    numbers = _told_apart(posed)
    hides = [number for number in numbers if isinstance(posed.rules[number], Hide)]
    others = [number for number in numbers if not isinstance(posed.rules[number], Hide)]
    part = minimal_conflict(others, lambda some: possible([*hides, *some]), monotone=True)
    if not hides:
        return sorted(part)
    needed: list[int] = []
    if possible(part):
        needed = minimal_conflict(hides, lambda some: possible([*some, *part]))
    core = [*needed, *part]
    if any(not possible([rule for rule in core if rule != left]) for left in core):
        core = minimal_conflict(core, possible)
    return sorted(core)


def _told_apart(posed: Posed) -> list[int]:
    """The hard rules, of highest priority first, and of those that say the same only one.

    What gives way does not depend on the order in which rules were given.
    """
    said: dict[tuple[object, ...], int] = {}
    for number in posed.hard:
        rule = posed.rules[number]
        known = said.setdefault((rule.kind, rule.selectors, rule.numbers), number)
        if rule.priority > posed.rules[known].priority:
            said[rule.kind, rule.selectors, rule.numbers] = number
    return sorted(said.values(), key=lambda number: _sort_key(posed.rules[number]))


def _sort_key(rule: Rule) -> tuple[object, ...]:
    return -rule.priority, rule.kind, repr(rule.selectors), rule.numbers


def _cannot_hold(rules: Sequence[Rule]) -> str:
    """What is wrong with a minimal conflict, and what to do."""
    names = [rule.label for rule in rules[:SHOWN]]
    if len(rules) > SHOWN:
        names.append(f"and {len(rules) - SHOWN} more")
    if len(rules) == 1:
        return (
            f"expected a hard rule that can hold in this list, got {names[0]}, which no order meets; "
            "remove it or make it soft"
        )
    return (
        f"expected hard rules that can hold together, got {len(rules)} that cannot: "
        f"{'; '.join(names)}; without any one of them the others can: remove one, make one soft, or "
        "give them priorities and conflicts='yield', by which the least priority gives way"
    )
