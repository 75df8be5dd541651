"""Hard rules of a list that cannot hold together: which they are, and which of them give way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from podium.errors import ConflictError, UndecidedError
from podium.postranking.conflicts import minimal_conflict
from podium.postranking.places.placement import place
from podium.postranking.posing import Posed, Settings
from podium.postranking.rules.kinds import Hide
from podium.postranking.rules.rule import Rule

TRIES = 10
"""The part of the limit that each step of the search for a minimal conflict has."""
SHOWN = 20
"""Rules that the text of an error lists; the error has them all."""


def give_way(posed: Posed, settings: Settings) -> Posed:
    """Hard rules that cannot hold together: an error, or those of least priority become soft.

    That of the lowest priority in every conflict, until the others can hold together.
    """
    while conflict := _conflict(posed, settings):
        rules = [posed.rules[number] for number in conflict.core]
        least = min(rule.priority for rule in rules)
        losers = {number for number in conflict.core if posed.rules[number].priority == least}
        if settings.conflicts == "error" or len(losers) == len(rules):
            rules = [posed.rules[number] for number in conflict.minimal]
            raise ConflictError(_cannot_hold(rules, settings), rules)
        posed = replace(posed, yielded=posed.yielded | losers)
    return posed


def find_conflict(posed: Posed, settings: Settings) -> list[int]:
    """The numbers of hard rules that cannot hold together, while without any one they can; or none."""
    conflict = _conflict(posed, settings)
    return conflict.minimal if conflict else []


class Conflict(NamedTuple):
    """Hard rules, by their numbers, that cannot hold together.

    To hide a document can make other rules possible. `core` cannot hold while everything that is to
    be hidden is; `minimal` cannot hold by itself, and without any one of its rules it can. They are
    the same but where rules of the core need others to hide what makes each of them possible.
    """

    core: list[int]
    minimal: list[int]


def _conflict(posed: Posed, settings: Settings) -> Conflict | None:
    def possible(numbers: Sequence[int], limit: int = settings.limit // TRIES) -> bool:
        n, constraints = posed.constraints(numbers)
        return not constraints or place(np.zeros(n), constraints, limit) is not None

    if possible(posed.hard, settings.limit):
        return None
    try:
        return _shrunk(posed, possible)
    except UndecidedError as error:
        raise UndecidedError(
            f"the {len(posed.hard)} hard rules cannot hold together, but which of them cannot was "
            f"not found within the limit of {settings.limit} steps; raise the limit, or make rules "
            "soft"
        ) from error


def _shrunk(posed: Posed, possible: Callable[[Sequence[int]], bool]) -> Conflict:
    """A conflict with few rules: first of those that hide nothing, then of those that hide."""
    numbers = _told_apart(posed)
    hides = [number for number in numbers if isinstance(posed.rules[number], Hide)]
    others = [number for number in numbers if not isinstance(posed.rules[number], Hide)]
    part = minimal_conflict(others, lambda some: possible([*hides, *some]), monotone=True)
    if not hides:
        return Conflict(sorted(part), sorted(part))
    needed: list[int] = []
    if possible(part):
        needed = minimal_conflict(hides, lambda some: possible([*some, *part]))
    core = [*needed, *part]
    minimal = core
    if any(not possible([rule for rule in core if rule != left]) for left in core):
        minimal = minimal_conflict(core, possible)
    return Conflict(sorted(core), sorted(minimal))


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


def _cannot_hold(rules: Sequence[Rule], settings: Settings) -> str:
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
        + (
            "give them priorities and conflicts='yield', by which the least priority gives way"
            if settings.conflicts == "error"
            else f"give one a lower priority than the others (all have {rules[0].priority})"
        )
    )
