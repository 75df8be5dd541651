"""Rankers that follow the gradient of a smooth loss: RankNet, ListNet, ListMLE and FocusedNet."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from podium import losses
from podium.data import RankingData
from podium.losses import Loss
from podium.optim import LinearProblem, lbfgs
from podium.rankers.certificate import Certificate
from podium.rankers.history import Watch
from podium.rankers.mlp import MLP, train_mlp
from podium.rankers.models import Linear, Model, first_weights
from podium.rankers.objective import Objective
from podium.rankers.parameters import Count, NonNegative, Positive, Range, Seed, Share
from podium.rankers.ranker import Learned, Ranker


@dataclass(kw_only=True, eq=False, repr=False)
class GradientRanker(Ranker):
    """A smooth loss and a scorer: linear (L-BFGS on all queries) or a network (Adam on mini-batches).

    Parameters
    ----------
    l2
        Strength of the penalty l2/2 |w|^2 beside the mean loss of a query.
    scorer
        ``"linear"``, ``"mlp"`` or an ``MLP`` with its settings.
    metric
        What validation data chooses the iteration by.
    early_stopping
        Whether validation data chooses the iteration (as in the papers); if not, a linear scorer
        keeps the optimum, and `tune` walks its path with warm starts.
    max_iter
        Iterations of L-BFGS at most.
    tol
        How small the gradient must become, against the one at 0.
    seed
        Of everything random.
    """

    grid: ClassVar[dict[str, Any]] = {"l2": (1.0, 0.1, 0.01, 1e-3, 1e-4)}
    warm_start_along: ClassVar[str | None] = "l2"

    l2: NonNegative = 1e-3
    scorer: Literal["linear", "mlp"] | MLP = "linear"
    metric: str = "NDCG@10"
    early_stopping: bool = True
    max_iter: Count = 500
    tol: Positive = 1e-6
    seed: Seed = 0

    @abstractmethod
    def loss(self) -> Loss:
        """What is minimised."""

    def _mlp(self) -> MLP | None:
        return (
            MLP() if self.scorer == "mlp" else self.scorer if isinstance(self.scorer, MLP) else None
        )

    @property
    def validation_fraction(self) -> float:
        """Held out for the network's early stopping."""
        return (self._mlp() or MLP()).validation_fraction

    def needs_validation(self) -> bool:
        """Whether queries are held out where no validation data is given."""
        return self._mlp() is not None

    @property
    def keeps_best(self) -> bool:
        """As told, for a linear scorer; a network has no optimum to keep."""
        return self.early_stopping or self._mlp() is not None

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return True  # L-BFGS makes much of the last bits of a sum

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        mlp = self._mlp()
        return None if mlp is None else mlp.epochs

    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Minimise the loss: by L-BFGS over weights, or by Adam over a network."""
        if (mlp := self._mlp()) is not None:
            mlp.check()
            return Learned(train_mlp(mlp, self.loss(), train, watch, l2=self.l2, seed=self.seed))
        objective = Objective.of(self.loss(), train, seed=self.seed)
        objective.check(self.name)
        problem = LinearProblem(train.X, objective, self.l2)
        cold = problem.pull(objective(np.zeros(len(train)))[1])
        found = lbfgs(
            problem, first_weights(train.n_features, start), tol=self.tol,
            steepest=float(np.abs(cold).max()), max_iter=self.max_iter,
            each=watch.weights,
        )  # fmt: skip
        chosen = watch.model if watch.valid is not None and self.keeps_best else None
        return Learned(
            chosen or Linear(found.x), found.converged, found.reason, Certificate.of(found)
        )


@dataclass(kw_only=True, eq=False, repr=False)
class RankNet(GradientRanker):
    """Cross entropy of the preferences: log(1 + exp(-(s_u - s_v))) over pairs with y_u > y_v.

    Burges et al., Learning to rank using gradient descent, ICML 2005.

    Parameters
    ----------
    pairs
        The "mean" over a query's pairs, so that all queries count alike, or the "sum".

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(RankNet().fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "ranknet"
    paper: ClassVar[str] = "Burges et al., ICML 2005"

    pairs: Literal["mean", "sum"] = "mean"

    def loss(self) -> Loss:
        """Logistic loss of pairs."""
        return losses.PairLogistic(pairs=self.pairs)


@dataclass(kw_only=True, eq=False, repr=False)
class ListNet(GradientRanker):
    """Cross entropy of the top-j probabilities (Plackett-Luce) of labels and scores.

    Top one: -sum_j softmax(y)_j log softmax(s)_j. Cao, Qin, Liu, Tsai, Li, Learning to rank: from
    pairwise approach to listwise approach, ICML 2007.

    Parameters
    ----------
    depth
        j: the length of the heads that are compared. A pass costs n^j a query.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(ListNet().fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "listnet"
    paper: ClassVar[str] = "Cao et al., ICML 2007"

    depth: Annotated[int, Range(1, 4)] = 1

    def loss(self) -> Loss:
        """Cross entropy of the heads."""
        return losses.ListNetLoss(depth=self.depth)


@dataclass(kw_only=True, eq=False, repr=False)
class ListMLE(GradientRanker):
    """Likelihood of the true order: -log prod_i exp(s_i) / sum_{l >= i} exp(s_l).

    Documents with equal labels are put in a random order, by seed, query and document. Xia, Liu,
    Wang, Zhang, Li, Listwise approach to learning to rank, ICML 2008.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(ListMLE().fit(data).score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "listmle"
    paper: ClassVar[str] = "Xia et al., ICML 2008"

    def loss(self) -> Loss:
        """Likelihood of the whole order."""
        return losses.ListMLELoss()


@dataclass(kw_only=True, eq=False, repr=False)
class TopkListMLE(GradientRanker):
    """Likelihood of the first k places of the true order.

    Xia, Liu, Li, Statistical consistency of top-k ranking, NIPS 2009.

    Parameters
    ----------
    k
        Places that count.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(TopkListMLE(k=5).fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "topk-listmle"
    paper: ClassVar[str] = "Xia, Liu, Li, NIPS 2009"

    k: Count = 10

    def loss(self) -> Loss:
        """Likelihood of the head."""
        return losses.TopkListMLELoss(k=self.k)


@dataclass(kw_only=True, eq=False, repr=False)
class FocusedNet(GradientRanker):
    """ListNet on the top k, RankNet between them and the rest: beta L_list(T) + (1 - beta) L_pair(T x F).

    Both terms are divided, query by query, by their value at zero scores. Data without top-k truth
    gets one: a total order drawn from the grades, by seed, query and document. Niu, Guo, Lan, Cheng,
    Top-k learning to rank: labeling, ranking and evaluation, SIGIR 2012, section 3.2.

    Parameters
    ----------
    k
        Places that count.
    beta
        Share of the listwise term, 0 to 1.
    depth
        j of ListNet's top-j probabilities.

    Examples
    --------
    >>> from podium.data import draw_truth, make_synthetic
    >>> data = draw_truth(make_synthetic(n_queries=50, seed=0), k=5)
    >>> bool(FocusedNet(k=5, beta=0.5).fit(data).score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "focused-net"
    paper: ClassVar[str] = "Niu, Guo, Lan, Cheng, SIGIR 2012"
    grid: ClassVar[dict[str, Any]] = {"beta": tuple(i / 20 for i in range(21))}
    warm_start_along: ClassVar[str | None] = "beta"

    k: Count = 10
    beta: Share = 0.5
    depth: Annotated[int, Range(1, 4)] = 1

    def loss(self) -> Loss:
        """Both terms."""
        return losses.FocusedLoss(
            list=losses.ListNetLoss(depth=self.depth),
            pair=losses.PairLogistic(),
            k=self.k,
            beta=self.beta,
        )
