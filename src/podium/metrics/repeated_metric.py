"""A metric that is computed repeatedly on one data set, for example after each iteration of a fit."""

from __future__ import annotations

from numpy.typing import ArrayLike

from podium.data import RankingData
from podium.metrics.evaluation import evaluate_lists
from podium.metrics.metric import Metric
from podium.metrics.ranked_lists import RankedLists


class RepeatedMetric:
    """The mean of a metric for changing scores; what depends only on labels is computed once.

    Parameters
    ----------
    data
        Labelled documents.
    metric
        The metric.

    Examples
    --------
    >>> from podium.metrics import parse
    >>> data = RankingData.from_arrays([[0.0]] * 2, [0, 1], qid=[1, 1])
    >>> measure = RepeatedMetric(data, parse("MRR"))
    >>> measure([0.2, 0.1]), measure([0.1, 0.2])
    (0.5, 1.0)
    """

    def __init__(self, data: RankingData, metric: Metric) -> None:
        self.data, self.metric = data, metric
        self._lists: RankedLists | None = None

    def __call__(self, scores: ArrayLike) -> float:
        """Return the mean over queries for these scores, one per row."""
        if self._lists is None:
            self._lists = RankedLists.of_scores(self.data, scores)
        else:
            self._lists = self._lists.with_scores(self.data.check_scores(scores))
        return evaluate_lists(self._lists, [self.metric])[self.metric].mean
