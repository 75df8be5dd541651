"""Numbers from callers: check a number, read numbers into an array."""

from __future__ import annotations

import numpy as np

from podium.errors import NonFiniteError, UsageError
from podium.postranking.rules.field_conditions import short_repr
from podium.typing import Floats


def is_number(value: object) -> bool:
    """Whether a value is a real number; Booleans are not."""
    numbers = int | float | np.integer | np.floating
    return isinstance(value, numbers) and not isinstance(value, bool)


def to_floats(values: object, subject: str) -> Floats:
    """Return numbers as an array of any shape; raise `UsageError` for anything else."""
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        raise NonFiniteError(f"expected finite {subject}, got {short_repr(values)}") from None
    except (TypeError, ValueError):
        raise UsageError(f"expected numbers as {subject}, got {short_repr(values)}") from None
