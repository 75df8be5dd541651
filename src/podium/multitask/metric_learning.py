"""Metric learning from ranked lists: objects at near places are close, those at far places are apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from podium.errors import (
    DataError,
    LengthMismatchError,
    NonFiniteError,
    UnknownNameError,
    UsageError,
)
from podium.multitask.argument_checks import check_whole_numbers
from podium.multitask.metric_solver import (
    DiagonalFarDistance,
    FullFarDistance,
    maximise_far_distance,
)
from podium.optim import one_blas_thread
from podium.optim.linear_problem import norm2
from podium.typing import Floats, Ints

MetricKind = Literal["diagonal", "full"]
"""The matrix of a learned distance: one weight per feature, or all entries."""

ROWS_PER_BLOCK = 1 << 15
"""The number of rows whose differences are computed at a time, so that X is not copied."""
MIN_SPREAD_SHARE = 1e-9
"""Directions with less than this share of the largest spread count as rounding errors."""


@dataclass(frozen=True, eq=False, repr=False)
class DistanceMetric:
    """d_M(x, z)^2 = (x - z)' M (x - z), M positive semidefinite, and a record of the search.

    Parameters
    ----------
    kind
        "diagonal" or "full".
    factor
        A with M = A A': its diagonal, or a matrix of d rows and d columns at most.
    objective
        The mean of d_M^2 over the near pairs, if the mean of d_M over the far pairs is 1. If it is
        near 1 or above, places do not depend on distances.
    gap
        An upper bound on the distance of the objective from the minimum, for the sampled pairs and
        without the dropped directions.
    iterations, converged
        The iterations of the solver, and whether it converged: the gap is then proved to be small.
    n_near, n_far, n_sampled
        The numbers of near pairs, of far pairs, and of far pairs that were used.
    n_dropped
        The number of directions (for a diagonal metric, features) in which near pairs differ only
        by rounding: M is 0 there.
    """

    kind: MetricKind
    factor: Floats
    objective: float
    gap: float
    iterations: int
    converged: bool
    n_near: int
    n_far: int
    n_sampled: int
    n_dropped: int

    def __repr__(self) -> str:
        done = "converged" if self.converged else "not converged"
        return (
            f"DistanceMetric({self.kind} of {len(self.factor)} features, objective {self.objective:.6g}, "
            f"{self.n_near} near and {self.n_far} far pairs, {self.iterations} iterations, {done})"
        )

    @cached_property
    def matrix(self) -> Floats:
        """M: its diagonal, or the whole matrix."""
        with one_blas_thread():
            return self.factor**2 if self.kind == "diagonal" else self.factor @ self.factor.T

    @property
    def is_finite(self) -> bool:
        """Whether M is finite: |M_ij| <= |A|^2."""
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(norm2(self.factor)))

    def transform(self, X: ArrayLike) -> Floats:
        """Return X in coordinates whose Euclidean distance is d_M."""
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.factor):
            raise DataError(
                f"expected {len(self.factor)} features, as the metric has, got shape {rows.shape}"
            )
        with one_blas_thread():
            return np.asarray(rows * self.factor if self.kind == "diagonal" else rows @ self.factor)


def learn_metric(
    X: ArrayLike,
    offsets: ArrayLike,
    kappa_1: int = 2,
    kappa_2: int = 5,
    kind: MetricKind = "diagonal",
    max_pairs: int = 100_000,
    seed: int = 0,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> DistanceMetric:
    """Learn the metric in which objects at near places are close and those at far places are apart.

    min_M mean over S of d_M^2, subject to mean over D of d_M >= 1, M >= 0: S has the pairs of a list
    at most kappa_1 places apart, D those at least kappa_2 apart. Sums instead of means change only the
    size of M. Wu et al., Listwise learning to rank by exploring structure of objects, TKDE 2016,
    equations (2) and (3), after Xing et al., NIPS 2003.

    Let C be the mean of (x - z)(x - z)' over S and N = C^(1/2) M C^(1/2). This gives the concave
    problem max mean over D of d_N, trace N = 1. `metric_solver` solves it and bounds the distance
    from the optimum.

    A feature that is constant within each list gets weight 0. Rotating or scaling the features does not
    change a full metric; scaling them does not change a diagonal one.

    Parameters
    ----------
    X
        Objects, best first, list after list.
    offsets
        The start of each list, and the end of the last one.
    kappa_1, kappa_2
        Places that are near, and places that are far; 1 <= kappa_1 < kappa_2.
    kind
        "diagonal": one weight per feature; "full": a matrix.
    max_pairs
        The maximum number of far pairs; if there are more, this many are drawn uniformly. Lists
        that are too short have none.
    seed
        The seed of that draw.
    tol, max_iter
        The relative gap of the mean far distance to prove, and the maximum number of iterations,
        after which the metric is marked as not converged.

    Examples
    --------
    The first feature falls along both lists; the second is noise, the third always 7:

    >>> noise = [0, 1, 1, 0, 1, 0, 0, 1]
    >>> X = np.stack([np.tile(np.arange(8.0, 0, -1), 2), noise + noise, np.full(16, 7)], axis=1)
    >>> metric = learn_metric(X, [0, 8, 16])
    >>> metric.converged, (metric.matrix / metric.matrix.max()).round(3).tolist()
    (True, [1.0, 0.0, 0.0])
    """
    _check_settings(kappa_1, kappa_2, kind, max_pairs)
    rows, bounds = _check_lists(X, offsets)
    near, n_near = _near_spread(rows, bounds, kappa_1, kind)
    better, worse, n_far = far_pairs(bounds, kappa_2, max_pairs, seed)
    is_diagonal = kind == "diagonal"
    with one_blas_thread():
        whiten = _inverse(near) if is_diagonal else _whitening(near)
        apart = rows[better] - rows[worse]
        apart = apart * whiten if is_diagonal else apart @ whiten
        apart = apart[apart.any(axis=1)]  # equal objects add nothing, in any metric
        if not len(apart):
            raise DataError(_no_far_pairs_message(bounds, kappa_2, n_far))
        problem = DiagonalFarDistance(apart**2) if is_diagonal else FullFarDistance(apart)
        solution = maximise_far_distance(problem, tol, max_iter)
        # Pairs of equal objects, left out above, count in the mean.
        size = solution.value * len(apart) / len(better)
        factor = (np.abs(whiten * solution.B) if is_diagonal else whiten @ solution.B) / size
    least = (size * (1 + solution.gap)) ** -2
    n_kept = np.count_nonzero(whiten) if is_diagonal else whiten.shape[1]
    metric = DistanceMetric(
        kind, factor, size**-2, size**-2 - least, solution.iterations, solution.gap <= tol,
        n_near, n_far, len(better), rows.shape[1] - int(n_kept),
    )  # fmt: skip
    if not metric.is_finite:
        raise NonFiniteError(
            "the differences of the features are too small for a finite metric; scale the features"
        )
    return metric


# --- pairs ---


def far_pairs(offsets: Ints, kappa_2: int, max_pairs: int, seed: int) -> tuple[Ints, Ints, int]:
    """Return the rows of far pairs, the better and the worse ones, and the number of all far pairs.

    A list of n places has m (m + 1) / 2 of them, m = n - kappa_2: (0, kappa_2), (0, kappa_2 + 1),
    (1, kappa_2 + 1), and so on. Pairs are numbered list after list, numbers are drawn, and each
    number gives its pair, so unused pairs are never listed.

    Examples
    --------
    >>> better, worse, total = far_pairs(np.array([0, 7, 9]), 5, 100, 0)
    >>> better.tolist(), worse.tolist(), total
    ([0, 0, 1], [5, 6, 6], 3)
    """
    m = np.maximum(np.diff(offsets) - kappa_2, 0)
    ends = np.cumsum(m * (m + 1) // 2)
    total = int(ends[-1]) if len(ends) else 0
    numbers = np.arange(total, dtype=np.int64)[:max_pairs] if total <= max_pairs else np.sort(
        np.random.default_rng(seed).choice(total, max_pairs, replace=False, shuffle=False)
    )  # fmt: skip
    of_list = np.searchsorted(ends, numbers, side="right")
    t = numbers - np.concatenate([[0], ends])[of_list]
    row = ((np.sqrt(8.0 * t + 1) - 1) / 2).astype(np.int64)
    row -= row * (row + 1) // 2 > t  # corrects a rounded square root
    row += (row + 1) * (row + 2) // 2 <= t
    first = offsets[of_list]
    return first + t - row * (row + 1) // 2, first + row + kappa_2, total


def _near_spread(X: Floats, offsets: Ints, kappa_1: int, kind: MetricKind) -> tuple[Floats, int]:
    """Return R with R'R = C, the mean of (x - z)(x - z)' or its diagonal over near pairs, and their number.

    R is computed from the differences themselves, because computing C would lose half of the
    digits.
    """
    lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    root, count = _root(X[:0], kind), 0
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        for lag in range(1, kappa_1 + 1):
            for first in range(0, len(X) - lag, ROWS_PER_BLOCK):
                block = slice(first, min(first + ROWS_PER_BLOCK, len(X) - lag))
                shifted = slice(block.start + lag, block.stop + lag)
                apart = (X[block] - X[shifted])[lists[block] == lists[shifted]]
                count += len(apart)
                root = _root(np.concatenate([root, apart]), kind)
        if not np.isfinite(norm2(root)):
            raise NonFiniteError("the features or their squares are not finite; scale the features")
    root = root / np.sqrt(max(count, 1))
    return (root[0] if kind == "diagonal" else root), count


def _root(apart: Floats, kind: MetricKind) -> Floats:
    """Return R with R'R = Z'Z for the rows Z; or its diagonal, in one row."""
    return _norms(apart)[None] if kind == "diagonal" else np.asarray(np.linalg.qr(apart, mode="r"))


def _norms(rows: Floats) -> Floats:
    """Return the norm of each column."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", rows, rows)))


def _inverse(norms: Floats) -> Floats:
    """Return 1 / |R_j|; 0 for features that are constant within each list."""
    return np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0)


def _whitening(root: Floats) -> Floats:
    """Return A with A A' = C^-1 where C is not 0; differences of far places are sums of near differences."""
    scales = _inverse(_norms(root))
    _, spread, axes = np.linalg.svd(root * scales, full_matrices=False)
    is_wide = spread > MIN_SPREAD_SHARE * spread.max(initial=1e-300)
    return np.asarray(scales[:, None] * axes[is_wide].T / spread[is_wide])


# --- checks ---


def _check_settings(kappa_1: int, kappa_2: int, kind: MetricKind, max_pairs: int) -> None:
    if kind not in get_args(MetricKind):
        raise UnknownNameError("kind of metric", str(kind), get_args(MetricKind))
    check_whole_numbers(1, kappa_1=kappa_1, kappa_2=kappa_2, max_pairs=max_pairs)
    if kappa_1 >= kappa_2:
        raise UsageError(
            "expected 1 <= kappa_1 < kappa_2 (near places and far places), got kappa_1 = "
            f"{kappa_1}, kappa_2 = {kappa_2}"
        )


def _check_lists(X: ArrayLike, offsets: ArrayLike) -> tuple[Floats, Ints]:
    rows = np.ascontiguousarray(X, dtype=np.float64)
    bounds = np.ascontiguousarray(offsets, dtype=np.int64)
    if rows.ndim != 2:
        raise DataError(f"expected a matrix of features, got an array of shape {rows.shape}")
    if bounds.ndim != 1 or not len(bounds) or bounds[0] != 0 or bounds[-1] != len(rows):
        raise LengthMismatchError(f"expected offsets from 0 to {len(rows)}, the number of rows")
    if (np.diff(bounds) < 0).any():
        raise DataError("offsets must not fall")
    return rows, bounds


def _no_far_pairs_message(offsets: Ints, kappa_2: int, n_far: int) -> str:
    if n_far == 0:
        longest = int(np.diff(offsets).max(initial=0))
        return (
            f"the longest list has {longest} objects, but a metric needs more than kappa_2 = "
            f"{kappa_2}; use metric=None or a smaller kappa_2"
        )
    return "no feature varies within a list, so there is no metric to learn; use metric=None"
