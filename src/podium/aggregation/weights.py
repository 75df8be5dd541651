"""How much each ranker should count, learned from queries with judgments."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from podium.aggregation.aggregate import make_aggregator
from podium.aggregation.aggregator import Aggregator, Points, check_weights
from podium.aggregation.positional import ReciprocalRank
from podium.aggregation.rankings import Floats, Rankings
from podium.data import Groups, Qrels, RankingData, Run
from podium.errors import DataError, MissingDocidsError, UsageError
from podium.losses import LabelledLists, ListNetLoss
from podium.metrics import Metric
from podium.metrics.evaluation import mean_over_queries
from podium.metrics.lists import Lists
from podium.metrics.naming import resolve
from podium.optim import CoordinateAscent, LinearCoordinateAscent, LinearProblem, lbfgs

Judgments = RankingData | Qrels | ArrayLike
"""Ranking data with the rankings' rows, qrels (for rankings of runs), or one label a row."""

STRIDES: Floats = 0.1 * 2.0 ** np.arange(6, dtype=np.float64)
"""Steps of a line search, in units of the weight."""

RIDGE = 10.0
"""ListNet's l2 times the number of queries: little can be learned from few."""


@dataclass(frozen=True, eq=False, repr=False)
class LearnedWeights:
    """Weights that add up to 1, and what they were learned for; stands in for them as an array.

    `value` is the metric's mean on the queries they were learned from, `equal` that of equal
    weights; `start` says which weights the search began with, `sweeps` how long it was.
    """

    weights: Floats
    method: Aggregator
    metric: Metric
    value: float
    equal: float
    start: str
    sweeps: int = 0

    def __repr__(self) -> str:
        told = ", ".join(f"{weight:.3g}" for weight in self.weights)
        return (
            f"LearnedWeights([{told}], {self.metric} of {self.method.name} where they were learned: "
            f"{self.value:.4f}, with equal weights {self.equal:.4f})"
        )

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.float64]:
        return np.array(self.weights, dtype=dtype)


def measured_weights(
    rankings: Rankings, judgments: Judgments, metric: str | Metric = "NDCG@10"
) -> Floats:
    """Weights in proportion to how good each ranker is by itself.

    p_a is the metric of ranker a's own order, unlisted documents last, in the mean over all orders
    of what it holds equal; a metric below 0 counts as 0. The weights of TopRank's supervised
    Kemeny.

    Parameters
    ----------
    rankings
        What the rankers say about queries with judgments.
    judgments
        Ranking data or labels for the rankings' rows; or qrels, where rankings are of runs.
    metric
        What is measured.

    Examples
    --------
    >>> rankings = Rankings.of([["a", "b", "c"], ["c", "a", "b"]])
    >>> (measured_weights(rankings, [1, 0, 0], "MRR") * 3).round(9).tolist()  # MRR 1 and 1/2
    [2.0, 1.0]
    """
    judge = _Judge.of(rankings, judgments, metric)
    values = _values(rankings, judge)
    if not values.any():
        raise DataError(
            f"expected a ranker with {judge.metric} above 0 to learn weights from, got 0 for all"
        )
    return check_weights(values, rankings)


def optimised_weights(
    rankings: Rankings,
    judgments: Judgments,
    method: str | Aggregator = "rrf",
    metric: str | Metric = "NDCG@10",
    *,
    start: ArrayLike | None = None,
    l2: float = 10.0,
    sweeps: int | None = None,
    seed: int = 0,
) -> LearnedWeights:
    """Weights with which an aggregator does best by a metric.

    The search begins with the best of several weights: equal ones, measured ones, and those of 0
    or more that minimise ListNet's cross entropy of sum_a p_a points_a, with the aggregator's own
    points where it adds up points, and with reciprocal ranks; or with the best ranker alone, where
    that is better by two standard errors (the best of many by chance is not). It goes on with line
    searches of the metric itself, one weight after another, held near the start by a penalty: a
    free search fits the queries it sees, and does worse on others than ListNet's weights do.

    Parameters
    ----------
    rankings, judgments, metric
        As in measured_weights; the metric averages over ties.
    method
        An aggregator or its name.
    start
        Weights to begin with instead.
    l2
        Strength of the penalty l2 |p - start|^2.
    sweeps
        Sweeps over all weights at most. None: 10 where the aggregator adds up points, else none,
        because every single step would aggregate all queries anew.
    seed
        Of the order in which weights are tried.

    Examples
    --------
    >>> rankings = Rankings.of([["a", "b", "c"], ["c", "a", "b"], ["b", "a", "c"]])
    >>> found = optimised_weights(rankings, [0, 1, 0], "borda", "MRR")
    >>> round(found.equal, 3), found.value, int(found.weights.argmax())
    (0.5, 1.0, 2)
    """
    aggregator = make_aggregator(method) if isinstance(method, str) else method
    if sweeps is not None and sweeps < 0:
        raise UsageError(f"expected sweeps of 0 or more, got {sweeps}")
    if not l2 >= 0:
        raise UsageError(f"expected l2 of 0 or more, got {l2}")
    judge = _Judge.of(rankings, judgments, metric)

    def value(weights: Floats) -> float:
        return judge(aggregator(rankings, weights).scores)

    equal = value(check_weights(None, rankings))
    if np.isnan(equal) or not judge.labels(rankings).any():
        raise DataError(f"expected queries with a value of {judge.metric}, got none")
    if start is None:
        begin, first = _best_start(rankings, judge, aggregator)
    else:
        begin, first = "given", check_weights(start, rankings)
    limit = (10 if isinstance(aggregator, Points) else 0) if sweeps is None else sweeps
    settings: _Settings = {"strides": STRIDES, "l2": l2, "nonnegative": True}
    if limit == 0:
        return LearnedWeights(first, aggregator, judge.metric, value(first), equal, begin)
    if isinstance(aggregator, Points):
        points = np.ascontiguousarray(aggregator.points(rankings))
        ascent: CoordinateAscent = LinearCoordinateAscent(points, judge, first, **settings)
    else:
        ascent = CoordinateAscent(value, first, **settings)
    done = sum(1 for _ in islice(ascent.sweeps(seed), limit))
    weights = check_weights(ascent.weights, rankings)
    return LearnedWeights(weights, aggregator, judge.metric, value(weights), equal, begin, done)


class _Settings(TypedDict):
    strides: Floats
    l2: float
    nonnegative: bool


def _best_start(rankings: Rankings, judge: _Judge, aggregator: Aggregator) -> tuple[str, Floats]:
    """What a search begins with, by name."""

    def per_query(weights: Floats) -> Floats:
        return judge.per_query(aggregator(rankings, weights).scores)

    values = _values(rankings, judge)
    starts = {"equal": check_weights(None, rankings)}
    if values.any():
        starts["measured"] = check_weights(values, rankings)
    own = [aggregator] if isinstance(aggregator, Points) else []
    for adder in (*own, ReciprocalRank()):
        weights = _listnet(adder.points(rankings), judge.labels(rankings), rankings.groups)
        if weights.any():
            starts[f"listnet of {adder.name}"] = check_weights(weights, rankings)
    found = {name: per_query(weights) for name, weights in starts.items()}
    best = max(found, key=lambda name: judge.mean(found[name]))  # the first of equals
    alone = (np.arange(len(values)) == values.argmax()).astype(np.float64)
    lead = per_query(alone) - found[best]
    error = np.nanstd(lead) / np.sqrt(max(np.isfinite(lead).sum(), 1))
    if judge.mean(lead) > max(2 * error, 1e-9):
        return "best ranker", alone
    return best, starts[best]


def _values(rankings: Rankings, judge: _Judge) -> Floats:
    """The metric of each ranker's own order, 0 or more."""
    values = np.array([judge(np.ascontiguousarray(-column)) for column in rankings.filled.T])
    return np.asarray(np.maximum(np.nan_to_num(values), 0.0))


def _listnet(points: Floats, labels: Floats, groups: Groups) -> Floats:
    loss = ListNetLoss().on(
        LabelledLists(groups, labels, lambda: np.argsort(-labels, kind="stable"))
    )
    n = max(int(loss.active.sum()), 1)
    if not loss.active.any():
        return np.zeros(points.shape[1])
    means = groups.reduce(np.add, points) / np.maximum(groups.sizes, 1)[:, None]
    # Of the queries that say anything: how many others there are must not matter.
    counted = groups.spread(loss.active)
    unit = float(np.sqrt(((points - groups.spread(means))[counted] ** 2).mean())) or 1.0
    X = np.ascontiguousarray(points / unit)

    def mean(scores: Floats) -> tuple[float, Floats]:
        values, gradient = loss(scores)
        return float(values.sum()) / n, gradient / n

    problem = LinearProblem(X, mean, l2=RIDGE / n)
    return lbfgs(problem, np.full(X.shape[1], 1 / X.shape[1]), tol=1e-4, nonnegative=True).x


@dataclass(frozen=True, eq=False)
class _Judge:
    """Scores of the rankings' rows -> the mean of a metric."""

    metric: Metric
    lists: Lists
    rows: NDArray[np.int64] | None = None
    """The rankings' row of each judged document, where the judgments have others."""

    @classmethod
    def of(cls, rankings: Rankings, judgments: Judgments, metric: str | Metric) -> _Judge:
        wanted = resolve(metric).averaging_ties()
        wanted.check_cutoff()
        if isinstance(judgments, Qrels):
            return cls(wanted, *_joined(rankings, judgments))
        if isinstance(judgments, RankingData):
            if judgments.groups != rankings.groups:
                raise DataError(
                    f"expected judgments of the rankings' documents ({rankings.groups}), "
                    f"got {judgments.groups}"
                )
            return cls(wanted, Lists.of_scores(judgments, np.zeros(len(judgments))))
        labels = np.ascontiguousarray(judgments, dtype=np.float64)
        rankings.groups.check(labels, "labels")
        qids = np.arange(len(rankings.groups)).astype(str).astype(object)
        return cls(wanted, Lists(labels, np.zeros(len(labels)), rankings.groups, qids))

    def __call__(self, scores: Floats) -> float:
        return self.mean(self.per_query(scores))

    def per_query(self, scores: Floats) -> Floats:
        """The metric of each query."""
        placed = scores if self.rows is None else scores[self.rows]
        return self.metric.per_query(self.lists.rescored(placed))

    def mean(self, per_query: Floats) -> float:
        """The mean over queries."""
        return mean_over_queries(per_query, self.lists.weight)

    def labels(self, rankings: Rankings) -> Floats:
        """A label for each of the rankings' rows; 0 where there is no judgment."""
        labels = self.lists.labels
        if self.rows is None:
            return labels
        out = np.zeros(rankings.groups.n_rows)
        assert self.lists.retrieved is not None
        out[self.rows[self.lists.retrieved]] = labels[self.lists.retrieved]
        return out


def _joined(rankings: Rankings, qrels: Qrels) -> tuple[Lists, NDArray[np.int64]]:
    """The rankings' documents judged by qrels; those no run retrieved count for the ideal only."""
    if rankings.qids is None or rankings.docids is None:
        raise MissingDocidsError(
            "judging by qrels needs rankings with query and document ids; see Rankings.from_runs"
        )
    numbers = np.arange(rankings.groups.n_rows, dtype=np.float64)  # as scores, to find rows again
    run = Run(rankings.qids, rankings.groups, rankings.docids, numbers)
    lists = Lists.of_run(qrels, run)
    return lists, lists.scores.astype(np.int64)
