"""What a round of boosting adds to the ranking function."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Matrix = NDArray[np.float32] | Floats

LARGEST_EDGE = 1 - 1e-9
"""A weak ranker without a mistake would get infinite weight; it gets 1/2 ln(2e9) = 10.7."""

SAME = 1e-12
"""Edges this close are equal: the order of rows, which rounds them, must not choose."""


class Round(NamedTuple):
    """One weak ranker with its weight: f gains alpha [x_feature > threshold], or alpha x_feature.

    A complement 1 - h with weight a ranks as h with weight -a, so alpha may be negative.
    """

    feature: int
    threshold: float | None
    alpha: float
    objective: float
    """The loss of all rounds so far, 1 before the first."""


def weight_of(edge: float) -> float:
    """alpha = 1/2 ln((1 + r) / (1 - r)).

    Examples
    --------
    >>> round(weight_of(0.6), 12) == round(float(np.log(4) / 2), 12), round(weight_of(-1.0), 2)
    (True, -10.71)
    """
    r = min(max(edge, -LARGEST_EDGE), LARGEST_EDGE)
    return float(0.5 * np.log((1 + r) / (1 - r)))


def first_best(edges: Floats) -> tuple[int, ...]:
    """Where the largest edge stands; among equal ones the first.

    Examples
    --------
    >>> first_best(np.array([[0.0, 0.3], [0.3 + 1e-15, 0.1]]))
    (0, 1)
    """
    at = int(np.argmax(edges >= edges.max() - SAME))
    return tuple(int(i) for i in np.unravel_index(at, edges.shape))
