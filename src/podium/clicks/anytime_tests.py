"""Tests that may be looked at at any time: a mean of bounded outcomes, its interval and its p-value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from podium.data.argument_checks import to_array
from podium.errors import DataError, UsageError
from podium.typing import Floats

BET_SHARES = 0.9 * 2.0 ** -np.arange(0, 11, 0.5)
"""Shares of the wealth that are bet in each round, as fractions of the largest safe bet."""
BISECTION_STEPS = 40


@dataclass(frozen=True)
class AnytimeEstimate:
    """A mean, an interval that holds at all times together, and a p-value that holds at any time.

    Parameters
    ----------
    n
        The number of outcomes.
    more
        How many more outcomes are needed until the interval excludes 0, if they go on as before; 0 if it
        does already, None if the outcomes do not say (their mean is 0, or there are none).
    """

    n: int
    mean: float
    low: float
    high: float
    p_value: float
    more: int | None
    level: float

    @property
    def is_decided(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


def anytime_estimate(
    outcomes: ArrayLike, bound: float = 1.0, *, level: float = 0.95
) -> AnytimeEstimate:
    """Estimate a mean of outcomes from -bound to bound, and test whether it is 0.

    A gambler has a wealth of 1 and bets a share of it on each outcome x being above m: the wealth becomes
    W(m) = mean over shares s of product over outcomes of (1 + s (x - m) / (2 bound)). If the mean is m, the
    game is fair, and W(m) ever reaches 2 / alpha with probability of alpha / 2 at most (Ville 1939), however
    often one looks. The interval has all m against which neither this gambler nor the one who bets on
    "below" has reached 2 / alpha; the p-value is 2 over the larger wealth at m = 0. It needs no
    assumption but the bound, and that each outcome has the mean 0, whatever came before. Waudby-Smith and
    Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024.

    Examples
    --------
    >>> estimate = anytime_estimate([1] * 70 + [-1] * 30 + [0] * 100)
    >>> round(estimate.mean, 3), estimate.is_decided, round(estimate.p_value, 4)
    (0.2, True, 0.0065)
    """
    values = to_array(outcomes, "outcomes", np.float64)
    _check(values, bound, level)
    unique, counts = np.unique(values, return_counts=True)
    if not len(values):
        return AnytimeEstimate(0, 0.0, -bound, bound, 1.0, None, level)
    game = _Game(unique, counts.astype(np.float64), bound)
    goal = math.log(2 / (1 - level))
    mean = float(values.mean())
    low, high = game.lowest_mean(mean, goal), game.highest_mean(mean, goal)
    best = max(game.log_wealth(0.0, 1), game.log_wealth(0.0, -1))
    p_value = min(1.0, 2 * math.exp(-max(best, 0.0)))
    more = 0 if low > 0 or high < 0 else game.needed(goal, len(values))
    return AnytimeEstimate(len(values), mean, low, high, p_value, more, level)


def _check(values: Floats, bound: float, level: float) -> None:
    if not bound > 0 or not 0.5 <= level < 1:
        raise UsageError(
            f"expected a bound above 0 and a level from 0.5 to 1, got {bound}, {level}"
        )
    if not np.isfinite(values).all() or np.abs(values).max(initial=0.0) > bound * (1 + 1e-9):
        raise DataError(f"expected outcomes from {-bound:g} to {bound:g}, got others")


@dataclass(frozen=True, eq=False)
class _Game:
    """Bets on different outcomes, each with the number of times that it occurred."""

    outcomes: Floats
    counts: Floats
    bound: float

    def log_wealth(self, mean: float, side: int) -> float:
        """Return the log of the wealth of the gambler who bets on outcomes above (1) or below (-1) a mean."""
        logs = self._log_products(mean, side)
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).mean()))

    def _log_products(self, mean: float, side: int) -> Floats:
        bets = side * BET_SHARES / (2 * self.bound)
        gains = np.log1p(bets[:, None] * (self.outcomes - mean))
        return np.asarray((gains * self.counts).sum(axis=1))

    def lowest_mean(self, mean: float, goal: float) -> float:
        """Return the least mean that the gambler on "above" does not refute; the wealth falls with it."""
        return self._boundary(-self.bound, mean, goal, 1)

    def highest_mean(self, mean: float, goal: float) -> float:
        """Return the greatest mean that the gambler on "below" does not refute."""
        return self._boundary(self.bound, mean, goal, -1)

    def _boundary(self, outside: float, inside: float, goal: float, side: int) -> float:
        if self.log_wealth(outside, side) < goal:
            return outside
        for _ in range(BISECTION_STEPS):
            middle = (outside + inside) / 2
            if self.log_wealth(middle, side) >= goal:
                outside = middle
            else:
                inside = middle
        return outside

    def needed(self, goal: float, n: int) -> int | None:
        """Return how many more outcomes like these let the best bet reach the goal by itself."""
        growth = max(float(self._log_products(0.0, side).max()) for side in (1, -1)) / n
        if growth <= 0:
            return None
        return max(1, math.ceil((goal + math.log(len(BET_SHARES))) / growth) - n)
