"""RPC-MTL: rank-preserving clustering, ordinal regression, and multi-task ListMLE in one ranker."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from podium import kernels
from podium.data import RankingData, shuffled_queries
from podium.errors import UsageError
from podium.multitask.list_orders import draw_orders
from podium.multitask.metric_learning import DistanceMetric, MetricKind
from podium.multitask.multitask_listmle import Solver, TasksObjective, minimise
from podium.multitask.preference_degrees import Divider, Division, check_kappas
from podium.multitask.rank_preserving_clustering import Clusters
from podium.multitask.rpc_mtl_model import Combination, RPCMTLModel, scale_or_one
from podium.multitask.sublists import Sublists
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.models import Linear, Model
from podium.rankers.ordinal_fit import OrdinalFit, fit_ordinal
from podium.rankers.ordinal_thresholds import OrdinalLoss, degree_of, degree_probabilities
from podium.rankers.parameters import (
    Count,
    CountOrNone,
    NonNegative,
    Positive,
    Seed,
    check_parameters,
)
from podium.rankers.ranker import Ranker
from podium.rankers.ranking_estimator import require_finite_scores
from podium.rankers.training_queries import contrasting_queries, drop_weightless_queries
from podium.typing import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class RPCMTL(Ranker):
    """Rank-preserving clusters of objects, and one ranking function per cluster.

    1. Metric: objects at near places of a list are close, those at far places are apart, (3). 2.
    Clusters: K-means whose index never falls along a list, by local search, (4)-(9). 3. Ordinal
    regression of the degree, K - 1 in the best cluster, 0 in the last. 4. Tasks: ListMLE on each
    cluster's sublists, with functions near their mean, (10)-(11).

    A document's score combines its degree and its place within the degree, either "soft" (the
    default) or "hard", as in the paper: see `RPCMTLModel`. With one cluster the model is that of
    ListMLE.

    Lists are total orders. Equal labels get a random order, by seed, query and document, as in
    ``listmle``. With top-k truth, or with k, the first k are ordered, and the rest below them is in
    the last cluster. Wu, You, Mao, Xia, Yuan, Hu, Listwise learning to rank by exploring structure
    of objects, TKDE 2016.

    Parameters
    ----------
    n_clusters
        K, at most the length of the longest list.
    distance
        The metric to learn: "diagonal" or "full"; none: the Euclidean distance of the features.
    kappa_1, kappa_2
        Objects up to kappa_1 places apart are near, objects at least kappa_2 places apart are far.
    max_pairs
        The maximum number of far pairs for the metric; if there are more, this many are drawn. All
        near pairs count.
    max_sweeps
        The maximum number of sweeps of the local search. 0: no search, but K equal bands of every
        list.
    clamp
        Whether K is lowered to the length of the longest list; if not, a larger K is an error.
    ordinal
        The loss of the ordinal regression: "all-threshold" or "proportional-odds".
    ordinal_l2
        The penalty of the ordinal regression.
    lam
        How strongly the functions of the clusters are pulled towards their mean: lambda sum_k |w_k
        - mean w|^2, added to the mean likelihood loss of a list.
    l2
        The strength of the penalty l2/2 |w_k|^2.
    combine
        "soft": the expected degree plus c times the expected place within it; "hard": the degree
        first, then the place within it.
    c
        The weight of the place within a degree for "soft"; with 1, a standard deviation counts as a
        whole degree.
    solver
        The solver of the tasks: "lbfgs", or "sgd", as in the paper.
    learning_rate
        The learning rate of "sgd".
    max_iter
        The maximum number of iterations ("sgd": passes) of the ordinal regression and of the tasks.
    tol
        The gradient of the tasks at the end, relative to the one at 0 ("sgd": the relative change of
        the objective by the last pass); none: 1e-6 (1e-5). The metric and the ordinal regression
        always use 1e-6.
    k
        How many places of a list count; none: all places, or those of top-k truth.
    metric
        The metric on validation data.

    Examples
    --------
    >>> from podium.data import make_opposed
    >>> from podium.metrics import evaluate
    >>> data = make_opposed(n_lists=60, seed=0)
    >>> ranker = RPCMTL(n_clusters=3).fit(data)
    >>> result = evaluate(data, ranker.predict(data), "NDCG(gain='linear')@10")
    >>> bool(result["NDCG(gain='linear')@10"].mean > 0.98)
    True
    >>> ranker.W_.shape, np.bincount(ranker.predict_degree(data)).shape
    ((3, 46), (3,))
    """

    name: ClassVar[str] = "rpc-mtl"
    paper: ClassVar[str] = "Wu, You, Mao, Xia, Yuan, Hu, TKDE 2016"
    grid: ClassVar[dict[str, Any]] = {
        "n_clusters": (3, 5, 6),
        "lam": (2.0, 1.0, 0.1, 0.01, 0.001),
        "c": (0.05, 0.1, 0.25, 0.5),
    }
    warm_start_along: ClassVar[str | None] = "lam"
    score_only: ClassVar[tuple[str, ...]] = ("combine", "c")
    aliases: ClassVar[dict[str, str]] = {"K": "n_clusters", "lambda": "lam", "lambda_": "lam"}

    n_clusters: Count = 6
    distance: MetricKind | None = "diagonal"
    kappa_1: Count = 2
    kappa_2: Count = 5
    max_pairs: Count = 100_000
    max_sweeps: CountOrNone = 1000
    clamp: bool = False
    ordinal: OrdinalLoss = "all-threshold"
    ordinal_l2: NonNegative = 1e-3
    lam: NonNegative = 0.01
    l2: NonNegative = 1e-3
    combine: Combination = "soft"
    c: NonNegative = 0.1
    solver: Solver = "lbfgs"
    learning_rate: Positive = 0.2
    max_iter: Count = 500
    tol: Positive | None = None
    k: Count | None = None
    metric: str = "NDCG@10"
    seed: Seed = 0

    def predict_degree(self, X: Any) -> NDArray[np.int64]:
        """Return the degree of each row: 0 is the worst, K - 1 the best."""
        ordinal, matrix = self.ordinal_, self._features(X)
        scores = require_finite_scores(
            kernels.matvec(matrix, self.W_[0] if ordinal is None else ordinal.w)
        )
        if ordinal is None:
            return np.zeros(len(scores), dtype=np.int64)
        return degree_of(scores, ordinal.thresholds, ordinal.loss)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each degree, one column per degree, the worst first; they add up to 1."""
        ordinal, matrix = self.ordinal_, self._features(X)
        scores = require_finite_scores(
            kernels.matvec(matrix, self.W_[0] if ordinal is None else ordinal.w)
        )
        if ordinal is None:
            return np.ones((len(scores), 1))
        return degree_probabilities(scores, ordinal.thresholds)

    def divide(self, data: RankingData) -> Division:
        """Return the metric and the clusters of a fit to this data; the ranker need not be fitted.

        Lists with only one label or with weight 0 are left out, as in a fit.
        """
        check_parameters(self, self.name)
        self.check_settings()
        if not isinstance(data, RankingData):
            raise UsageError(f"divide needs RankingData, got {type(data).__name__}")
        if self.n_clusters == 1:
            raise UsageError("divide needs n_clusters of 2 or more, got 1")
        self.check_training(drop_weightless_queries(data))
        counts = contrasting_queries(data)
        if data.query_weight is not None:
            counts = counts & (data.query_weight > 0)
        queries = shuffled_queries(data, self.seed)
        queries = queries[counts[queries]]
        division = self._divider().divide(data.subset(queries))
        assert division.orders is not None
        _, rows = data.groups.take(queries)
        orders = replace(division.orders, rows=rows[division.orders.rows], n_rows=len(data))
        return replace(division, orders=orders)

    @property
    def W_(self) -> Floats:  # noqa: N802
        """The weights of the ranking functions, one row per cluster, the best cluster first."""
        check_is_fitted(self, "model_")
        model = self.model_
        if isinstance(model, RPCMTLModel):
            return model.W
        assert isinstance(model, Linear)
        return model.weights[None, :]

    @property
    def ordinal_(self) -> OrdinalFit | None:
        """The ordinal regression; None with one cluster."""
        check_is_fitted(self, "model_")
        return self.model_.ordinal if isinstance(self.model_, RPCMTLModel) else None

    @property
    def metric_(self) -> DistanceMetric | None:
        """The learned metric; None if there is none."""
        return None if self._division is None else self._division.metric

    @property
    def clusters_(self) -> Clusters | None:
        """Centres, counts and the search's history; None with one cluster.

        `index` has the training rows in the order of training: shuffled by the seed, without lists
        that are left out. Model files do not keep it. ``divide`` of the training data gives the
        same division, with the rows.
        """
        return None if self._division is None else self._division.clusters

    @property
    def _division(self) -> Division | None:
        check_is_fitted(self, "model_")
        return self.model_.division if isinstance(self.model_, RPCMTLModel) else None

    @property
    def keeps_best(self) -> bool:
        """Whether the best step on validation is kept: no, the optimum is. `tune` chooses lambda and K."""
        return False

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return True  # the local search goes from list to list

    def check_settings(self) -> None:
        """Raise if settings do not fit together."""
        if self.distance is not None:
            check_kappas(self.kappa_1, self.kappa_2)

    def check_training(self, data: RankingData) -> None:
        """Raise if nothing can be learned from the data."""
        super().check_training(data)
        if self.n_clusters > 1:
            self._divider().clusters_for(data.subset(contrasting_queries(data)))

    def _divider(self) -> Divider:
        return Divider(**{field.name: getattr(self, field.name) for field in fields(Divider)})

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Divide the lists into clusters, then learn one task per cluster."""
        lists = train.subset(contrasting_queries(train))
        if self.n_clusters == 1:
            return self._learn_one_task(lists, monitor, start)
        earlier = start if isinstance(start, RPCMTLModel) else None
        division = None if earlier is None else earlier.division
        # Along a path of lambda, keep the clusters of the last fit.
        if earlier is None or division is None or division.orders is None:
            division, ordinal, W = self._divider().divide(lists, monitor.begin), None, None
        else:
            ordinal, W = earlier.ordinal, earlier.W
        monitor.begin("ordinal")
        if ordinal is None:
            ordinal = self._fit_degrees(lists, division)
        monitor.begin("tasks")
        return self._learn_tasks(lists, division, ordinal, W, monitor)

    def _learn_one_task(
        self, lists: RankingData, monitor: FitMonitor, start: Model | None
    ) -> FitResult:
        """Learn ListMLE, because one cluster needs no division."""
        monitor.begin("tasks")
        orders = draw_orders(lists, self.k, self.seed)
        index = np.zeros(len(lists), dtype=np.int64)
        sublists = Sublists.of(lists.X, orders, index, 1, weight=lists.query_weight, labels=lists.y)
        tasks = minimise(
            TasksObjective(sublists, self.lam, self.l2), self.solver,
            start=start.weights[None, :] if isinstance(start, Linear) else None,
            each=lambda _, W, value: monitor.record_weights(0, W[0], value), **self._solver_settings(),
        )  # fmt: skip
        return FitResult(Linear(tasks.W[0].copy()), tasks.converged, tasks.reason)

    def _solver_settings(self) -> dict[str, Any]:
        names = ("tol", "max_iter", "learning_rate", "seed")
        return {name: getattr(self, name) for name in names}

    def _fit_degrees(self, lists: RankingData, division: Division) -> OrdinalFit:
        return fit_ordinal(
            lists.X, division.degrees, division.clusters.n_clusters,
            l2=self.ordinal_l2, loss=self.ordinal, weight=_row_weights(lists), max_iter=self.max_iter,
        )  # fmt: skip

    def _learn_tasks(
        self,
        lists: RankingData,
        division: Division,
        ordinal: OrdinalFit,
        start: Floats | None,
        monitor: FitMonitor,
    ) -> FitResult:
        assert division.orders is not None
        index, K = division.clusters.index, division.clusters.n_clusters
        sublists = Sublists.of(
            lists.X, division.orders, index, K, weight=lists.query_weight, labels=lists.y
        )
        weight = _row_weights(lists)
        by_task = weight[sublists.rows]
        shares = sublists.tasks.reduce(np.add, by_task)
        origin = kernels.rmatvec(lists.X, weight / weight.sum())
        largest = np.maximum(lists.X.max(axis=0), -lists.X.min(axis=0)).astype(np.float64)

        def make_model(weights: Floats) -> RPCMTLModel:
            W = sublists.complete(weights)
            scores = sublists.scores(W)
            mean = sublists.tasks.reduce(np.add, by_task * scores) / shares
            deviation = scores - sublists.tasks.spread(mean)
            scale = np.sqrt(sublists.tasks.reduce(np.add, by_task * deviation**2) / shares)
            return RPCMTLModel(
                ordinal, W, mean, scale_or_one(scale, np.abs(W) @ largest), origin,
                shares / shares.sum(), self.combine, float(self.c), division,
            )  # fmt: skip

        def report(_: int, W: Floats, value: float) -> None:
            weights = W.copy()
            monitor(value, lambda: make_model(weights))

        tasks = minimise(
            TasksObjective(sublists, self.lam, self.l2), self.solver, start=start, each=report,
            **self._solver_settings(),
        )  # fmt: skip
        reasons = division.reasons()
        if not ordinal.converged:
            reasons.append(f"ordinal: not converged after {self.max_iter} iterations")
        if not tasks.converged:
            reasons.append(f"tasks: {tasks.reason}")
        return FitResult(make_model(tasks.W), not reasons, "; ".join(reasons) or tasks.reason)


def _row_weights(lists: RankingData) -> Floats:
    """Return the weight of each row."""
    weight = np.ones(lists.n_queries) if lists.query_weight is None else lists.query_weight
    return np.asarray(lists.groups.spread(weight))
