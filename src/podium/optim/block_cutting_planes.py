"""Block cutting planes of TopSlack and TopMargin (Algorithm 1 of TopRank): one working set per query.

The objective is 1/2 |w|^2 + sum_i total_i L_i(X_i w) with every L_i >= 0 convex. Each block has planes
of its own (the n-slack structural SVM; Tsochantaridis, Joachims, Hofmann, Altun, JMLR 2005), so a pass
over all blocks says far more than one plane below their sum. Block ascent climbs the dual of the
problem with the planes so far (Shah, Kolmogorov, Lampert: A multi-plane block-coordinate Frank-Wolfe
algorithm, CVPR 2015). If that is slow, an interior point method solves it. The value of the dual is the
lower bound; its w is the place of the next planes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.optim.interior_point import interior_point
from podium.optim.linear_problem import IterationCallback, Minimum, check_finite, norm2
from podium.typing import Floats

BlockLoss = Callable[[Floats, Floats], tuple[Floats, Floats]]

DUAL_GAP_SHARE = 0.1
"""The share of the gap to which the problem with the current planes is solved."""
MAX_ASCENT_SWEEPS = 100
"""After this many sweeps of block ascent, the interior point method takes over."""
ASCENT_STEPS_PER_BLOCK = 2
"""The steps of block ascent within a block, per sweep."""
FIRST_PLANES_PER_BLOCK = 8
"""The initial room for planes per block."""
MIN_VIOLATION_SHARE = 0.01
"""A plane is added if it is violated by at least this share of the mean gap."""
MIN_WEIGHT_SHARE = 1e-5
"""A plane is idle if it has at most this share of its block's weight."""
MAX_IDLE_PASSES = 20
"""After this many idle passes, a plane may be overwritten."""
ZERO_GAP_SHARE = 1e-3
"""w = 0 is optimal if its gap is at most this share of the gap to prove."""


@dataclass(frozen=True, eq=False)
class BlockProblem:
    """f(w) = 1/2 |w|^2 + sum_i total_i L_i(X_i w), L_i >= 0 convex, X_i the rows of block i.

    Parameters
    ----------
    X
        Features.
    offsets
        Block i is the rows offsets[i] to offsets[i + 1].
    loss
        (predictions, a lower bound on L_i for each block) -> L_i of each block, and the gradient of
        each row. A loss that computes L_i exactly ignores the bound.
    totals
        The weight of each block, above 0.
    """

    X: NDArray[Any]
    offsets: NDArray[np.int64]
    loss: BlockLoss
    totals: Floats

    def losses(self, w: Floats, reached: Floats) -> tuple[Floats, Floats]:
        """Return L_i and its gradient with respect to w, one row per block."""
        values, gradient = self.loss(kernels.matvec(self.X, w), reached)
        return values, kernels.rmatvec_by_query(self.X, gradient, self.offsets)

    def total(self, w: Floats, losses: Floats) -> float:
        """Return f(w) from the losses at w."""
        return norm2(w) / 2 + float(np.sum(self.totals * losses))

    def __call__(self, w: Floats) -> float:
        """Return f(w)."""
        no_bound = np.zeros(len(self.totals))
        return self.total(w, self.loss(kernels.matvec(self.X, w), no_bound)[0])


class BlockPlanes:
    """Planes b + g.w below L_i for each block (the first is 0), and their weights in the dual.

    The weights represent w = -sum weight g.
    """

    def __init__(self, totals: Floats, n_features: int) -> None:
        n = len(totals)
        self.totals = totals
        self.slopes = np.zeros((n, FIRST_PLANES_PER_BLOCK, n_features))
        self.offsets, self.weights = np.zeros((2, n, FIRST_PLANES_PER_BLOCK))
        self.weights[:, 0] = totals
        self.used = np.ones(n, dtype=np.int64)
        self.idle = np.zeros((n, FIRST_PLANES_PER_BLOCK), dtype=np.int64)
        self.ascent_is_slow = False

    def tilt(self, shifts: Floats, factors: Floats | float = 1.0) -> None:
        """Add factor * shifts[i] to the slopes of the planes of block i, except the first."""
        factors = np.broadcast_to(factors, self.offsets.shape).copy()
        factors[:, 0] = 0
        factors[np.arange(self.offsets.shape[1]) >= self.used[:, None]] = 0
        self.slopes += factors[:, :, None] * shifts[:, None, :]

    @property
    def w(self) -> Floats:
        """The minimiser that the weights represent."""
        return np.asarray(-np.einsum("ik,ikj->j", self.weights, self.slopes))

    def bound(self) -> float:
        """Return the value of the dual, a lower bound on f."""
        return float(np.sum(self.weights * self.offsets)) - norm2(self.w) / 2

    def heights(self, w: Floats) -> Floats:
        """Return the height of the highest plane of each block at w."""
        heights = self.offsets + np.einsum("ikj,j->ik", self.slopes, w)
        return np.asarray(heights.max(axis=1, where=self._in_use(), initial=0.0))

    def add(self, offsets: Floats, slopes: Floats, rows: NDArray[np.int64]) -> None:
        """Add a plane to each of some blocks: in the next free place, or over the longest idle plane."""
        oldest = np.where(self.idle > MAX_IDLE_PASSES, self.idle, 0).argmax(axis=1)[rows]
        if ((self.used[rows] == self.offsets.shape[1]) & (oldest == 0)).any():
            self._widen()
        place = np.where(oldest > 0, oldest, self.used[rows])
        self.weights[rows, 0] += self.weights[
            rows, place
        ]  # the weight of an overwritten plane goes to plane 0
        self.weights[rows, place] = 0
        self.slopes[rows, place], self.offsets[rows, place] = slopes[rows], offsets[rows]
        self.idle[rows, place] = 0
        self.used[rows] = np.maximum(self.used[rows], place + 1)

    def solve(self, enough: float) -> Floats:
        """Solve for the weights to a duality gap of about `enough`; return the minimiser."""
        if not self.ascent_is_slow:
            self.weights, _, gap = kernels.block_ascent(
                self.slopes, self.offsets, self.used, self.weights, self.w,
                MAX_ASCENT_SWEEPS, ASCENT_STEPS_PER_BLOCK, enough,
            )  # fmt: skip
            self.ascent_is_slow = gap > enough
        # The w of the ascent has the rounding errors of thousands of steps; self.w computes it
        # again.
        w = self._solve_by_interior_point(enough) if self.ascent_is_slow else self.w
        min_weights = MIN_WEIGHT_SHARE * self.totals[:, None]
        self.idle = np.where(self.weights > min_weights, 0, self.idle + 1)
        self.idle[:, 0] = 0
        return w

    def _solve_by_interior_point(self, enough: float) -> Floats:
        in_use = self._in_use()
        starts = np.concatenate([[0], np.cumsum(self.used)[:-1]])
        planes = self.slopes[in_use], self.offsets[in_use]
        self.weights[in_use], w = interior_point(
            *planes, starts, self.totals, self.weights[in_use], enough
        )
        return w

    def _in_use(self) -> NDArray[np.bool_]:
        return np.arange(self.offsets.shape[1]) < self.used[:, None]

    def _widen(self) -> None:
        for name in ("slopes", "offsets", "weights", "idle"):
            values = getattr(self, name)
            setattr(self, name, np.concatenate([values, np.zeros_like(values)], axis=1))


def block_cutting_planes(
    problem: BlockProblem,
    planes: BlockPlanes | None = None,
    *,
    eps: float = 1e-3,
    max_iter: int = 1000,
    callback: IterationCallback | None = None,
) -> Minimum:
    """Minimise f to a gap of eps * sum of totals, proved by the dual.

    w = 0 ranks nothing: it is returned only if there is no other point, and a point that is not
    better than 0 is marked as not converged.

    Parameters
    ----------
    problem
        The problem to minimise.
    planes
        Planes to start from, which must lie below the losses; the call adds more planes to them.
    eps
        The gap to prove, as a share of the sum of totals.
    max_iter
        The maximum number of passes over all blocks.
    callback
        Called after each pass with its number, the best point so far and its value.

    Examples
    --------
    Two points, labels +1 and -1, each a block with the hinge loss of one weight.

    >>> X, y = np.array([[1.0], [-2.0]]), np.array([1.0, -1.0])
    >>> def hinge(s, reached):
    ...     return np.maximum(0, 1 - y * s), np.where(y * s < 1, -y, 0.0)
    >>> problem = BlockProblem(X, np.array([0, 1, 2]), hinge, np.ones(2))
    >>> minimum = block_cutting_planes(problem, eps=1e-9)
    >>> minimum.x.round(6).tolist(), round(minimum.value, 6), minimum.converged
    ([1.0], 0.5, True)
    """
    if planes is None:
        planes = BlockPlanes(problem.totals, problem.X.shape[1])
    max_gap = eps * float(np.sum(problem.totals))
    w = best = planes.w
    at_zero = problem(np.zeros_like(w))
    value, lower, iteration, converged = np.inf, -np.inf, 0, False
    while iteration < max_iter and not converged:
        iteration += 1
        heights = planes.heights(w)
        losses, slopes = problem.losses(w, heights)
        value_at_w = problem.total(w, losses)
        check_finite(value_at_w, iteration)
        if value_at_w < value and w.any():
            best, value = w, value_at_w
        lower = max(lower, planes.bound())
        if callback is not None:
            callback(iteration, best, min(value, at_zero))
        converged = value < at_zero and value - lower <= max_gap
        if converged or at_zero - lower <= ZERO_GAP_SHARE * max_gap:
            break
        gap = max(min(value, at_zero) - lower, ZERO_GAP_SHARE * max_gap)
        min_violation = MIN_VIOLATION_SHARE * gap / float(np.sum(problem.totals))
        violated = np.flatnonzero(losses > heights + min_violation)
        planes.add(losses - np.einsum("ij,j->i", slopes, w), slopes, violated)
        w = planes.solve(DUAL_GAP_SHARE * gap)
    if not best.any():
        value = at_zero
    gap = max(0.0, value - lower)
    reason = (
        f"the gap is {gap:.3g} after {iteration} passes, {gap * eps / max_gap:.2g} of the "
        f"blocks' total weight; {eps:g} was requested"
    )
    if value >= at_zero:
        reason += "; w = 0 was not bettered"
    return Minimum(best, value, iteration, converged, reason, gap=gap)
