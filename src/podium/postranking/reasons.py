"""Why documents moved: the rules that name them, or that moved the documents which passed them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.postranking.binding import Acting
from podium.postranking.rules.rule import Rule

Places = NDArray[np.int64]
Reasons = tuple[Rule, ...]


class Story:
    """The rules behind each row's way through the stages of post-ranking: hidden, soft, hard.

    A stage takes rows from places before to places after. A rule that acts in it moves a document it
    names the way it wishes. Every other document that moved made way, or moved up into a gap: the
    rules that moved those which passed it are its reasons.
    """

    def __init__(self, n: int, rules: Sequence[Rule]) -> None:
        self.rules = rules
        # A set of rules is a number, a bit for each.
        self.bits: NDArray[Any] = np.zeros(n, dtype=np.int64 if len(rules) < 63 else object)

    def stage(self, acting: Iterable[Acting], before: Places, after: Places) -> None:
        """Rules took every row from one place to another."""
        places, step = after.tolist(), (after - before).tolist()
        movers: dict[int, int] = {}
        for number, bound in acting:
            parts = bound.rule.movable(bound, places)
            for part, wish in zip(parts, bound.rule.wishes, strict=True):
                for row in part:
                    if step[row] and step[row] * wish >= 0:
                        movers[row] = movers.get(row, 0) | 1 << number
        if movers:
            passed = _passed(movers, before, after, self.bits.dtype)
            passed[list(movers)] = list(movers.values())
            self.bits |= passed

    def told(self, moved: Sequence[bool]) -> list[Reasons]:
        """The rules of each row that is not where it was."""
        bits = self.bits.tolist()
        named = {own: _decode(own, self.rules) for own in set(bits)}
        return [named[own] if went else () for own, went in zip(bits, moved, strict=True)]


def _passed(movers: Mapping[int, int], before: Places, after: Places, kind: Any) -> NDArray[Any]:
    """For each row that went down the rules of those that came from below it, and the other way."""
    bits = np.zeros(len(after), dtype=kind)
    down, up = after > before, after < before
    for row, own in movers.items():
        if after[row] < before[row]:
            passed = down & (before < before[row]) & (after > after[row])
        else:
            passed = up & (before > before[row]) & (after < after[row])
        bits[passed] |= own
    return bits


def _decode(bits: int, rules: Sequence[Rule]) -> Reasons:
    """The rules of these bits, as given."""
    named = []
    while bits:
        named.append(rules[(bits & -bits).bit_length() - 1])
        bits &= bits - 1
    return tuple(named)
