"""Aggregators that start from an initial order of the documents and improve it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from podium.aggregation.aggregator import Aggregator, Consensus, check_weights, order_by_scores
from podium.aggregation.borda import Borda
from podium.aggregation.distances import weighted_distance
from podium.aggregation.rankings import Rankings
from podium.data.groups import Groups
from podium.typing import Floats, Rows


@dataclass(frozen=True)
class InitialOrderAggregator(Aggregator):
    """Aggregators that improve an initial order; by default that of the weighted Borda count."""

    @abstractmethod
    def improve(
        self, rankings: Rankings, weights: Floats, order: Rows
    ) -> tuple[Rows, Floats | None]:
        """Return rows in the new order, and how far each distance may be above the least (or None)."""

    def __call__(
        self, rankings: Rankings, weights: ArrayLike | None = None, initial: Floats | None = None
    ) -> Consensus:
        """Improve the initial order; the consensus has its distance (`distance_to`)."""
        w = check_weights(weights, rankings)
        start = Borda()(rankings, w).scores if initial is None else initial
        order, excess = self.improve(rankings, w, order_by_scores(start, rankings))
        distance = weighted_distance(rankings, order, w)
        bound = None if excess is None else distance - excess
        return Consensus(_scores_of_order(rankings.groups, order), distance, bound)


def _scores_of_order(groups: Groups, order: Rows) -> Floats:
    """Return the number of documents below each document as its score."""
    scores = np.empty(len(order))
    scores[order] = groups.spread(groups.sizes) - groups.places - 1
    return scores
