"""Exchange weights: what a metric changes if two neighbours of a ranking exchange their places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists
from podium.metrics import DCG, ERR, MAP, MRR, NDCG, RBP, Hit, Metric, P, RankedLists, Recall
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class ExchangeWeights:
    """A metric as a walk down the list: each place pays reach x gain x discount.

    If the neighbours u and v at places i and i + 1 exchange their places, the metric changes by
    reach_i |gain_u - gain_v| (discount_i - discount_{i+1}). The documents above decide the reach: it
    begins with 1, and reach_{i+1} = reach_i (1 - stop) + lift of the document at place i.

    Parameters
    ----------
    gains
        The gain of each document, divided by what the metric divides by.
    discount
        The discount of each place that counts; beyond them it is 0.
    stop
        The probability that a user stops at each document (ERR, MRR); None: 0.
    lift
        What each document adds to the reach of those below (MAP); None: 0.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
    >>> weights = ExchangeWeights.from_metric(P(k=2), LabelledLists.from_data(data))
    >>> weights.gains.tolist(), weights.drop.tolist()
    ([0.5, 0.5, 0.0], [0.0, 1.0])
    """

    gains: Floats
    discount: Floats
    stop: Floats | None = None
    lift: Floats | None = None

    @classmethod
    def from_metric(cls, metric: Metric, lists: LabelledLists) -> ExchangeWeights:
        """Return the weights of a metric; its rules on ties, empty queries and short lists do not count."""
        check_exchanges(metric)
        ranked = RankedLists(
            lists.labels, np.zeros(len(lists.labels)), lists.groups, np.empty(0, dtype=object)
        )
        return _WEIGHTS[type(metric)](metric, ranked)

    @property
    def drop(self) -> Floats:
        """The discount of each place minus that of the next."""
        return np.asarray(self.discount - np.append(self.discount[1:], 0.0))

    def arguments(self) -> dict[str, Floats]:
        """Return the arguments of the kernel."""
        zeros = np.zeros(len(self.gains))
        stop, lift = (zeros if part is None else part for part in (self.stop, self.lift))
        return {"gains": self.gains, "stop": stop, "lift": lift, "drop": self.drop}


def check_exchanges(metric: Metric) -> None:
    """Raise if podium has no exchange weights of the metric."""
    metric.check_cutoff()
    if type(metric) not in _WEIGHTS:
        names = ", ".join(kind.name for kind in _WEIGHTS)
        raise UsageError(
            f"expected one of the metrics {names}, got {metric}; for your own, write a subclass of "
            "YetiLoss with its exchange weights"
        )


def _dcg(metric: DCG, lists: RankedLists) -> ExchangeWeights:
    depth = metric.depth(lists)
    discount = lists.discounts(metric.discount, depth)
    metric.ideal(lists)  # raises if the sum of gains does not fit in a double
    return ExchangeWeights(lists.gains(metric.gain), discount)


def _ndcg(metric: NDCG, lists: RankedLists) -> ExchangeWeights:
    weights, ideal = _dcg(metric, lists), metric.ideal(lists)
    divisor = lists.groups.spread(np.where(ideal > 0, ideal, 1.0))
    return ExchangeWeights(np.asarray(weights.gains / divisor), weights.discount)


def _err(metric: ERR, lists: RankedLists) -> ExchangeWeights:
    stop = metric.stop_probabilities(lists)
    return ExchangeWeights(stop, _reciprocal_places(metric.depth(lists)), stop=stop)


def _reciprocal_places(depth: int) -> Floats:
    return np.asarray(1 / np.arange(1.0, depth + 1))


def _mrr(metric: MRR, lists: RankedLists) -> ExchangeWeights:
    relevant = lists.relevant(metric.rel).astype(np.float64)
    return ExchangeWeights(relevant, _reciprocal_places(metric.depth(lists)), stop=relevant)


def _hit(metric: Hit, lists: RankedLists) -> ExchangeWeights:
    relevant = lists.relevant(metric.rel).astype(np.float64)
    return ExchangeWeights(relevant, np.ones(metric.depth(lists)), stop=relevant)


def _map(metric: MAP, lists: RankedLists) -> ExchangeWeights:
    relevant, depth = lists.relevant(metric.rel).astype(np.float64), metric.depth(lists)
    n = metric.n_relevant(lists)
    divisor = lists.groups.spread(np.minimum(n, depth) if metric.norm == "cut" else n)
    gains = np.asarray(relevant / divisor)
    return ExchangeWeights(gains, _reciprocal_places(depth), lift=relevant)


def _precision(metric: P, lists: RankedLists) -> ExchangeWeights:
    places = np.full(len(lists.groups), metric.k)
    if metric.short == "length":
        places = np.clip(lists.groups.sizes, 1, metric.k)
    gains = np.asarray(lists.relevant(metric.rel) / lists.groups.spread(places))
    return ExchangeWeights(gains, np.ones(metric.depth(lists)))


def _recall(metric: Recall, lists: RankedLists) -> ExchangeWeights:
    gains = lists.relevant(metric.rel) / lists.groups.spread(metric.n_relevant(lists))
    return ExchangeWeights(np.asarray(gains), np.ones(metric.depth(lists)))


def _rbp(metric: RBP, lists: RankedLists) -> ExchangeWeights:
    relevant = lists.relevant(metric.rel).astype(np.float64)
    discount = (1 - metric.p) * np.power(metric.p, np.arange(float(metric.depth(lists))))
    return ExchangeWeights(relevant, discount)


_WEIGHTS: dict[type[Metric], Callable[[Any, RankedLists], ExchangeWeights]] = {
    NDCG: _ndcg,
    DCG: _dcg,
    ERR: _err,
    MRR: _mrr,
    MAP: _map,
    P: _precision,
    Recall: _recall,
    Hit: _hit,
    RBP: _rbp,
}
"""The metrics that are walks down the list. A subclass may be another metric, so it is not taken."""
