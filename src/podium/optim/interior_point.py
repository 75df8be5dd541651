"""An interior point method for the dual problem of block cutting planes.

It minimises 1/2 |w|^2 + sum_i total_i max_k (b_ik + g_ik.w). In the quadratic programme, the height
xi_i of block i is above each of its planes by s_ik = xi_i - b_ik - g_ik.w >= 0, and the dual
weights a_ik >= 0 sum to total_i. Newton's steps follow the path a_ik s_ik = mu to mu = 0 (Mehrotra:
On the implementation of a primal-dual interior point method, SIAM J. Optimization 1992). With few
features and many planes, a step costs n d^2 operations to build one d x d system, and its solution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from podium.optim.threads import one_blas_thread
from podium.typing import Floats

BOUNDARY_SHARE = 0.99
"""The length of a step, as a share of the distance to the boundary."""
MIN_START_SHARE = 1e-3
"""The minimum share of a block's weight that each plane has at the start."""
MAX_NEWTON_STEPS = 100


def interior_point(
    slopes: Floats,
    offsets: Floats,
    starts: NDArray[np.int64],
    totals: Floats,
    weights: Floats,
    enough: float,
) -> tuple[Floats, Floats]:
    """Return the dual weights of the planes and the minimiser w, to a duality gap of `enough`.

    w is nearly -sum a g. If slopes are large, the difference matters: w is the better point, and
    the weights give the proof.

    Parameters
    ----------
    slopes, offsets
        g and b, one row per plane; the planes of a block are adjacent.
    starts
        The first plane of each block; no block is empty.
    totals
        The sum of the weights of each block.
    weights
        Weights to start from.
    enough
        The duality gap to reach.

    Examples
    --------
    One block, max(0, 1 - w): 1/2 w^2 + 2 max(0, 1 - w) is smallest at w = 1, where 1 of the 2 is
    on each plane.

    >>> slopes, offsets = np.array([[0.0], [-1.0]]), np.array([0.0, 1.0])
    >>> start = np.array([0]), np.array([2.0]), np.array([1.0, 1.0])
    >>> weights, w = interior_point(slopes, offsets, *start, enough=1e-8)
    >>> weights.round(6).tolist(), w.round(6).tolist()
    ([1.0, 1.0], [1.0])
    """
    with one_blas_thread():
        return _follow(_CentralPath(slopes, offsets, starts, totals), weights, enough)


class _CentralPath:
    """The problem whose central path Newton's steps follow."""

    def __init__(
        self, slopes: Floats, offsets: Floats, starts: NDArray[np.int64], totals: Floats
    ) -> None:
        self.G, self.b, self.starts, self.totals = slopes, offsets, starts, totals
        self.sizes = np.diff(np.append(starts, len(offsets)))

    def sums(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))

    def spread(self, values: Floats) -> Floats:
        return np.repeat(values, self.sizes)

    def heights(self, w: Floats) -> Floats:
        return np.asarray(self.b + self.G @ w)

    def primal(self, w: Floats) -> float:
        tops = np.maximum.reduceat(self.heights(w), self.starts)
        return float(w @ w / 2 + self.totals @ tops)

    def dual(self, a: Floats) -> float:
        """Return a lower bound; the weights of each block are scaled to its total."""
        a = a * self.spread(self.totals / self.sums(a))
        w = self.G.T @ a
        return float(self.b @ a - w @ w / 2)


class _NewtonSystem:
    """The linear system of one step, factored once for the predictor and the corrector."""

    def __init__(self, path: _CentralPath, a: Floats, s: Floats) -> None:
        self.path, self.a, self.s = path, a, s
        self.D = a / s
        weighted = path.G * self.D[:, None]
        self.h, self.sum_D = path.sums(weighted), path.sums(self.D)
        K = path.G.T @ weighted - self.h.T @ (self.h / self.sum_D[:, None])
        K[np.diag_indices_from(K)] += 1
        self.factor = cho_factor(K)

    def step(self, aim: Floats, r_w: Floats, r: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return changes of (w, xi, a, s) that turn a s into a s + s aim and remove r_w and r."""
        path = self.path
        t = path.sums(aim) + r
        right = -r_w - path.G.T @ aim + self.h.T @ (t / self.sum_D)
        dw = cho_solve(self.factor, right)
        dxi = (self.h @ dw + t) / self.sum_D
        ds = path.spread(dxi) - path.G @ dw
        return dw, dxi, aim - self.D * ds, ds


def _follow(path: _CentralPath, weights: Floats, enough: float) -> tuple[Floats, Floats]:
    share = path.spread(path.totals / path.sizes)
    a = (1 - MIN_START_SHARE) * weights + MIN_START_SHARE * share
    w = -path.G.T @ a
    heights = path.heights(w)
    tops = np.maximum.reduceat(heights, path.starts)
    # The first mu is as large as the gap, so that a and s do not start on the boundary.
    mean = max(float(path.totals @ tops - a @ heights), enough) / len(a)
    xi = tops + mean * path.sizes / path.totals
    s = path.spread(xi) - heights
    for _ in range(MAX_NEWTON_STEPS):
        if path.primal(w) - path.dual(a) <= enough:
            break
        mu = float(a @ s) / len(a)
        newton = _NewtonSystem(path, a, s)
        r_w, r = w + path.G.T @ a, path.sums(a) - path.totals
        *_, da, ds = newton.step(-a, r_w, r)
        length = min(_length(a, da), _length(s, ds), 1.0)
        reached = float((a + length * da) @ (s + length * ds)) / len(a)
        aimed = mu * (reached / mu) ** 3
        dw, dxi, da, ds = newton.step((aimed - da * ds) / s - a, r_w, r)
        length = min(BOUNDARY_SHARE * min(_length(a, da), _length(s, ds)), 1.0)
        w, xi, a = w + length * dw, xi + length * dxi, a + length * da
        s = np.maximum(path.spread(xi) - path.heights(w), s * (1 - BOUNDARY_SHARE) / 2)
    return a * path.spread(path.totals / path.sums(a)), w


def _length(x: Floats, dx: Floats) -> float:
    """Return how far x may move along dx until a component is 0."""
    falling = dx < 0
    return float(np.min(x[falling] / -dx[falling], initial=np.inf))
