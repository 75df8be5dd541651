"""RankBoost: boosting on pairs of documents.

Freund, Iyer, Schapire, Singer, An efficient boosting algorithm for combining preferences,
JMLR 2003; its third method for weak rankers with values in [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data import RankingData
from podium.errors import DataError
from podium.rankers.boosted.rounds import SAME, Round, first_best, weight_of
from podium.rankers.boosted.stumps import MAX_THRESHOLDS, Binned, above

Floats = NDArray[np.float64]


class Pairs:
    """The pairs (u, v) of a query with label u above label v, weighted by exp(f_v - f_u).

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
    >>> pairs = Pairs(data, data.y)
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
        """Whether there is a pair at all."""
        return self.log_start > -np.inf

    def __call__(self, scores: Floats) -> tuple[Floats, float]:
        """sum_v D(x, v) - sum_u D(u, x) of each document, and the mean of exp(f_v - f_u)."""
        potentials, log_total = self._potentials(scores)
        return potentials, float(np.exp(log_total - self.log_start)) if self.exist else 0.0

    def _potentials(self, scores: Floats) -> tuple[Floats, float]:
        return kernels.rankboost_potentials(
            scores, self.labels, self.order, self.weight, self.offsets
        )


def query_weight(data: RankingData) -> Floats:
    """How much each query counts, 1 where the data does not say."""
    return np.ones(data.n_queries) if data.query_weight is None else data.query_weight


def rankboost(
    data: RankingData, *, n_rounds: int, n_thresholds: int = MAX_THRESHOLDS
) -> Iterator[Round]:
    """Rounds of RankBoost over stumps h = [x > threshold].

    With D(u, v) prop. to exp(f_v - f_u) over the pairs with label u above label v, each round takes
    the h of the largest edge \\|r\\|,

        r = sum_{u, v} D(u, v) (h(u) - h(v)),    alpha = 1/2 ln((1 + r) / (1 - r)),

    f += alpha h, so that the loss, the mean of exp(f_v - f_u), falls by sqrt(1 - r^2) or more. D
    factorises by level, so a round costs O(n d), whatever the number of pairs. Ends where no stump
    has an edge.

    Parameters
    ----------
    data
        Labels of any kind: only their order within a query counts.
    n_rounds
        Rounds at most.
    n_thresholds
        Thresholds a feature, at most 255.

    Examples
    --------
    >>> data = RankingData.from_arrays([[3.0], [1.0], [2.0]], [2, 1, 0], qid=[1] * 3)
    >>> first, *_ = rankboost(data, n_rounds=1)
    >>> first.feature, first.threshold, abs(first.alpha - float(np.log(5) / 2)) < 1e-12  # r = 2/3
    (0, 2.5, True)
    """
    pairs = Pairs(data, data.y)
    if not pairs.exist:
        raise DataError("expected a query with documents of different labels, got none")
    binned = Binned.of(data.X, n_thresholds)
    scores = np.zeros(len(data))
    potentials, _ = pairs(scores)
    for _ in range(n_rounds):
        edges = above(kernels.stump_sums(binned.codes, potentials, None))
        feature, t = first_best(np.abs(edges))
        r = float(edges[feature, t])
        if abs(r) <= SAME:
            return
        alpha = weight_of(r)
        scores += alpha * (binned.codes[feature] > t)
        potentials, loss = pairs(scores)
        yield Round(feature, float(binned.thresholds(feature)[t]), alpha, loss)
