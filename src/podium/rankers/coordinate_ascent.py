"""Coordinate ascent on a ranking metric itself, one weight at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium import kernels
from podium.data import RankingData
from podium.metrics.evaluation import mean_over_queries
from podium.metrics.lists import Lists
from podium.metrics.naming import parse
from podium.rankers.history import Watch
from podium.rankers.models import Floats, Linear, Model
from podium.rankers.parameters import Count, NonNegative, Positive, Seed
from podium.rankers.ranker import Learned, Ranker


@dataclass(kw_only=True, eq=False, repr=False)
class CoordinateAscent(Ranker):
    """Line searches on one weight after another, straight on the metric, from several starts.

    Steps from a weight grow by a factor of two in both directions; the best point is kept, and the
    weights are scaled to sum |w| = 1. Metzler and Croft, Linear feature-based models for
    information retrieval, Information Retrieval 2007; the search is RankLib's.

    Parameters
    ----------
    metric
        What is maximised on the training queries (and watched on validation queries).
    restarts
        Starts: equal weights first, then random ones; the best end is kept, by validation queries
        where there are any.
    steps
        Steps of a line search in each direction, each twice the last.
    step
        The first of them, in units of the weight.
    tolerance
        A sweep over all weights that gains less than this ends the search.
    l2
        Strength of a penalty l2 |w - w_start|^2 on the normalised weights (RankLib's regulariser).

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=40, n_features=5, seed=0)
    >>> bool(CoordinateAscent(restarts=1).fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "coordinate-ascent"
    paper: ClassVar[str] = "Metzler and Croft, Information Retrieval 2007"
    grid: ClassVar[dict[str, Any]] = {"metric": ("NDCG@10", "MAP")}

    metric: str = "NDCG@10"
    restarts: Count = 5
    steps: Count = 25
    step: Positive = 0.05
    tolerance: NonNegative = 1e-3
    l2: NonNegative = 0.0
    seed: Seed = 0

    def _learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        for first in self._starts(train, start):
            for value, weights in self._ascend(train, first):
                watch(1 - value, Linear(weights))
        assert watch.model is not None
        return Learned(watch.model)

    def _row_order_matters(self) -> bool:
        return True  # equal scores are ranked by place

    def _starts(self, train: RankingData, start: Model | None) -> Iterator[Floats]:
        """Equal weights, turned so that more is better; then random ones."""
        rng = np.random.default_rng(self.seed)
        yield (
            start.weights
            if isinstance(start, Linear)
            else np.full(train.n_features, 1 / train.n_features)
        )
        for _ in range(self.restarts - 1):
            yield _normalised(rng.standard_normal(train.n_features))

    def _ascend(self, train: RankingData, first: Floats) -> Iterator[tuple[float, Floats]]:
        """The value and the weights after each sweep over all weights."""
        rng = np.random.default_rng(self.seed)
        search = _Search(self, train, first)
        while True:
            before = search.value
            for j in rng.permutation(train.n_features).tolist():
                search.along(j)
            search.normalise()
            yield search.value, search.weights
            if search.value - before < max(self.tolerance, 1e-12):
                return


class _Search:
    """The point an ascent has reached, with the scores that belong to it."""

    def __init__(self, ranker: CoordinateAscent, data: RankingData, start: Floats) -> None:
        self.metric, self.l2 = parse(ranker.metric), ranker.l2
        self.X, self.start, self.weights = data.X, start, start.copy()
        self.scores = kernels.matvec(data.X, start)
        self.lists = Lists.of_scores(data, self.scores)
        self.strides = ranker.step * 2.0 ** np.arange(ranker.steps)
        self.value = self._value(self.scores, start)

    def _value(self, scores: Floats, weights: Floats) -> float:
        per_query = self.metric.per_query(self.lists.rescored(scores))
        mean = mean_over_queries(per_query, self.lists.weight)
        if self.l2:
            mean -= self.l2 * float(np.sum((_normalised(weights) - self.start) ** 2))
        return mean

    def along(self, j: int) -> None:
        """Move weight j to the best point of a line search, if one is better."""
        column = self.X[:, j].astype(np.float64)
        if column.min() == column.max():
            return
        scale = abs(self.weights[j]) or 1 / len(self.weights)
        best = 0.0
        for sign in (1.0, -1.0):
            for stride in (sign * scale * self.strides).tolist():
                moved = self.weights.copy()
                moved[j] += stride
                value = self._value(self.scores + stride * column, moved)
                if value > self.value + 1e-12:
                    best, self.value = stride, value
        self.weights[j] += best
        self.scores += best * column

    def normalise(self) -> None:
        """Scale to sum |w| = 1: it changes no order, and keeps steps in proportion."""
        self.weights = _normalised(self.weights)
        self.scores = kernels.matvec(self.X, self.weights)


def _normalised(weights: Floats) -> Floats:
    total = np.abs(weights).sum()
    return weights / total if total > 0 else weights
