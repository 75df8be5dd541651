"""Support vector machines for ranking: RankSVM, SVM-MAP and FocusedSVM."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from podium import losses
from podium.data import RankingData
from podium.losses import Loss
from podium.optim import LinearProblem, Minimum, cutting_planes, newton_cg
from podium.rankers.certificate import Certificate
from podium.rankers.history import Watch
from podium.rankers.models import Floats, Linear, Model, first_weights
from podium.rankers.objective import Objective
from podium.rankers.parameters import Count, Positive, Seed, Share
from podium.rankers.ranker import Learned, Ranker


@dataclass(kw_only=True, eq=False, repr=False)
class SVM(Ranker):
    """min 1/2 |w|^2 + C sum_q loss_q(X w).

    Parameters
    ----------
    C
        What a loss costs against |w|^2.
    max_iter
        Iterations at most.
    """

    warm_start_along: ClassVar[str | None] = "C"

    C: Positive = 1.0
    max_iter: Count = 2000

    @abstractmethod
    def loss(self) -> Loss:
        """What is minimised."""

    def _problem(self, train: RankingData) -> LinearProblem:
        objective = Objective.of(self.loss(), train, seed=self._seed(), over="sum").times(self.C)
        objective.check(self.name)
        return LinearProblem(train.X, objective, 1.0, objective.product, objective.products)

    def _minimise(self, problem: LinearProblem, start: Floats, watch: Watch) -> Minimum:
        return cutting_planes(
            problem, start, eps=self.eps, max_iter=self.max_iter,
            each=watch.weights,
        )  # fmt: skip

    @property
    def keeps_best(self) -> bool:
        """The solution of a convex problem is kept, not the way to it."""
        return False

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        # The way to the optimum, and so the point within the gap where it ends, turns on which of
        # many equal rankings is taken.
        return True

    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Minimise the hinge losses."""
        found = self._minimise(self._problem(train), first_weights(train.n_features, start), watch)
        return Learned(Linear(found.x), found.converged, found.reason, Certificate.of(found))


@dataclass(kw_only=True, eq=False, repr=False)
class RankSVM(SVM):
    """Pairs of documents, the better one ahead by a margin: 1/2 |w|^2 + C sum max(0, 1 - (s_u - s_v))^p.

    Over pairs of a query with y_u > y_v; p = 1 (hinge) or 2 (squared hinge). No pair is ever
    built: a pass costs O(n log n) for a query of n documents. Herbrich, Graepel, Obermayer, 2000;
    Joachims, KDD 2002; Chapelle and Keerthi, Information Retrieval 2010.

    Parameters
    ----------
    C
        What a violated pair costs against |w|^2.
    power
        2: squared hinge, by truncated Newton; 1: hinge, by cutting planes with a proved gap.
    tol
        Squared hinge: the gradient's norm against the first one's.
    eps
        Hinge: the proved gap against the objective.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(RankSVM(C=0.01).fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "ranksvm"
    paper: ClassVar[str] = "Joachims, KDD 2002; Chapelle and Keerthi, 2010"
    grid: ClassVar[dict[str, Any]] = {"C": tuple(10.0**e for e in range(-5, 2))}

    C: Positive = 1e-3
    power: Literal[1, 2] = 2
    tol: Positive = 1e-4
    eps: Positive = 1e-3

    def loss(self) -> Loss:
        """Hinge of pairs."""
        return losses.PairHinge(power=self.power)

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return self.power == 1

    def _minimise(self, problem: LinearProblem, start: Floats, watch: Watch) -> Minimum:
        if self.power == 1:
            return super()._minimise(problem, start, watch)
        return newton_cg(
            problem, start, tol=self.tol, max_iter=self.max_iter,
            each=watch.weights,
        )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class SVMMAP(SVM):
    """A structural SVM on average precision: the right ranking ahead of every other by its loss in AP.

    1/2 |w|^2 + C sum_q max_z [1 - AP(z) + w.Psi(z) - w.Psi(y)], the most violated ranking z found
    exactly. Yue, Finley, Radlinski, Joachims, A support vector method for optimizing average
    precision, SIGIR 2007.

    Parameters
    ----------
    C
        What a query's loss costs against |w|^2.
    rel
        Labels from here on are relevant.
    eps
        The proved gap to the optimum, against the objective.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> ranker = SVMMAP(C=1.0).fit(data)
    >>> bool(ranker.score(data) > 0.8), ranker.converged_
    (True, True)
    """

    name: ClassVar[str] = "svm-map"
    paper: ClassVar[str] = "Yue, Finley, Radlinski, Joachims, SIGIR 2007"
    grid: ClassVar[dict[str, Any]] = {"C": tuple(10.0**e for e in range(-2, 3))}

    rel: Positive = 1.0
    eps: Positive = 1e-3

    def loss(self) -> Loss:
        """Structural hinge of AP."""
        return losses.APHinge(rel=self.rel)


@dataclass(kw_only=True, eq=False, repr=False)
class FocusedSVM(SVM):
    """A structural SVM on the order of the top k, RankSVM between them and the rest.

    1/2 |w|^2 + C sum_q [beta L_list(T) + (1 - beta) L_pair(T x F)], both terms divided, query by
    query, by their value at zero scores. T is a total order while AP knows relevant or not, so the
    listwise term has two readings: "dcg", the loss in DCG with linear gain, for any k; "cuts", the
    mean AP over all k - 1 cuts of T, for k up to 12. Niu, Guo, Lan, Cheng, SIGIR 2012, section 3.2.

    Parameters
    ----------
    k
        Places that count.
    beta
        Share of the listwise term, 0 to 1.
    C
        What a query's loss costs against |w|^2.
    reading
        Of the listwise term.
    scale_pairs
        Whether a pair asks for y_u - y_v times its score difference to be 1 or more, as printed: the
        document at place p of the top k then needs a margin of 1 / (k + 1 - p) only.
    eps
        The proved gap to the optimum, against the objective. A gap of 1e-3 moves kNDCG@10 on MQ2008 by
        more than the lead of this ranker over RankSVM.

    Examples
    --------
    >>> from podium.data import draw_truth, make_synthetic
    >>> data = draw_truth(make_synthetic(n_queries=50, seed=0), k=5)
    >>> bool(FocusedSVM(k=5).fit(data).score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "focused-svm"
    paper: ClassVar[str] = "Niu, Guo, Lan, Cheng, SIGIR 2012"
    grid: ClassVar[dict[str, Any]] = {"beta": tuple(i / 20 for i in range(21))}
    warm_start_along: ClassVar[str | None] = "beta"

    C: Positive = 0.1
    k: Count = 10
    beta: Share = 0.5
    reading: Literal["dcg", "cuts"] = "dcg"
    scale_pairs: bool = False
    eps: Positive = 1e-6
    seed: Seed = 0

    def loss(self) -> Loss:
        """Both terms."""
        return losses.FocusedLoss(
            list=losses.OrderHinge(reading=self.reading), pair=losses.PairHinge(power=1),
            k=self.k, beta=self.beta, scale_pairs=self.scale_pairs,
        )  # fmt: skip
