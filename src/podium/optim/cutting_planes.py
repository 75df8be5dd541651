"""Cutting planes: minimise l2/2 |w|^2 + R(w) with R convex and not smooth.

R lies above each of its tangent planes, R(w) >= a.w + b with a = X' g and b = R - a.w where they
were taken. The minimum of l2/2 |w|^2 + max over planes (a.w + b) is a lower bound, and its place
the next one to look at (Teo, Vishwanathan, Smola, Le: Bundle methods for regularized risk
minimization, JMLR 2010; Joachims, Finley, Yu: Cutting-plane training of structural SVMs, 2009).
Far planes make that place jump about, so the next point is searched on the line from the best
point so far through it (Franc, Sonnenburg: OCAS, ICML 2008). Scores are linear along the line:
no step of the search multiplies by X. The planes taken are those of both ends of the bracket
in which the search ends: together they tell the model where the line's minimum is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from podium import kernels
from podium.errors import DivergedError, UsageError
from podium.optim.linear import Each, Floats, LinearProblem, Minimum

IDLE = 30  # iterations without weight after which a plane is forgotten
LINE_SHARE = 0.1  # a line is searched to this share of the gap
LINE_STEPS = 20


def cutting_planes(
    problem: LinearProblem,
    start: Floats | None = None,
    *,
    eps: float = 1e-3,
    max_iter: int = 1000,
    nonnegative: bool = True,
    each: Each | None = None,
) -> Minimum:
    """Minimise l2/2 |w|^2 + R(w), R convex, to a certified gap.

    Ends when value - lower bound <= eps * value: relative to the value itself, so the same for
    a sum and a mean over queries at the same trade-off. The result's ``gap`` is that difference.

    Parameters
    ----------
    problem
        l2 > 0; ``loss`` gives R and one subgradient with respect to the scores.
    start
        The first point; 0 unless given.
    eps
        The gap asked for, relative to the value.
    max_iter
        Most models minimised; each takes one or two planes and some values of R.
    nonnegative
        R(w) >= 0 everywhere, as for every hinge: then 0 is a plane too.
    each
        Called once an iteration with its number, the best point so far and its value.

    Examples
    --------
    Two points, labels +1 and -1: the hinge loss of one weight.

    >>> import numpy as np
    >>> from podium.optim import LinearProblem, cutting_planes
    >>> X, y = np.array([[1.0], [-2.0]]), np.array([1.0, -1.0])
    >>> def hinge(s):
    ...     miss = y * s < 1
    ...     return float((1 - y * s)[miss].sum()), -y * miss
    >>> found = cutting_planes(LinearProblem(X, hinge, l2=1.0), eps=1e-9)
    >>> found.x.round(6).tolist(), round(found.value, 6), found.converged
    ([1.0], 0.5, True)
    """
    if not problem.l2 > 0:
        raise UsageError(f"expected l2 above 0 for cutting planes, got {problem.l2}")
    w = np.zeros(problem.X.shape[1]) if start is None else np.array(start, dtype=np.float64)
    best = _look(problem, w, problem.scores(w), iteration=0)
    bundle = _Bundle(problem.l2, len(w), nonnegative)
    bundle.add(problem, best, iteration=0)
    lower, iteration, converged = -math.inf, 0, False
    while iteration < max_iter and not converged:
        iteration += 1
        target, bound = bundle.minimiser()
        lower = max(lower, bound)
        # At 0 nothing is learned, however close its value: where the loss is small against |w|^2
        # the first step is taken at least, and the gap told for what it is.
        moved = best.w.any() or best.value <= lower
        converged = bool(moved) and best.value - lower <= eps * abs(best.value)
        if not converged:
            line = _Line(problem, best, target, iteration)
            ends = line.search(LINE_SHARE * (best.value - lower))
            for place in ends:
                if place.step > 0:  # the plane at 0 was taken when that point was found
                    bundle.add(problem, place.point, iteration)
            best = min((place.point for place in ends), key=lambda point: point.value)
        if each is not None:
            each(iteration, best.w, best.value)
    # Sums of steps have their own roundings: the value told is that of the point told.
    value = _look(problem, best.w, problem.scores(best.w), iteration).value
    gap = max(0.0, value - lower)
    asked = f"{eps:g} was asked, after {iteration} iterations"
    reason = f"the gap is {gap / abs(value) if value else 0.0:.3g} of the value, {asked}"
    return Minimum(best.w, value, iteration, converged, reason, gap=gap)


def _dot(a: Floats, b: Floats) -> float:
    """a.b, summed in one order whatever the number of threads (which BLAS does not do)."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class _Point:
    w: Floats
    scores: Floats
    risk: float  # R
    gradient: Floats  # of R, with respect to the scores
    value: float  # l2/2 |w|^2 + R


def _look(problem: LinearProblem, w: Floats, scores: Floats, iteration: int) -> _Point:
    risk, gradient = problem.loss(scores)
    value = problem.l2 / 2 * _dot(w, w) + risk
    if not math.isfinite(value):
        raise DivergedError(
            f"expected a finite objective, got {value} at iteration {iteration} of cutting planes "
            f"(loss {risk}, |w| {math.sqrt(_dot(w, w)):.3g}, l2 {problem.l2:g})"
        )
    return _Point(w, scores, risk, gradient, value)


class _Bundle:
    """Planes a.w + b below R, and the minimum of the model they make."""

    def __init__(self, l2: float, n_features: int, nonnegative: bool) -> None:
        zero = int(nonnegative)  # the plane 0, never forgotten
        self.l2, self.n_kept = l2, zero
        self.slopes, self.offsets = np.zeros((zero, n_features)), np.zeros(zero)
        self.gram, self.weights = np.zeros((zero, zero)), np.ones(zero)  # slopes.slopes' / l2
        self.idle = np.zeros(zero, dtype=np.int64)  # iterations since a plane had weight

    def add(self, problem: LinearProblem, point: _Point, iteration: int) -> None:
        """The plane that touches R at a point."""
        slope = problem.pull(point.gradient)
        if not np.isfinite(slope).all():
            raise DivergedError(
                f"expected a finite gradient, got {slope[~np.isfinite(slope)][0]} at iteration "
                f"{iteration} of cutting planes"
            )
        self.slopes = np.vstack([self.slopes, slope])
        self.offsets = np.append(self.offsets, point.risk - _dot(point.gradient, point.scores))
        row = np.einsum("ij,j->i", self.slopes, slope) / self.l2
        self.gram = np.block([[self.gram, row[:-1, None]], [row]])
        self.weights, self.idle = np.append(self.weights, 0.0), np.append(self.idle, 0)

    def minimiser(self) -> tuple[Floats, float]:
        """Where l2/2 |w|^2 + max (a.w + b) is smallest, w = -sum weights a / l2, and its value.

        The value is the dual's, b.weights - l2/2 |w|^2: a lower bound with any weights.
        """
        self._forget()
        self.weights = kernels.simplex_qp(self.gram, self.offsets, 1.0, self.weights)
        self.idle = np.where(self.weights > 0, 0, self.idle + 1)
        w = -np.einsum("i,ij->j", self.weights, self.slopes) / self.l2
        return w, _dot(self.offsets, self.weights) - self.l2 / 2 * _dot(w, w)

    def _forget(self) -> None:
        keep = self.idle <= IDLE
        keep[: self.n_kept] = True
        if not keep.all():
            self.slopes, self.offsets = self.slopes[keep], self.offsets[keep]
            self.gram = np.ascontiguousarray(self.gram[np.ix_(keep, keep)])
            self.weights, self.idle = self.weights[keep], self.idle[keep]


@dataclass(frozen=True)
class _Place:
    step: float
    point: _Point
    rise: float  # of the objective along the line


class _Line:
    """The objective at origin.w + step * (target - origin.w)."""

    def __init__(
        self, problem: LinearProblem, origin: _Point, target: Floats, iteration: int
    ) -> None:
        self.problem, self.origin, self.iteration = problem, origin, iteration
        self.along = target - origin.w
        self.scores_along = problem.scores(target) - origin.scores

    def at(self, step: float) -> _Place:
        """The objective after a step, and how it rises there."""
        w, scores = self.origin.w + step * self.along, self.origin.scores + step * self.scores_along
        return self._place(step, _look(self.problem, w, scores, self.iteration))

    def _place(self, step: float, point: _Point) -> _Place:
        rise = _dot(point.gradient, self.scores_along)
        return _Place(step, point, rise + self.problem.l2 * _dot(point.w, self.along))

    def search(self, small: float) -> tuple[_Place, _Place]:
        """Two places around the line's minimum, the better of them within `small` of it."""
        low, high = self._place(0.0, self.origin), self.at(1.0)
        while high.rise < 0:
            low, high = high, self.at(2 * high.step)
        for _ in range(LINE_STEPS):
            if low.rise >= 0 or min(low.point.value, high.point.value) - _floor(low, high) <= small:
                break
            middle = self.at(_between(low, high))
            low, high = (middle, high) if middle.rise < 0 else (low, middle)
        return low, high


def _between(low: _Place, high: _Place) -> float:
    """Where the rise would be 0 were it linear, but well inside."""
    share = min(max(low.rise / (low.rise - high.rise), 0.1), 0.9)
    return low.step + share * (high.step - low.step)


def _floor(low: _Place, high: _Place) -> float:
    """Where the tangents at two places around a minimum meet: a lower bound of it."""
    width = high.step - low.step
    tangents = high.rise * low.point.value - low.rise * high.point.value
    return (tangents + low.rise * high.rise * width) / (high.rise - low.rise)
