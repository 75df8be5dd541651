"""Conflicts of hard rules: minimal sets of rules that contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from podium.errors import ConflictError, UndecidedError
from podium.postranking.conflict_reasons import conflict_reason
from podium.postranking.places.placement import place
from podium.postranking.preparation import PreparedList
from podium.postranking.rules.rule import Rule
from podium.postranking.rules.rule_kinds import Hide
from podium.postranking.settings import Settings

T = TypeVar("T")

MAX_UNDECIDED_PARTS = 20
"""The search for a minimal conflict gives up after this many undecided sets of rules."""
CONFLICT_SEARCH_PARTS = 10
"""Each step of the search for a minimal conflict has one tenth of the limit."""
MAX_RULES_IN_ERROR = 20
"""The number of rules in the text of an error; the error object has them all."""


def minimal_conflict(
    rules: Sequence[T], possible: Callable[[Sequence[T]], bool], monotone: bool = False
) -> list[T]:
    """Return a minimal conflict: rules that contradict each other, but not if any one of them is removed.

    Rules are added until they become impossible. The last one belongs to the conflict; those after
    it do not matter. This is repeated with that rule in the conflict, until the conflict is
    impossible by itself (Hemery, Lecoutre, Sais, Boussemart, Extracting MUCs from constraint
    networks, ECAI 2006).

    If `possible` raises `UndecidedError`, the rules count as possible for the moment. The last step
    proves what was left open, or raises the error.

    Parameters
    ----------
    rules
        Rules that are impossible together.
    possible
        A function that says whether an order meets all of some rules, which keep their sequence.
    monotone
        Whether removing rules never makes the others impossible. It can if a rule hides documents;
        then the last step tries to remove each rule once more.

    Examples
    --------
    >>> minimal_conflict([3, 5, 8, 2], lambda numbers: sum(numbers) < 10)
    [3, 8]
    """
    part, proved = _grow_conflict(list(rules), possible)
    while not (proved and monotone):
        for at in range(len(part)):
            rest = part[:at] + part[at + 1 :]
            if not possible(rest):
                part, proved = _grow_conflict(rest, possible)
                break
        else:
            break
    return part


def _grow_conflict(rest: list[T], possible: Callable[[Sequence[T]], bool]) -> tuple[list[T], bool]:
    """Return a small impossible subset of impossible rules, and whether every step was decided."""
    undecided = 0

    def perhaps(rules: Sequence[T]) -> bool:
        nonlocal undecided
        try:
            return possible(rules)
        except UndecidedError:
            undecided += 1
            if undecided > MAX_UNDECIDED_PARTS:
                raise
            return True

    part: list[T] = []
    while rest and (not part or perhaps(part)):
        # rest[:low] + part is possible (perhaps) and rest[:high] + part is not. Steps from the end
        # grow, because often all of the rest is needed.
        low, high, step = 0, len(rest), 1
        while high - low > 1:
            middle = max(high - step, (low + high) // 2)
            if perhaps(rest[:middle] + part):
                low = middle
            else:
                high, step = middle, 2 * step
        part.insert(0, rest[low])
        rest = rest[:low]
    return part, undecided == 0


def conflict_error(prepared: PreparedList, settings: Settings) -> ConflictError:
    """Return the error that names contradicting hard rules."""
    numbers = find_conflict(prepared, settings)
    rules = [prepared.rules[number] for number in numbers]
    error = ConflictError(_conflict_message(rules, conflict_reason(prepared, numbers)), rules)
    return (
        error
        if len(rules) == 1
        else error.advise(
            python=_YIELD_ADVICE.format("conflicts='yield'"),
            command_line=_YIELD_ADVICE.format("--conflicts yield"),
        )
    )


def find_conflict(prepared: PreparedList, settings: Settings) -> list[int]:
    """Return the numbers of the hard rules of a minimal conflict; empty if there is none.

    It starts with a search under all hard rules, which placement has done before: callers also ask
    about lists that were never placed.
    """

    def possible(
        numbers: Sequence[int], limit: int = settings.limit // CONFLICT_SEARCH_PARTS
    ) -> bool:
        n, constraints = prepared.constraints(numbers)
        return not constraints or place(np.zeros(n), constraints, limit) is not None

    if possible(prepared.hard_numbers, settings.limit):
        return []
    try:
        return _shrink_conflict(prepared, possible)
    except UndecidedError as error:
        raise UndecidedError(
            f"the {len(prepared.hard_numbers)} hard rules contradict each other, but the "
            f"search did not find out which of them within the limit of {settings.limit} "
            "steps; raise the limit, or make rules soft"
        ) from error


def _shrink_conflict(
    prepared: PreparedList, possible: Callable[[Sequence[int]], bool]
) -> list[int]:
    """Return a conflict with few rules: first remove rules that hide nothing, then rules that hide.

    Hiding a document can make other rules possible, so the rest is tried once more by itself.
    """
    numbers = _distinct_rules(prepared)
    hides = [number for number in numbers if isinstance(prepared.rules[number], Hide)]
    others = [number for number in numbers if not isinstance(prepared.rules[number], Hide)]
    part = minimal_conflict(others, lambda some: possible([*hides, *some]), monotone=True)
    if not hides:
        return sorted(part)
    needed: list[int] = []
    if possible(part):
        needed = minimal_conflict(hides, lambda some: possible([*some, *part]))
    core = [*needed, *part]
    if any(not possible([rule for rule in core if rule != omitted]) for omitted in core):
        core = minimal_conflict(core, possible)
    return sorted(core)


def _distinct_rules(prepared: PreparedList) -> list[int]:
    """Return the hard rules without duplicates, the highest priority first.

    So the conflict does not depend on the order of the user's rules.
    """
    strongest: dict[tuple[object, ...], int] = {}
    for number in prepared.hard_numbers:
        rule = prepared.rules[number]
        meaning = (rule.kind, rule.selectors, rule.numbers)
        other = strongest.setdefault(meaning, number)
        if rule.priority > prepared.rules[other].priority:
            strongest[meaning] = number
    return sorted(strongest.values(), key=lambda number: rule_sort_key(prepared.rules[number]))


def rule_sort_key(rule: Rule) -> tuple[object, ...]:
    """Return a key that sorts rules by priority, then by their contents."""
    return -rule.priority, rule.kind, repr(rule.selectors), rule.numbers


_YIELD_ADVICE = "or give them priorities and {}, so that the rule of lowest priority gives way"


def _conflict_message(rules: Sequence[Rule], reason: str) -> str:
    """Return what is wrong with a minimal conflict, why, and what to do."""
    why = f" ({reason})" if reason else ""
    names = [rule.label for rule in rules[:MAX_RULES_IN_ERROR]]
    if len(rules) > MAX_RULES_IN_ERROR:
        names.append(f"and {len(rules) - MAX_RULES_IN_ERROR} more")
    if len(rules) == 1:
        return (
            f"no order of this list meets the hard rule {names[0]}{why}; remove it or make it soft"
        )
    return (
        f"{len(rules)} hard rules contradict each other: {'; '.join(names)}{why}; without any one "
        "of them the others fit together: remove one, make one soft"
    )
