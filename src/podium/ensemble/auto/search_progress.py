"""Progress of a search: the leaderboard after each fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.rankers.learning_curve import FitStep
from podium.typing import Floats


@dataclass(frozen=True)
class LeaderboardRow:
    """A candidate, its metric so far with a 95% interval, and on how many folds."""

    label: str
    value: float
    low: float
    high: float
    folds: int


@dataclass(frozen=True)
class SearchStep(FitStep):
    """A step of a search: one more fit is finished.

    Parameters
    ----------
    leaders
        The best candidates so far, those with the most folds first.
    seconds, seconds_left
        The time used and left. `seconds_left` is None if the budget counts fits.
    """

    leaders: tuple[LeaderboardRow, ...] = ()
    seconds: float = 0.0
    seconds_left: float | None = None


def interval(per_query: Floats, weight: Floats | None = None) -> tuple[float, float, float]:
    """Return the mean over queries and its 95% interval, mean -+ 1.96 standard errors.

    The standard error of a weighted mean is sqrt(n / (n - 1) sum_q w_q^2 (value_q - mean)^2), for
    weights w that add up to 1; for equal weights it is sd / sqrt(n).

    Examples
    --------
    >>> interval(np.array([0.0, 1.0, np.nan, 0.5, 0.5]))[0]
    0.5
    """
    has_value = np.isfinite(per_query)
    values, n = per_query[has_value], int(has_value.sum())
    shares = np.ones(n) if weight is None else weight[has_value]
    if not shares.sum() > 0:
        return (np.nan,) * 3
    shares = shares / shares.sum()
    mean = float((shares * values).sum())
    squares = float((shares**2 * (values - mean) ** 2).sum())
    half = 1.96 * (n / (n - 1) * squares) ** 0.5 if n > 1 else np.inf
    return mean, mean - half, mean + half
