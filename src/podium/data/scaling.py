"""Scaling of features within each query: min-max and z-scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from podium.data.groups import Groups
from podium.data.ranking_data import RankingData
from podium.errors import DataError, UnknownNameError
from podium.typing import Matrix


def scale_by_query(data: RankingData, method: str = "minmax") -> RankingData:
    """Scale every feature within every query.

    ``minmax``: (x - min) / (max - min), LETOR's QueryLevelNorm. ``zscore``: (x - mean) / sd.
    A feature that is constant in a query becomes 0 there. Missing values stay missing.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[1.0], [3.0], [2.0]], [0, 1, 0], qid=[1, 1, 1])
    >>> scale_by_query(data).X.ravel().tolist()
    [0.0, 1.0, 0.5]
    """
    if method not in SCALERS:
        raise UnknownNameError("scaling", method, SCALERS)
    if data.categories:
        raise DataError(
            f"expected numbers to scale, got the category {next(iter(data.categories))!r:.80}"
        ).advise(
            python="Prepared(ranker, scale='query-minmax') makes numbers of categories first",
            command_line="podium train --scale query-minmax makes numbers of categories first",
        )
    X = data.X.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore"):
        scaled = SCALERS[method](data.groups, X).astype(data.X.dtype)
    return data.with_features(scaled, scaled=method)


def _minmax(groups: Groups, X: Matrix) -> NDArray[np.floating]:
    low, high = groups.reduce(np.fmin, X), groups.reduce(np.fmax, X)
    return _shift_and_divide(groups, X, low, high - low)


def _zscore(groups: Groups, X: Matrix) -> NDArray[np.floating]:
    present = ~np.isnan(X)
    n = np.maximum(groups.reduce(np.add, present.astype(np.float64)), 1)
    mean = groups.reduce(np.add, np.where(present, X, 0.0)) / n
    squares = np.where(present, X - groups.spread(mean), 0.0) ** 2
    # Rounding gives a constant feature a deviation of about 1e-17; it must be exactly 0.
    varies = groups.reduce(np.fmax, X) > groups.reduce(np.fmin, X)
    return _shift_and_divide(groups, X, mean, np.sqrt(groups.reduce(np.add, squares) / n) * varies)


def _shift_and_divide(
    groups: Groups, X: Matrix, shift: NDArray[np.floating], divisor: NDArray[np.floating]
) -> NDArray[np.floating]:
    scaled = (X - groups.spread(shift)) / groups.spread(np.where(divisor > 0, divisor, 1.0))
    constant = groups.spread(divisor == 0) & ~np.isnan(X)
    return np.where(constant, 0.0, scaled)


SCALERS: dict[str, Callable[[Groups, Matrix], NDArray[np.floating]]] = {
    "minmax": _minmax,
    "zscore": _zscore,
}
"""Every scaling within queries by name."""
