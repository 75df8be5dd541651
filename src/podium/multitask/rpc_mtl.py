"""RPC-MTL: rank-preserving clustering, then one listwise ranking function a cluster."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from podium import kernels
from podium.data import RankingData, shuffled_queries
from podium.errors import UsageError
from podium.multitask.clustering import Clusters
from podium.multitask.combined import Combine, Combined, spread_or_one
from podium.multitask.division import Distance, Divider, Division, check_kappas
from podium.multitask.listwise import Solver, Sublists, TasksObjective, minimise
from podium.multitask.metric import Metric
from podium.multitask.orders import draw_orders
from podium.rankers.degrees import OrdinalFit, fit_ordinal
from podium.rankers.history import Watch
from podium.rankers.inputs import contrasting_queries, drop_weightless_queries
from podium.rankers.models import Floats, Linear, Model
from podium.rankers.parameters import (
    Count,
    CountOrNone,
    NonNegative,
    Positive,
    Seed,
    check_parameters,
)
from podium.rankers.ranker import Learned, Ranker, finite
from podium.rankers.thresholds import OrdinalLoss, degree_of, degree_probabilities


@dataclass(kw_only=True, eq=False, repr=False)
class RPCMTL(Ranker):
    """Objects in K clusters that keep every list's order, and one ranking function a cluster.

    1. Metric: objects near each other in a list near, those far apart far, (3).
    2. Clusters: K-means whose index never falls along a list, by local search, (4)-(9).
    3. Ordinal regression of the degree, K - 1 in the best cluster, 0 in the last.
    4. Tasks: ListMLE on each cluster's sublists, the functions near their mean, (10)-(11).

    A document's score is its degree and its place within it, combined softly (the default) or hard,
    as in the paper: see `Combined`. With one cluster it is ListMLE, to the weights. Lists are total
    orders; equal labels are put in a random order, by seed, query and document, as in ``listmle``;
    of top-k truth, or with k, the first k are ordered, and a rest below them is in the last cluster.
    Wu, You, Mao, Xia, Yuan, Hu, Listwise learning to rank by exploring structure of objects, TKDE
    2016.

    Parameters
    ----------
    n_clusters
        K, at most the length of the longest list.
    distance
        The metric that is learned: "diagonal" or "full"; none: the features' Euclidean distance.
    kappa_1, kappa_2
        Places of a list up to which two objects are near, and from which on they are far.
    max_pairs
        Far pairs that the metric is learned from at most; of more, so many are drawn. Near pairs all
        count.
    max_sweeps
        Sweeps of the local search at most. 0: no search, every list is divided into K equal bands.
    clamp
        Whether K larger than the longest list is taken for its length; if not, it is an error.
    ordinal
        The loss of the ordinal regression: "all-threshold" or "proportional-odds".
    ordinal_l2
        Its penalty.
    lam
        How strongly the functions of the clusters are held together: lambda sum_k |w_k - mean w|^2
        beside the mean likelihood loss of a list.
    l2
        Strength of the penalty l2/2 |w_k|^2.
    combine
        "soft": the expected degree plus c times the expected place within it; "hard": the degree
        first, then the place within it.
    c
        What the place within a degree counts, softly; 1 is a whole degree for a standard deviation.
    solver
        Of the tasks: "lbfgs", or "sgd", the paper's.
    learning_rate
        Of "sgd".
    max_iter
        Iterations (of "sgd": passes) at most, of the ordinal regression and of the tasks.
    tol
        Of the tasks: how small the gradient must become, against the one at 0 (of "sgd": the change
        of the objective by a pass, against it); none: 1e-6 (1e-5). The metric and the ordinal
        regression always go to 1e-6.
    k
        Places of a list that count; none: all, or those of top-k truth.
    metric
        What is measured on validation data.

    Examples
    --------
    >>> from podium.data import make_opposed
    >>> from podium.metrics import evaluate
    >>> data = make_opposed(n_lists=60, seed=0)
    >>> ranker = RPCMTL(n_clusters=3).fit(data)
    >>> found = evaluate(data, ranker.predict(data), "NDCG(gain='linear')@10")
    >>> bool(found["NDCG(gain='linear')@10"].mean > 0.98)
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
    distance: Distance | None = "diagonal"
    kappa_1: Count = 2
    kappa_2: Count = 5
    max_pairs: Count = 100_000
    max_sweeps: CountOrNone = 1000
    clamp: bool = False
    ordinal: OrdinalLoss = "all-threshold"
    ordinal_l2: NonNegative = 1e-3
    lam: NonNegative = 0.01
    l2: NonNegative = 1e-3
    combine: Combine = "soft"
    c: NonNegative = 0.1
    solver: Solver = "lbfgs"
    learning_rate: Positive = 0.2
    max_iter: Count = 500
    tol: Positive | None = None
    k: Count | None = None
    metric: str = "NDCG@10"
    seed: Seed = 0

    def predict_degree(self, X: Any) -> NDArray[np.int64]:
        """The degree of each row: 0 the worst, K - 1 the best."""
        ordinal, matrix = self.ordinal_, self._features(X)
        scores = finite(kernels.matvec(matrix, self.W_[0] if ordinal is None else ordinal.w))
        if ordinal is None:
            return np.zeros(len(scores), dtype=np.int64)
        return degree_of(scores, ordinal.thresholds, ordinal.loss)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each degree, one row a row, the worst degree first; they add up to 1."""
        ordinal, matrix = self.ordinal_, self._features(X)
        scores = finite(kernels.matvec(matrix, self.W_[0] if ordinal is None else ordinal.w))
        if ordinal is None:
            return np.ones((len(scores), 1))
        return degree_probabilities(scores, ordinal.thresholds)

    def divide(self, data: RankingData) -> Division:
        """The metric and the clusters that a fit to this data has; none of the ranker's fit is used.

        Lists that say nothing (of one label, of weight 0) are left out, as in a fit.
        """
        check_parameters(self, self.name)
        self.check_settings()
        if not isinstance(data, RankingData):
            raise UsageError(f"expected RankingData to divide, got {type(data).__name__}")
        if self.n_clusters == 1:
            raise UsageError("expected n_clusters of 2 or more to divide lists, got 1")
        self.check_training(drop_weightless_queries(data))
        kept = (
            contrasting_queries(data)
            if data.query_weight is None
            else contrasting_queries(data) & (data.query_weight > 0)
        )
        queries = shuffled_queries(data, self.seed)
        queries = queries[kept[queries]]
        division = self._divider()(data.subset(queries))
        assert division.orders is not None
        _, rows = data.groups.take(queries)
        orders = replace(division.orders, rows=rows[division.orders.rows], n_rows=len(data))
        return replace(division, orders=orders)

    @property
    def W_(self) -> Floats:  # noqa: N802
        """One ranking function a cluster, the best cluster first."""
        check_is_fitted(self, "model_")
        model = self.model_
        if isinstance(model, Combined):
            return model.W
        assert isinstance(model, Linear)
        return model.weights[None, :]

    @property
    def ordinal_(self) -> OrdinalFit | None:
        """The ordinal regression; None with one cluster."""
        check_is_fitted(self, "model_")
        return self.model_.ordinal if isinstance(self.model_, Combined) else None

    @property
    def metric_(self) -> Metric | None:
        """The metric; None where none was learned."""
        return None if self._division is None else self._division.metric

    @property
    def clusters_(self) -> Clusters | None:
        """Centres, counts and the search's history; None with one cluster.

        `index` is that of the training rows as they were trained on (without lists that say nothing,
        in an order of the seed), and is not in model files; ``divide`` of the training data is the same
        division, and knows which rows these are.
        """
        return None if self._division is None else self._division.clusters

    @property
    def _division(self) -> Division | None:
        check_is_fitted(self, "model_")
        return self.model_.division if isinstance(self.model_, Combined) else None

    @property
    def keeps_best(self) -> bool:
        """The optimum is kept: validation data chooses lambda and K, by `tune`."""
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

    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Divide the lists into clusters, then learn one task per cluster."""
        lists = train.subset(contrasting_queries(train))
        if self.n_clusters == 1:
            return self._one_task(lists, watch, start)
        known = start if isinstance(start, Combined) else None
        division = None if known is None else known.division
        # Along a path of lambda the clusters are those of the last fit.
        if known is None or division is None or division.orders is None:
            division, ordinal, W = self._divider()(lists, watch.begin), None, None
        else:
            ordinal, W = known.ordinal, known.W
        watch.begin("ordinal")
        if ordinal is None:
            ordinal = self._degrees(lists, division)
        watch.begin("tasks")
        return self._tasks(lists, division, ordinal, W, watch)

    def _one_task(self, lists: RankingData, watch: Watch, start: Model | None) -> Learned:
        """ListMLE: nothing to divide."""
        watch.begin("tasks")
        orders = draw_orders(lists, self.k, self.seed)
        index = np.zeros(len(lists), dtype=np.int64)
        sublists = Sublists.of(lists.X, orders, index, 1, weight=lists.query_weight, labels=lists.y)
        found = minimise(
            TasksObjective(sublists, self.lam, self.l2), self.solver,
            start=start.weights[None, :] if isinstance(start, Linear) else None,
            each=lambda _, W, value: watch.weights(0, W[0], value), **self._settings_of_solver(),
        )  # fmt: skip
        return Learned(Linear(found.W[0].copy()), found.converged, found.reason)

    def _settings_of_solver(self) -> dict[str, Any]:
        names = ("tol", "max_iter", "learning_rate", "seed")
        return {name: getattr(self, name) for name in names}

    def _degrees(self, lists: RankingData, division: Division) -> OrdinalFit:
        return fit_ordinal(
            lists.X, division.degrees, division.clusters.n_clusters,
            l2=self.ordinal_l2, loss=self.ordinal, weight=_by_row(lists), max_iter=self.max_iter,
        )  # fmt: skip

    def _tasks(
        self,
        lists: RankingData,
        division: Division,
        ordinal: OrdinalFit,
        start: Floats | None,
        watch: Watch,
    ) -> Learned:
        assert division.orders is not None
        index, K = division.clusters.index, division.clusters.n_clusters
        sublists = Sublists.of(
            lists.X, division.orders, index, K, weight=lists.query_weight, labels=lists.y
        )
        weight = _by_row(lists)
        by_task = weight[sublists.rows]
        shares = sublists.tasks.reduce(np.add, by_task)
        origin = kernels.rmatvec(lists.X, weight / weight.sum())
        largest = np.maximum(lists.X.max(axis=0), -lists.X.min(axis=0)).astype(np.float64)

        def model(given: Floats) -> Combined:
            W = sublists.completed(given)
            scores = sublists.scores(W)
            mean = sublists.tasks.reduce(np.add, by_task * scores) / shares
            apart = scores - sublists.tasks.spread(mean)
            scale = np.sqrt(sublists.tasks.reduce(np.add, by_task * apart**2) / shares)
            return Combined(
                ordinal, W, mean, spread_or_one(scale, np.abs(W) @ largest), origin,
                shares / shares.sum(), self.combine, float(self.c), division,
            )  # fmt: skip

        def each(_: int, W: Floats, value: float) -> None:
            kept = W.copy()
            watch(value, lambda: model(kept))

        found = minimise(
            TasksObjective(sublists, self.lam, self.l2), self.solver, start=start, each=each,
            **self._settings_of_solver(),
        )  # fmt: skip
        reasons = division.reasons()
        if not ordinal.converged:
            reasons.append(f"ordinal: not done after {self.max_iter} iterations")
        if not found.converged:
            reasons.append(f"tasks: {found.reason}")
        return Learned(model(found.W), not reasons, "; ".join(reasons) or found.reason)


def _by_row(lists: RankingData) -> Floats:
    """What each row counts."""
    weight = np.ones(lists.n_queries) if lists.query_weight is None else lists.query_weight
    return np.asarray(lists.groups.spread(weight))
