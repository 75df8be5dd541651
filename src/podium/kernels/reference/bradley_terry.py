"""Bradley-Terry scores under soft rules: dense Newton on all pairs, the obvious way."""

from __future__ import annotations

from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def bradley_terry(
    b: Floats,
    offsets: Ints,
    floor: Floats,
    slope: Floats,
    tau: Floats,
    doc: Ints,
    lo: Ints,
    hi: Ints,
    weight: Floats,
    star_offsets: Ints,
    spring_rows: Ints,
    spring_starts: Ints,
    kappa: Floats,
    spring_offsets: Ints,
    tol: float,
    max_iter: int,
    seconds: float = inf,
) -> tuple[Floats, Floats, Floats, Ints]:
    """The minimum of f for every list: scores, f, |gradient|_inf and iterations.

    f(s) = sum_{i<j} w_ij log(1 + e^-(s_i - s_j)) + rules + (tau/2) |s|^2, with base pairs
    w_ij = floor + slope (b_i - b_j) on the rows of a list, best first. Star r sets row doc[r] against
    rows lo[r]..hi[r]-1 but itself, |weight[r]| a pair, above them where it is positive. Spring g adds
    (kappa[g]/2) sum (s_i - mean)^2 over spring_rows[spring_starts[g]:spring_starts[g+1]].
    After so many seconds what is reached by then is returned.
    """
    end = monotonic() + seconds
    n_lists = len(offsets) - 1
    s = np.zeros(len(b))
    value, norm = np.zeros(n_lists), np.zeros(n_lists)
    iterations = np.zeros(n_lists, dtype=np.int64)
    for q in range(n_lists):
        rows = slice(offsets[q], offsets[q + 1])
        n = int(offsets[q + 1] - offsets[q])
        ahead = np.triu(floor[q] + slope[q] * np.subtract.outer(b[rows], b[rows]), 1)
        for r in range(star_offsets[q], star_offsets[q + 1]):
            against = np.arange(lo[r], hi[r])
            against = against[against != doc[r]]
            if weight[r] > 0:
                ahead[doc[r], against] += weight[r]
            else:
                ahead[against, doc[r]] -= weight[r]
        quadratic = tau[q] * np.eye(n)
        for g in range(spring_offsets[q], spring_offsets[q + 1]):
            held = spring_rows[spring_starts[g] : spring_starts[g + 1]]
            quadratic[np.ix_(held, held)] += kappa[g] * (np.eye(len(held)) - 1 / len(held))
        s[rows], value[q], norm[q], iterations[q] = _newton(ahead, quadratic, tol, max_iter, end)
    return s, value, norm, iterations


def _newton(
    ahead: Floats, quadratic: Floats, tol: float, max_iter: int, end: float
) -> tuple[Floats, float, float, int]:
    """min sum_ij ahead_ij log(1 + e^-(s_i - s_j)) + s'Qs / 2."""
    s = np.zeros(len(ahead))
    value, gradient, hessian = _expand(ahead, quadratic, s)
    for iteration in range(max_iter):
        norm = float(np.abs(gradient).max(initial=0.0))
        if norm <= tol or monotonic() > end:
            return s, value, norm, iteration
        step = np.linalg.solve(hessian, -gradient)
        slope, t = float(gradient @ step), 1.0
        while t > 1e-12:
            at = _expand(ahead, quadratic, s + t * step)
            # Close to the minimum f moves less than its own rounding: there the gradient decides.
            if at[0] <= value + 1e-4 * t * slope or np.abs(at[1]).max() < 0.5 * norm:
                break
            t /= 2
        else:
            return s, value, norm, iteration
        s = s + t * step
        value, gradient, hessian = at
    return s, value, float(np.abs(gradient).max(initial=0.0)), max_iter


def _expand(ahead: Floats, quadratic: Floats, s: Floats) -> tuple[float, Floats, Floats]:
    """f, its gradient and its Hessian at s."""
    gap = np.subtract.outer(s, s)
    value = float(np.sum(ahead * np.logaddexp(0.0, -gap)) + 0.5 * s @ quadratic @ s)
    loses = np.exp(-np.logaddexp(0.0, gap))  # sigma(-(s_i - s_j))
    pull = ahead * loses
    gradient = pull.sum(axis=0) - pull.sum(axis=1) + quadratic @ s
    curve = pull * (1 - loses)
    curve = curve + curve.T
    return value, gradient, np.diag(curve.sum(axis=1)) - curve + quadratic
