"""Linear problems (a loss of X w with a penalty on w) and minima (the results of minimisers)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.errors import DivergedError
from podium.optim.threads import one_blas_thread
from podium.typing import Floats, Rows

IterationCallback = Callable[[int, Floats, float], None]
"""A function that is called once per iteration with its number, the point and the value."""

LossOfLinearScores = Callable[[Any, Floats, Rows | None], tuple[float, Floats]]
"""(X, w, rows) -> the loss of X w and its gradient with respect to w, without the penalty."""

ProductPass = Callable[[Any, Floats, Rows | None], tuple[Floats, Floats]]
"""(X, w, rows) -> X w, and X' H X w for the loss's Hessian H at some predictions."""

HESSIAN_COLUMNS, MIN_HESSIAN_COLUMNS = 64, 4
"""The most and the least columns of X per block of a Hessian; a copy of all would double the memory."""
HESSIAN_BYTES = 128 << 20
"""The bytes of a block of mapped rows and of its products, unless it has the least number of columns."""


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """f(w) = l2/2 |w|^2 + loss(X w): the loss sees predictions, the optimiser sees weights.

    Parameters
    ----------
    X
        Features, one row per example.
    loss
        Predictions -> the loss and its gradient with respect to the predictions.
    l2
        The strength of the penalty, 0 or more.
    product
        (predictions, direction) -> the loss's Hessian times the direction, for Newton's method.
    products
        (predictions, directions) -> the same for all columns of a matrix, if that is much faster
        than one product per column.
    rows
        The rows of X that are the examples, in their order; None: all rows. Nothing is copied.
    linear_pass
        The loss of X w in one pass over X, where `loss` takes two; None if there is no such kernel.
    product_pass
        Predictions -> the product with the Hessian in one pass over X, or None.

    Examples
    --------
    >>> X, y = np.eye(2), np.array([1.0, 3.0])
    >>> problem = LinearProblem(X, lambda s: (0.5 * float(np.sum((s - y) ** 2)), s - y), l2=1.0)
    >>> value, gradient = problem(np.zeros(2))
    >>> value, gradient.tolist()
    (5.0, [-1.0, -3.0])
    """

    X: NDArray[Any]
    loss: Callable[[Floats], tuple[float, Floats]]
    l2: float = 1.0
    product: Callable[[Floats, Floats], Floats] | None = None
    products: Callable[[Floats, Floats], Floats] | None = None
    rows: NDArray[np.int64] | None = None
    linear_pass: LossOfLinearScores | None = None
    product_pass: Callable[[Floats], ProductPass | None] | None = None

    def scores(self, w: Floats) -> Floats:
        """Return X w."""
        if not w.any():  # most fits start there: X need not be read
            return np.zeros(len(self.X) if self.rows is None else len(self.rows))
        return kernels.matvec(self.X, w, self.rows)

    def pull(self, g: Floats) -> Floats:
        """Return X' g: the gradient of the weights, from that of the predictions."""
        return kernels.rmatvec(self.X, g, self.rows)

    def pull_blocks(self, g: Floats, offsets: NDArray[np.int64]) -> Floats:
        """Return X' g over the rows of each block, one row per block."""
        if self.rows is None:
            return kernels.rmatvec_by_query(self.X, g, offsets)
        bounds = itertools.pairwise(offsets.tolist())
        return np.stack([kernels.rmatvec(self.X, g[a:b], self.rows[a:b]) for a, b in bounds])

    def hessian(self, scores: Floats) -> Floats:
        """Return l2 I + X' H X, where H is the loss's Hessian; needs `products`."""
        assert self.products is not None
        d, n = self.X.shape[1], len(scores)
        width = HESSIAN_COLUMNS
        if _is_mapped(self.X):  # in memory, narrow blocks would take nearly twice as long
            width = max(MIN_HESSIAN_COLUMNS, min(width, HESSIAN_BYTES // (16 * max(n, 1))))
        out = self.l2 * np.eye(d)
        with one_blas_thread():
            for left in range(0, d, width):
                block = slice(left, left + width)
                X = self.X[:, block] if self.rows is None else self.X[self.rows, block]
                columns = np.ascontiguousarray(X, dtype=np.float64)
                products = self.products(scores, columns)
                for first in range(0, n, 8192):  # not all rows at once: float32 becomes float64
                    rows = slice(first, first + 8192)
                    features = self.X[rows] if self.rows is None else self.X[self.rows[rows]]
                    out[:, block] += features.T @ products[rows]
        return out

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return f(w) and its gradient."""
        if self.linear_pass is not None:
            value, gradient = self.linear_pass(self.X, w, self.rows)
        else:
            value, g = self.loss(self.scores(w))
            gradient = self.pull(g)
        return value + 0.5 * self.l2 * norm2(w), gradient + self.l2 * w

    def hessian_product(self, scores: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Return X d, and the Hessian of f at these predictions times d; needs `product`."""
        in_one_pass = None if self.product_pass is None else self.product_pass(scores)
        if in_one_pass is not None:
            forward, product = in_one_pass(self.X, direction, self.rows)
        else:
            assert self.product is not None
            forward = self.scores(direction)
            product = self.pull(self.product(scores, forward))
        return forward, product + self.l2 * direction


@dataclass(frozen=True, eq=False)
class BlockLosses:
    """A loss of X w as a sum of losses of 0 or more, each of a block of rows.

    Parameters
    ----------
    offsets
        Block i is the rows offsets[i] to offsets[i + 1].
    evaluate
        Predictions -> the loss of each block, and the gradient of each row.
    """

    offsets: NDArray[np.int64]
    evaluate: Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a minimiser stopped, and why.

    `gap` is a proved bound on the difference between the value and the minimum, if the method has
    one.
    """

    x: Floats
    value: float
    iterations: int
    converged: bool
    reason: str
    gradient_norm: float | None = None
    gap: float | None = None


def _is_mapped(X: Any) -> bool:
    """Whether an array, or the one that it is a view of, is mapped from a file."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def norm2(w: Floats) -> float:
    """Return |w|^2, summed in a fixed order."""
    return float(np.sum(w * w))


def check_finite(value: float, iteration: int, what: str = "objective") -> None:
    """Raise if the objective is NaN or infinite."""
    if not np.isfinite(value):
        raise DivergedError(f"the {what} became {value} at iteration {iteration}")
