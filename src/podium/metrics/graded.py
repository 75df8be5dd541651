"""Measures of graded labels: DCG, NDCG, ERR, and their top-k forms kNDCG and kERR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.errors import DataError, MissingTruthError, UsageError
from podium.metrics.lists import Lists, check_exponent
from podium.metrics.metric import (
    Discount,
    Empty,
    Floats,
    Gain,
    Metric,
    Ties,
    correct_ties,
    is_number,
)
from podium.metrics.ties import expected_cascade


def discounts(rule: str, depth: int) -> Floats:
    """log2: 1 / log2(1 + position). letor: 1 at positions 1 and 2, then 1 / log2(position).

    Examples
    --------
    >>> discounts("log2", 3).round(3).tolist(), discounts("letor", 3).round(3).tolist()
    ([1.0, 0.631, 0.5], [1.0, 1.0, 0.631])
    """
    position = np.arange(1, depth + 1)
    if rule == "letor":
        return np.asarray(1 / np.log2(np.maximum(position, 2)))
    return np.asarray(1 / np.log2(1 + position))


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

    def values(self, lists: Lists) -> Floats:
        """DCG of the ranking."""
        ranking, gains = lists.ranking(self.ties), lists.gains(self.gain)
        order, discount = ranking.order, discounts(self.discount, self.depth(lists))
        if self.ties == "average":
            gains, order = ranking.tie_means(gains), np.arange(len(order))
        lists.ideal(self.gain, discount)  # refuses gains whose sum no double holds
        return kernels.discounted_sum(gains, order, ranking.groups.offsets, discount)

    def ideal(self, lists: Lists) -> Floats:
        """DCG of the best possible ranking."""
        return lists.ideal(self.gain, discounts(self.discount, self.depth(lists)))

    def blank(self, lists: Lists) -> NDArray[np.bool_]:
        """No query: a list without gain has DCG 0."""
        return np.zeros(len(lists.groups), dtype=bool)


@dataclass(frozen=True, kw_only=True, repr=False)
class NDCG(DCG):
    """Normalised DCG: DCG divided by that of the best ranking. A query without gain is empty.

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

    def values(self, lists: Lists) -> Floats:
        """DCG over ideal DCG."""
        ideal = self.ideal(lists)
        return np.asarray(super().values(lists) / np.where(ideal > 0, ideal, 1.0))

    def blank(self, lists: Lists) -> NDArray[np.bool_]:
        """Queries in which no document has any gain."""
        return np.asarray(self.ideal(lists) <= 0)


@dataclass(frozen=True, kw_only=True, repr=False)
class ERR(Metric):
    """Expected reciprocal rank: a user reads down and stops at a document with probability R.

    Chapelle, Metlzer, Zhang, Grinspan, CIKM 2009. r_max is the top of the label scale: "scale"
    (the largest label of the data at hand), "query" (the largest of each query) or a number.
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

    def values(self, lists: Lists) -> Floats:
        """ERR of the ranking."""
        ranking, stop, depth = lists.ranking(self.ties), self._stop(lists), self.depth(lists)
        values = kernels.cascade(stop, ranking.order, ranking.groups.offsets, depth)
        if self.ties == "average":
            values = correct_ties(values, ranking, stop, lambda g: expected_cascade(g, depth))
        return values

    def _stop(self, lists: Lists) -> Floats:
        largest = float(lists.labels.max(initial=0))
        check_exponent(largest)
        top = np.full(len(lists.labels), largest)
        if self.r_max == "query":
            top = lists.groups.spread(lists.max_label())
        elif self.r_max != "scale":
            top[:] = self.r_max
            if largest > self.r_max:
                raise DataError(f"expected labels up to {self.r_max:g} in {self}, got {largest:g}")
        return np.asarray(np.exp2(lists.labels - top) - np.exp2(-top))

    def blank(self, lists: Lists) -> NDArray[np.bool_]:
        """Queries whose labels are all 0."""
        return np.asarray(lists.max_label() <= 0)


def _check_truth(metric: Metric, lists: Lists) -> None:
    if lists.topk is None:
        raise MissingTruthError(
            f"{metric} needs top-k truth (labels that are positions), got graded labels; "
            "see podium.data.draw_truth, or RankingData(topk=k)"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class kNDCG(NDCG):  # noqa: N801 - the paper's name
    """kappa-NDCG: NDCG on top-k truth, labels y = k + 1 - position.

    Niu, Guo, Lan, Cheng, Top-k learning to rank, SIGIR 2012, section 3.3.1. With 2^y - 1 the
    first place holds 65% of the ideal at k = 10, the first three 94%.
    """

    name = "kNDCG"
    formula = "NDCG on y = k + 1 - position in the top-k truth"

    def values(self, lists: Lists) -> Floats:
        """NDCG on position labels."""
        _check_truth(self, lists)
        return super().values(lists)


@dataclass(frozen=True, kw_only=True, repr=False)
class kERR(ERR):  # noqa: N801 - the paper's name
    """kappa-ERR: ERR on top-k truth (same paper, section 3.3.2, with 1/rank for the printed 1/n).

    r_max is the largest label of the query, as in the paper. A perfect top-10 list has .9993.
    """

    name = "kERR"
    formula = "ERR on y = k + 1 - position in the top-k truth"

    r_max: float | Literal["scale", "query"] = "query"

    def values(self, lists: Lists) -> Floats:
        """ERR on position labels."""
        _check_truth(self, lists)
        return super().values(lists)
