"""Learned weights of rankers, from queries with judgments."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from podium.aggregation.aggregate import make_aggregator
from podium.aggregation.aggregator import Aggregator, PointAggregator, check_weights
from podium.aggregation.rankings import Rankings
from podium.aggregation.reciprocal_rank_fusion import ReciprocalRank
from podium.data import Groups, Qrels, RankingData, Run
from podium.errors import DataError, MissingDocidsError, UsageError
from podium.losses import LabelledLists, ListNetLoss
from podium.metrics import Metric
from podium.metrics.naming import resolve
from podium.metrics.query_mean import mean_over_queries
from podium.metrics.ranked_lists import RankedLists
from podium.optim import CoordinateSearch, LinearCoordinateSearch, LinearProblem, lbfgs
from podium.typing import Floats

LabelSource = RankingData | Qrels | ArrayLike
"""Ranking data with the rankings' rows, qrels (for rankings of runs), or one label per row."""

STEP_SIZES: Floats = 0.1 * 2.0 ** np.arange(6, dtype=np.float64)
"""The steps of a line search, as multiples of the weight."""

LISTNET_L2_TIMES_QUERIES = 10.0
"""ListNet's l2 times the number of queries: with fewer queries, the penalty is stronger."""


@dataclass(frozen=True, eq=False, repr=False)
class LearnedWeights:
    """Weights that add up to 1, and how they were learned; NumPy reads this as an array.

    `value` is the mean of the metric on the training queries, and `equal` is that of equal weights.
    `start` names the weights at the start of the search, and `sweeps` is the number of its sweeps.
    """

    weights: Floats
    method: Aggregator
    metric: Metric
    value: float
    equal: float
    start: str
    sweeps: int = 0

    def __repr__(self) -> str:
        weights = ", ".join(f"{weight:.3g}" for weight in self.weights)
        return (
            f"LearnedWeights([{weights}], {self.metric} of {self.method.name} on training queries: "
            f"{self.value:.4f}, with equal weights {self.equal:.4f})"
        )

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.float64]:
        return np.array(self.weights, dtype=dtype)


def measured_weights(
    rankings: Rankings, judgments: LabelSource, metric: str | Metric = "NDCG@10"
) -> Floats:
    """Return weights in proportion to the metric of each ranker alone.

    p_a is the metric of the order of ranker a alone, with unlisted documents last, as a mean over
    all orders of ties. A metric below 0 counts as 0. TopRank's supervised Kemeny uses these
    weights.

    Parameters
    ----------
    rankings
        The rankings of queries with judgments.
    judgments
        Ranking data or labels for the rankings' rows; or qrels, for rankings of runs.
    metric
        The metric that weights the rankers.

    Examples
    --------
    >>> rankings = Rankings.of([["a", "b", "c"], ["c", "a", "b"]])
    >>> (measured_weights(rankings, [1, 0, 0], "MRR") * 3).round(9).tolist()  # MRR 1 and 1/2
    [2.0, 1.0]
    """
    row_metric = _RowMetric.of(rankings, judgments, metric)
    values = _ranker_values(rankings, row_metric)
    if not values.any():
        raise DataError(
            f"{row_metric.metric} is 0 for all rankers, so there are no weights to learn; "
            "expected at least one above 0"
        )
    return check_weights(values, rankings)


def optimised_weights(
    rankings: Rankings,
    judgments: LabelSource,
    method: str | Aggregator = "rrf",
    metric: str | Metric = "NDCG@10",
    *,
    start: ArrayLike | None = None,
    l2: float = 10.0,
    sweeps: int | None = None,
    seed: int = 0,
) -> LearnedWeights:
    """Return the weights with which an aggregator has the best metric.

    The search starts with the best of several weights: equal ones, measured ones, and nonnegative
    ones that minimise ListNet's cross entropy of sum_a p_a points_a. The points are those of the
    aggregator, if it sums points, and reciprocal ranks. It starts with the best ranker alone only
    if that is better by two standard errors, because the best of many is often best by chance. Then
    line searches maximise the metric itself, one weight after another, with a penalty on the
    distance from the start. Without the penalty the search overfits and is worse on other queries
    than ListNet's weights.

    Parameters
    ----------
    rankings, judgments, metric
        As in measured_weights; the metric is a mean over ties.
    method
        An aggregator or its name.
    start
        Weights to start with, instead of those above.
    l2
        The strength of the penalty l2 |p - start|^2.
    sweeps
        The maximum number of sweeps over all weights. None: 10 if the aggregator sums points, else
        0, because every step would aggregate all queries again.
    seed
        The seed of the order in which weights are tried.

    Examples
    --------
    >>> rankings = Rankings.of([["a", "b", "c"], ["c", "a", "b"], ["b", "a", "c"]])
    >>> learned = optimised_weights(rankings, [0, 1, 0], "borda", "MRR")
    >>> round(learned.equal, 3), learned.value, int(learned.weights.argmax())
    (0.5, 1.0, 2)
    """
    aggregator = make_aggregator(method) if isinstance(method, str) else method
    if sweeps is not None and sweeps < 0:
        raise UsageError(f"expected sweeps of 0 or more, got {sweeps}")
    if not l2 >= 0:
        raise UsageError(f"expected l2 of 0 or more, got {l2}")
    row_metric = _RowMetric.of(rankings, judgments, metric)

    def value(weights: Floats) -> float:
        return row_metric(aggregator(rankings, weights).scores)

    equal = value(check_weights(None, rankings))
    if np.isnan(equal) or not row_metric.labels(rankings).any():
        raise DataError(f"no query has a value of {row_metric.metric}; expected at least one")
    if start is None:
        start_name, first = _best_start(rankings, row_metric, aggregator)
    else:
        start_name, first = "given", check_weights(start, rankings)
    limit = (10 if isinstance(aggregator, PointAggregator) else 0) if sweeps is None else sweeps
    settings: _Settings = {"strides": STEP_SIZES, "l2": l2, "nonnegative": True}
    if limit == 0:
        return LearnedWeights(first, aggregator, row_metric.metric, value(first), equal, start_name)
    if isinstance(aggregator, PointAggregator):
        points = np.ascontiguousarray(aggregator.points(rankings))
        ascent: CoordinateSearch = LinearCoordinateSearch(points, row_metric, first, **settings)
    else:
        ascent = CoordinateSearch(value, first, **settings)
    done = sum(1 for _ in islice(ascent.sweeps(seed), limit))
    weights = check_weights(ascent.weights, rankings)
    return LearnedWeights(
        weights, aggregator, row_metric.metric, value(weights), equal, start_name, done
    )


class _Settings(TypedDict):
    strides: Floats
    l2: float
    nonnegative: bool


def _best_start(
    rankings: Rankings, row_metric: _RowMetric, aggregator: Aggregator
) -> tuple[str, Floats]:
    """Return the name and the weights of the best start for the search."""

    def per_query(weights: Floats) -> Floats:
        return row_metric.per_query(aggregator(rankings, weights).scores)

    values = _ranker_values(rankings, row_metric)
    starts = {"equal": check_weights(None, rankings)}
    if values.any():
        starts["measured"] = check_weights(values, rankings)
    own_points = [aggregator] if isinstance(aggregator, PointAggregator) else []
    for point_aggregator in (*own_points, ReciprocalRank()):
        weights = _listnet_weights(
            point_aggregator.points(rankings), row_metric.labels(rankings), rankings.groups
        )
        if weights.any():
            starts[f"listnet of {point_aggregator.name}"] = check_weights(weights, rankings)
    values_of = {name: per_query(weights) for name, weights in starts.items()}
    best = max(values_of, key=lambda name: row_metric.mean(values_of[name]))  # the first of equals
    alone = (np.arange(len(values)) == values.argmax()).astype(np.float64)
    lead = per_query(alone) - values_of[best]
    error = np.nanstd(lead) / np.sqrt(max(np.isfinite(lead).sum(), 1))
    if row_metric.mean(lead) > max(2 * error, 1e-9):
        return "best ranker", alone
    return best, starts[best]


def _ranker_values(rankings: Rankings, row_metric: _RowMetric) -> Floats:
    """Return the metric of the order of each ranker alone, 0 or more."""
    values = np.array([row_metric(np.ascontiguousarray(-column)) for column in rankings.filled.T])
    return np.asarray(np.maximum(np.nan_to_num(values), 0.0))


def _listnet_weights(points: Floats, labels: Floats, groups: Groups) -> Floats:
    loss = ListNetLoss().bind_lists(
        LabelledLists(groups, labels, lambda: np.argsort(-labels, kind="stable"))
    )
    n = max(int(loss.active.sum()), 1)
    if not loss.active.any():
        return np.zeros(points.shape[1])
    means = groups.reduce(np.add, points) / np.maximum(groups.sizes, 1)[:, None]
    # Only active queries count, because the number of others must not change the result.
    counted = groups.spread(loss.active)
    unit = float(np.sqrt(((points - groups.spread(means))[counted] ** 2).mean())) or 1.0
    X = np.ascontiguousarray(points / unit)

    def mean(scores: Floats) -> tuple[float, Floats]:
        values, gradient = loss(scores)
        return float(values.sum()) / n, gradient / n

    problem = LinearProblem(X, mean, l2=LISTNET_L2_TIMES_QUERIES / n)
    return lbfgs(problem, np.full(X.shape[1], 1 / X.shape[1]), tol=1e-4, nonnegative=True).x


@dataclass(frozen=True, eq=False)
class _RowMetric:
    """A metric of scores of the rankings' rows."""

    metric: Metric
    lists: RankedLists
    rows: NDArray[np.int64] | None = None
    """The rankings' row of each document in the lists, if the lists have other rows."""

    @classmethod
    def of(cls, rankings: Rankings, judgments: LabelSource, metric: str | Metric) -> _RowMetric:
        resolved = resolve(metric).averaging_ties()
        resolved.check_cutoff()
        if isinstance(judgments, Qrels):
            return cls(resolved, *_join_qrels(rankings, judgments))
        if isinstance(judgments, RankingData):
            if judgments.groups != rankings.groups:
                raise DataError(
                    "the judgments must be for the documents of the rankings "
                    f"({rankings.groups}), got {judgments.groups}"
                )
            return cls(resolved, RankedLists.of_scores(judgments, np.zeros(len(judgments))))
        labels = np.ascontiguousarray(judgments, dtype=np.float64)
        rankings.groups.check(labels, "labels")
        qids = np.arange(len(rankings.groups)).astype(str).astype(object)
        return cls(resolved, RankedLists(labels, np.zeros(len(labels)), rankings.groups, qids))

    def __call__(self, scores: Floats) -> float:
        return self.mean(self.per_query(scores))

    def per_query(self, scores: Floats) -> Floats:
        """Return the metric of each query."""
        row_scores = scores if self.rows is None else scores[self.rows]
        return self.metric.per_query(self.lists.with_scores(row_scores))

    def mean(self, per_query: Floats) -> float:
        """Return the mean over queries."""
        return mean_over_queries(per_query, self.lists.weight)

    def labels(self, rankings: Rankings) -> Floats:
        """Return one label per row of the rankings; 0 without a judgment."""
        labels = self.lists.labels
        if self.rows is None:
            return labels
        out = np.zeros(rankings.groups.n_rows)
        out[self.rows] = labels
        return out


def _join_qrels(rankings: Rankings, qrels: Qrels) -> tuple[RankedLists, NDArray[np.int64]]:
    """Return the rankings' documents with labels of qrels; other documents count only for the ideal."""
    if rankings.qids is None or rankings.docids is None:
        raise MissingDocidsError(
            "qrels need rankings with query and document ids; use Rankings.from_runs"
        )
    numbers = np.arange(
        rankings.groups.n_rows, dtype=np.float64
    )  # row numbers as scores, to find the rows again
    run = Run(rankings.qids, rankings.groups, rankings.docids, numbers)
    lists = RankedLists.of_run(qrels, run)
    return lists, lists.scores.astype(np.int64)
