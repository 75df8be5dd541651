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


def interval(per_query: Floats) -> tuple[float, float, float]:
    """Return the mean over queries and its 95% interval, mean -+ 1.96 sd / sqrt(n).

    Examples
    --------
    >>> interval(np.array([0.0, 1.0, np.nan, 0.5, 0.5]))[0]
    0.5
    """
    values = per_query[np.isfinite(per_query)]
    if not len(values):
        return (np.nan,) * 3
    mean = float(values.mean())
    half = 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else np.inf
    return mean, mean - half, mean + half
