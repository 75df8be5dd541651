"""Rules for an experiment: drawn from perfect rankings, some of them wrong.

Wu, Xu, Li, Jiang, Ranking optimization with constraints, CIKM 2014, section 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NONE = -1
"""Instead of a row: the query has no such rule."""


@dataclass(frozen=True)
class RuleCase:
    """Which rules every query has: one document in the top `top`, one not in the top `rest`.

    `wrong` is the share of them that are wrong: such a top-k rule names a document that is not
    relevant, such a not-top-k rule one that is.

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
class Draw:
    """One draw for every query: a perfect ranking, its ties at random, and random numbers.

    The same random numbers serve every k and every share of wrong rules, so that cases differ in
    nothing else. `perfect` has the rows of all queries, each query's best first.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 4, [0, 3, 1, 2], qid=[7] * 4)
    >>> draw = Draw.of(data, 0)
    >>> draw.perfect, draw.rows(RuleCase(1, 3))
    (array([1, 3, 2, 0]), (array([1]), array([0])))
    >>> draw.rows(RuleCase(5, None))  # a list of 4 has no sixth place
    (array([-1]), array([-1]))
    """

    data: RankingData
    perfect: Ints
    top: Floats
    rest: Floats
    doubts: Floats
    """Two for each query: the rule is wrong where the share of wrong ones is larger."""
    others: Floats

    @classmethod
    def of(cls, data: RankingData, *seed: int) -> Draw:
        """Draw for these queries: the same data and seed, the same rules."""
        rng = np.random.default_rng([int(data.fingerprint[:12], 16), *seed])
        ties = rng.random(len(data))
        perfect = np.lexsort((ties, -data.y, data.groups.codes))
        n = data.n_queries
        return cls(data, perfect, rng.random(n), rng.random(n), rng.random((2, n)),
                   rng.random((2, n)))  # fmt: skip

    def rows(self, case: RuleCase) -> tuple[Ints, Ints]:
        """For every query the row of its top-k rule and of its not-top-k rule; k >= n: none."""
        n = self.data.groups.sizes
        top = _drawn(self.top, np.zeros_like(n), n if case.top is None else case.top, n, case.top)
        rest = _drawn(self.rest, n if case.rest is None else case.rest, n, n, case.rest)
        if case.wrong:
            relevant = self.data.groups.reduce(np.add, (self.data.y > 0).astype(np.float64))
            end = relevant.astype(np.int64)
            wrong = self.doubts < case.wrong
            # Never the document of the other rule: two rules on one document are another matter.
            top = _replaced(top, wrong[0], self.others[0], end, n, rest)
            rest = _replaced(rest, wrong[1], self.others[1], np.zeros_like(n), end, top)
        starts = self.data.groups.offsets[:-1]
        return self._row(starts, top), self._row(starts, rest)

    def _row(self, starts: Ints, rank: Ints) -> Ints:
        """The row at a place of the perfect ranking, from 0."""
        chosen_rows = self.perfect[np.minimum(starts + np.maximum(rank, 0), len(self.perfect) - 1)]
        return np.where(rank == NONE, NONE, chosen_rows)


def _drawn(u: Floats, first: Any, last: Any, n: Ints, k: int | None) -> Ints:
    """A place from first to last - 1."""
    if k is None:
        return np.full(len(n), NONE)
    return np.where(k < n, first + np.floor(u * (last - first)).astype(np.int64), NONE)


def _replaced(rank: Ints, wrong: Any, u: Floats, first: Ints, last: Ints, other: Ints) -> Ints:
    """Where wrong, a place from first to last - 1 that is not the other rule's, if there is one."""
    taken = (first <= other) & (other < last)
    choices = last - first - taken
    place = first + np.floor(u * choices).astype(np.int64)
    place += taken & (place >= other)
    return np.where(wrong & (rank != NONE) & (choices > 0), place, rank)
