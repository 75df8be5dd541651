"""Lists divided into degrees: a drawn order, a metric learned from it, clusters that keep it."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData
from podium.data.archives import read_json
from podium.errors import DataError, ModelFileError, UsageError
from podium.multitask.clustering import Clusters, most_clusters, rank_preserving_clusters
from podium.multitask.metric import Metric, learn_metric
from podium.multitask.orders import Orders, depth_of, draw_orders
from podium.rankers.models import Floats, Part, vector

Ints = NDArray[np.int64]
Distance = Literal["diagonal", "full"]


@dataclass(frozen=True, eq=False, repr=False)
class Division:
    """Clusters along every list, the best first.

    Parameters
    ----------
    metric
        What distances were measured by; None: Euclid's.
    clusters
        Centres, counts and the search's history; `index` is empty where it comes from a file.
    orders
        The rows that `index` is of; None where it comes from a file.
    """

    metric: Metric | None
    clusters: Clusters
    orders: Orders | None = None

    def __repr__(self) -> str:
        return f"Division({self.clusters!r}, {self.metric!r})"

    @property
    def degrees(self) -> Ints:
        """The degree of each row of the data, K - 1 in the best cluster, 0 in the last.

        It is -1 in lists that were left out, as they say nothing.
        """
        if self.orders is None:
            raise UsageError(
                "expected a division that knows its rows, got one of a model file, which has no "
                "training rows; the ranker's divide(data) has the degrees of data at hand"
            )
        return self.orders.restore(self.clusters.n_clusters - 1 - self.clusters.index, -1)

    def reasons(self) -> list[str]:
        """Why what was not done was not."""
        found = []
        if self.metric is not None and not self.metric.converged:
            found.append(f"metric: not done after {self.metric.iterations} iterations")
        if not self.clusters.converged:
            found.append(f"clusters: not done after {len(self.clusters.moves)} sweeps")
        return found

    def parts(self) -> dict[str, Part]:
        """For a model file: all but the training rows."""
        clusters, metric = self.clusters, self.metric
        told: dict[str, Any] = {"max_sweeps": int(clusters.max_sweeps)}
        parts: dict[str, Part] = {
            "centres": clusters.centres.ravel(),
            "counts": clusters.counts,
            "sweeps": clusters.objective,
            "moves": clusters.moves,
        }
        if metric is not None:
            told["metric"] = {name: getattr(metric, name) for name in _TOLD}
            parts["factor"] = metric.factor.ravel()
        return parts | {"division": json.dumps(told, allow_nan=False)}

    @classmethod
    def from_parts(cls, parts: dict[str, Part], n_clusters: int, n_features: int) -> Self:
        """From these; raises ModelFileError where they do not fit."""
        centres, counts = vector(parts, "centres"), vector(parts, "counts", np.int64)
        sweeps, moves = vector(parts, "sweeps"), vector(parts, "moves", np.int64)
        if len(centres) != n_clusters * n_features:
            raise ModelFileError("expected a centre for each cluster of the model")
        if len(counts) != n_clusters or (counts < 0).any():
            raise ModelFileError("expected how many objects each cluster of the model has")
        try:
            told = read_json(str(parts["division"]))
            metric = _metric_of(told["metric"], parts, n_features) if "metric" in told else None
            most = _count(told["max_sweeps"])
            if len(sweeps) != len(moves) + 1 or (most > 0) != (len(moves) > 0) or (moves < 0).any():
                raise ModelFileError("expected what each sweep of the clusters' search came to")
        except ModelFileError:
            raise
        except (
            KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError
        ) as error:  # fmt: skip
            raise ModelFileError(
                f"expected how the lists were divided in the model, got something else ({error})"
            ) from error
        none, centres = np.empty(0, dtype=np.int64), centres.reshape(n_clusters, n_features)
        return cls(metric, Clusters(none, centres, counts, sweeps, moves, most))


_COUNTS = ("iterations", "n_near", "n_far", "n_sampled", "n_dropped")
_TOLD = ("kind", "objective", "gap", "converged", *_COUNTS)
"""What a file tells of a metric beside its factor."""


def _metric_of(told: dict[str, Any], parts: dict[str, Part], n_features: int) -> Metric:
    factor, kind = vector(parts, "factor"), told["kind"]
    columns, rest = divmod(len(factor), n_features)
    fits = {"diagonal": columns == 1, "full": 1 <= columns <= n_features}
    if rest or not fits.get(kind, False):
        raise ModelFileError(f"expected a metric of {n_features} features in the model")
    metric = Metric(
        kind=kind, factor=factor if kind == "diagonal" else factor.reshape(n_features, columns),
        objective=_number(told["objective"]), gap=_number(told["gap"]),
        converged=bool(told["converged"]), **{name: _count(told[name]) for name in _COUNTS},
    )  # fmt: skip
    if not metric.is_finite:
        raise ModelFileError("expected a metric of finite numbers in the model")
    return metric


def _number(told: Any) -> float:
    if type(told) not in (int, float) or not 0 <= told < np.inf:
        raise ValueError(f"{told!r:.80} instead of a number of 0 or more")
    return float(told)


def _count(told: Any) -> int:
    if operator.index(told) < 0:
        raise ValueError(f"{told!r:.80} instead of a count")
    return operator.index(told)


@dataclass(frozen=True)
class Divider:
    """How lists are divided; see `RPCMTL`."""

    n_clusters: int
    distance: Distance | None = "diagonal"
    kappa_1: int = 2
    kappa_2: int = 5
    max_pairs: int = 100_000
    max_sweeps: int = 1000
    clamp: bool = False
    k: int | None = None
    seed: int = 0

    def __call__(
        self, lists: RankingData, begin: Callable[[str], object] = lambda stage: None
    ) -> Division:
        """Metric and clusters of these lists, each of them ordered, or its first places.

        Of a list with an unordered rest (top-k truth) the rest is in the last cluster, the others in
        those before it: where within the rest a boundary would lie is unknown.
        """
        orders = draw_orders(lists, self.k, self.seed)
        n = self.clusters_for(lists)
        X = lists.X[orders.rows].astype(np.float64)
        metric = self._metric(X, orders, self._k(lists), begin)
        begin("clusters")
        found = rank_preserving_clusters(
            X, orders.offsets, n, self.max_sweeps, metric, orders.depth
        )
        return Division(metric, found, orders)

    def clusters_for(self, lists: RankingData) -> int:
        """K, where it is at most what one of the lists can have."""
        depth = depth_of(lists, self.k)
        most = int(most_clusters(lists.groups.sizes, depth).max())
        if self.n_clusters <= most or self.clamp:
            return min(self.n_clusters, most)
        places, k = int(depth.max()), self._k(lists)
        raise UsageError(
            f"expected n_clusters of rpc-mtl to be at most {most}, as no list has more than {places} "
            f"ordered places{' and a rest' * (most > places)}{k}, got {self.n_clusters}; clamp=True takes "
            f"{most} then"
        )

    def _k(self, lists: RankingData) -> str:
        """Why no more places are ordered, where it is k."""
        both = [k for k in (self.k, lists.topk) if k is not None]
        return f" (k = {min(both)})" if both else ""

    def _metric(
        self, X: Floats, orders: Orders, k: str, begin: Callable[[str], object]
    ) -> Metric | None:
        """Of the ordered places."""
        if self.distance is None:
            return None
        begin("metric")
        if orders.depth.max() <= self.kappa_2:
            raise DataError(
                f"expected a list of more than kappa_2 = {self.kappa_2} ordered places to learn "
                f"rpc-mtl's metric from, got {orders.depth.max()} at most{k}; use distance=None or a "
                "smaller kappa_2"
            )
        ordered = orders.groups.places < orders.groups.spread(orders.depth)
        if not ordered.all():
            X = X[ordered]
        offsets = np.concatenate([[0], np.cumsum(orders.depth)])
        try:
            return learn_metric(
                X, offsets, self.kappa_1, self.kappa_2, self.distance, self.max_pairs, self.seed
            )
        except DataError as error:  # what is metric there is distance here
            raise DataError(f"rpc-mtl: {error}".replace("metric=None", "distance=None")) from error


def check_kappas(kappa_1: int, kappa_2: int) -> None:
    """Raise where a pair could be near and far."""
    if kappa_1 >= kappa_2:
        raise UsageError(
            f"expected kappa_1 of rpc-mtl below kappa_2 (pairs of near and of far places), got "
            f"{kappa_1} and {kappa_2}"
        )
