"""The clock of a search: how much of a budget is used, and how much is left."""

from __future__ import annotations

import math
from dataclasses import dataclass

from podium.ensemble.auto.budget import CLOCKS, Budget


@dataclass
class SearchClock:
    """Counts the fits and the seconds of a search, in wall time or processor time as the budget says.

    Parameters
    ----------
    earlier
        The seconds of an interrupted search that this one continues.
    """

    budget: Budget
    earlier: float = 0.0
    fits: int = 0

    def __post_init__(self) -> None:
        self._now = CLOCKS[self.budget.clock]
        self._started = self._now()

    @property
    def seconds(self) -> float:
        """The time so far, including that of an interrupted search."""
        return self.earlier + self._now() - self._started

    def continue_from(self, seconds: float) -> None:
        """Count the time of an interrupted search."""
        self.earlier = max(self.earlier, seconds)

    def seconds_left(self, share: float = 1.0) -> float:
        """Return the seconds until a share of the budget is used; infinity if the budget counts fits."""
        if self.budget.seconds is None:
            return math.inf
        return share * self.budget.seconds - self.seconds

    def fits_left(self) -> float:
        """Return the number of fits left; infinity if the budget counts time."""
        return math.inf if self.budget.fits is None else self.budget.fits - self.fits
