"""TopSlack and TopMargin: structural SVMs on the head of the list, with a certificate."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data import RankingData
from podium.losses import LabelledLists
from podium.losses.head_hinge import BoundHead, HeadHinge, Search
from podium.metrics import NDCG
from podium.optim import BlockProblem, Planes, block_planes
from podium.optim.linear import norm2
from podium.rankers.certificate import HeadCertificate
from podium.rankers.history import Watch
from podium.rankers.models import Floats, Linear, Model
from podium.rankers.nets import ListNet
from podium.rankers.objective import Objective
from podium.rankers.parameters import Count, Positive, Seed
from podium.rankers.ranker import Learned, Ranker

ROUND = 0.05
"""Of eps, to which a round is solved: which w of all within the gap comes out is not left to chance."""
PAPER_PATH = tuple(10.0**e for e in range(-5, 6))
"""The values of C in the paper; below 1e-2 the direction of w hardly changes, above 1e3 the loss."""


@dataclass(kw_only=True, eq=False, repr=False)
class HeadSVM(Ranker):
    """min 1/2 |w|^2 + C/m sum_q loss_q, with losses of the head of the list.

    Parameters
    ----------
    measure
        "NDCG@n" or "P@n": what a ranking loses, and with n the places that count. NDCG alone is the
        whole list.
    C
        What the mean loss of the m queries that say anything costs against |w|^2.
    eps
        The gap to be proved, against C.
    ideal
        Of the many ideal rankings of graded labels: "rounds" takes the one whose ties are ordered
        by w, solves the convex problem this makes, and goes on with the new w until w is optimal for
        its own ideal; "cut" makes one convex problem of their mean, with n cut to the number of
        relevant documents of each query.
    max_rounds
        Convex problems at most.
    max_iter
        Passes over all queries at most, for each of them.
    seed
        Of the order of rows, which must not matter.
    """

    warm_start_along: ClassVar[str | None] = "C"
    grid: ClassVar[dict[str, Any]] = {
        "measure": ("NDCG@10", "NDCG@100", "NDCG"),
        "C": tuple(10.0**e for e in range(-2, 4)),
    }

    measure: str = "NDCG@10"
    C: Positive = 10.0
    eps: Positive = 1e-3
    ideal: Literal["rounds", "cut"] = "rounds"
    max_rounds: Count = 20
    max_iter: Count = 500
    seed: Seed = 0

    @abstractmethod
    def _search(self) -> Search:
        """How the most violated ranking is found."""

    def loss(self) -> HeadHinge:
        """What is minimised."""
        kind: Literal["own", "mean"] = "own" if self.ideal == "rounds" else "mean"
        return HeadHinge(self.measure, self._search(), kind)

    @property
    def keeps_best(self) -> bool:
        """The solution is kept, not the way to it."""
        return False

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return True  # which of many equal rankings is taken turns on it

    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Solve convex problems in rounds, each for the ideal that the last weights make."""
        problem = HeadProblem.of(self, train)
        w = np.zeros(train.n_features)
        if self.ideal == "rounds":
            w = first_order(train, self.seed, start)
        ideal, planes = problem.ideal(w), Planes(problem.totals, train.n_features)
        rounds = passes = 0
        while True:
            convex = problem.against(ideal)
            here = problem.value(w, ideal)
            found = block_planes(
                convex, planes, eps=ROUND * self.eps, max_iter=self.max_iter, each=watch.weights
            )
            rounds, passes = rounds + 1, passes + found.iterations
            bound = found.value - (found.gap or 0.0)
            # That w, for the ideal it makes; the mean ideal asks for no w to start from.
            optimal = bool(w.any()) and here - bound <= self.eps * self.C
            if not optimal:
                w = found.x
            turned = problem.ideal(w)
            same = np.array_equal(turned, ideal)
            if optimal or same or not found.converged or rounds == self.max_rounds:
                break
            problem.turn(planes, ideal, turned)
            ideal = turned
        if optimal:  # the last round has proved that w is kept, and told of others
            watch.weights(passes, w, here)
        certificate = problem.certificate(w, ideal, bound, rounds, passes, self.eps * self.C)
        return Learned(Linear(w), certificate.converged, certificate.reason, certificate)


def first_order(train: RankingData, seed: int, start: Model | None) -> Floats:
    """Weights that order the first round's ties: those of a ranker before, or ListNet's."""
    if isinstance(start, Linear) and start.weights.any():
        return start.weights
    unwatched = Watch("listnet", NDCG() @ 10)
    model = ListNet(seed=seed, early_stopping=False).learn(train, unwatched, None).model
    assert isinstance(model, Linear)
    return model.weights


@dataclass(frozen=True, eq=False)
class HeadProblem:
    """The queries that say anything, and what each of them costs."""

    X: NDArray[Any]
    loss: BoundHead
    totals: Floats

    @classmethod
    def of(cls, ranker: HeadSVM, train: RankingData) -> HeadProblem:
        """The problem of a ranker on its training data."""
        loss = ranker.loss()
        objective = Objective.of(loss, train)
        objective.check(ranker.name)
        telling = train.subset(objective.bound.active)
        weight = objective.weight[objective.bound.active]
        return cls(telling.X, loss.on(LabelledLists.of(telling)), ranker.C * weight)

    def ideal(self, w: Floats) -> Floats:
        """The ideal rankings, their ties in the order of w.x."""
        return self.loss.ideal_places(kernels.matvec(self.X, w))

    def turn(self, planes: Planes, last: Floats, ideal: Floats) -> None:
        """Planes taken against one ideal, as they are against another.

        The loss of a plane's ranking is its offset. dPsi changes by Psi(ideal) - Psi(last), times
        the ranking's loss in slack scaling.
        """
        shifts = kernels.rmatvec_by_query(self.X, last - ideal, self.loss.groups.offsets)
        planes.tilt(shifts, 1.0 if self.loss.search == "margin" else planes.offsets)

    def against(self, ideal: Floats) -> BlockProblem:
        """The convex problem with this ideal."""

        def loss(scores: Floats, known: Floats) -> tuple[Floats, Floats]:
            values, gradient, _ = self.loss.most_violated(ideal, scores, known)
            return values, gradient

        return BlockProblem(self.X, self.loss.groups.offsets, loss, self.totals)

    def look(self, w: Floats, ideal: Floats) -> tuple[Floats, Floats]:
        """Losses, and what single rankings violate, by the search that proves them the largest."""
        proved: Search = "margin" if self.loss.search == "margin" else "hull"
        losses, _, vertices = self.loss.most_violated(
            ideal, kernels.matvec(self.X, w), search=proved
        )
        return losses, vertices

    def value(self, w: Floats, ideal: Floats) -> float:
        """The objective with this ideal."""
        return norm2(w) / 2 + float(np.sum(self.totals * self.look(w, ideal)[0]))

    def certificate(
        self, w: Floats, ideal: Floats, bound: float, rounds: int, passes: int, asked: float
    ) -> HeadCertificate:
        """What is proved of w, whichever search was used on the way."""
        losses, vertices = self.look(w, ideal)
        value = norm2(w) / 2 + float(np.sum(self.totals * losses))
        at_zero = self.value(np.zeros_like(w), ideal)
        own = np.array_equal(self.ideal(w), ideal)
        gap = max(0.0, value - bound)
        reason = (
            f"the gap is {gap:.3g}, {asked:.3g} was asked, after {rounds} rounds, {passes} passes"
        )
        if value >= at_zero:
            reason += "; no w was found that is better than w = 0, a larger C may do"
        if not own:
            reason += (
                "; w orders the ties of the ideal ranking otherwise than the last round had them"
            )
        return HeadCertificate(
            value=value, iterations=passes, converged=own and gap <= asked and value < at_zero,
            reason=reason, gap=gap, rounds=rounds, at_zero=at_zero,
            relaxation_gap=float(np.sum(self.totals * (losses - vertices))),
        )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class TopSlack(HeadSVM):
    """A structural SVM on the head of the list, slack scaled: a ranking that loses more weighs more.

    min 1/2 |w|^2 + C/m sum_q max_z Delta(z) (1 - w.dPsi(z)), Delta the loss in NDCG@n or P@n of
    ranking z. The maximum is over mixtures of rankings, which is exact, convex, and hardly above that
    over rankings (`certificate_.relaxation_gap` says how much). Cheng, Sun, Xie, TopRank: a novel
    top-k ranking method based on rank aggregation, section 3.1; Tsochantaridis et al., JMLR 2005.

    Parameters
    ----------
    oracle
        "hull", or "paper" for the golden section search of the paper, which misses violated rankings
        and so may end without a certificate.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> ranker = TopSlack(measure="NDCG@5").fit(data)
    >>> bool(ranker.score(data) > 0.9), ranker.converged_
    (True, True)
    """

    name: ClassVar[str] = "topslack"
    paper: ClassVar[str] = "Cheng, Sun, Xie, TopRank, 2015"

    oracle: Literal["hull", "paper"] = "hull"

    def _search(self) -> Search:
        return "hull" if self.oracle == "hull" else "golden"


@dataclass(kw_only=True, eq=False, repr=False)
class TopMargin(HeadSVM):
    """A structural SVM on the head of the list, margin scaled: the lead asked for is the loss.

    min 1/2 |w|^2 + C/m sum_q max_z Delta(z) - w.dPsi(z), Delta the loss in NDCG@n or P@n of ranking
    z; the maximum is a sort by w.x - Delta's share of the document, exact. Cheng, Sun, Xie, TopRank,
    section 4.1.1; Le, Smola, Direct optimization of ranking measures, 2007.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> ranker = TopMargin(measure="NDCG@5").fit(data)
    >>> bool(ranker.score(data) > 0.9), ranker.converged_
    (True, True)
    """

    name: ClassVar[str] = "topmargin"
    paper: ClassVar[str] = "Cheng, Sun, Xie, TopRank, 2015"

    def _search(self) -> Search:
        return "margin"
