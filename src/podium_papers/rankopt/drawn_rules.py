"""Drawn rules for the experiments: from perfect rankings, some of them wrong.

Wu, Xu, Li, Jiang, Ranking optimization with constraints, CIKM 2014, section 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data import RankingData
from podium.typing import Floats, Ints

NO_ROW = -1
"""Stands for a row if the query has no such rule."""


@dataclass(frozen=True)
class RuleCase:
    """Rules of every query: one document in the top `top`, one not in the top `rest`.

    `wrong` is the share of wrong rules. A wrong top-k rule names a document that is not relevant, a
    wrong not-top-k rule one that is.

    Examples
    --------
    >>> str(RuleCase(3, 5)), str(RuleCase(3, None)), str(RuleCase(3, 5, 0.1))
    ('top-3, not-top-5', 'top-3', 'top-3, not-top-5, 10% wrong')
    """

    top: int | None
    rest: int | None
    wrong: float = 0.0

    def __str__(self) -> str:
        parts = [f"top-{self.top}" if self.top else "", f"not-top-{self.rest}" if self.rest else ""]
        return ", ".join(
            [*filter(None, parts), *([f"{self.wrong:.0%} wrong"] if self.wrong else [])]
        )


@dataclass(frozen=True, eq=False)
class RuleDraw:
    """One draw for every query: a perfect ranking with random ties, and random numbers.

    Every k and every share of wrong rules uses the same random numbers, so that cases differ in
    nothing else. `perfect` holds the rows of all queries, each query's best first.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 4, [0, 3, 1, 2], qid=[7] * 4)
    >>> draw = RuleDraw.of(data, 0)
    >>> draw.perfect, draw.rows(RuleCase(1, 3))
    (array([1, 3, 2, 0]), (array([1]), array([0])))
    >>> draw.rows(RuleCase(5, None))  # a list of 4 has no sixth place
    (array([-1]), array([-1]))
    """

    data: RankingData
    perfect: Ints
    top: Floats
    rest: Floats
    wrong_draws: Floats
    """Two random numbers per query: its rule is wrong if the share of wrong rules is larger."""
    others: Floats

    @classmethod
    def of(cls, data: RankingData, *seed: int) -> RuleDraw:
        """Draw for these queries; the same data and seed give the same rules."""
        rng = np.random.default_rng([int(data.fingerprint[:12], 16), *seed])
        ties = rng.random(len(data))
        perfect = np.lexsort((ties, -data.y, data.groups.codes))
        n = data.n_queries
        return cls(data, perfect, rng.random(n), rng.random(n), rng.random((2, n)),
                   rng.random((2, n)))  # fmt: skip

    def rows(self, case: RuleCase) -> tuple[Ints, Ints]:
        """Return for every query the row of its top-k rule and of its not-top-k rule; `NO_ROW` if k >= n."""
        n = self.data.groups.sizes
        top = _draw_place(
            self.top, np.zeros_like(n), n if case.top is None else case.top, n, case.top
        )
        rest = _draw_place(self.rest, n if case.rest is None else case.rest, n, n, case.rest)
        if case.wrong:
            relevant = self.data.groups.reduce(np.add, (self.data.y > 0).astype(np.float64))
            end = relevant.astype(np.int64)
            wrong = self.wrong_draws < case.wrong
            # Two rules on one document are another problem, so a wrong rule avoids the other rule's document.
            top = _replace_wrong(top, wrong[0], self.others[0], end, n, rest)
            rest = _replace_wrong(rest, wrong[1], self.others[1], np.zeros_like(n), end, top)
        starts = self.data.groups.offsets[:-1]
        return self._row(starts, top), self._row(starts, rest)

    def _row(self, starts: Ints, rank: Ints) -> Ints:
        """Return the row at a place of the perfect ranking, from 0."""
        chosen_rows = self.perfect[np.minimum(starts + np.maximum(rank, 0), len(self.perfect) - 1)]
        return np.where(rank == NO_ROW, NO_ROW, chosen_rows)


def _draw_place(u: Floats, first: Any, last: Any, n: Ints, k: int | None) -> Ints:
    """Draw a place from first to last - 1."""
    if k is None:
        return np.full(len(n), NO_ROW)
    return np.where(k < n, first + np.floor(u * (last - first)).astype(np.int64), NO_ROW)


def _replace_wrong(rank: Ints, wrong: Any, u: Floats, first: Ints, last: Ints, other: Ints) -> Ints:
    """Replace the places of wrong rules by others from first to last - 1, but not the other rule's place."""
    is_other_inside = (first <= other) & (other < last)
    choices = last - first - is_other_inside
    place = first + np.floor(u * choices).astype(np.int64)
    place += is_other_inside & (place >= other)
    return np.where(wrong & (rank != NO_ROW) & (choices > 0), place, rank)
