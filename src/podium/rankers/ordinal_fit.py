"""Ordinal fit (f_odr of RPC-MTL): the score and the thresholds of ordinal regression, by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import kernels
from podium.errors import (
    DataError,
    LengthMismatchError,
    NonFiniteError,
    UnknownNameError,
    UsageError,
)
from podium.optim import Minimum, lbfgs
from podium.rankers.ordinal_thresholds import (
    LOSSES,
    OrdinalLoss,
    degree_of,
    degree_probabilities,
    degree_sums,
    free_gradient,
    free_parameters,
    ordered_thresholds,
)
from podium.typing import Floats, Ints, Rows

OrdinalCallback = Callable[["OrdinalFit", float], object]
"""A function that is called once per iteration with the current fit and the objective."""

ZERO_SLOPE = 1e-8
"""A slope, in units of standardised features, that counts as 0."""


@dataclass(frozen=True, eq=False)
class OrdinalProblem:
    """f(u, theta_1, delta) = l2/2 |w|^2 + sum_i weight_i loss(w.(x_i - centre), theta, degree_i).

    The centre changes only the thresholds, which have no penalty. Without it, they would have to
    follow every change of the weights. w = u / scale gives all variables the same scale, whatever
    the units of the features.
    """

    X: NDArray[Any]
    degrees: Ints
    weight: Floats
    l2: float
    loss: OrdinalLoss
    centre: Floats
    scale: Floats
    rows: Rows | None = None

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Return f and its gradient."""
        w, free = self.parts(x)
        scores = kernels.matvec(self.X, w, self.rows) - np.sum(self.centre * w)
        value, of_scores, of_thresholds = LOSSES[self.loss](
            scores, ordered_thresholds(free), self.degrees, self.weight
        )
        pulled = kernels.rmatvec(self.X, of_scores, self.rows)
        of_w = pulled - self.centre * of_scores.sum() + self.l2 * w
        value += 0.5 * self.l2 * float(np.sum(w * w))
        return value, np.concatenate([of_w / self.scale, free_gradient(free, of_thresholds)])

    def parts(self, x: Floats) -> tuple[Floats, Floats]:
        """Return w, and (theta_1, delta)."""
        d = len(self.scale)
        return x[:d] / self.scale, x[d:]

    def point(self, w: Floats, thresholds: Floats) -> Floats:
        """Return x from the weights and thresholds of the centred features, the inverse of `parts`."""
        return np.concatenate([w * self.scale, free_parameters(thresholds)])

    def at_zero(self, n_degrees: int) -> Floats:
        """Return the best thresholds for w = 0, for either loss: sigma(theta_k) is the share below."""
        shares = degree_sums(self.degrees, self.weight, n_degrees)
        lower, upper = np.cumsum(shares)[:-1], np.cumsum(shares[::-1])[-2::-1]
        return np.asarray(np.log(lower) - np.log(upper))


@dataclass(frozen=True, eq=False, repr=False)
class OrdinalFit:
    """The result of ordinal regression: degrees 0 (the worst) to n_degrees - 1, by score and thresholds.

    Parameters
    ----------
    w
        The weights: the score is w.x.
    thresholds
        One threshold between neighbouring degrees, never falling.
    loss
        The loss that was minimised.
    minimum
        Where the minimiser stopped and why; None if the fit was built from numbers.
    """

    w: Floats
    thresholds: Floats
    loss: OrdinalLoss = "all-threshold"
    minimum: Minimum | None = None

    @property
    def n_degrees(self) -> int:
        """The number of degrees: one more than thresholds."""
        return len(self.thresholds) + 1

    @property
    def converged(self) -> bool:
        """Whether the minimiser reached the minimum."""
        return self.minimum is None or self.minimum.converged

    def __repr__(self) -> str:
        has_minimum = self.minimum is not None
        end = (", converged" if self.converged else ", not converged") if has_minimum else ""
        return (
            f"OrdinalFit({self.n_degrees} degrees by {len(self.w)} features, {self.loss}, thresholds "
            f"{self.thresholds.round(3).tolist()}{end})"
            if self.n_degrees <= 12
            else f"OrdinalFit({self.n_degrees} degrees by {len(self.w)} features, {self.loss}{end})"
        )

    def scores(self, X: NDArray[Any]) -> Floats:
        """Return w.x, one score per row."""
        return kernels.matvec(_matrix(X), self.w)

    def probabilities(self, X: NDArray[Any]) -> Floats:
        """Return the probability of each degree for each row."""
        return degree_probabilities(self.scores(X), self.thresholds)

    def degree(self, X: NDArray[Any]) -> Ints:
        """Return the degree of each row; see `degree_of`."""
        return degree_of(self.scores(X), self.thresholds, self.loss)


def fit_ordinal(
    X: ArrayLike,
    degrees: ArrayLike,
    n_degrees: int | None = None,
    *,
    l2: float = 1e-3,
    loss: OrdinalLoss = "all-threshold",
    weight: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 500,
    start: OrdinalFit | None = None,
    callback: OrdinalCallback | None = None,
    rows: Rows | None = None,
) -> OrdinalFit:
    """Fit scores and ordered thresholds to degrees: minimise the mean loss plus l2/2 |w|^2 by L-BFGS.

    The problem is convex in weights and thresholds. With two degrees it is logistic regression. A
    degree without a row gets probability 0: its thresholds coincide, or lie at -inf or inf if it is
    the lowest or the highest.

    Parameters
    ----------
    X
        Features, one row per object.
    rows
        The rows of X that are the objects, in their order; None: all rows. Nothing is copied.
    degrees
        Whole numbers from 0 (the worst), one per row.
    n_degrees
        The number of degrees; by default one more than the largest that occurs.
    l2
        The strength of the penalty, added to the mean loss of a row.
    loss
        "all-threshold" or "proportional-odds".
    weight
        The weight of each row, 0 or more; by default all are equal.
    tol, max_iter
        The fit has converged if the largest component of the gradient is at most `tol` times that
        at w = 0. After `max_iter` iterations the fit stops, marked as not converged.
    start
        A fit to start from; by default w = 0.
    callback
        Called once per iteration.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> fit = fit_ordinal(X, [0, 0, 1, 1, 2, 2], l2=0.01)
    >>> fit.degree(X).tolist(), bool(np.all(np.diff(fit.thresholds) > 0)), fit.converged
    ([0, 0, 1, 1, 2, 2], True, True)
    >>> fit.probabilities(X).sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    if loss not in get_args(OrdinalLoss):
        raise UnknownNameError("loss of ordinal regression", str(loss), get_args(OrdinalLoss))
    for name, value in (("l2", l2), ("tol", tol)):
        if not 0 <= value < np.inf:
            raise UsageError(f"expected {name} to be a finite number of 0 or more, got {value!r}")
    if max_iter < 1:
        raise UsageError(f"expected max_iter of 1 or more, got {max_iter!r}")
    matrix = _matrix(X)
    n_rows = len(matrix) if rows is None else len(rows)
    numbers, n = _degrees(degrees, n_degrees, n_rows)
    share = _shares(weight, n_rows)
    occurs = degree_sums(numbers, share, n) > 0
    if occurs.sum() < 2:
        got = f"degree {np.flatnonzero(occurs)[0]} only" if occurs.any() else "no row"
        raise DataError(f"expected rows of at least two degrees, got {got}")
    centre, spread = _moments(matrix, share, rows)
    # Only degrees that occur are numbered; rows of weight 0 may have any degree.
    place = np.cumsum(occurs) - 1
    problem = OrdinalProblem(
        matrix, np.maximum(place[numbers], 0), share, l2, loss, centre, np.sqrt(spread + l2), rows
    )

    def fitted(x: Floats, minimum: Minimum | None = None) -> OrdinalFit:
        w, free = problem.parts(x)
        ends = np.concatenate([[-np.inf], ordered_thresholds(free) + np.sum(centre * w), [np.inf]])
        return OrdinalFit(w, ends[np.cumsum(occurs)[:-1]], loss, minimum)

    def report(_: int, x: Floats, value: float) -> None:
        if callback is not None:
            callback(fitted(x), value)

    at_zero = problem.at_zero(int(occurs.sum()))
    cold_start = problem.point(np.zeros(matrix.shape[1]), at_zero)
    minimum = lbfgs(
        problem,
        cold_start if start is None else _warm_start(start, problem, at_zero, occurs),
        tol=tol, steepest=max(float(np.abs(problem(cold_start)[1]).max()), ZERO_SLOPE), max_iter=max_iter,
        callback=report,
    )  # fmt: skip
    return fitted(minimum.x, minimum)


def _warm_start(
    start: OrdinalFit, problem: OrdinalProblem, at_zero: Floats, occurs: NDArray[np.bool_]
) -> Floats:
    """Return the point of another fit: its weights, and its thresholds if it has the same degrees."""
    thresholds = start.thresholds - np.sum(problem.centre * start.w)
    same = len(thresholds) == len(occurs) - 1 and occurs.all() and np.isfinite(thresholds).all()
    return problem.point(start.w, thresholds if same else at_zero)


def _moments(X: NDArray[Any], share: Floats, selected: Rows | None) -> tuple[Floats, Floats]:
    """Return the mean and the variance of each feature; the variance is 1 if only rounding makes it vary."""
    centre, variance = kernels.rmatvec(X, share, selected), np.zeros(X.shape[1])
    for first in range(0, len(share), 8192):
        rows = slice(first, first + 8192)
        block = X[rows] if selected is None else X[selected[rows]]
        variance += np.einsum("i,ij->j", share[rows], (block - centre) ** 2)
    if not np.isfinite(variance).all():
        wrong = not np.isfinite(centre).all()
        raise NonFiniteError(
            "features for ordinal regression must be finite, got NaN or infinity" if wrong else
            "the features are too large: their squares are infinite; scale the features"
        )  # fmt: skip
    rounding = (1e-12 * np.abs(centre)) ** 2
    return centre, np.where(variance > rounding, variance, np.maximum(1.0, centre**2))


def _matrix(X: ArrayLike) -> NDArray[Any]:
    matrix = np.asarray(X)
    single = matrix.dtype == np.float32
    matrix = np.ascontiguousarray(matrix, dtype=np.float32 if single else np.float64)
    if matrix.ndim != 2:
        raise DataError(f"expected a matrix of features, got an array of shape {matrix.shape}")
    return matrix


def _degrees(values: ArrayLike, n_degrees: int | None, n_rows: int) -> tuple[Ints, int]:
    degrees = np.asarray(values)
    if degrees.shape != (n_rows,):
        raise LengthMismatchError(
            f"expected {n_rows} degrees, one per row, got an array of shape {degrees.shape}"
        )
    whole = degrees.astype(np.int64) if np.isfinite(degrees).all() else np.full(n_rows, -1)
    wrong = (whole != degrees) | (whole < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"expected whole numbers from 0 as degrees, got {degrees[row]} in row {row}"
        )
    n = int(whole.max(initial=0)) + 1 if n_degrees is None else n_degrees
    if whole.max(initial=0) >= n:
        raise UsageError(f"expected degrees below n_degrees = {n}, got {whole.max()}")
    return whole, n


def _shares(weight: ArrayLike | None, n_rows: int) -> Floats:
    """Return the weights scaled to a sum of 1."""
    if weight is None:
        return np.full(n_rows, 1 / max(n_rows, 1))
    weights = np.asarray(weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError(f"expected {n_rows} weights of 0 or more, one per row")
    total = float(weights.sum())
    return np.asarray(weights / total) if total > 0 else weights
