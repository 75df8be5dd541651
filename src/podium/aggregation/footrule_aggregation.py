"""Footrule aggregation: the order nearest to the rankings by Spearman's footrule, an assignment problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from podium.aggregation.aggregator import Aggregator, Consensus, check_weights, order_by_scores
from podium.aggregation.borda import Borda
from podium.aggregation.rankings import Rankings
from podium.typing import Floats


@dataclass(frozen=True)
class Footrule(Aggregator):
    """The order with the minimum of sum_a p_a sum_d |place_a(d) - place(d)|, by assignment of places.

    Documents that a ranker leaves out share the mean of the remaining places. Among several optimal
    orders, the one nearest to `initial` wins (least squared difference of places). The bound comes
    from the dual of the assignment, so it does not depend on the solver. Dwork, Kumar, Naor,
    Sivakumar, Rank aggregation methods for the web, WWW 2001.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> consensus = Footrule()(Rankings.of([["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]]))
    >>> consensus.scores.tolist(), consensus.optimal.tolist()
    ([2.0, 1.0, 0.0], [True])
    """

    name: ClassVar[str] = "footrule"
    paper: ClassVar[str] = "Dwork, Kumar, Naor, Sivakumar, WWW 2001"

    def __call__(
        self, rankings: Rankings, weights: ArrayLike | None = None, initial: Floats | None = None
    ) -> Consensus:
        """Solve one assignment per query; the score is the number of documents below."""
        p = check_weights(weights, rankings)
        start = Borda()(rankings, p).scores if initial is None else initial
        order = order_by_scores(start, rankings)
        scores = np.empty(len(order))
        distance, bound = np.zeros((2, len(rankings.groups)))
        for query, rows in enumerate(rankings.groups.slices()):
            best_first = order[rows]
            places, distance[query], bound[query] = _assign(rankings.filled[best_first], p)
            scores[best_first] = len(best_first) - 1 - places
        return Consensus(scores, distance, bound)


def _assign(places: Floats, p: Floats) -> tuple[NDArray[np.int64], float, float]:
    """Return the place from 0 of each row (in the initial order), the cost and a bound."""
    n = len(places)
    all_places = np.arange(n)
    cost = np.zeros((n, n))
    for weight, column in zip(p.tolist(), places.T, strict=True):
        cost += weight * np.abs(column[:, None] - (all_places + 1.0))
    _, first = linear_sum_assignment(cost)
    prices = _prices(cost, first)
    document_prices = (cost - prices).min(axis=1, initial=np.inf)
    # By complementary slackness, optimal orders use only pairs whose cost equals the sum of both
    # prices.
    tight = cost - prices - document_prices[:, None] <= 1e-11 * n
    squared_moves = (all_places[:, None] - all_places) ** 2.0
    _, chosen = linear_sum_assignment(np.where(tight, squared_moves, np.inf))
    return (
        chosen,
        float(cost[all_places, chosen].sum()),
        float(prices.sum() + document_prices.sum()),
    )


def _prices(cost: Floats, place: NDArray[np.int64]) -> Floats:
    """Return prices of the places with which no document is cheaper elsewhere.

    A price is the least cost of a chain of moves into the place (Bellman and Ford).
    """
    n = len(cost)
    moves = np.empty((n, n))
    moves[place] = cost - cost[np.arange(n), place][:, None]
    prices = np.zeros(n)
    for _ in range(n):
        cheaper = (prices[:, None] + moves).min(axis=0)
        if (cheaper >= prices - 1e-14 * n).all():
            break
        prices = np.minimum(prices, cheaper)
    return prices
