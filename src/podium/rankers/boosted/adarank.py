"""AdaRank: boosting on queries, driven by a ranking measure itself.

Xu and Li, AdaRank: a boosting algorithm for information retrieval, SIGIR 2007.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData
from podium.errors import DataError, UsageError
from podium.metrics import Lists, Metric
from podium.metrics.naming import resolve
from podium.rankers.boosted.rankboost import query_weight
from podium.rankers.boosted.rounds import Round, first_best, weight_of

Floats = NDArray[np.float64]


class Measure:
    """E_i(f): a metric of each query that has an answer, equal scores averaged over.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 4, [0, 1, 0, 0], qid=[1, 1, 2, 2])
    >>> Measure(data, "MRR")(np.zeros(4)).tolist()  # first or second; query 2 has no answer
    [0.75]
    """

    def __init__(self, data: RankingData, metric: str | Metric) -> None:
        self.data, self.metric = data, resolve(metric).averaging_ties()
        self.active = ~self.metric.blank(Lists.of_scores(data, np.zeros(len(data))))
        weight = query_weight(data)[self.active]
        if not weight.sum() > 0:
            raise DataError(f"expected a query that {self.metric} has a value for, got none")
        self.weight = weight / weight.sum()

    def __call__(self, scores: NDArray[Any]) -> Floats:
        """One number for each query that has an answer."""
        values = self.metric.per_query(Lists.of_scores(self.data, scores))[self.active]
        if np.abs(values).max() > 1 + 1e-9:  # means over ties round
            raise UsageError(f"expected a metric with values from -1 to 1, got {self.metric}")
        return np.clip(values, -1, 1)


def adarank(
    data: RankingData,
    metric: str | Metric = "MAP",
    *,
    n_rounds: int,
    max_repeats: int | None = 3,
    reverse: bool = False,
) -> Iterator[Round]:
    """Rounds of AdaRank over single features; the sum of all rounds is a linear model.

    With E_i(f) the measure of query i ranked by f, and P_i prop. to exp(-E_i(f)), each round takes
    the feature h of the largest sum_i P_i E_i(h), with

        alpha = 1/2 ln(sum_i P_i (1 + E_i(h)) / sum_i P_i (1 - E_i(h))),    f += alpha h.

    Equal scores are averaged over (a constant feature must not look perfect). Queries without an
    answer (no relevant document) carry nothing.

    Parameters
    ----------
    metric
        The measure E, with values from -1 to 1: MAP, NDCG@10, P@10, ...
    n_rounds
        Rounds at most.
    max_repeats
        A feature that was taken this often in a row is taken no more; None: no such rule, and
        AdaRank tends to take its first feature for ever. Ends where no feature is left.
    reverse
        Whether features may count downwards, too.

    Examples
    --------
    >>> X = [[0.3, 0.0], [0.1, 1.0], [0.2, 0.0]]
    >>> data = RankingData.from_arrays(X, [0, 1, 0], qid=[1] * 3)
    >>> first, *_ = adarank(data, "P@2", n_rounds=1)  # the second feature has E = P@2 = 1/2
    >>> first.feature, first.alpha == float(np.log(1.5 / 0.5) / 2)
    (1, True)
    """
    measure = Measure(data, metric)
    signs = (1, -1) if reverse else (1,)
    E = np.array([[measure(sign * column) for sign in signs] for column in data.X.T])
    scores, P = np.zeros(len(data)), measure.weight
    barred = np.zeros(E.shape[:2], dtype=bool)
    last, repeats = None, 0
    for _ in range(n_rounds):
        if barred.all():
            return
        edges = np.where(barred, -np.inf, (P * E).sum(axis=-1))
        best = first_best(edges)
        last, repeats = best, repeats + 1 if best == last else 1
        barred[best] = repeats == max_repeats
        feature, sign = best[0], signs[best[1]]
        alpha = sign * weight_of(float(edges[best]))
        scores += alpha * data.X[:, feature].astype(np.float64)
        loss = measure.weight * np.exp(-measure(scores))
        P = loss / loss.sum()
        yield Round(feature, None, alpha, float(loss.sum()))
