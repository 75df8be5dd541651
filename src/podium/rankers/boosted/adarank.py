"""AdaRank: boosting on queries, driven by a ranking measure itself.

Xu and Li, AdaRank: a boosting algorithm for information retrieval, SIGIR 2007.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData
from podium.errors import DataError, UsageError
from podium.metrics import Metric, RankedLists
from podium.metrics.naming import resolve
from podium.rankers.boosted.boosted_ranker import BoostedRanker
from podium.rankers.boosted.rankboost import query_weight
from podium.rankers.boosted.rounds import Round, first_largest, weight_of
from podium.rankers.parameters import Count
from podium.typing import Floats


class QueryMeasure:
    """E_i(f): a metric of each query with a relevant document, as a mean over orders of equal scores.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 4, [0, 1, 0, 0], qid=[1, 1, 2, 2])
    >>> QueryMeasure(data, "MRR")(np.zeros(4)).tolist()  # query 2 has no relevant document
    [0.75]
    """

    def __init__(self, data: RankingData, metric: str | Metric) -> None:
        self.data, self.metric = data, resolve(metric).averaging_ties()
        self.active = ~self.metric.blank(RankedLists.of_scores(data, np.zeros(len(data))))
        weight = query_weight(data)[self.active]
        if not weight.sum() > 0:
            raise DataError(
                f"{self.metric} has no value for any query; expected at least one "
                "query with a relevant document"
            )
        self.weight = weight / weight.sum()

    def __call__(self, scores: NDArray[Any]) -> Floats:
        """Return one number for each query that has a relevant document."""
        values = self.metric.per_query(RankedLists.of_scores(self.data, scores))[self.active]
        if np.abs(values).max() > 1 + 1e-9:  # a mean over ties has rounding errors
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
    """Yield rounds of AdaRank over single features; the sum of all rounds is a linear model.

    With E_i(f) the measure of query i ranked by f, and P_i prop. to exp(-E_i(f)), each round takes
    the feature h of the largest sum_i P_i E_i(h), with

        alpha = 1/2 ln(sum_i P_i (1 + E_i(h)) / sum_i P_i (1 - E_i(h))),    f += alpha h.

    The measure is a mean over the orders of equal scores: a constant feature must not look perfect.
    Queries without a relevant document do not count.

    Parameters
    ----------
    metric
        The measure E, with values from -1 to 1: MAP, NDCG@10, P@10, ...
    n_rounds
        The maximum number of rounds.
    max_repeats
        How many times in a row a feature may be chosen. None: no limit, and AdaRank tends to choose
        its first feature for ever. The rounds end if no feature is left.
    reverse
        Whether low values of a feature may also count as good.

    Examples
    --------
    >>> X = [[0.3, 0.0], [0.1, 1.0], [0.2, 0.0]]
    >>> data = RankingData.from_arrays(X, [0, 1, 0], qid=[1] * 3)
    >>> first, *_ = adarank(data, "P@2", n_rounds=1)  # the second feature has E = P@2 = 1/2
    >>> first.feature, first.alpha == float(np.log(1.5 / 0.5) / 2)
    (1, True)
    """
    measure = QueryMeasure(data, metric)
    signs = (1, -1) if reverse else (1,)
    columns = (data.feature_column(j) for j in range(data.n_features))
    E = np.array([[measure(sign * column) for sign in signs] for column in columns])
    scores, P = np.zeros(len(data)), measure.weight
    barred = np.zeros(E.shape[:2], dtype=bool)
    last, repeats = None, 0
    for _ in range(n_rounds):
        if barred.all():
            return
        edges = np.where(barred, -np.inf, (P * E).sum(axis=-1))
        best = first_largest(edges)
        last, repeats = best, repeats + 1 if best == last else 1
        barred[best] = repeats == max_repeats
        feature, sign = best[0], signs[best[1]]
        alpha = sign * weight_of(float(edges[best]))
        scores += alpha * data.feature_column(feature).astype(np.float64)
        loss = measure.weight * np.exp(-measure(scores))
        P = loss / loss.sum()
        yield Round(feature, None, alpha, float(loss.sum()))


@dataclass(kw_only=True, eq=False, repr=False)
class AdaRank(BoostedRanker):
    """Boosting on queries by a ranking measure: each round adds the best feature for the worst queries.

    P_i prop. to exp(-E_i(f)), alpha = 1/2 ln(sum P (1 + E) / sum P (1 - E)); the model is linear.
    Xu and Li, AdaRank: a boosting algorithm for information retrieval, SIGIR 2007.

    Parameters
    ----------
    measure
        E: MAP, NDCG@10, P@10, ...
    rounds
        The maximum number of rounds; each adds one feature, which may repeat.
    max_repeats
        How many times in a row a feature may be chosen. None: no limit, as in the paper; the first
        feature may then win for ever.
    reverse
        Whether low values of a feature may also count as good. In the paper they do not; on LETOR's
        features it makes no difference.
    metric
        The metric by which validation queries choose the number of rounds.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, n_features=5, seed=0)
    >>> bool(AdaRank().fit(data).score(data) > 0.5)
    True
    """

    name: ClassVar[str] = "adarank"
    paper: ClassVar[str] = "Xu and Li, SIGIR 2007"
    grid: ClassVar[dict[str, Any]] = {"measure": ("MAP",)}

    measure: str = "MAP"
    max_repeats: Count | None = 3
    reverse: bool = True
    metric: str = "NDCG@10"

    def _rounds(self, train: RankingData) -> Iterator[Round]:
        return adarank(
            train, self.measure, n_rounds=self.rounds,
            max_repeats=self.max_repeats, reverse=self.reverse,
        )  # fmt: skip
