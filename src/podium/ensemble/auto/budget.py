"""Budgets: how much a search may cost, in fits or in wall time."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Self

from podium.errors import UsageError

SECONDS_BY_UNIT = {"s": 1.0, "m": 60.0, "h": 3600.0}
MIN_FITS = 2
"""Two folds need two fits."""
_TEXT = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(s|m|h|fits?)?\s*", re.ASCII)
_EXAMPLES = "'10m', '90s', '1h', '200fits' or a number of seconds"


@dataclass(frozen=True)
class Budget:
    """A number of fits, or a number of seconds; the other one is None.

    Examples
    --------
    >>> Budget.parse("1.5m"), Budget.parse("200fits"), Budget.parse(90)
    (Budget(fits=None, seconds=90.0), Budget(fits=200, seconds=None), Budget(fits=None, seconds=90.0))
    >>> str(Budget.parse("200fits")), str(Budget.parse("90s"))
    ('200 fits', '90 s')
    """

    fits: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Return the budget of a text or a number of seconds; raise a UsageError for anything else."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise UsageError(f"expected a budget, {_EXAMPLES}, got {value!r:.80}")
        match = _TEXT.fullmatch(value) if isinstance(value, str) else None
        if isinstance(value, str) and match is None:
            raise UsageError(f"expected a budget, {_EXAMPLES}, got {value!r:.80}")
        number, unit = (float(match[1]), match[2] or "s") if match else (float(value), "s")
        return cls._of_fits(number) if unit.startswith("fit") else cls._of_seconds(number, unit)

    @classmethod
    def _of_fits(cls, number: float) -> Self:
        if number != math.floor(number) or not MIN_FITS <= number < 2**31:
            raise UsageError(
                f"expected a budget of a whole number of fits, {MIN_FITS} or more, got {number:g} fits"
            )
        return cls(fits=int(number))

    @classmethod
    def _of_seconds(cls, number: float, unit: str) -> Self:
        seconds = number * SECONDS_BY_UNIT[unit]
        if not 0 < seconds < math.inf:
            raise UsageError(f"expected a budget above 0 seconds, got {number:g}")
        return cls(seconds=seconds)

    def __str__(self) -> str:
        return f"{self.seconds:g} s" if self.fits is None else f"{self.fits} fits"
