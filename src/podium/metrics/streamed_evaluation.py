"""Streamed evaluation: means of metrics over data that is never whole, in memory that does not grow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from podium.data import RankingData
from podium.errors import UsageError
from podium.metrics.evaluation import evaluate_lists
from podium.metrics.metric import Metric
from podium.metrics.naming import resolve
from podium.metrics.ranked_lists import RankedLists
from podium.typing import Floats


@dataclass(frozen=True)
class StreamedMean:
    """The mean of one metric over the queries so far: four sums, which other parts add to.

    Parameters
    ----------
    n_queries
        The number of queries that have a value.
    weight
        The sum of their weights.
    total
        The sum of weight times value.
    squares
        The sum of weight times the squared difference from the mean.
    """

    n_queries: int = 0
    weight: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, per_query: Floats, weight: Floats | None = None) -> Self:
        """Return the sums of some queries; a query without a value (NaN) does not count."""
        has_value = ~np.isnan(per_query)
        values = per_query[has_value]
        weights = np.ones(len(values)) if weight is None else weight[has_value]
        total_weight, total = float(weights.sum()), float((weights * values).sum())
        mean = total / total_weight if total_weight > 0 else 0.0
        return cls(len(values), total_weight, total, float((weights * (values - mean) ** 2).sum()))

    def __add__(self, other: StreamedMean) -> StreamedMean:
        """Return the sums of both parts."""
        weight = self.weight + other.weight
        squares = self.squares + other.squares
        if self.weight > 0 and other.weight > 0:
            squares += (self.mean - other.mean) ** 2 * self.weight * other.weight / weight
        n_queries = self.n_queries + other.n_queries
        return StreamedMean(n_queries, weight, self.total + other.total, squares)

    @property
    def mean(self) -> float:
        """The weighted mean; NaN without a query."""
        return self.total / self.weight if self.weight > 0 else math.nan

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; NaN with fewer than two queries."""
        if self.n_queries < 2 or self.weight <= 0:
            return math.nan
        return math.sqrt(self.squares / self.weight / (self.n_queries - 1))


def evaluate_stream(
    blocks: Iterable[tuple[RankingData, ArrayLike]],
    metrics: Sequence[str | Metric] | str | Metric,
    *,
    top_label: float | None = None,
) -> dict[str, StreamedMean]:
    """Return the mean of each metric over blocks of whole queries with their scores.

    No value per query is kept, so memory does not grow with the number of queries. The means are
    those of `evaluate` up to rounding. For tests and intervals, which need values per query, use
    `evaluate`: it keeps 8 bytes per query and metric, and the id of each query.

    Parameters
    ----------
    blocks
        Pairs of ranking data (whole queries, each in one block) and scores, one per row.
    metrics
        Names such as "NDCG@10", or metrics.
    top_label
        The top of the label scale, which ERR needs. By default the top of each block is its own
        largest label, so give it if blocks differ.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=20, seed=1)
    >>> halves = [data.subset(range(10)), data.subset(range(10, 20))]
    >>> result = evaluate_stream(((half, data.truth(half.X)) for half in halves), "NDCG@10")
    >>> round(result["NDCG@10"].mean, 4), result["NDCG@10"].n_queries
    (0.9656, 20)
    """
    names = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    if not names:
        raise UsageError("there is no metric; expected at least one, such as NDCG@10")
    resolved = [resolve(name) for name in names]
    sums = {str(metric): StreamedMean() for metric in resolved}
    for data, scores in blocks:
        lists = replace(RankedLists.of_scores(data, scores), scale_top=top_label)
        for name, result in evaluate_lists(lists, resolved).items():
            sums[name] += StreamedMean.of(result.per_query, result.weight)
    return sums
