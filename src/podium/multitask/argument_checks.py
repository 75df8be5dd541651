"""Argument checks of the functions of RPC-MTL that users may call directly."""

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
from podium.multitask.list_orders import Orders
from podium.typing import Rows


def check_whole_numbers(least: int, **arguments: Any) -> None:
    """Raise if an argument is not a whole number of `least` or more.

    Examples
    --------
    >>> check_whole_numbers(1, n_clusters=2)
    >>> check_whole_numbers(1, kappa_1=1.5)
    Traceback (most recent call last):
    podium.errors.UsageError: expected kappa_1 to be a whole number of 1 or more, got 1.5
    """
    for name, value in arguments.items():
        try:
            is_valid = operator.index(value) >= least
        except TypeError:
            is_valid = False
        if not is_valid:
            raise UsageError(
                f"expected {name} to be a whole number of {least} or more, got {value!r}"
            )


def check_not_negative(**arguments: Any) -> None:
    """Raise if an argument is not a finite number of 0 or more.

    Examples
    --------
    >>> check_not_negative(lam=0.1, l2=-1)
    Traceback (most recent call last):
    podium.errors.UsageError: expected l2 to be a finite number of 0 or more, got -1
    """
    for name, value in arguments.items():
        if not isinstance(value, int | float | np.number) or not 0 <= value < math.inf:
            raise UsageError(f"expected {name} to be a finite number of 0 or more, got {value!r}")


def check_solver(solver: Any, solvers: Any) -> None:
    """Raise unless the solver is one of these."""
    if solver not in get_args(solvers):
        raise UnknownNameError("solver", str(solver), get_args(solvers))


def check_features(X: ArrayLike, orders: Orders) -> NDArray[Any]:
    """Return X as a finite matrix with one row per row of the data; raise if it is not one."""
    matrix = np.asarray(X)
    if not isinstance(orders, Orders):
        raise UsageError(f"expected Orders, such as draw_orders(data), got {type(orders).__name__}")
    if matrix.ndim != 2 or len(matrix) != orders.n_rows:
        raise LengthMismatchError(
            f"the orders have {orders.n_rows} objects; expected a matrix of features with one "
            f"row per object, got shape {matrix.shape}"
        )
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise NonFiniteError(
            f"expected finite features, got {matrix[row, column]} in row {row}, column {column}"
        )
    return matrix


def check_clusters(clusters: ArrayLike, orders: Orders, n_clusters: int) -> Rows:
    """Return the cluster of each row of the orders; raise if it is not one of K or falls along a list."""
    index = np.asarray(clusters)
    if index.shape != orders.rows.shape:
        raise LengthMismatchError(
            f"expected {len(orders.rows)} clusters, one per row of the orders, got an array "
            f"of shape {index.shape}"
        )
    if not np.issubdtype(index.dtype, np.integer):
        raise DataError(f"expected whole numbers as clusters, got {index.dtype}")
    outside = (index < 0) | (index >= n_clusters)
    if outside.any():
        raise DataError(
            f"n_clusters={n_clusters} allows clusters from 0 to {n_clusters - 1}, got "
            f"{index[np.argmax(outside)]} in row {np.argmax(outside)} of the orders"
        )
    falls = (np.diff(index) < 0) & (np.diff(orders.groups.codes) == 0)
    if falls.any():
        row = int(np.argmax(falls))
        raise DataError(
            "clusters must not fall along a list (in the order of the orders, best first), "
            f"got {index[row]} and then {index[row + 1]} in row {row + 1}"
        )
    return np.ascontiguousarray(index, dtype=np.int64)
