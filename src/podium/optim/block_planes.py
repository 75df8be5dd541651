"""Cutting planes, a bundle for each block: 1/2 |w|^2 + a sum of convex functions, to a proved gap.

sum_i total_i L_i(X_i w) with every L_i >= 0 convex: each has planes of its own below it (the n-slack
structural SVM; Tsochantaridis, Joachims, Hofmann, Altun, JMLR 2005), so that a pass over all blocks
tells far more than one plane below their sum does. The dual of the problem with the planes so far
is climbed block by block (Shah, Kolmogorov, Lampert: A multi-plane block-coordinate Frank-Wolfe
algorithm, CVPR 2015), and where that is slow, solved by an interior point method. Its value is the
lower bound, its w the place of the next planes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.optim.interior_point import interior_point
from podium.optim.linear import Each, Floats, Minimum, check_finite, norm2

Loss = Callable[[Floats, Floats], tuple[Floats, Floats]]

MASTER_SHARE = 0.1  # of the gap to which the problem with the planes so far is solved
SWEEPS = 100  # by block ascent; then the interior point method takes over
STEPS = 2  # within a block, a sweep
PLACES = 8  # planes a block at first
SLIGHT = 0.01  # of the mean gap by which a plane must be violated to be added
LIGHT = 1e-5  # of a block's weight, at which a plane does not count
IDLE = 20  # passes without such a weight after which a plane may be written over
NO_BETTER = 1e-3  # of the gap asked for: no closer than that is w = 0 to be bettered


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
        (predictions, for each block a value that L_i is known to reach there) -> L_i a block and
        the gradient a row. A loss that is found exactly needs no second argument.
    totals
        What each block counts, above 0.
    """

    X: NDArray[Any]
    offsets: NDArray[np.int64]
    loss: Loss
    totals: Floats

    def look(self, w: Floats, known: Floats) -> tuple[Floats, Floats]:
        """L_i and its gradient with respect to w, a row a block."""
        values, gradient = self.loss(kernels.matvec(self.X, w), known)
        return values, kernels.rmatvec_by_query(self.X, gradient, self.offsets)

    def total(self, w: Floats, losses: Floats) -> float:
        """f(w), given the losses there."""
        return norm2(w) / 2 + float(np.sum(self.totals * losses))

    def __call__(self, w: Floats) -> float:
        """f(w)."""
        nothing = np.zeros(len(self.totals))
        return self.total(w, self.loss(kernels.matvec(self.X, w), nothing)[0])


class Planes:
    """For each block planes b + g.w below L_i, the first of them 0; their weights in the dual.

    w = -sum weight g.
    """

    def __init__(self, totals: Floats, n_features: int) -> None:
        n = len(totals)
        self.totals = totals
        self.slopes = np.zeros((n, PLACES, n_features))
        self.offsets, self.weights = np.zeros((n, PLACES)), np.zeros((n, PLACES))
        self.weights[:, 0] = totals
        self.used, self.idle = np.ones(n, dtype=np.int64), np.zeros((n, PLACES), dtype=np.int64)
        self.ascent_is_slow = False

    def tilt(self, shifts: Floats, factors: Floats | float = 1.0) -> None:
        """Planes of block i but the first get factor * shifts[i] added to their slopes."""
        factors = np.broadcast_to(factors, self.offsets.shape).copy()
        factors[:, 0] = 0
        factors[np.arange(self.offsets.shape[1]) >= self.used[:, None]] = 0
        self.slopes += factors[:, :, None] * shifts[:, None, :]

    @property
    def w(self) -> Floats:
        """The minimiser that the weights stand for."""
        return np.asarray(-np.einsum("ik,ikj->j", self.weights, self.slopes))

    def bound(self) -> float:
        """The dual's value: no f(w) is below."""
        return float(np.sum(self.weights * self.offsets)) - norm2(self.w) / 2

    def heights(self, w: Floats) -> Floats:
        """The largest plane of each block at w."""
        heights = self.offsets + np.einsum("ikj,j->ik", self.slopes, w)
        return np.asarray(heights.max(axis=1, where=self._taken(), initial=0.0))

    def add(self, offsets: Floats, slopes: Floats, rows: NDArray[np.int64]) -> None:
        """A plane for each of some blocks: in the next place free, or that of the one longest idle."""
        oldest = np.where(self.idle > IDLE, self.idle, 0).argmax(axis=1)[rows]
        if ((self.used[rows] == self.offsets.shape[1]) & (oldest == 0)).any():
            self._widen()
        place = np.where(oldest > 0, oldest, self.used[rows])
        self.weights[rows, 0] += self.weights[rows, place]  # what is written over counts no more
        self.weights[rows, place] = 0
        self.slopes[rows, place], self.offsets[rows, place] = slopes[rows], offsets[rows]
        self.idle[rows, place] = 0
        self.used[rows] = np.maximum(self.used[rows], place + 1)

    def solve(self, enough: float) -> Floats:
        """Weights of a duality gap of about `enough`; the minimiser."""
        if not self.ascent_is_slow:
            self.weights, _, gap = kernels.block_ascent(
                self.slopes, self.offsets, self.used, self.weights, self.w, SWEEPS, STEPS, enough
            )
            self.ascent_is_slow = gap > enough
        # Thousands of small steps have their own roundings.
        w = self._solve_inside(enough) if self.ascent_is_slow else self.w
        self.idle = np.where(self.weights > LIGHT * self.totals[:, None], 0, self.idle + 1)
        self.idle[:, 0] = 0
        return w

    def _solve_inside(self, enough: float) -> Floats:
        taken = self._taken()
        starts = np.concatenate([[0], np.cumsum(self.used)[:-1]])
        planes = self.slopes[taken], self.offsets[taken]
        self.weights[taken], w = interior_point(
            *planes, starts, self.totals, self.weights[taken], enough
        )
        return w

    def _taken(self) -> NDArray[np.bool_]:
        return np.arange(self.offsets.shape[1]) < self.used[:, None]

    def _widen(self) -> None:
        for name in ("slopes", "offsets", "weights", "idle"):
            values = getattr(self, name)
            setattr(self, name, np.concatenate([values, np.zeros_like(values)], axis=1))


def block_planes(
    problem: BlockProblem,
    planes: Planes | None = None,
    *,
    eps: float = 1e-3,
    max_iter: int = 1000,
    each: Each | None = None,
) -> Minimum:
    """Minimise f to a gap of eps * sum of totals, proved by the dual.

    At w = 0 nothing is learned: it is no answer unless no other point is met, and a point that is
    not better than 0 is not called converged.

    Parameters
    ----------
    problem
        What is minimised.
    planes
        Planes to start from, of a problem whose losses they lie below as well; they are added to.
    eps
        The gap asked for, against what all blocks count.
    max_iter
        Passes over all blocks at most.
    each
        Called after each pass with its number, the best point so far and its value.

    Examples
    --------
    Two points, labels +1 and -1, each a block with the hinge loss of one weight.

    >>> X, y = np.array([[1.0], [-2.0]]), np.array([1.0, -1.0])
    >>> def hinge(s, known):
    ...     return np.maximum(0, 1 - y * s), np.where(y * s < 1, -y, 0.0)
    >>> problem = BlockProblem(X, np.array([0, 1, 2]), hinge, np.ones(2))
    >>> found = block_planes(problem, eps=1e-9)
    >>> found.x.round(6).tolist(), round(found.value, 6), found.converged
    ([1.0], 0.5, True)
    """
    if planes is None:
        planes = Planes(problem.totals, problem.X.shape[1])
    asked = eps * float(np.sum(problem.totals))
    w = best = planes.w
    at_zero = problem(np.zeros_like(w))
    value, lower, iteration, converged = np.inf, -np.inf, 0, False
    while iteration < max_iter and not converged:
        iteration += 1
        heights = planes.heights(w)
        losses, slopes = problem.look(w, heights)
        here = problem.total(w, losses)
        check_finite(here, iteration)
        if here < value and w.any():
            best, value = w, here
        lower = max(lower, planes.bound())
        if each is not None:
            each(iteration, best, min(value, at_zero))
        converged = value < at_zero and value - lower <= asked
        if converged or at_zero - lower <= NO_BETTER * asked:
            break
        gap = max(min(value, at_zero) - lower, NO_BETTER * asked)
        above = SLIGHT * gap / float(np.sum(problem.totals))
        violated = np.flatnonzero(losses > heights + above)
        planes.add(losses - np.einsum("ij,j->i", slopes, w), slopes, violated)
        w = planes.solve(MASTER_SHARE * gap)
    if not best.any():
        value = at_zero
    gap = max(0.0, value - lower)
    reason = (
        f"the gap is {gap:.3g}, {gap * eps / asked:.2g} of what all blocks count, after "
        f"{iteration} passes; {eps:g} was asked"
    )
    if value >= at_zero:
        reason += "; w = 0 was not bettered"
    return Minimum(best, value, iteration, converged, reason, gap=gap)
