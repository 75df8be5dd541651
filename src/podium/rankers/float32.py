"""Float32, in which engines compute, and what a comparison in float64 becomes there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.typing import Floats, Singles

LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def floor32(values: Any) -> Singles:
    """Return the largest float32 up to t: x <= t and x <= floor32(t) agree on all float32 x.

    Examples
    --------
    >>> float(floor32(0.1)) <= 0.1 < float(next_above32(0.1))
    True
    """
    exact = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        nearest = exact.astype(np.float32)
        previous = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest > exact, previous, nearest).astype(np.float32)


def next_above32(values: Any) -> Singles:
    """Return the float32 after floor32(t): x <= t and x < next_above32(t) agree on all float32 x."""
    with np.errstate(over="ignore"):
        return np.nextafter(floor32(values), np.float32(np.inf)).astype(np.float32)


def largest_rounding_to(values: Any) -> Floats:
    """Return the largest float64 whose float32 is at most t, for float32 numbers t.

    fl32(x) <= t and x <= largest_rounding_to(t) agree on all float64 x. So the decisions of an engine
    that rounds its features are made without rounding.

    Examples
    --------
    >>> t = np.float32(0.1)
    >>> edge = largest_rounding_to(t)
    >>> bool(np.float32(edge) <= t < np.float32(np.nextafter(edge, 1.0)))
    True
    """
    low = np.asarray(values, dtype=np.float32)
    with np.errstate(over="ignore"):
        high = np.nextafter(low, np.float32(np.inf)).astype(np.float64)
        high = np.where(np.isinf(high), 2.0**128, high)
        finite_low = np.where(np.isneginf(low), -(2.0**128), low.astype(np.float64))
        middle = (finite_low + high) / 2  # exact; it rounds to the even neighbour
        return np.where(middle.astype(np.float32) <= low, middle, np.nextafter(middle, -np.inf))


def largest_argument(bounds: Floats, function: Any) -> Floats:
    """Return the largest x in float32's range with function(x) <= bound, for a rising function.

    The bits of a float64, read as an integer, are in the order of the numbers. The search halves the
    range of these integers, so that it is exact after 64 steps.

    Examples
    --------
    >>> float(largest_argument(np.array([3.0]), lambda x: 2.0 * x)[0])
    1.5
    """
    high = np.full(len(bounds), np.float64(LARGEST_FLOAT32).view(np.int64))
    low = -high
    while (low < high).any():
        middle = (low | high) - ((low ^ high) >> 1)  # (low + high + 1) // 2, which would overflow
        fits = function(_float_at(middle)) <= bounds
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return _float_at(low)


def _float_at(ordinals: NDArray[np.int64]) -> Floats:
    """Return the number at a place in the order of all numbers: 0 at 0, -x at minus the place of x."""
    magnitude = np.abs(ordinals).view(np.float64)
    return np.where(ordinals < 0, -magnitude, magnitude)
