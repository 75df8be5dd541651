"""Out-of-fold scores: what each member says about queries that it did not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData, shuffled_queries
from podium.data.row_selection import select_queries
from podium.typing import Floats

MAX_ROWS = 400_000
"""Combinations are learned from a random part of the queries if there are more rows."""


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Standardised scores of members on queries that they did not see, one column per member.

    Parameters
    ----------
    data
        The queries and their labels; features are left out.
    folds
        The fold of each query for nested validation.
    """

    data: RankingData
    scores: Floats
    folds: NDArray[np.int64]

    @classmethod
    def of(cls, data: RankingData, folds: NDArray[np.int64], columns: Sequence[Floats]) -> Self:
        """Return the scores of members by column."""
        labels = data.with_features(np.zeros((len(data), 1)), ["none"])
        return cls(labels, np.stack(columns, axis=1), folds)

    def sample(self, seed: int, max_rows: int = MAX_ROWS) -> OutOfFold:
        """Return a random part of the queries with at most about `max_rows` rows."""
        if len(self.data) <= max_rows:
            return self
        order = shuffled_queries(self.data, seed)
        ends = np.cumsum(self.data.groups.sizes[order])
        n = max(1, int(np.searchsorted(ends, max_rows, side="right")))
        queries = np.sort(order[:n])
        rows = self.data.groups.take(queries)[1]
        return OutOfFold(select_queries(self.data, queries), self.scores[rows], self.folds[queries])
