"""The shape of a data set: what decides which candidates are worth a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from podium.data import RankingData
from podium.rankers.lambdamart import MAX_LIGHTGBM_LIST

MAX_SPREAD_RATIO = 30.0
"""Features whose standard deviations differ more are scaled for linear rankers."""
MAX_DISTANCE_FROM_ZERO = 10.0
"""Features whose mean is more standard deviations away from 0 are scaled, too."""


@dataclass(frozen=True)
class DataShape:
    """Sizes, grades and features of a data set.

    Parameters
    ----------
    has_whole_labels
        Whether all labels are whole numbers and lists are short enough for LightGBM's xendcg.
    has_uneven_features
        Whether features have very different scales, which linear rankers and networks need alike.
    """

    n_queries: int
    n_documents: int
    n_features: int
    n_grades: int
    topk: int | None
    has_missing: bool
    has_whole_labels: bool
    has_uneven_features: bool

    @classmethod
    def of(cls, data: RankingData) -> Self:
        """Return the shape of a data set.

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> shape = DataShape.of(make_synthetic(n_queries=20, n_features=4, seed=0))
        >>> shape.n_queries, shape.n_features, shape.has_missing, shape.has_uneven_features
        (20, 4, False, False)
        """
        return cls(
            n_queries=data.n_queries,
            n_documents=len(data),
            n_features=data.n_features,
            n_grades=len(np.unique(data.y)),
            topk=data.topk,
            has_missing=data.missing == "nan" and bool(np.isnan(data.X).any()),
            has_whole_labels=bool((data.y == np.floor(data.y)).all())
            and int(data.groups.sizes.max()) <= MAX_LIGHTGBM_LIST,
            has_uneven_features=_is_uneven(data),
        )

    @property
    def n_values(self) -> int:
        """The number of feature values."""
        return self.n_documents * self.n_features


def _is_uneven(data: RankingData) -> bool:
    """Whether features that vary have very different spreads, or are far from 0."""
    X = np.asarray(data.X, dtype=np.float64)
    varies = (np.nanmax(X, axis=0, initial=-np.inf, where=~np.isnan(X))
              > np.nanmin(X, axis=0, initial=np.inf, where=~np.isnan(X)))  # fmt: skip
    if not varies.any():
        return False
    X = X[:, varies]
    spread, center = np.nanstd(X, axis=0), np.nanmean(X, axis=0)
    far = np.abs(center) > MAX_DISTANCE_FROM_ZERO * spread
    return bool(spread.max() > MAX_SPREAD_RATIO * np.median(spread) or far.any())
