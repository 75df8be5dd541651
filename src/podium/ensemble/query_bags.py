"""Query bags: the random queries and features that each member of `Bagged` learns from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData, shuffled_queries
from podium.data.row_selection import select_queries
from podium.rankers.training_queries import contrasting_queries
from podium.typing import Bools


@dataclass(frozen=True, eq=False)
class QueryBag:
    """The queries and features that one member learns from, and its seed.

    Parameters
    ----------
    queries
        The numbers of the queries, ascending.
    columns
        The numbers of the features, ascending; None: all.
    seed
        The seed of the member.
    """

    queries: NDArray[np.int64]
    columns: tuple[int, ...] | None
    seed: int

    def take(self, train: RankingData) -> RankingData:
        """Return the training data of the bag."""
        return self.take_features(select_queries(train, self.queries))

    def take_features(self, data: RankingData) -> RankingData:
        """Return data with the features of the bag."""
        if self.columns is None:
            return data
        names = data.feature_names
        own_names = None if names is None else [names[j] for j in self.columns]
        X = np.ascontiguousarray(data.X[:, list(self.columns)])
        # A bag renumbers features, so unnamed features get the names of their old numbers.
        return data.with_features(X, own_names or [f"f{j + 1}" for j in self.columns])


def draw_bag(
    train: RankingData, query_fraction: float, feature_fraction: float, entropy: list[int]
) -> QueryBag:
    """Draw queries and features without replacement.

    Queries are drawn by their ids, so the order of rows does not matter. Queries whose labels differ
    and other queries are drawn apart: each bag has the same share of both, and at least one query to
    learn from. Features with one value only are never drawn if others vary.

    Parameters
    ----------
    query_fraction, feature_fraction
        The shares to draw.
    entropy
        The numbers that decide the draw.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=10, n_features=6, seed=0)
    >>> bag = draw_bag(data, 0.8, 0.5, [0, 1])
    >>> len(bag.queries), len(bag.columns), bag.take(data).n_features
    (8, 3, 3)
    """
    rng = np.random.default_rng(entropy)
    seed, query_seed = (int(number) for number in rng.integers(2**31, size=2))
    order = shuffled_queries(train, query_seed)
    has_contrast = contrasting_queries(train)[order]
    drawn = [
        part[: max(round(query_fraction * len(part)), 1)]
        for part in (order[has_contrast], order[~has_contrast])
    ]
    columns = None
    if feature_fraction < 1:
        candidates = np.flatnonzero(varying_features(train))
        if not len(candidates):
            candidates = np.arange(train.n_features)
        n = max(round(feature_fraction * len(candidates)), 1)
        columns = tuple(np.sort(rng.choice(candidates, n, replace=False)).tolist())
    return QueryBag(np.sort(np.concatenate(drawn)), columns, seed)


def varying_features(data: RankingData) -> Bools:
    """Return which features have more than one value; a missing value is one, too.

    Examples
    --------
    >>> data = RankingData.from_arrays([[1.0, 2.0], [1.0, 3.0]], [0, 1], qid=[1, 1])
    >>> varying_features(data).tolist()
    [False, True]
    """
    X = data.X
    lowest, highest = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    is_missing = np.isnan(X)
    has_both = is_missing.any(axis=0) & ~is_missing.all(axis=0)
    return np.asarray((lowest < highest) | has_both, dtype=bool)
