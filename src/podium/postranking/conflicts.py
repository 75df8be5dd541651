"""Hard rules that cannot hold together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from podium.errors import UndecidedError

T = TypeVar("T")

UNDECIDED = 20
"""How many parts may be undecided before the search for a minimal one gives up."""


def minimal_conflict(
    rules: Sequence[T], possible: Callable[[Sequence[T]], bool], monotone: bool = False
) -> list[T]:
    """A part of impossible rules that is impossible, and no longer so without any one of them.

    Rules are added until they become impossible: the last one belongs to the part, and those after it
    do not matter. With it in place the same again, until the part is impossible by itself (Hemery,
    Lecoutre, Sais, Boussemart, Extracting MUCs from constraint networks, ECAI 2006).

    Where `possible` raises `UndecidedError` the rules are taken as possible on the way. What that
    leaves unproved is proved at the end, or the error stands.

    Parameters
    ----------
    rules
        Rules that are impossible together.
    possible
        Whether some of them, in their order, can hold together.
    monotone
        Whether fewer rules are never less possible. A rule that hides documents can make others
        possible; then each rule is left out once more at the end.

    Examples
    --------
    >>> minimal_conflict([3, 5, 8, 2], lambda numbers: sum(numbers) < 10)
    [3, 8]
    """
    part, proved = _grown(list(rules), possible)
    while not (proved and monotone):
        for at in range(len(part)):
            rest = part[:at] + part[at + 1 :]
            if not possible(rest):
                part, proved = _grown(rest, possible)
                break
        else:
            break
    return part


def _grown(rest: list[T], possible: Callable[[Sequence[T]], bool]) -> tuple[list[T], bool]:
    """A small impossible part of impossible rules, and whether nothing on the way was undecided."""
    undecided = 0

    def perhaps(rules: Sequence[T]) -> bool:
        nonlocal undecided
        try:
            return possible(rules)
        except UndecidedError:
            undecided += 1
            if undecided > UNDECIDED:
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
