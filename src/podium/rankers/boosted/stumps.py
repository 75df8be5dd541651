"""Features cut at a few thresholds: the stumps [x > threshold] that boosting chooses from."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data.parallel import in_parallel
from podium.errors import UsageError

Floats = NDArray[np.float64]
Matrix = NDArray[np.float32] | Floats

MAX_THRESHOLDS = 255
"""A bin is one byte."""


@dataclass(frozen=True, eq=False)
class Binned:
    """Features as bins: ``codes[f, i] > t`` exactly where ``X[i, f] > thresholds(f)[t]``.

    Examples
    --------
    >>> binned = Binned.of(np.array([[0.0], [1.0], [3.0], [1.0]]))
    >>> binned.thresholds(0).tolist(), binned.codes.tolist()
    ([0.5, 2.0], [[0, 1, 2, 1]])
    """

    codes: NDArray[np.uint8]
    cuts: Floats
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, X: Matrix, n_thresholds: int = MAX_THRESHOLDS) -> Binned:
        """Bins of these features, whatever the order of the rows."""
        if not 1 <= n_thresholds <= MAX_THRESHOLDS:
            raise UsageError(
                f"expected 1 to {MAX_THRESHOLDS} thresholds a feature, got {n_thresholds}"
            )
        cuts = list(in_parallel(lambda column: thresholds(column, n_thresholds), X.T))
        bounds = np.array([0, *itertools.accumulate(map(len, cuts))], dtype=np.int64)
        joined = np.concatenate([np.zeros(0), *cuts])
        return cls(kernels.bin_features(X, joined, bounds), joined, bounds)

    def thresholds(self, feature: int) -> Floats:
        """The thresholds of a feature, ascending."""
        return self.cuts[slice(*self.bounds[feature : feature + 2])]


def thresholds(values: NDArray[Any], most: int) -> Floats:
    """Where to cut a feature: midway between neighbouring values, at most this many times.

    Of many different values, those cuts that leave about as many documents in each bin; a value
    that fills more than a bin counts as one, so that it takes no cuts from the rest.

    Examples
    --------
    >>> thresholds(np.array([3.0, 1.0, 1.0, 2.0]), 255).tolist()
    [1.5, 2.5]
    >>> thresholds(np.arange(100.0), 3).tolist()
    [24.5, 49.5, 74.5]
    """
    ordered = np.sort(values)
    ordered = ordered[: np.searchsorted(ordered, np.nan)]  # missing values are sorted last
    last = np.flatnonzero(ordered[1:] != ordered[:-1])  # of each run of equal values but the last
    if len(last) > most:
        counts = np.diff(last, prepend=-1, append=len(ordered) - 1)
        filled = np.cumsum(np.minimum(counts, len(ordered) / most))
        wanted = filled[-1] * np.arange(1, most + 1) / (most + 1)
        last = last[np.unique(np.searchsorted(filled[:-2], wanted))]
    lower, upper = (ordered[at].astype(np.float64) for at in (last, last + 1))
    middle = lower / 2 + upper / 2
    # Between neighbouring doubles there is nothing: cut right above the lower one.
    return np.where((lower < middle) & (middle < upper), middle, lower)


def above(sums: Floats) -> Floats:
    """Sums by bin -> at t the sum over the bins above t: that of the stump [code > t]."""
    total = np.cumsum(sums[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([total[:, 1:], np.zeros((len(sums), 1))], axis=1)
