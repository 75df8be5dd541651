"""NDCG and DCG: gains of graded labels, discounted by position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium.metrics.gain_and_discount import Discount, Gain
from podium.metrics.metric import Empty, Metric, Ties
from podium.metrics.ranked_lists import RankedLists
from podium.typing import Floats


@dataclass(frozen=True, kw_only=True, repr=False)
class DCG(Metric):
    """Discounted cumulative gain: sum over the first k positions of gain x discount.

    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002;
    gain 2^y - 1 and discount 1 / log2(1 + position) as in Burges et al., ICML 2005.
    """

    name = "DCG"
    formula = "sum_{j<=k} gain(y_j) discount(j)"

    gain: Gain = "exp2"
    discount: Discount = "log2"
    ties: Ties = "stable"
    short: Literal["keep", "zero"] = "keep"

    def values(self, lists: RankedLists) -> Floats:
        """Return the DCG of each query."""
        self.ideal(lists)  # raises if the sum of gains does not fit in a double
        discount = lists.discounts(self.discount, self.depth(lists))
        return lists.discounted_sum(lists.gains(self.gain), discount, self.ties)

    def ideal(self, lists: RankedLists) -> Floats:
        """Return the DCG of the best possible ranking."""
        return lists.ideal(self.gain, self.discount, self.depth(lists))

    def blank(self, lists: RankedLists) -> NDArray[np.bool_]:
        """Mark no query, because a list without gain has DCG 0."""
        return np.zeros(len(lists.groups), dtype=bool)


@dataclass(frozen=True, kw_only=True, repr=False)
class NDCG(DCG):
    """Normalised DCG: DCG divided by that of the best ranking; `empty` is the value of a query without gain.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> from podium.metrics import evaluate
    >>> data = RankingData.from_arrays([[0.0]] * 3, [0, 2, 1], qid=[1] * 3)
    >>> round(evaluate(data, [3, 2, 1], ["NDCG@3"])["NDCG@3"].mean, 4)
    0.659
    """

    name = "NDCG"
    formula = "DCG / DCG of the best ranking"

    empty: Empty = 0

    def values(self, lists: RankedLists) -> Floats:
        """Return the DCG divided by the ideal DCG."""
        return np.asarray(super().values(lists) / self._divisor_and_blank(lists)[0])

    def blank(self, lists: RankedLists) -> NDArray[np.bool_]:
        """Return which queries have no document with a gain."""
        return self._divisor_and_blank(lists)[1]

    def _divisor_and_blank(self, lists: RankedLists) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the ideal DCG, with 1 in place of 0, and which queries have 0."""
        key = "NDCG divisor", self  # a subclass may have an ideal of its own
        values: tuple[Floats, NDArray[np.bool_]] = lists.compute_once(
            key, lambda: self._compute_divisor(lists)
        )
        return values

    def _compute_divisor(self, lists: RankedLists) -> tuple[Floats, NDArray[np.bool_]]:
        is_blank = self.ideal(lists) <= 0
        return np.where(is_blank, 1.0, self.ideal(lists)), is_blank
