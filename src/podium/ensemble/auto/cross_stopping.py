"""Cross-stopping: each half of the held-out queries is scored at the iteration that the other half chooses.

A fit that is stopped by the queries on which it is measured looks better than it is. Here no query
takes part in the choice of its own scores, and no query is lost for training. Validation queries help
both halves to choose.
"""

from __future__ import annotations

import numpy as np

from podium.data import RankingData, shuffled_queries
from podium.data.row_selection import select_queries
from podium.ensemble.combined_models import offset_and_scale
from podium.metrics import Metric
from podium.metrics.repeated_metric import RepeatedMetric
from podium.typing import Floats

IN_NO_HALF = 2
"""Validation queries are in neither half and choose for both."""


class CrossStopping:
    """Follows the scores of held-out queries through the iterations of a fit.

    Parameters
    ----------
    data
        The held-out queries, then the validation queries.
    n_held_out
        How many queries are held out; None: all.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 4, [1, 0, 1, 0], qid=["a", "a", "b", "b"])
    >>> from podium.metrics import parse
    >>> stopping = CrossStopping(data, parse("MRR"))
    >>> stopping.add(np.array([2.0, 1.0, 1.0, 3.0]))  # a is right
    >>> stopping.add(np.array([3.0, 7.0, 9.0, 1.0]))  # b is right
    >>> stopping.chosen_scores(np.zeros(4)).tolist()  # b chooses for a, and a for b
    [-1.0, 1.0, -1.0, 1.0]
    """

    def __init__(self, data: RankingData, metric: Metric, n_held_out: int | None = None) -> None:
        n = data.n_queries if n_held_out is None else n_held_out
        order = shuffled_queries(data, 0)
        half = np.full(data.n_queries, IN_NO_HALF)
        half[order[order < n]] = np.arange(n) % 2
        halves = [np.flatnonzero(half == h) for h in (0, 1)]
        choosers = [np.flatnonzero((half == h) | (half == IN_NO_HALF)) for h in (0, 1)]
        # Rows of `data`: the rows of a selection of a selection are those of its first source.
        groups_and_rows = [data.groups.take(queries) for queries in halves]
        self._half_groups, self._half_rows = zip(*groups_and_rows, strict=True)
        self._chooser_rows = [data.groups.take(queries)[1] for queries in choosers]
        self._measures = [RepeatedMetric(select_queries(data, q), metric) for q in choosers]
        self._best = [-np.inf, -np.inf]
        self._chosen: list[Floats | None] = [None, None]

    def add(self, scores: Floats) -> None:
        """Take the scores after one iteration."""
        for own, other in ((0, 1), (1, 0)):
            rows = self._chooser_rows[own]
            value = self._measures[own](scores[rows]) if len(rows) else -np.inf
            if value > self._best[own]:  # of equal values, the first; never a NaN
                self._best[own] = value
                self._chosen[other] = scores[self._half_rows[other]].copy()

    def chosen_scores(self, final: Floats) -> Floats:
        """Return standardised scores: of each half those that the other half chose.

        Without a choice, those of the final model.
        """
        scores = np.empty(len(final))
        for groups, rows, chosen in zip(
            self._half_groups, self._half_rows, self._chosen, strict=True
        ):
            own = final[rows] if chosen is None else chosen
            if len(own):
                offset, scale = offset_and_scale(own, groups)
                scores[rows] = (own - offset) / scale
        return scores
