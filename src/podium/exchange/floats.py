"""Numbers as engines have them: float32, and what a comparison in float64 becomes there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.decimals import decimal_of

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

LARGEST = float(np.finfo(np.float32).max)
SOLR_SLACK = np.float32(1e-6)
"""What Solr adds to every threshold when it reads a tree."""
HIGHEST_POWER = 126
"""2^-126 is the smallest normal float32."""
JAVA_SPACE = "".join(map(chr, range(33)))
"""What Java's trim takes off."""


def java_number(text: str) -> float | None:
    """Return what Java's parseDouble makes of a text, or None (also for NaN and hexadecimal digits).

    Examples
    --------
    >>> java_number(" 0.5f "), java_number("-Infinity"), java_number("inf")
    (0.5, -inf, None)
    """
    text = text.strip(JAVA_SPACE)
    if text.lstrip("+-") == "Infinity" and len(text) <= len("+Infinity"):
        return -math.inf if text.startswith("-") else math.inf
    return decimal_of(text[:-1] if text.endswith(("f", "F", "d", "D")) else text)


def floor32(values: Any) -> Singles:
    """The largest float32 that is no larger: x <= t and x <= floor32(t) agree on all float32 x.

    Examples
    --------
    >>> float(floor32(0.1)) <= 0.1 < float(above32(0.1))
    True
    """
    exact = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
        below = np.nextafter(near, np.float32(-np.inf))
    return np.where(near > exact, below, near).astype(np.float32)


def above32(values: Any) -> Singles:
    """The next float32 above floor32(t): x <= t and x < above32(t) agree on all float32 x."""
    with np.errstate(over="ignore"):
        return np.nextafter(floor32(values), np.float32(np.inf)).astype(np.float32)


def largest_rounding_to(values: Any) -> Floats:
    """The largest float64 whose float32 is no larger than these float32 numbers.

    So fl32(x) <= t and x <= largest_rounding_to(t) agree on all float64 x: what an engine that
    rounds its features decides is decided without rounding them.

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
        below = np.where(np.isneginf(low), -(2.0**128), low.astype(np.float64))
        middle = (below + high) / 2  # exact; it rounds to the even neighbour
        return np.where(middle.astype(np.float32) <= low, middle, np.nextafter(middle, -np.inf))


def largest_below(wanted: Floats, function: Any) -> Floats:
    """The largest x within float32's range with function(x) <= wanted, for functions that never fall.

    Every number is a whole number in the order of the numbers: the search halves that.

    Examples
    --------
    >>> float(largest_below(np.array([3.0]), lambda x: 2.0 * x)[0])
    1.5
    """
    high = np.full(len(wanted), np.float64(LARGEST).view(np.int64))
    low = -high
    while (low < high).any():
        middle = (low | high) - ((low ^ high) >> 1)  # (low + high + 1) // 2, which would overflow
        fits = function(_number(middle)) <= wanted
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return _number(low)


def _number(places: NDArray[np.int64]) -> Floats:
    """The number at a place in their order: 0 at 0, those below 0 at their negatives' negative places."""
    magnitude = np.abs(places).view(np.float64)
    return np.where(places < 0, -magnitude, magnitude)


def solr_thresholds(edges: Singles) -> Singles | None:
    """Numbers that are these edges once Solr has added 1e-6 in float32; None where one has none.

    Examples
    --------
    >>> found = solr_thresholds(np.array([0.5, 0.0], dtype=np.float32))
    >>> (found + np.float32(1e-6)).tolist()
    [0.5, 0.0]
    >>> solr_thresholds(np.array([1e-10], dtype=np.float32)) is None
    True
    """
    guess = (edges - SOLR_SLACK).astype(np.float32)
    found = np.full(edges.shape, np.nan, dtype=np.float32)
    with np.errstate(over="ignore"):  # beside the largest number is infinity
        for direction in (0.0, np.inf, -np.inf):
            near = guess if direction == 0.0 else np.nextafter(guess, np.float32(direction))
            found = np.where(near + SOLR_SLACK == edges, near, found).astype(np.float32)
    return None if np.isnan(found).any() else found


def solr_power(edges: Singles) -> int | None:
    """The smallest k for which 2^k times these edges can all be thresholds of Solr; None: there is none.

    Near 0 the 1e-6 that Solr adds is more than the space between two numbers. A feature times a power
    of two is the same feature, without rounding, and its thresholds are further away from 0.

    Examples
    --------
    >>> solr_power(np.array([0.5], dtype=np.float32)), solr_power(np.array([1e-10], dtype=np.float32))
    (0, 13)
    """
    for power in range(HIGHEST_POWER + 1):
        with np.errstate(over="ignore"):
            scaled = (edges * np.float32(2.0**power)).astype(np.float32)
        if not np.isfinite(scaled).all():
            return None
        if solr_thresholds(scaled) is not None:
            return power
    return None
