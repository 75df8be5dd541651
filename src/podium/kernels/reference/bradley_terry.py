"""Bradley-Terry scores with soft rules, by Newton's method on all pairs."""

from __future__ import annotations

from math import inf
from time import monotonic

import numpy as np

from podium.typing import Floats, Ints


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
    """Return the minimum of f for every list: scores, f, |gradient|_inf and iterations.

    f(s) = sum_{i<j} w_ij log(1 + e^-(s_i - s_j)) + rules + (tau/2) |s|^2, with base pairs
    w_ij = floor + slope (b_i - b_j) on the rows of a list, best first. Star r pairs row doc[r] with rows
    lo[r]..hi[r]-1 except itself, each with |weight[r]|; the row wins if the weight is positive. Spring g adds
    (kappa[g]/2) sum (s_i - mean)^2 over spring_rows[spring_starts[g]:spring_starts[g+1]].
    When the time limit is over, it returns the scores so far.
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
            others = np.arange(lo[r], hi[r])
            others = others[others != doc[r]]
            if weight[r] > 0:
                ahead[doc[r], others] += weight[r]
            else:
                ahead[others, doc[r]] -= weight[r]
        quadratic = tau[q] * np.eye(n)
        for g in range(spring_offsets[q], spring_offsets[q + 1]):
            members = spring_rows[spring_starts[g] : spring_starts[g + 1]]
            centring = np.eye(len(members)) - 1 / len(members)
            quadratic[np.ix_(members, members)] += kappa[g] * centring
        s[rows], value[q], norm[q], iterations[q] = _newton(ahead, quadratic, tol, max_iter, end)
    return s, value, norm, iterations


def _newton(
    ahead: Floats, quadratic: Floats, tol: float, max_iter: int, end: float
) -> tuple[Floats, float, float, int]:
    """Minimise sum_ij ahead_ij log(1 + e^-(s_i - s_j)) + s'Qs / 2."""
    s = np.zeros(len(ahead))
    value, gradient, hessian = _expand(ahead, quadratic, s)
    for iteration in range(max_iter):
        norm = float(np.abs(gradient).max(initial=0.0))
        if norm <= tol or monotonic() > end:
            return s, value, norm, iteration
        step = np.linalg.solve(hessian, -gradient)
        slope, t = float(gradient @ step), 1.0
        while t > 1e-12:
            expansion = _expand(ahead, quadratic, s + t * step)
            # Close to the minimum f changes by less than its rounding error, so the gradient decides there.
            if expansion[0] <= value + 1e-4 * t * slope or np.abs(expansion[1]).max() < 0.5 * norm:
                break
            t /= 2
        else:
            return s, value, norm, iteration
        s = s + t * step
        value, gradient, hessian = expansion
    return s, value, float(np.abs(gradient).max(initial=0.0)), max_iter


def _expand(ahead: Floats, quadratic: Floats, s: Floats) -> tuple[float, Floats, Floats]:
    """Return f, its gradient and its Hessian at s."""
    gap = np.subtract.outer(s, s)
    value = float(np.sum(ahead * np.logaddexp(0.0, -gap)) + 0.5 * s @ quadratic @ s)
    loses = np.exp(-np.logaddexp(0.0, gap))  # sigma(-(s_i - s_j))
    pull = ahead * loses
    gradient = pull.sum(axis=0) - pull.sum(axis=1) + quadratic @ s
    curve = pull * (1 - loses)
    curve = curve + curve.T
    return value, gradient, np.diag(curve.sum(axis=1)) - curve + quadratic
