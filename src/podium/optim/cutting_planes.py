"""Cutting planes of RankSVM, SVM-MAP and FocusedSVM, for all queries together.

They minimise l2/2 |w|^2 + R(w) with R convex and not smooth. R lies above each of its tangent
planes, R(w) >= a.w + b, with a = X' g and b = R - a.w at the point of contact. The minimum of l2/2
|w|^2 + max over planes (a.w + b) is a lower bound, and its minimiser is the next point (Teo,
Vishwanathan, Smola, Le: Bundle methods for regularized risk minimization, JMLR 2010; Joachims,
Finley, Yu: Cutting-plane training of structural SVMs, 2009). Distant planes make the minimiser
jump. So a line search goes from the best point through it (Franc, Sonnenburg: OCAS, ICML 2008).
Scores are linear along the line, so no step of the search multiplies by X. Both ends of the last
bracket get a plane; together they tell the model where the minimum of the line is.

A loss that is a sum over blocks of rows may have planes for each block. The model is then much
closer to the loss, and a tenth of the passes over X suffice. Its quadratic programme is larger, so
this pays only if X is large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.errors import DivergedError, UsageError
from podium.optim.block_cutting_planes import (
    DUAL_GAP_SHARE,
    MIN_VIOLATION_SHARE,
    BlockPlanes,
)
from podium.optim.linear_problem import BlockLosses, IterationCallback, LinearProblem, Minimum
from podium.typing import Floats

MAX_IDLE_ITERATIONS = 30
"""A plane is dropped after this many iterations without weight."""
LINE_GAP_SHARE = 0.1
"""A line search ends within this share of the gap."""
MAX_LINE_STEPS = 20


def cutting_planes(
    problem: LinearProblem,
    start: Floats | None = None,
    *,
    eps: float = 1e-3,
    max_iter: int = 1000,
    nonnegative: bool = True,
    callback: IterationCallback | None = None,
    blocks: BlockLosses | None = None,
) -> Minimum:
    """Minimise l2/2 |w|^2 + R(w), R convex, to a certified gap.

    It ends if value - lower bound <= eps * value. The gap is relative to the value, so it is the
    same for a sum and a mean over queries. The result's ``gap`` is that difference.

    Parameters
    ----------
    problem
        A problem with l2 > 0; ``loss`` returns R and a subgradient with respect to the scores.
    start
        The first point; by default 0.
    eps
        The gap to prove, relative to the value.
    max_iter
        The maximum number of iterations; each adds one or two planes and computes R a few times.
    nonnegative
        Whether R(w) >= 0 everywhere, as for every hinge; then 0 is also a plane.
    callback
        Called once per iteration with its number, the best point so far and its value.
    blocks
        R as a sum over blocks, each of 0 or more, for planes of each block.

    Examples
    --------
    Two points, labels +1 and -1: the hinge loss of one weight.

    >>> import numpy as np
    >>> from podium.optim import LinearProblem, cutting_planes
    >>> X, y = np.array([[1.0], [-2.0]]), np.array([1.0, -1.0])
    >>> def hinge(s):
    ...     miss = y * s < 1
    ...     return float((1 - y * s)[miss].sum()), -y * miss
    >>> minimum = cutting_planes(LinearProblem(X, hinge, l2=1.0), eps=1e-9)
    >>> minimum.x.round(6).tolist(), round(minimum.value, 6), minimum.converged
    ([1.0], 0.5, True)
    """
    if not problem.l2 > 0:
        raise UsageError(f"expected l2 above 0 for cutting planes, got {problem.l2}")
    w = np.zeros(problem.X.shape[1]) if start is None else np.array(start, dtype=np.float64)
    objective = _Objective(problem, blocks)
    best = objective.point(w, problem.scores(w), iteration=0)
    bundle = objective.bundle(nonnegative)
    bundle.add(problem, best, iteration=0)
    lower, iteration, converged = -math.inf, 0, False
    while iteration < max_iter and not converged:
        iteration += 1
        target, bound = bundle.minimiser(best.value - max(lower, 0.0))
        lower = max(lower, bound)
        # w = 0 ranks nothing, however small its gap, so at least one step is taken from it.
        has_moved = best.w.any() or best.value <= lower
        converged = bool(has_moved) and best.value - lower <= eps * abs(best.value)
        if not converged:
            line = _Line(objective, best, target, iteration)
            ends = line.search(LINE_GAP_SHARE * (best.value - lower))
            for end in ends:
                if end.step > 0:  # the point at step 0 already has its plane
                    bundle.add(problem, end.point, iteration)
            best = min((end.point for end in ends), key=lambda point: point.value)
        if callback is not None:
            callback(iteration, best.w, best.value)
    # Sums of steps have rounding errors, so the value is computed again at the final point.
    value = objective.point(best.w, problem.scores(best.w), iteration).value
    gap = max(0.0, value - lower)
    share = gap / abs(value) if value else 0.0
    side = "within" if converged else "above"
    reason = f"the gap is {share:.3g} of the value after {iteration} iterations, {side} eps={eps:g}"
    return Minimum(best.w, value, iteration, converged, reason, gap=gap)


def _dot(a: Floats, b: Floats) -> float:
    """Return a.b, summed in the same order for any number of threads, unlike BLAS."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class _Point:
    w: Floats
    scores: Floats
    risk: float  # R
    block_risks: Floats | None  # the parts of R, if there are blocks
    gradient: Floats  # of R, with respect to the scores
    value: float  # l2/2 |w|^2 + R


@dataclass(frozen=True)
class _Objective:
    """The function to minimise, with the blocks of its loss if there are any."""

    problem: LinearProblem
    blocks: BlockLosses | None

    def point(self, w: Floats, scores: Floats, iteration: int) -> _Point:
        """Return the point w, whose predictions are `scores`."""
        parts: Floats | None = None
        if self.blocks is None:
            risk, gradient = self.problem.loss(scores)
        else:
            parts, gradient = self.blocks.evaluate(scores)
            risk = float(np.sum(parts))
        value = self.problem.l2 / 2 * _dot(w, w) + risk
        if not math.isfinite(value):
            raise DivergedError(
                f"the objective became {value} at iteration {iteration} of cutting planes (loss "
                f"{risk}, |w| {math.sqrt(_dot(w, w)):.3g}, l2 {self.problem.l2:g})"
            )
        return _Point(w, scores, risk, parts, gradient, value)

    def bundle(self, nonnegative: bool) -> _Bundle | _BlockBundle:
        """Return planes below R, without any but 0."""
        n_features = self.problem.X.shape[1]
        if self.blocks is None:
            return _Bundle(self.problem.l2, n_features, nonnegative)
        return _BlockBundle(self.problem.l2, n_features, self.blocks.offsets)


def _require_finite(slopes: Floats, iteration: int) -> None:
    if not np.isfinite(slopes).all():
        raise DivergedError(
            f"the gradient became {slopes[~np.isfinite(slopes)][0]} at iteration "
            f"{iteration} of cutting planes"
        )


class _Bundle:
    """Planes a.w + b below R, and the minimum of their model."""

    def __init__(self, l2: float, n_features: int, nonnegative: bool) -> None:
        zero = int(nonnegative)  # the plane 0, which is never dropped
        self.l2, self.n_permanent = l2, zero
        self.slopes, self.offsets = np.zeros((zero, n_features)), np.zeros(zero)
        self.gram, self.weights = np.zeros((zero, zero)), np.ones(zero)  # slopes.slopes' / l2
        self.idle = np.zeros(zero, dtype=np.int64)  # iterations since a plane had weight

    def add(self, problem: LinearProblem, point: _Point, iteration: int) -> None:
        """Add the plane that touches R at a point."""
        slope = problem.pull(point.gradient)
        _require_finite(slope, iteration)
        self.slopes = np.vstack([self.slopes, slope])
        self.offsets = np.append(self.offsets, point.risk - _dot(point.gradient, point.scores))
        row = np.einsum("ij,j->i", self.slopes, slope) / self.l2
        self.gram = np.block([[self.gram, row[:-1, None]], [row]])
        self.weights, self.idle = np.append(self.weights, 0.0), np.append(self.idle, 0)

    def minimiser(self, gap: float) -> tuple[Floats, float]:
        """Return the minimiser w = -sum weights a / l2 of l2/2 |w|^2 + max (a.w + b), and its value.

        The value is that of the dual, b.weights - l2/2 |w|^2, a lower bound with any weights. It is
        exact, whatever the gap so far.
        """
        self._drop_idle()
        self.weights = kernels.simplex_qp(self.gram, self.offsets, 1.0, self.weights)
        self.idle = np.where(self.weights > 0, 0, self.idle + 1)
        w = -np.einsum("i,ij->j", self.weights, self.slopes) / self.l2
        return w, _dot(self.offsets, self.weights) - self.l2 / 2 * _dot(w, w)

    def _drop_idle(self) -> None:
        keep = self.idle <= MAX_IDLE_ITERATIONS
        keep[: self.n_permanent] = True
        if not keep.all():
            self.slopes, self.offsets = self.slopes[keep], self.offsets[keep]
            self.gram = np.ascontiguousarray(self.gram[np.ix_(keep, keep)])
            self.weights, self.idle = self.weights[keep], self.idle[keep]


class _BlockBundle:
    """Planes below the loss of each block, and the minimum of the model that they make.

    `BlockPlanes` has l2 = 1, so losses are in units of l2.
    """

    def __init__(self, l2: float, n_features: int, offsets: NDArray[np.int64]) -> None:
        self.l2, self.offsets = l2, offsets
        self.planes = BlockPlanes(np.ones(len(offsets) - 1), n_features)
        self.target: Floats | None = None
        self.min_heights = np.zeros(len(offsets) - 1)

    def add(self, problem: LinearProblem, point: _Point, iteration: int) -> None:
        """Add the planes that touch the losses at a point, in blocks where they lift the model's minimum."""
        assert point.block_risks is not None
        slopes = problem.pull_blocks(point.gradient, self.offsets) / self.l2
        _require_finite(slopes, iteration)
        offsets = point.block_risks / self.l2 - np.einsum("ij,j->i", slopes, point.w)
        lifts = np.ones(len(offsets), dtype=bool)
        if self.target is not None:
            lifts = offsets + np.einsum("ij,j->i", slopes, self.target) > self.min_heights
        self.planes.add(offsets, slopes, np.flatnonzero(lifts))

    def minimiser(self, gap: float) -> tuple[Floats, float]:
        """Return the minimiser of the model, nearly: to a share of the gap so far; and a lower bound."""
        gap /= self.l2
        self.target = self.planes.solve(DUAL_GAP_SHARE * gap)
        min_violation = MIN_VIOLATION_SHARE * gap / len(self.min_heights)
        self.min_heights = self.planes.heights(self.target) + min_violation
        return self.target, self.l2 * self.planes.bound()


@dataclass(frozen=True)
class _LinePoint:
    step: float
    point: _Point
    slope: float  # of the objective along the line


class _Line:
    """The objective at origin.w + step * (target - origin.w)."""

    def __init__(
        self, objective: _Objective, origin: _Point, target: Floats, iteration: int
    ) -> None:
        self.objective, self.origin, self.iteration = objective, origin, iteration
        self.direction = target - origin.w
        self.score_direction = objective.problem.scores(target) - origin.scores

    def evaluate(self, step: float) -> _LinePoint:
        """Return the objective after a step, and its slope there."""
        w, scores = (
            self.origin.w + step * self.direction,
            self.origin.scores + step * self.score_direction,
        )
        return self._line_point(step, self.objective.point(w, scores, self.iteration))

    def _line_point(self, step: float, point: _Point) -> _LinePoint:
        slope, l2 = _dot(point.gradient, self.score_direction), self.objective.problem.l2
        return _LinePoint(step, point, slope + l2 * _dot(point.w, self.direction))

    def search(self, small: float) -> tuple[_LinePoint, _LinePoint]:
        """Return two points around the minimum of the line; the better one is within `small` of it."""
        low, high = self._line_point(0.0, self.origin), self.evaluate(1.0)
        while high.slope < 0:
            low, high = high, self.evaluate(2 * high.step)
        for _ in range(MAX_LINE_STEPS):
            if (
                low.slope >= 0
                or min(low.point.value, high.point.value) - _tangent_bound(low, high) <= small
            ):
                break
            middle = self.evaluate(_middle_step(low, high))
            low, high = (middle, high) if middle.slope < 0 else (low, middle)
        return low, high


def _middle_step(low: _LinePoint, high: _LinePoint) -> float:
    """Return the step where a linear slope would be 0, kept well inside the bracket."""
    share = min(max(low.slope / (low.slope - high.slope), 0.1), 0.9)
    return low.step + share * (high.step - low.step)


def _tangent_bound(low: _LinePoint, high: _LinePoint) -> float:
    """Return the height at which the tangents at two points around a minimum meet, a lower bound on it."""
    width = high.step - low.step
    tangents = high.slope * low.point.value - low.slope * high.point.value
    return (tangents + low.slope * high.slope * width) / (high.slope - low.slope)
