"""What is minimised for a linear model, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.errors import DivergedError
from podium.optim.threads import one_blas_thread

Floats = NDArray[np.float64]
Each = Callable[[int, Floats, float], None]
"""Called once an iteration with its number, the point and the value."""

COLUMNS = 64
"""Columns of X that are multiplied in one go for a Hessian: a copy of the whole would double X."""


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """f(w) = l2/2 |w|^2 + loss(X w): the loss sees predictions, the optimiser sees weights.

    Parameters
    ----------
    X
        Features, one row an example.
    loss
        Predictions -> the loss and its gradient with respect to the predictions.
    l2
        Strength of the penalty, 0 or more.
    product
        (predictions, direction) -> the loss's Hessian times the direction, for Newton's method.
    products
        (predictions, directions) -> the same for the columns of a matrix, where that takes much less
        than one product each.

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

    def scores(self, w: Floats) -> Floats:
        """X w."""
        return kernels.matvec(self.X, w)

    def pull(self, g: Floats) -> Floats:
        """X' g: a gradient with respect to predictions -> with respect to weights."""
        return kernels.rmatvec(self.X, g)

    def hessian(self, scores: Floats) -> Floats:
        """l2 I + X' H X, where H is the loss's Hessian; needs `products`."""
        assert self.products is not None
        d = self.X.shape[1]
        out = self.l2 * np.eye(d)
        with one_blas_thread():
            for left in range(0, d, COLUMNS):
                some = slice(left, left + COLUMNS)
                columns = np.ascontiguousarray(self.X[:, some], dtype=np.float64)
                out[:, some] += self.X.T @ self.products(scores, columns)
        return out

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """f(w) and its gradient."""
        value, g = self.loss(self.scores(w))
        return value + 0.5 * self.l2 * norm2(w), self.pull(g) + self.l2 * w


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a minimiser stopped, and why.

    `gap` is a proved bound on value minus the smallest value, where the method has one.
    """

    x: Floats
    value: float
    iterations: int
    converged: bool
    reason: str
    gradient_norm: float | None = None
    gap: float | None = None


def norm2(w: Floats) -> float:
    """|w|^2, added in a fixed order."""
    return float(np.sum(w * w))


def check_finite(value: float, iteration: int, what: str = "objective") -> None:
    """Raise where the objective is no number any more."""
    if not np.isfinite(value):
        raise DivergedError(f"the {what} became {value} at iteration {iteration}")
