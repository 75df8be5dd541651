"""Argument checks of the functions of RPC-MTL that users may call by themselves."""

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
    """Raise if the solver is none of these."""
    if solver not in get_args(solvers):
        raise UnknownNameError("solver", str(solver), get_args(solvers))


def check_features(X: ArrayLike, orders: Orders) -> NDArray[Any]:
    """Return X as a finite matrix with one row per row of the data; raise if it is none."""
    matrix = np.asarray(X)
    if not isinstance(orders, Orders):
        raise UsageError(f"expected Orders, as of draw_orders(data), got {type(orders).__name__}")
    if matrix.ndim != 2 or len(matrix) != orders.n_rows:
        raise LengthMismatchError(
            f"expected features of {orders.n_rows} objects, as the orders have, one per row, got an "
            f"array of shape {matrix.shape}"
        )
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise NonFiniteError(
            f"expected finite features, got {matrix[row, column]} in row {row}, column {column}"
        )
    return matrix


def check_clusters(clusters: ArrayLike, orders: Orders, n_clusters: int) -> Rows:
    """Return the cluster of each row of the orders; raise if it is none of K or falls along a list."""
    index = np.asarray(clusters)
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
