"""Degrees of preference: divide lists into rank-preserving clusters, in a learned metric."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from podium.data import RankingData
from podium.errors import DataError, ModelFileError, UsageError
from podium.multitask.list_orders import Orders, draw_orders, ordered_depths
from podium.multitask.metric_learning import DistanceMetric, MetricKind, learn_metric
from podium.multitask.rank_preserving_clustering import (
    Clusters,
    max_clusters,
    rank_preserving_clusters,
)
from podium.rankers.models import Part, json_part, vector
from podium.typing import Floats, Ints


@dataclass(frozen=True, eq=False, repr=False)
class Division:
    """Clusters along every list, the best first.

    Parameters
    ----------
    metric
        The metric of distances; None: Euclidean.
    clusters
        Centres, counts and the search's history; `index` is empty if it comes from a file.
    orders
        The rows that `index` refers to; None if it comes from a file.
    """

    metric: DistanceMetric | None
    clusters: Clusters
    orders: Orders | None = None

    def __repr__(self) -> str:
        return f"Division({self.clusters!r}, {self.metric!r})"

    @property
    def degrees(self) -> Ints:
        """The degree of each row of the data: K - 1 in the best cluster, 0 in the last.

        It is -1 in lists that were left out because all their labels are equal.
        """
        if self.orders is None:
            raise UsageError(
                "a division from a model file has no training rows, so it has no degrees; use "
                "the ranker's divide(data)"
            )
        return self.orders.restore(self.clusters.n_clusters - 1 - self.clusters.index, -1)

    def reasons(self) -> list[str]:
        """Return why the metric or the clusters did not converge; empty if both did."""
        reasons = []
        if self.metric is not None and not self.metric.converged:
            reasons.append(f"metric: not converged after {self.metric.iterations} iterations")
        if not self.clusters.converged:
            reasons.append(f"clusters: not converged after {len(self.clusters.moves)} sweeps")
        return reasons

    def parts(self) -> dict[str, Part]:
        """Return the parts of a model file: everything except the training rows."""
        clusters, metric = self.clusters, self.metric
        division: dict[str, Any] = {"max_sweeps": int(clusters.max_sweeps)}
        parts: dict[str, Part] = {
            "centres": clusters.centres.ravel(),
            "counts": clusters.counts,
            "sweeps": clusters.objective,
            "moves": clusters.moves,
        }
        if metric is not None:
            division["metric"] = {name: getattr(metric, name) for name in _METRIC_FIELDS}
            parts["factor"] = metric.factor.ravel()
        return parts | {"division": json.dumps(division, allow_nan=False)}

    @classmethod
    def from_parts(cls, parts: dict[str, Part], n_clusters: int, n_features: int) -> Self:
        """Build the division from its parts; raise ModelFileError if they do not fit each other."""
        centres, counts = vector(parts, "centres"), vector(parts, "counts", np.int64)
        sweeps, moves = vector(parts, "sweeps"), vector(parts, "moves", np.int64)
        if len(centres) != n_clusters * n_features:
            raise ModelFileError("expected one centre per cluster of the model")
        if len(counts) != n_clusters or (counts < 0).any():
            raise ModelFileError("expected one number of objects per cluster of the model")
        with json_part(parts, "division", "the settings of the division of lists") as division:
            metric = None
            if "metric" in division:
                metric = _read_metric(division["metric"], parts, n_features)
            max_sweeps = _read_count(division["max_sweeps"])
            has_swept = len(moves) > 0
            if len(sweeps) != len(moves) + 1 or (max_sweeps > 0) != has_swept or (moves < 0).any():
                raise ModelFileError(
                    "expected one objective and one number of moves per "
                    "sweep of the clusters' search"
                )
        no_rows, centres = np.empty(0, dtype=np.int64), centres.reshape(n_clusters, n_features)
        return cls(metric, Clusters(no_rows, centres, counts, sweeps, moves, max_sweeps))


_METRIC_COUNTS = ("iterations", "n_near", "n_far", "n_sampled", "n_dropped")
_METRIC_FIELDS = ("kind", "objective", "gap", "converged", *_METRIC_COUNTS)
"""The fields of a metric that a file keeps in addition to its factor."""


def _read_metric(entry: dict[str, Any], parts: dict[str, Part], n_features: int) -> DistanceMetric:
    factor, kind = vector(parts, "factor"), entry["kind"]
    columns, rest = divmod(len(factor), n_features)
    fits = {"diagonal": columns == 1, "full": 1 <= columns <= n_features}
    if rest or not fits.get(kind, False):
        raise ModelFileError(f"expected a metric of {n_features} features in the model")
    metric = DistanceMetric(
        kind=kind, factor=factor if kind == "diagonal" else factor.reshape(n_features, columns),
        objective=_read_number(entry["objective"]), gap=_read_number(entry["gap"]),
        converged=bool(entry["converged"]),
        **{name: _read_count(entry[name]) for name in _METRIC_COUNTS},
    )  # fmt: skip
    if not metric.is_finite:
        raise ModelFileError("expected a metric of finite numbers in the model")
    return metric


def _read_number(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < np.inf:
        raise ValueError(f"{value!r:.80} instead of a number of 0 or more")
    return float(value)


def _read_count(value: Any) -> int:
    if operator.index(value) < 0:
        raise ValueError(f"{value!r:.80} instead of a count")
    return operator.index(value)


@dataclass(frozen=True)
class Divider:
    """The settings by which lists are divided; see `RPCMTL`."""

    n_clusters: int
    distance: MetricKind | None = "diagonal"
    kappa_1: int = 2
    kappa_2: int = 5
    max_pairs: int = 100_000
    max_sweeps: int = 1000
    clamp: bool = False
    k: int | None = None
    seed: int = 0

    def divide(
        self, lists: RankingData, begin: Callable[[str], object] = lambda stage: None
    ) -> Division:
        """Learn the metric and the clusters of lists that are ordered completely or at their first places.

        If a list has an unordered rest (top-k truth), the rest is in the last cluster and the
        others are in the clusters before it, because the order has no information on boundaries
        within the rest.

        Parameters
        ----------
        begin
            Called with the name of each stage when it begins.
        """
        orders = draw_orders(lists, self.k, self.seed)
        n = self.clusters_for(lists)
        X = lists.X[orders.rows].astype(np.float64)
        metric = self._learn_metric(X, orders, self._describe_k(lists), begin)
        begin("clusters")
        clusters = rank_preserving_clusters(
            X, orders.offsets, n, self.max_sweeps, metric, orders.depth
        )
        return Division(metric, clusters, orders)

    def clusters_for(self, lists: RankingData) -> int:
        """Return K; raise if no list can have that many clusters and K may not be lowered."""
        depth = ordered_depths(lists, self.k)
        most = int(max_clusters(lists.groups.sizes, depth).max())
        if self.n_clusters <= most or self.clamp:
            return min(self.n_clusters, most)
        places, k = int(depth.max()), self._describe_k(lists)
        raise UsageError(
            f"n_clusters of rpc-mtl must be at most {most}, because no list has more than "
            f"{places} ordered places{' and a rest' * (most > places)}{k}, got "
            f"{self.n_clusters}; clamp=True lowers it to {most}"
        )

    def _describe_k(self, lists: RankingData) -> str:
        """Return k in words, if it limits the ordered places."""
        both = [k for k in (self.k, lists.topk) if k is not None]
        return f" (k = {min(both)})" if both else ""

    def _learn_metric(
        self, X: Floats, orders: Orders, k: str, begin: Callable[[str], object]
    ) -> DistanceMetric | None:
        """Learn the metric from the ordered places."""
        if self.distance is None:
            return None
        begin("metric")
        if orders.depth.max() <= self.kappa_2:
            raise DataError(
                f"rpc-mtl's metric needs a list with more than kappa_2 = {self.kappa_2} "
                f"ordered places, but the longest has {orders.depth.max()}{k}"
            ).advise(
                python="use distance=None or a smaller kappa_2",
                command_line="use --set distance=none or a smaller kappa_2",
            )
        ordered = orders.groups.places < orders.groups.spread(orders.depth)
        if not ordered.all():
            X = X[ordered]
        offsets = np.concatenate([[0], np.cumsum(orders.depth)])
        try:
            return learn_metric(
                X, offsets, self.kappa_1, self.kappa_2, self.distance, self.max_pairs, self.seed
            )
        except DataError as error:  # its parameter metric is distance here
            raise DataError(f"rpc-mtl: {error}".replace("metric=None", "distance=None")) from error


def check_kappas(kappa_1: int, kappa_2: int) -> None:
    """Raise if a pair of places could be both near and far."""
    if kappa_1 >= kappa_2:
        raise UsageError(
            "expected kappa_1 of rpc-mtl (near places) to be below kappa_2 (far places), got "
            f"{kappa_1} and {kappa_2}"
        )
