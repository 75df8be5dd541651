"""Relevance that features predict: a logistic regression of clicks per examination."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import expit

from podium.data import RankingData
from podium.errors import NotConvergedWarning
from podium.optim import one_blas_thread
from podium.typing import Floats

MAX_STEPS = 50
RIDGE_EXAMINATIONS = 1.0
"""The penalty of squared weights counts as so many examinations; the intercept has none."""
_LEAST_GAIN = 1e-9


def predicted_relevance(data: RankingData, clicks: Floats, examinations: Floats) -> Floats:
    """Return P(relevant) of each row from its features.

    It maximises sum_d C_d log m_d + (E_d - C_d)+ log(1 - m_d), m = sigmoid(w.x + b), less a ridge penalty:
    the likelihood of C_d relevant documents among E_d examinations.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0], [1.0], [2.0]], [0] * 3, qid=[1] * 3)
    >>> predicted_relevance(data, np.array([10.0, 50.0, 90.0]), np.array([100.0] * 3)).round(1).tolist()
    [0.1, 0.5, 0.9]
    """
    used = examinations > 0
    with one_blas_thread():
        X = _standardised(data)
        weights = _fit(X[used], clicks[used], np.maximum(examinations - clicks, 0.0)[used])
        return np.asarray(expit(X @ weights))


def _standardised(data: RankingData) -> Floats:
    """Return the features at variance 1 with a column of ones; missing values become 0."""
    X = np.nan_to_num(np.asarray(data.X, dtype=np.float64))
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.column_stack([X, np.ones(len(X))])


def _fit(X: Floats, clicks: Floats, others: Floats) -> Floats:
    """Return the weights with the greatest penalised likelihood, by Newton steps, halved if need be."""
    count = clicks + others
    penalty = np.full(X.shape[1], RIDGE_EXAMINATIONS)
    penalty[-1] = 1e-9  # keeps the curvature invertible without a click
    weights = np.zeros(X.shape[1])

    def likelihood(w: Floats) -> float:
        z = X @ w
        value = clicks @ z - count @ np.logaddexp(0.0, z)
        return float(value - 0.5 * (penalty * w**2).sum())

    value = likelihood(weights)
    for _ in range(MAX_STEPS):
        p = expit(X @ weights)
        gradient = X.T @ (clicks - count * p) - penalty * weights
        curvature = (X * (count * p * (1 - p))[:, None]).T @ X + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-6 and likelihood(weights + size * step) < value:
            size /= 2
        weights = weights + size * step
        before, value = value, likelihood(weights)
        if value - before <= _LEAST_GAIN * abs(value):
            break
    else:
        warnings.warn(
            f"the relevance that features predict did not converge in {MAX_STEPS} Newton steps; it is that "
            "of the last step",
            NotConvergedWarning,
            stacklevel=3,
        )
    return weights
