"""Coordinate ascent: line searches on a ranking metric, one weight at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.data import RankingData
from podium.metrics import RankedLists
from podium.metrics.naming import parse
from podium.metrics.query_mean import mean_over_queries
from podium.optim import LinearCoordinateSearch
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.models import Linear, Model
from podium.rankers.parameters import Count, NonNegative, Positive, Seed
from podium.rankers.ranker import Ranker
from podium.typing import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class CoordinateAscent(Ranker):
    """Line searches on the metric itself, one weight after another, from several starts.

    Steps from a weight grow by a factor of two in both directions; the best point is kept, and the
    weights are scaled to sum |w| = 1. Metzler and Croft, Linear feature-based models for
    information retrieval, Information Retrieval 2007; the search is RankLib's.

    Parameters
    ----------
    metric
        The metric that is maximised on the training queries and measured on validation queries.
    restarts
        The number of starts: equal weights first, then random ones. The best result is kept, by
        validation queries if there are any.
    steps
        The number of steps of a line search in each direction; each step is twice the last.
    step
        The first step, in units of the weight.
    tolerance
        The search ends if a sweep over all weights gains less.
    l2
        The strength of a penalty l2 |w - w_start|^2 on the normalised weights (RankLib's regulariser).

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

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Search along one weight at a time, from several starts."""
        for first in self._starts(train, start):
            for value, weights in self._ascend(train, first):
                monitor(1 - value, Linear(weights))
        assert monitor.model is not None
        return FitResult(monitor.model)

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return True  # ties of scores are broken by place

    def _starts(self, train: RankingData, start: Model | None) -> Iterator[Floats]:
        """Yield the weights to start from: equal ones or those of another model, then random ones."""
        rng = np.random.default_rng(self.seed)
        yield (
            start.weights
            if isinstance(start, Linear)
            else np.full(train.n_features, 1 / train.n_features)
        )
        for _ in range(self.restarts - 1):
            drawn = rng.standard_normal(train.n_features)
            yield drawn / np.abs(drawn).sum()

    def _ascend(self, train: RankingData, first: Floats) -> Iterator[tuple[float, Floats]]:
        """Yield the value and the weights after each sweep over all weights."""
        metric, lists = parse(self.metric), RankedLists.of_scores(train, np.zeros(len(train)))

        def mean(scores: Floats) -> float:
            return mean_over_queries(metric.per_query(lists.with_scores(scores)), lists.weight)

        strides: Floats = self.step * 2.0 ** np.arange(self.steps, dtype=np.float64)
        X, rows = train.stored_features()
        search = LinearCoordinateSearch(X, mean, first, strides=strides, l2=self.l2, rows=rows)
        for value in search.sweeps(self.seed, self.tolerance):
            yield value, search.weights
