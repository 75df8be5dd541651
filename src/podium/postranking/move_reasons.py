"""Reasons of moves: the rules that name a document, or that moved other documents past it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.postranking.rules.placing_kinds import Insert
from podium.postranking.rules.rule import NumberedRule, Rule
from podium.postranking.rules.rule_kinds import Pin

Places = NDArray[np.int64]
Reasons = tuple[Rule, ...]

RULES_PER_WORD = 63
"""Rules per word of 64 bits; the sign bit stays free."""


class MoveReasons:
    """The rules that moved each row through the stages of post-ranking: hidden, soft, hard.

    A stage moves rows from old places to new ones. A rule that acts in a stage moves the documents
    that it names in the direction it prefers. Every other document that moved made way: its reasons
    are the rules that moved documents past it. A hidden document passes none. The documents below
    it close the gap and keep their order, so the rule that hides it is a reason only for the hidden
    document.

    One stage may move a document up and the next one down. Only stages in the direction of the
    whole move count.
    """

    def __init__(self, n: int, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self.start = self.end = np.arange(1, n + 1)
        # A set of rules has a bit for each rule, in as many words as needed.
        words = len(rules) // RULES_PER_WORD + 1
        self.up, self.down = (np.zeros((words, n), dtype=np.int64) for _ in range(2))

    def add_stage(self, bound_rules: Iterable[NumberedRule], before: Places, after: Places) -> None:
        """Add a stage that moved rows from one place to another; hidden rows stand after the last place."""
        hidden = after > len(after)
        if (hidden & (before <= len(before))).any():
            self.start = after
        self.end = after
        places, step = after.tolist(), (after - before).tolist()
        movers: dict[int, int] = {}
        for number, bound_rule in bound_rules:
            parts = bound_rule.rule.movable(bound_rule, places)
            for part, wish in zip(parts, bound_rule.rule.wishes, strict=True):
                for row in part:
                    if step[row] and _wants(
                        bound_rule.rule, wish, places[row] - step[row], step[row]
                    ):
                        movers[row] = movers.get(row, 0) | 1 << number
        if movers:
            rows = np.array(list(movers))
            visible = ~hidden[rows]
            for word, (up, down) in enumerate(zip(self.up, self.down, strict=True)):
                own = np.array(
                    [
                        bits >> RULES_PER_WORD * word & 2**RULES_PER_WORD - 1
                        for bits in movers.values()
                    ]
                )
                sets = kernels.sets_of_movers(before, after, rows[visible], own[visible])
                up |= np.where(after < before, sets, 0)
                down |= np.where(after > before, sets, 0)
                down[rows[~visible]] |= own[~visible]

    def rules_of(self, rows: NDArray[np.int64]) -> tuple[Reasons, ...]:
        """Return the rules that moved each of these rows; none if it stayed or only closed a gap."""
        n = len(self.end)
        moved = self.end != np.arange(1, n + 1)
        moved &= (self.start != self.end) | (self.end > n)
        ways = np.where(self.end < self.start, self.up, self.down)
        sets, *more = np.where(moved, ways, 0).take(rows, axis=1).tolist()
        for word, its in enumerate(more, start=1):
            sets = [
                low | high << RULES_PER_WORD * word for low, high in zip(sets, its, strict=True)
            ]
        return tuple(map({its: self._rules_in(its) for its in set(sets)}.__getitem__, sets))

    def _rules_in(self, bits: int) -> Reasons:
        """Return the rules of a set of bits, in their own order."""
        rules = []
        while bits:
            rules.append(self.rules[(bits & -bits).bit_length() - 1])
            bits &= bits - 1
        return tuple(rules)


def _wants(rule: Rule, wish: int, place: int, step: int) -> bool:
    """Whether a rule prefers this step from a place; a pin prefers steps towards its position."""
    if isinstance(rule, Pin):
        return (rule.position - place) * step > 0
    if isinstance(rule, Insert):
        return (rule.last - place if step < 0 else rule.position - place) * step > 0
    return step * wish >= 0
