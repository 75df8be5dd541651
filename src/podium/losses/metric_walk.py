"""Metrics as sums over places, in a form that shows how the metric changes if two documents swap."""

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
class MetricWalk:
    """A metric as a walk down the list: sum over places i of reach_i gain discount_i.

    The reach of a place is how much its gain counts, given the documents above it: for ERR, the
    probability that a user gets there. The reach of the first place is 1. The document at place i makes
    reach_{i+1} = reach_i (1 - stop) + lift, where its lift is what it adds to the reach of all places
    below. So the kernel finds in constant time what the exchange of two documents changes.

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
    >>> walk = MetricWalk.from_metric(P(k=2), LabelledLists.from_data(data))
    >>> walk.gains.tolist(), walk.discount.tolist()
    ([0.5, 0.5, 0.0], [1.0, 1.0])
    """

    gains: Floats
    discount: Floats
    stop: Floats | None = None
    lift: Floats | None = None

    @classmethod
    def from_metric(cls, metric: Metric, lists: LabelledLists) -> MetricWalk:
        """Return the walk of a metric; how it treats ties, empty queries and short lists does not count."""
        check_walk(metric)
        ranked = RankedLists(
            lists.labels, np.zeros(len(lists.labels)), lists.groups, np.empty(0, dtype=object)
        )
        return _WALKS[type(metric)](metric, ranked)

    def arguments(self) -> dict[str, Floats]:
        """Return the arguments of the kernel."""
        zeros = np.zeros(len(self.gains))
        stop, lift = (zeros if part is None else part for part in (self.stop, self.lift))
        return {"gains": self.gains, "stop": stop, "lift": lift, "discount": self.discount}


def check_walk(metric: Metric) -> None:
    """Raise if podium does not know the metric as a walk."""
    metric.check_cutoff()
    if type(metric) not in _WALKS:
        names = ", ".join(kind.name for kind in _WALKS)
        raise UsageError(
            f"expected one of the metrics {names}, got {metric}; for your own, write a subclass of "
            "YetiLoss with its metric_walk"
        )


def _dcg(metric: DCG, lists: RankedLists) -> MetricWalk:
    depth = metric.depth(lists)
    discount = lists.discounts(metric.discount, depth)
    metric.ideal(lists)  # raises if the sum of gains does not fit in a double
    return MetricWalk(lists.gains(metric.gain), discount)


def _ndcg(metric: NDCG, lists: RankedLists) -> MetricWalk:
    walk, ideal = _dcg(metric, lists), metric.ideal(lists)
    divisor = lists.groups.spread(np.where(ideal > 0, ideal, 1.0))
    return MetricWalk(np.asarray(walk.gains / divisor), walk.discount)


def _err(metric: ERR, lists: RankedLists) -> MetricWalk:
    stop = metric.stop_probabilities(lists)
    return MetricWalk(stop, _reciprocal_places(metric.depth(lists)), stop=stop)


def _reciprocal_places(depth: int) -> Floats:
    return np.asarray(1 / np.arange(1.0, depth + 1))


def _mrr(metric: MRR, lists: RankedLists) -> MetricWalk:
    relevant = lists.relevant(metric.rel).astype(np.float64)
    return MetricWalk(relevant, _reciprocal_places(metric.depth(lists)), stop=relevant)


def _hit(metric: Hit, lists: RankedLists) -> MetricWalk:
    relevant = lists.relevant(metric.rel).astype(np.float64)
    return MetricWalk(relevant, np.ones(metric.depth(lists)), stop=relevant)


def _map(metric: MAP, lists: RankedLists) -> MetricWalk:
    relevant, depth = lists.relevant(metric.rel).astype(np.float64), metric.depth(lists)
    n = metric.n_relevant(lists)
    divisor = lists.groups.spread(np.minimum(n, depth) if metric.norm == "cut" else n)
    gains = np.asarray(relevant / divisor)
    return MetricWalk(gains, _reciprocal_places(depth), lift=relevant)


def _precision(metric: P, lists: RankedLists) -> MetricWalk:
    places = np.full(len(lists.groups), metric.k)
    if metric.short == "length":
        places = np.clip(lists.groups.sizes, 1, metric.k)
    gains = np.asarray(lists.relevant(metric.rel) / lists.groups.spread(places))
    return MetricWalk(gains, np.ones(metric.depth(lists)))


def _recall(metric: Recall, lists: RankedLists) -> MetricWalk:
    gains = lists.relevant(metric.rel) / lists.groups.spread(metric.n_relevant(lists))
    return MetricWalk(np.asarray(gains), np.ones(metric.depth(lists)))


def _rbp(metric: RBP, lists: RankedLists) -> MetricWalk:
    relevant = lists.relevant(metric.rel).astype(np.float64)
    discount = (1 - metric.p) * np.power(metric.p, np.arange(float(metric.depth(lists))))
    return MetricWalk(relevant, discount)


_WALKS: dict[type[Metric], Callable[[Any, RankedLists], MetricWalk]] = {
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
"""The metrics that are walks. A subclass may be another metric, so it is not taken."""
