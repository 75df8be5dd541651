"""Rounds of boosting: each has one weak ranker and its weight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium.typing import Floats

MAX_EDGE = 1 - 1e-9
"""The largest edge that counts: a weak ranker without a mistake would get infinite weight."""

EQUAL_EDGES = 1e-12
"""Edges this close count as equal, because the order of rows changes their rounding and must not decide."""


class Round(NamedTuple):
    """One weak ranker with its weight: f gains alpha [x_feature > threshold], or alpha x_feature.

    A complement 1 - h with weight a ranks as h with weight -a, so alpha may be negative.
    """

    feature: int
    threshold: float | None
    alpha: float
    objective: float
    """The loss after this round; it is 1 before the first."""


def weight_of(edge: float) -> float:
    """Return alpha = 1/2 ln((1 + r) / (1 - r)) of an edge r.

    Examples
    --------
    >>> round(weight_of(0.6), 12) == round(float(np.log(4) / 2), 12), round(weight_of(-1.0), 2)
    (True, -10.71)
    """
    r = min(max(edge, -MAX_EDGE), MAX_EDGE)
    return float(0.5 * np.log((1 + r) / (1 - r)))


def first_largest(edges: Floats) -> tuple[int, ...]:
    """Return the indices of the largest edge; if several are equal, those of the first.

    Examples
    --------
    >>> first_largest(np.array([[0.0, 0.3], [0.3 + 1e-15, 0.1]]))
    (0, 1)
    """
    index = int(np.argmax(edges >= edges.max() - EQUAL_EDGES))
    return tuple(int(i) for i in np.unravel_index(index, edges.shape))
