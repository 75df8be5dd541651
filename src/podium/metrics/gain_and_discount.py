"""Gain and discount: the value of a document by its label, and of a place by its position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from podium import kernels
from podium.data import Groups
from podium.errors import GainOverflowError
from podium.metrics.ties import RankedRows
from podium.typing import Floats

Gain = Literal["exp2", "linear", "rank", "rank-exp2"]
Discount = Literal["log2", "letor"]

MAX_EXPONENT = 1023
"""The largest exponent: 2^1023 is the largest power of two in a double."""


def discounts(rule: str, depth: int) -> Floats:
    """Return the discount of each position up to depth.

    log2: 1 / log2(1 + position). letor: 1 at positions 1 and 2, then 1 / log2(position).

    Examples
    --------
    >>> discounts("log2", 3).round(3).tolist(), discounts("letor", 3).round(3).tolist()
    ([1.0, 0.631, 0.5], [1.0, 1.0, 0.631])
    """
    position = np.arange(1, depth + 1)
    if rule == "letor":
        return np.asarray(1 / np.log2(np.maximum(position, 2)))
    return np.asarray(1 / np.log2(1 + position))


def check_exponent(largest: float) -> None:
    """Raise GainOverflowError if 2^label does not fit a double."""
    if largest > MAX_EXPONENT:
        raise GainOverflowError(
            f"expected labels up to {MAX_EXPONENT} for the gain 2^label - 1, got {largest:g}; "
            "use gain='linear' or gain='rank'"
        )


def _rank_gain(labels: Floats, groups: Groups) -> Floats:
    """(n - rank) / (n - 1), rank of the label in its query; equal labels share their mean rank."""
    order = groups.order(labels)
    by_label = RankedRows(order, groups, labels)
    places = np.empty(len(order))
    places[order] = groups.places
    ranks = np.empty(len(order))
    ranks[order] = by_label.tie_means(places) + 1
    n = groups.spread(groups.sizes)
    return np.where(n > 1, (n - ranks) / np.maximum(n - 1, 1), 1.0)


GAINS: dict[Gain, Callable[[Floats, Groups], Floats]] = {
    "exp2": lambda labels, groups: kernels.exp2_gain(labels),
    "linear": lambda labels, groups: labels,
    "rank": _rank_gain,
    "rank-exp2": lambda labels, groups: np.exp2(_rank_gain(labels, groups)) - 1,
}
"""Gains by name: the gain of each document from all labels and their queries."""

GAINS_BY_LABEL: tuple[Gain, ...] = ("exp2", "linear")
"""Gains that depend only on the document's label; the label 0 has gain 0."""
