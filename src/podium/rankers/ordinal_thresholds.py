"""Thresholds of ordinal regression: probabilities of degrees, the two losses, and their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from podium.typing import Floats, Ints

OrdinalLoss = Literal["all-threshold", "proportional-odds"]

BLOCK_PAIRS = 1 << 18
"""The number of pairs of a row and a threshold per block, which fit a cache."""


# --- thresholds into degrees ---


def degree_probabilities(scores: Floats, thresholds: Floats) -> Floats:
    """Return P(degree k) = sigma(theta_(k+1) - s) - sigma(theta_k - s), one row per score.

    theta_0 = -inf, theta_D = inf. The form sigma(b) sigma(-a) (1 - e^(a - b)) is never below 0 and keeps
    its digits if both sides are nearly 1.

    Examples
    --------
    >>> degree_probabilities(np.array([0.0, 900.0]), np.array([0.0, np.log(3)])).round(6).tolist()
    [[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]
    """
    ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
    with np.errstate(invalid="ignore"):  # a degree without a row may lie between two infinities
        gaps = np.nan_to_num(np.diff(ends), nan=0.0, posinf=np.inf)
    under_end = _sigma(ends - scores[:, None])
    over_end = _sigma(scores[:, None] - ends)
    return np.asarray(under_end[:, 1:] * over_end[:, :-1] * -np.expm1(-gaps))


def degree_of(scores: Floats, thresholds: Floats, loss: OrdinalLoss) -> Ints:
    """Return the degree of each score, 0 the worst; it never falls as the score rises.

    All-threshold: the number of thresholds below the score, the median degree. Proportional odds: the
    most probable degree.

    Examples
    --------
    >>> thresholds = np.array([0.0, 0.1])
    >>> degree_of(np.array([-1.0, 0.05, 1.0]), thresholds, "all-threshold").tolist()
    [0, 1, 2]
    >>> degree_of(np.array([-1.0, 0.04, 1.0]), thresholds, "proportional-odds").tolist()
    [0, 0, 2]
    """
    if loss == "all-threshold":
        return np.asarray(np.searchsorted(thresholds, scores, side="left"), dtype=np.int64)
    return np.asarray(np.argmax(degree_probabilities(scores, thresholds), axis=1), dtype=np.int64)


def _sigma(z: Floats) -> Floats:
    """Return 1 / (1 + e^-z)."""
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1 + small))


def _logistic(z: Floats) -> tuple[Floats, Floats]:
    """Return log(1 + e^-z) and minus its slope, sigma(-z), for z of any size."""
    small = np.exp(-np.abs(z))
    return np.maximum(-z, 0.0) + np.log1p(small), np.where(z >= 0, small, 1.0) / (1 + small)


# --- the losses: (scores, thresholds, degrees, weights) -> value, gradients of scores and thresholds ---


def all_threshold(
    scores: Floats, thresholds: Floats, degrees: Ints, weight: Floats
) -> tuple[float, Floats, Floats]:
    """Return sum_k log(1 + exp(-+(s - theta_k))): one term for each threshold.

    Rennie and Srebro, Loss functions for preference levels, IJCAI workshop 2005.

    Examples
    --------
    >>> value, *_ = all_threshold(np.zeros(1), np.zeros(2), np.array([1]), np.ones(1))
    >>> bool(np.isclose(value, 2 * np.log(2)))
    True
    """
    value, of_scores, of_thresholds = 0.0, np.empty(len(scores)), np.zeros(len(thresholds))
    places = np.arange(len(thresholds))
    step = max(1, BLOCK_PAIRS // len(thresholds))
    for first in range(0, len(scores), step):
        rows = slice(first, first + step)
        side = np.where(degrees[rows, None] > places, 1.0, -1.0)
        cost, pull = _logistic(side * (scores[rows, None] - thresholds))
        value += float(np.sum(cost.sum(axis=1) * weight[rows]))
        pull *= side * weight[rows, None]
        of_scores[rows] = -pull.sum(axis=1)
        of_thresholds += pull.sum(axis=0)
    return value, of_scores, of_thresholds


def proportional_odds(
    scores: Floats, thresholds: Floats, degrees: Ints, weight: Floats
) -> tuple[float, Floats, Floats]:
    """Return -log[sigma(theta_(k+1) - s) - sigma(theta_k - s)], k the row's degree: the likelihood.

    It equals log(1 + e^(s - theta_(k+1))) + log(1 + e^(theta_k - s)) - log(1 - e^-gap). The two
    thresholds around a row attract each other; the last term of each row of a degree pushes them
    apart. McCullagh, Regression models for ordinal data, JRSS B 1980.

    Examples
    --------
    >>> value, *_ = proportional_odds(np.zeros(1), np.array([0.0, np.log(3)]), np.array([1]), np.ones(1))
    >>> bool(np.isclose(value, np.log(4)))
    True
    """
    ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
    cost_low, pull_low = _logistic(scores - ends[degrees])
    cost_high, pull_high = _logistic(ends[degrees + 1] - scores)
    pull_low *= weight
    pull_high *= weight
    n = len(ends) - 1
    gaps, counts = np.diff(thresholds), degree_sums(degrees, weight, n)[1:-1]
    apart = -np.expm1(-gaps)
    push = counts * np.exp(-gaps) / apart
    of_thresholds = degree_sums(degrees, pull_low, n)[1:] - degree_sums(degrees, pull_high, n)[:-1]
    of_thresholds[1:] -= push
    of_thresholds[:-1] += push
    value = float(np.sum((cost_low + cost_high) * weight)) - float(np.sum(counts * np.log(apart)))
    return value, pull_high - pull_low, of_thresholds


def degree_sums(degrees: Ints, values: Floats, n_degrees: int) -> Floats:
    """Return the sum of the values of the rows of each degree."""
    return np.asarray(np.bincount(degrees, values, n_degrees), dtype=np.float64)


LOSSES: dict[OrdinalLoss, Callable[..., tuple[float, Floats, Floats]]] = {
    "all-threshold": all_threshold,
    "proportional-odds": proportional_odds,
}


# --- ordered thresholds: theta_1 is free, and each next one is softplus(delta) higher ---


def ordered_thresholds(free: Floats) -> Floats:
    """Return the thresholds of (theta_1, delta_2, ...): theta_k = theta_1 + sum_(j <= k) log(1 + e^delta_j).

    Examples
    --------
    >>> ordered_thresholds(np.array([-1.0, 0.0, -20.0])).round(4).tolist()
    [-1.0, -0.3069, -0.3069]
    """
    increments = np.maximum(free[1:], 0.0) + np.log1p(np.exp(-np.abs(free[1:])))
    return np.asarray(free[0] + np.concatenate([[0.0], np.cumsum(increments)]))


def free_parameters(thresholds: Floats) -> Floats:
    """Return (theta_1, delta_2, ...) from rising thresholds, the inverse of `ordered_thresholds`."""
    gaps = np.maximum(np.diff(thresholds), 1e-300)
    return np.concatenate([thresholds[:1], gaps + np.log(-np.expm1(-gaps))])


def free_gradient(free: Floats, of_thresholds: Floats) -> Floats:
    """Return the gradient of (theta_1, delta_2, ...) from the gradient of the thresholds."""
    later = np.cumsum(of_thresholds[::-1])[::-1]  # every later threshold moves with it
    return np.concatenate([later[:1], later[1:] * _sigma(free[1:])])
