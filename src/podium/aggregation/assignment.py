"""The order nearest to the rankings by Spearman's footrule: an assignment problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from podium.aggregation.aggregator import Aggregator, Consensus, check_initial, check_weights
from podium.aggregation.positional import Borda
from podium.aggregation.rankings import Floats, Rankings


@dataclass(frozen=True)
class Footrule(Aggregator):
    """The order with the least sum_a p_a sum_d |place_a(d) - place(d)|: documents to places.

    Documents that a ranker leaves out share the mean of the places it leaves. Of several best
    orders, the one nearest to `initial` is taken (least squared difference of places). The bound
    comes from prices of the places (the assignment's dual), not from the solver's word. Dwork,
    Kumar, Naor, Sivakumar, Rank aggregation methods for the web, WWW 2001.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> found = Footrule()(Rankings.of([["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]]))
    >>> found.scores.tolist(), found.optimal.tolist()
    ([2.0, 1.0, 0.0], [True])
    """

    name: ClassVar[str] = "footrule"
    paper: ClassVar[str] = "Dwork, Kumar, Naor, Sivakumar, WWW 2001"

    def __call__(
        self, rankings: Rankings, weights: ArrayLike | None = None, initial: Floats | None = None
    ) -> Consensus:
        """One assignment a query; scores are the documents below."""
        p = check_weights(weights, rankings)
        start = Borda()(rankings, p).scores if initial is None else initial
        order = check_initial(start, rankings)
        scores = np.empty(len(order))
        distance, bound = np.zeros((2, len(rankings.groups)))
        for query, rows in enumerate(rankings.groups.slices()):
            best_first = order[rows]
            places, distance[query], bound[query] = _assign(rankings.filled[best_first], p)
            scores[best_first] = len(best_first) - 1 - places
        return Consensus(scores, distance, bound)


def _assign(places: Floats, p: Floats) -> tuple[NDArray[np.int64], float, float]:
    """The place from 0 of each document (rows, in the initial order), its cost and a bound."""
    n = len(places)
    ladder = np.arange(n)
    cost = np.zeros((n, n))
    for weight, column in zip(p.tolist(), places.T, strict=True):
        cost += weight * np.abs(column[:, None] - (ladder + 1.0))
    _, first = linear_sum_assignment(cost)
    prices = _prices(cost, first)
    rents = (cost - prices).min(axis=1, initial=np.inf)
    # A best order uses no pair of document and place that the prices make dearer.
    tight = cost - prices - rents[:, None] <= 1e-11 * n
    away = (ladder[:, None] - ladder) ** 2.0
    _, chosen = linear_sum_assignment(np.where(tight, away, np.inf))
    return chosen, float(cost[ladder, chosen].sum()), float(prices.sum() + rents.sum())


def _prices(cost: Floats, place: NDArray[np.int64]) -> Floats:
    """Prices of the places at which no document would rather have another than its own.

    The least that a chain of moves into each place adds to the cost (Bellman and Ford).
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
