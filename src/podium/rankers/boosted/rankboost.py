"""RankBoost: boosting on pairs of documents.

Freund, Iyer, Schapire, Singer, An efficient boosting algorithm for combining preferences,
JMLR 2003; its third method for weak rankers with values in [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from podium import kernels
from podium.data import RankingData
from podium.errors import DataError
from podium.rankers.boosted.boosted_ranker import BoostedRanker
from podium.rankers.boosted.rounds import EQUAL_EDGES, Round, first_largest, weight_of
from podium.rankers.boosted.stumps import MAX_THRESHOLDS, BinnedFeatures, sums_beyond
from podium.rankers.parameters import Range
from podium.typing import Floats


class WeightedPairs:
    """The pairs (u, v) of a query with label u above label v, weighted by exp(f_v - f_u).

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
    >>> pairs = WeightedPairs(data, data.y)
    >>> potentials, loss = pairs(np.zeros(3))
    >>> (3 * potentials).round(12).tolist(), loss  # each document wins or loses against the others
    ([2.0, 0.0, -2.0], 1.0)
    """

    def __init__(self, data: RankingData, labels: Floats) -> None:
        self.labels, self.offsets = labels, data.groups.offsets
        self.order = data.groups.order(labels)
        self.weight = query_weight(data)
        _, self.log_start = self._potentials(np.zeros(len(data)))

    @property
    def exist(self) -> bool:
        """Whether there is any pair."""
        return self.log_start > -np.inf

    def __call__(self, scores: Floats) -> tuple[Floats, float]:
        """Return sum_v D(x, v) - sum_u D(u, x) of each document, and the mean of exp(f_v - f_u)."""
        potentials, log_total = self._potentials(scores)
        return potentials, float(np.exp(log_total - self.log_start)) if self.exist else 0.0

    def _potentials(self, scores: Floats) -> tuple[Floats, float]:
        return kernels.rankboost_potentials(
            scores, self.labels, self.order, self.weight, self.offsets
        )


def query_weight(data: RankingData) -> Floats:
    """Return the weight of each query, 1 if the data has no weights."""
    return np.ones(data.n_queries) if data.query_weight is None else data.query_weight


def rankboost(
    data: RankingData, *, n_rounds: int, n_thresholds: int = MAX_THRESHOLDS
) -> Iterator[Round]:
    """Yield rounds of RankBoost over stumps h = [x > threshold].

    With D(u, v) prop. to exp(f_v - f_u) over the pairs with label u above label v, each round takes
    the h of the largest edge \\|r\\|,

        r = sum_{u, v} D(u, v) (h(u) - h(v)),    alpha = 1/2 ln((1 + r) / (1 - r)),

    f += alpha h, so that the loss, the mean of exp(f_v - f_u), falls by sqrt(1 - r^2) or more. D
    factorises by level, so a round costs O(n d), whatever the number of pairs. The rounds end if no
    stump has an edge.

    Parameters
    ----------
    data
        Labelled queries; only the order of labels within a query counts.
    n_rounds
        The maximum number of rounds.
    n_thresholds
        The maximum number of thresholds per feature, at most 255.

    Examples
    --------
    >>> data = RankingData.from_arrays([[3.0], [1.0], [2.0]], [2, 1, 0], qid=[1] * 3)
    >>> first, *_ = rankboost(data, n_rounds=1)
    >>> first.feature, first.threshold, abs(first.alpha - float(np.log(5) / 2)) < 1e-12  # r = 2/3
    (0, 2.5, True)
    """
    pairs = WeightedPairs(data, data.y)
    if not pairs.exist:
        raise DataError(
            "in every query all documents have the same label; expected at least "
            "one query with different labels"
        )
    binned = BinnedFeatures.from_features(data.X, n_thresholds)
    scores = np.zeros(len(data))
    potentials, _ = pairs(scores)
    for _ in range(n_rounds):
        edges = sums_beyond(kernels.stump_sums(binned.codes, potentials, None))
        feature, t = first_largest(np.abs(edges))
        r = float(edges[feature, t])
        if abs(r) <= EQUAL_EDGES:
            return
        alpha = weight_of(r)
        scores += alpha * (binned.codes[feature] > t)
        potentials, loss = pairs(scores)
        yield Round(feature, float(binned.thresholds(feature)[t]), alpha, loss)


@dataclass(kw_only=True, eq=False, repr=False)
class RankBoost(BoostedRanker):
    """Boosting on pairs: each round adds the stump [x > theta] that agrees best with the weighted pairs.

    r = sum D(u, v) (h(u) - h(v)), alpha = 1/2 ln((1 + r) / (1 - r)), D(u, v) prop. to exp(s_v - s_u).
    Freund, Iyer, Schapire, Singer, An efficient boosting algorithm for combining preferences,
    JMLR 2003.

    Parameters
    ----------
    rounds
        The maximum number of stumps; validation queries choose how many are kept.
    thresholds
        The maximum number of thresholds per feature, at most 255.
    metric
        The metric by which validation queries choose.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, n_features=5, seed=0)
    >>> bool(RankBoost(rounds=100).fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "rankboost"
    paper: ClassVar[str] = "Freund, Iyer, Schapire, Singer, JMLR 2003"
    grid: ClassVar[dict[str, Any]] = {"thresholds": (10, 255)}

    thresholds: Annotated[int, Range(1, 255)] = 255
    metric: str = "NDCG@10"

    def _rounds(self, train: RankingData) -> Iterator[Round]:
        return rankboost(train, n_rounds=self.rounds, n_thresholds=self.thresholds)
