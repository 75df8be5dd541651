"""Stumps [x > threshold]: features cut at a few thresholds, from which boosting chooses."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data.parallel import map_in_parallel
from podium.errors import UsageError
from podium.typing import Floats, Matrix

MAX_THRESHOLDS = 255
"""The maximum number of thresholds: the number of a bin takes one byte."""


@dataclass(frozen=True, eq=False)
class BinnedFeatures:
    """Features as bins: ``codes[f, i] > t`` exactly where ``X[i, f] > thresholds(f)[t]``.

    Examples
    --------
    >>> binned = BinnedFeatures.from_features(np.array([[0.0], [1.0], [3.0], [1.0]]))
    >>> binned.thresholds(0).tolist(), binned.codes.tolist()
    ([0.5, 2.0], [[0, 1, 2, 1]])
    """

    codes: NDArray[np.uint8]
    cuts: Floats
    bounds: NDArray[np.int64]

    @classmethod
    def from_features(cls, X: Matrix, n_thresholds: int = MAX_THRESHOLDS) -> BinnedFeatures:
        """Put features into bins; the order of rows does not change the thresholds."""
        if not 1 <= n_thresholds <= MAX_THRESHOLDS:
            raise UsageError(
                f"expected 1 to {MAX_THRESHOLDS} thresholds per feature, got {n_thresholds}"
            )
        cuts = list(map_in_parallel(lambda column: feature_thresholds(column, n_thresholds), X.T))
        bounds = np.array([0, *itertools.accumulate(map(len, cuts))], dtype=np.int64)
        joined = np.concatenate([np.zeros(0), *cuts])
        return cls(kernels.bin_features(X, joined, bounds), joined, bounds)

    def thresholds(self, feature: int) -> Floats:
        """Return the thresholds of a feature, ascending."""
        return self.cuts[slice(*self.bounds[feature : feature + 2])]


def feature_thresholds(values: NDArray[Any], n_thresholds: int) -> Floats:
    """Return the thresholds of a feature: midway between neighbouring values, at most `n_thresholds`.

    If there are more values, bins get about equally many documents. A value that fills more than a
    bin counts as one bin, so that the other values keep their thresholds.

    Examples
    --------
    >>> feature_thresholds(np.array([3.0, 1.0, 1.0, 2.0]), 255).tolist()
    [1.5, 2.5]
    >>> feature_thresholds(np.arange(100.0), 3).tolist()
    [24.5, 49.5, 74.5]
    """
    ascending = np.sort(values)
    ascending = ascending[: np.searchsorted(ascending, np.nan)]  # missing values are sorted last
    # The end of each run of equal values, except the last run.
    run_ends = np.flatnonzero(ascending[1:] != ascending[:-1])
    if len(run_ends) > n_thresholds:
        counts = np.diff(run_ends, prepend=-1, append=len(ascending) - 1)
        filled = np.cumsum(np.minimum(counts, len(ascending) / n_thresholds))
        equal_steps = filled[-1] * np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
        run_ends = run_ends[np.unique(np.searchsorted(filled[:-2], equal_steps))]
    lower, upper = (ascending[end].astype(np.float64) for end in (run_ends, run_ends + 1))
    middle = lower / 2 + upper / 2
    # No double lies between neighbouring doubles: cut at the lower one, x > lower.
    return np.where((lower < middle) & (middle < upper), middle, lower)


def sums_beyond(sums: Floats) -> Floats:
    """Return, for each t, the sum over the bins after t: the sum of the stump [code > t]."""
    total = np.cumsum(sums[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([total[:, 1:], np.zeros((len(sums), 1))], axis=1)
