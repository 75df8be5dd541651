"""What the parts of RPC-MTL may be given, where they are called by themselves."""

from __future__ import annotations

import math
import operator
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import (
    DataError,
    LengthMismatchError,
    NonFiniteError,
    UnknownNameError,
    UsageError,
)
from podium.multitask.orders import Orders

Rows = NDArray[np.int64]


def whole(least: int, **given: Any) -> None:
    """Raise where one of these is no whole number of at least so much.

    Examples
    --------
    >>> whole(1, n_clusters=2)
    >>> whole(1, kappa_1=1.5)
    Traceback (most recent call last):
    podium.errors.UsageError: expected kappa_1 to be a whole number of 1 or more, got 1.5
    """
    for name, value in given.items():
        try:
            good = operator.index(value) >= least
        except TypeError:
            good = False
        if not good:
            raise UsageError(
                f"expected {name} to be a whole number of {least} or more, got {value!r}"
            )


def not_negative(**given: Any) -> None:
    """Raise where one of these is no finite number of 0 or more.

    Examples
    --------
    >>> not_negative(lam=0.1, l2=-1)
    Traceback (most recent call last):
    podium.errors.UsageError: expected l2 to be a finite number of 0 or more, got -1
    """
    for name, value in given.items():
        if not isinstance(value, int | float | np.number) or not 0 <= value < math.inf:
            raise UsageError(f"expected {name} to be a finite number of 0 or more, got {value!r}")


def check_solver(solver: Any, known: Any) -> None:
    """Raise where there is no such solver."""
    if solver not in get_args(known):
        raise UnknownNameError("solver", str(solver), get_args(known))


def features(X: ArrayLike, orders: Orders) -> NDArray[Any]:
    """X as a finite matrix with a row for each of the data's."""
    matrix = np.asarray(X)
    if not isinstance(orders, Orders):
        raise UsageError(f"expected Orders, as of draw_orders(data), got {type(orders).__name__}")
    if matrix.ndim != 2 or len(matrix) != orders.n_rows:
        raise LengthMismatchError(
            f"expected features of {orders.n_rows} objects, as the orders have, one a row, got an "
            f"array of shape {matrix.shape}"
        )
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise NonFiniteError(
            f"expected finite features, got {matrix[row, column]} in row {row}, column {column}"
        )
    return matrix


def clusters_of(given: ArrayLike, orders: Orders, n_clusters: int) -> Rows:
    """The cluster of each row of the orders, where it is one of K and never falls along a list."""
    index = np.asarray(given)
    if index.shape != orders.rows.shape:
        raise LengthMismatchError(
            f"expected a cluster for each of {len(orders.rows)} rows of the orders, got an array of "
            f"shape {index.shape}"
        )
    if not np.issubdtype(index.dtype, np.integer):
        raise DataError(f"expected whole numbers as clusters, got {index.dtype}")
    outside = (index < 0) | (index >= n_clusters)
    if outside.any():
        raise DataError(
            f"expected clusters from 0 to {n_clusters - 1}, as n_clusters={n_clusters} says, got "
            f"{index[np.argmax(outside)]} in row {np.argmax(outside)} of the orders"
        )
    falls = (np.diff(index) < 0) & (np.diff(orders.groups.codes) == 0)
    if falls.any():
        row = int(np.argmax(falls))
        raise DataError(
            f"expected clusters that never fall along a list (rows of the orders, best first, not of "
            f"the data), got {index[row]} and then {index[row + 1]} in row {row + 1}"
        )
    return np.ascontiguousarray(index, dtype=np.int64)
