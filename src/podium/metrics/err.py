"""ERR, expected reciprocal rank: a user reads down the list and stops at a relevant document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.errors import DataError, UsageError
from podium.metrics.gain_and_discount import check_exponent
from podium.metrics.metric import Empty, Metric, Ties, is_number
from podium.metrics.ranked_lists import RankedLists
from podium.metrics.ties import expect_over_ties, expected_cascade
from podium.typing import Floats


@dataclass(frozen=True, kw_only=True, repr=False)
class ERR(Metric):
    """Expected reciprocal rank: a user reads down and stops at a document with probability R.

    Chapelle, Metlzer, Zhang, Grinspan, CIKM 2009. r_max is the top of the label scale: "scale" (the
    largest label of the data), "query" (the largest of each query) or a number.
    """

    name = "ERR"
    formula = "sum_{i<=k} (1/i) R_i prod_{j<i} (1 - R_j), R = (2^y - 1) / 2^r_max"

    r_max: float | Literal["scale", "query"] = "scale"
    ties: Ties = "stable"
    empty: Empty = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        number = is_number(self.r_max) and 0 <= float(self.r_max) < np.inf
        if self.r_max not in ("scale", "query") and not number:
            raise UsageError(f"expected r_max 'scale', 'query' or a number, got {self.r_max!r}")

    def values(self, lists: RankedLists) -> Floats:
        """Return the ERR of each query."""
        ranking, stop, depth = (
            lists.ranking(self.ties),
            self.stop_probabilities(lists),
            self.depth(lists),
        )
        values = kernels.cascade(stop, ranking.order, ranking.groups.offsets, depth)
        if self.ties == "average":
            values = expect_over_ties(values, ranking, stop, lambda g: expected_cascade(g, depth))
        return values

    def stop_probabilities(self, lists: RankedLists) -> Floats:
        """Return the probability R that a user stops at each document."""
        largest = lists.largest_label()
        check_exponent(largest)
        top = np.full(len(lists.labels), largest)
        if self.r_max == "query":
            top = lists.groups.spread(lists.max_label())
        elif self.r_max != "scale":
            top[:] = self.r_max
            if largest > self.r_max:
                raise DataError(f"expected labels up to {self.r_max:g} in {self}, got {largest:g}")
        return np.asarray(np.exp2(lists.labels - top) - np.exp2(-top))

    def blank(self, lists: RankedLists) -> NDArray[np.bool_]:
        """Return which queries have only labels of 0."""
        return np.asarray(lists.max_label() <= 0)
