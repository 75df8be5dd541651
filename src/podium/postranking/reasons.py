"""Why documents moved: the rules that name them, or that moved the documents which passed them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.postranking.binding import Acting
from podium.postranking.rules.kinds import Pin
from podium.postranking.rules.rule import Rule

Places = NDArray[np.int64]
Reasons = tuple[Rule, ...]

WORD = 63
"""Rules to a word, which keeps its sign."""


class Story:
    """The rules behind each row's way through the stages of post-ranking: hidden, soft, hard.

    A stage takes rows from places before to places after. A rule that acts in it moves a document it
    names the way it wishes. Every other document that moved made way: the rules that moved those
    which passed it are its reasons. A hidden document passes nobody. Those below it close up and keep
    their order, so the rule that hides it is a reason for it alone.

    A stage may take a document up and the next one take it down. Only the stages that go the way of
    the whole move are its reasons.
    """

    def __init__(self, n: int, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self.start = self.end = np.arange(1, n + 1)
        # A set of rules is a bit for each, in as many words as it takes.
        words = len(rules) // WORD + 1
        self.up, self.down = (np.zeros((words, n), dtype=np.int64) for _ in range(2))

    def stage(self, acting: Iterable[Acting], before: Places, after: Places) -> None:
        """Rules took every row from one place to another; hidden rows stand beyond the last place."""
        hidden = after > len(after)
        if (hidden & (before <= len(before))).any():
            self.start = after
        self.end = after
        places, step = after.tolist(), (after - before).tolist()
        movers: dict[int, int] = {}
        for number, bound in acting:
            parts = bound.rule.movable(bound, places)
            for part, wish in zip(parts, bound.rule.wishes, strict=True):
                for row in part:
                    if step[row] and _wants(bound.rule, wish, places[row] - step[row], step[row]):
                        movers[row] = movers.get(row, 0) | 1 << number
        if movers:
            rows = np.array(list(movers))
            for word, (up, down) in enumerate(zip(self.up, self.down, strict=True)):
                own = np.array([its >> WORD * word & 2**WORD - 1 for its in movers.values()])
                shown = ~hidden[rows]
                sets = kernels.sets_of_movers(before, after, rows[shown], own[shown])
                up |= np.where(after < before, sets, 0)
                down |= np.where(after > before, sets, 0)
                down[rows[~shown]] |= own[~shown]

    def told(self, rows: NDArray[np.int64], moved: NDArray[np.bool_]) -> Iterator[Reasons]:
        """The rules of each of these rows, where it is not where it was, nor merely closed up."""
        n = len(moved)
        moved = moved & ((self.start != self.end) | (self.end > n))
        ways = np.where(self.end < self.start, self.up, self.down)
        sets, *more = np.where(moved, ways, 0).take(rows, axis=1).tolist()
        for word, its in enumerate(more, start=1):
            sets = [low | high << WORD * word for low, high in zip(sets, its, strict=True)]
        return map({its: self._named(its) for its in set(sets)}.__getitem__, sets)

    def _named(self, bits: int) -> Reasons:
        """The rules of a set, as given."""
        named = []
        while bits:
            named.append(self.rules[(bits & -bits).bit_length() - 1])
            bits &= bits - 1
        return tuple(named)


def _wants(rule: Rule, wish: int, place: int, step: int) -> bool:
    """Whether a rule wants a document to go this way from a place; a pin wants it at its own place."""
    if isinstance(rule, Pin):
        return (rule.position - place) * step > 0
    return step * wish >= 0
