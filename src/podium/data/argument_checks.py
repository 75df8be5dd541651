"""Checks of arguments: arrays, seeds, names of scalings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium.errors import DataError, UsageError


def to_array(values: Any, what: str, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return values as an array; raise DataError if they are not an array of that type.

    Examples
    --------
    >>> to_array([1, 2], "labels", np.float64)
    array([1., 2.])
    >>> to_array([[1, 2], [3]], "X")
    Traceback (most recent call last):
    podium.errors.DataError: expected X as an array, got lists of different lengths
    """
    if dtype is not None and getattr(getattr(values, "dtype", None), "kind", "") == "c":
        raise DataError(f"expected {what} as numbers, got complex ones")  # NumPy would drop a part
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        ragged = "inhomogeneous" in str(error)
        got = "lists of different lengths" if ragged else f"something else ({error!s:.200})"
        kind = "numbers" if dtype is not None and not ragged else "an array"
        raise DataError(f"expected {what} as {kind}, got {got}") from None


def to_labels(values: Any) -> NDArray[np.float64]:
    """Return labels as numbers; raise DataError with advice if they are words.

    Examples
    --------
    >>> to_labels(["good", "bad"])
    Traceback (most recent call last):
    podium.errors.DataError: expected labels as numbers, got the word 'good'; give each word its number \
first, as in [{'good': 1, ...}[word] for word in y], or use read_table(..., grades={'good': 1, ...})
    """
    try:
        return to_array(values, "labels", np.float64)
    except DataError:
        flat = np.asarray(values, dtype=object).ravel().tolist() if np.iterable(values) else []
        word = next((value for value in flat if isinstance(value, str)), None)
        if word is None:
            raise
        grades = f"{{{word!r:.40}: 1, ...}}"
        advice = (
            f"give each word its number first, as in [{grades}[word] for word in y], or use "
            f"read_table(..., grades={grades})"
        )
        raise DataError(f"expected labels as numbers, got the word {word!r:.80}").advise(
            python=advice, command_line=f"--grades '{word:.40}=1,...' gives each its number"
        ) from None


def check_scaled(scaled: object) -> None:
    """Raise UsageError unless `scaled` is the name of a scaling, or None."""
    if not (scaled is None or (isinstance(scaled, str) and scaled)):
        raise UsageError(f"expected the name of a scaling or none, got scaled={scaled!r}")


def check_seed(seed: int) -> None:
    """Raise UsageError unless the seed is a whole number of at most 63 bits."""
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise UsageError(f"expected a seed from 0 to 2^63 - 1, got {seed!r}")
