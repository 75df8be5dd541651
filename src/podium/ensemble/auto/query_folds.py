"""Query folds: random parts of the queries; each part validates what the others teach."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData, shuffled_queries
from podium.rankers.training_queries import contrasting_queries

MAX_FOLDS = 5
MIN_QUERIES_PER_FOLD = 5
"""More folds than this allows would validate on very few queries."""


def query_folds(data: RankingData, n_folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each query, 0..n_folds-1; it depends on the seed and the query ids alone.

    Queries with different labels, which alone can teach and validate, are dealt out evenly.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> np.bincount(query_folds(make_synthetic(n_queries=11, seed=0), 3, seed=0)).tolist()
    [4, 4, 3]
    """
    order = shuffled_queries(data, seed)
    differs = contrasting_queries(data)[order]
    folds = np.empty(data.n_queries, dtype=np.int64)
    for queries in (order[differs], order[~differs]):
        folds[queries] = np.arange(len(queries)) % n_folds
    return folds


def choose_fold_count(data: RankingData, max_fits: int | None) -> int:
    """Return the number of folds: 5, or fewer if there are few queries or fits.

    Parameters
    ----------
    max_fits
        The number of fits of the budget; None if it counts time.
    """
    n_queries = int(contrasting_queries(data).sum())
    by_queries = max(2, min(MAX_FOLDS, n_queries // MIN_QUERIES_PER_FOLD))
    if max_fits is None or max_fits >= 3 * MAX_FOLDS:
        return by_queries
    return min(by_queries, 3 if max_fits >= 9 else 2)
