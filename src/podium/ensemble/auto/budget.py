"""Budgets: how much a search may cost, in fits, in wall time or in processor time."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from podium.errors import UsageError

SECONDS_BY_UNIT = {"s": 1.0, "m": 60.0, "h": 3600.0}
MIN_FITS = 2
"""Two folds need two fits."""
_TEXT = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(?:(fits?)|(s|m|h)?(\s+cpu)?)\s*", re.ASCII)
_EXAMPLES = "'10m', '90s', '1h', '10m cpu' (processor time), '200fits' or a number of seconds"

ClockName = Literal["wall", "processor"]
CLOCKS: Mapping[ClockName, Callable[[], float]] = {
    "wall": time.perf_counter,
    "processor": time.process_time,
}
"""Functions that return seconds by the name of the clock."""


@dataclass(frozen=True)
class Budget:
    """A number of fits, or a number of seconds; the other one is None.

    Parameters
    ----------
    clock
        What counts the seconds: "wall", or "processor", the time that this process computes. Other
        work on the machine does not use up processor time.

    Examples
    --------
    >>> [str(Budget.parse(value)) for value in ("200fits", "1.5m", 90, "10m cpu")]
    ['200 fits', '90 s', '90 s', '600 s of processor time']
    >>> Budget.parse("10m cpu")
    Budget(fits=None, seconds=600.0, clock='processor')
    """

    fits: int | None = None
    seconds: float | None = None
    clock: ClockName = "wall"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Return the budget of a text or a number of seconds; raise a UsageError for anything else."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise UsageError(f"expected a budget, {_EXAMPLES}, got {value!r:.80}")
        if not isinstance(value, str):
            return cls._of_seconds(float(value), "s", "wall")
        match = _TEXT.fullmatch(value)
        if match is None:
            raise UsageError(f"expected a budget, {_EXAMPLES}, got {value!r:.80}")
        number, fits, unit, processor = match.groups()
        if fits:
            return cls._of_fits(float(number))
        return cls._of_seconds(float(number), unit or "s", "processor" if processor else "wall")

    @classmethod
    def _of_fits(cls, number: float) -> Self:
        if number != math.floor(number) or not MIN_FITS <= number < 2**31:
            raise UsageError(
                f"expected a budget of a whole number of fits, {MIN_FITS} or more, got {number:g} fits"
            )
        return cls(fits=int(number))

    @classmethod
    def _of_seconds(cls, number: float, unit: str, clock: ClockName) -> Self:
        seconds = number * SECONDS_BY_UNIT[unit]
        if not 0 < seconds < math.inf:
            raise UsageError(f"expected a budget above 0 seconds, got {number:g}")
        return cls(seconds=seconds, clock=clock)

    def __str__(self) -> str:
        if self.fits is not None:
            return f"{self.fits} fits"
        return f"{self.seconds:g} s" + (" of processor time" if self.clock == "processor" else "")
