"""NDCG and DCG: gains of graded labels, discounted by position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.metrics.gain_and_discount import Discount, Gain, discounts
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
        ranking, gains = lists.ranking(self.ties), lists.gains(self.gain)
        order, discount = ranking.order, discounts(self.discount, self.depth(lists))
        if self.ties == "average":
            gains, order = ranking.tie_means(gains), np.arange(len(order))
        lists.ideal(self.gain, discount)  # raises if the sum of gains does not fit in a double
        return kernels.discounted_sum(gains, order, ranking.groups.offsets, discount)

    def ideal(self, lists: RankedLists) -> Floats:
        """Return the DCG of the best possible ranking."""
        return lists.ideal(self.gain, discounts(self.discount, self.depth(lists)))

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
        ideal = self.ideal(lists)
        return np.asarray(super().values(lists) / np.where(ideal > 0, ideal, 1.0))

    def blank(self, lists: RankedLists) -> NDArray[np.bool_]:
        """Return which queries have no document with a gain."""
        return np.asarray(self.ideal(lists) <= 0)
