"""TopSlack and TopMargin: structural SVMs on the head of the list, with a certificate.

The slack search, which finds the most violated ranking, is the kernel `violated_head`
(``kernels/reference/most_violated_head.py``); the losses are in ``losses/head_hinge.py``.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data import RankingData
from podium.data.row_selection import select_queries
from podium.errors import NothingLearnedWarning
from podium.losses import LabelledLists
from podium.losses.head_hinge import BoundHeadHinge, HeadHinge, Search
from podium.metrics import NDCG
from podium.optim import BlockPlanes, BlockProblem, block_cutting_planes
from podium.optim.linear_problem import norm2
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.listnet import ListNet
from podium.rankers.models import Linear, Model
from podium.rankers.optimality_certificate import HeadCertificate
from podium.rankers.parameters import Count, Positive, Seed
from podium.rankers.ranker import Ranker
from podium.rankers.training_objective import TrainingObjective
from podium.typing import Floats

ROUND_GAP_SHARE = 0.05
"""The share of eps to which a round is solved, so that w within the gap is not a matter of chance."""
PAPER_C_VALUES = tuple(10.0**e for e in range(-5, 6))
"""The values of C in the paper. Outside 1e-2 to 1e3, the direction of w or the loss hardly changes."""


@dataclass(kw_only=True, eq=False, repr=False)
class HeadSVM(Ranker):
    """A structural SVM: min 1/2 |w|^2 + C/m sum_q loss_q, with losses of the head of the list.

    Parameters
    ----------
    measure
        "NDCG@n" or "P@n": the measure of a ranking's loss and the number of places that count.
        "NDCG" without a number counts the whole list.
    C
        The weight of the mean loss of the m active queries against |w|^2.
    eps
        The gap to prove, as a share of C.
    ideal
        Graded labels have many ideal rankings; this chooses one. "rounds": the ranking whose ties
        are in the order of w; each round solves a convex problem, until w is optimal for its own
        ideal. "cut": the mean of all ideal rankings, one convex problem, with n cut to the number
        of relevant documents of each query.
    max_rounds
        The maximum number of convex problems.
    max_iter
        The maximum number of passes over all queries for each problem.
    seed
        The seed of the order of rows, which must not change the result.
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
        """Return the search for the most violated ranking."""

    def loss(self) -> HeadHinge:
        """Return the loss that is minimised."""
        kind: Literal["own", "mean"] = "own" if self.ideal == "rounds" else "mean"
        return HeadHinge(self.measure, self._search(), kind)

    @property
    def keeps_best(self) -> bool:
        """Whether the best iteration is kept: no, the solution is kept."""
        return False

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return True  # it decides which of many equally violated rankings is chosen

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Solve convex problems in rounds, each for the ideal ranking of the last weights."""
        problem = HeadProblem.from_ranker(self, train)
        w = np.zeros(train.n_features)
        if self.ideal == "rounds":
            w = tie_order_weights(train, self.seed, start)
        ideal, planes = problem.ideal(w), BlockPlanes(problem.totals, train.n_features)
        rounds = passes = 0
        while True:
            value, at_zero = problem.value(w, ideal), problem.value(np.zeros_like(w), ideal)
            minimum = block_cutting_planes(
                problem.convex_problem(ideal), planes, eps=ROUND_GAP_SHARE * self.eps,
                max_iter=self.max_iter, callback=monitor.record_weights,
            )  # fmt: skip
            rounds, passes = rounds + 1, passes + minimum.iterations
            bound = minimum.value - (minimum.gap or 0.0)
            # Whether the w that gave this ideal is optimal for it; the mean ideal starts at w = 0.
            optimal = bool(w.any()) and value - bound <= self.eps * self.C
            # If nothing is better than w = 0, the w that gave this ideal ranks better than chance.
            if not (optimal or (w.any() and minimum.value >= at_zero)):
                w = minimum.x
            next_ideal = problem.ideal(w)
            same = np.array_equal(next_ideal, ideal)
            if optimal or same or not minimum.converged or rounds == self.max_rounds:
                break
            problem.change_ideal(planes, ideal, next_ideal)
            ideal = next_ideal
        if optimal:  # the last round reported other weights, but proved that w is kept
            monitor.record_weights(passes, w, value)
        w = problem.shrink(w, ideal, bound, self.eps * self.C)
        certificate = problem.certificate(w, ideal, bound, rounds, passes, self.eps * self.C)
        if certificate.converged and certificate.value >= certificate.at_zero:
            warnings.warn(f"{self.name}: {certificate.reason}", NothingLearnedWarning, stacklevel=6)
        return FitResult(Linear(w), certificate.converged, certificate.reason, certificate)


def tie_order_weights(train: RankingData, seed: int, start: Model | None) -> Floats:
    """Return the weights that order the ties of the first round: those of `start`, or ListNet's."""
    if isinstance(start, Linear) and start.weights.any():
        return start.weights
    silent = FitMonitor("listnet", NDCG() @ 10)
    model = ListNet(seed=seed, early_stopping=False).learn(train, silent, None).model
    assert isinstance(model, Linear)
    return model.weights


@dataclass(frozen=True, eq=False)
class HeadProblem:
    """The active queries, their loss, and the weight of each query."""

    X: NDArray[Any]
    loss: BoundHeadHinge
    totals: Floats

    @classmethod
    def from_ranker(cls, ranker: HeadSVM, train: RankingData) -> HeadProblem:
        """Return the problem of a ranker on its training data."""
        loss = ranker.loss()
        objective = TrainingObjective.from_loss(loss, train)
        objective.check(ranker.name)
        active = select_queries(train, np.flatnonzero(objective.bound.active))
        weight = objective.weight[objective.bound.active]
        return cls(active.X, loss.bind_lists(LabelledLists.from_data(active)), ranker.C * weight)

    def ideal(self, w: Floats) -> Floats:
        """Return the places of the ideal rankings, their ties in the order of w.x."""
        return self.loss.ideal_places(kernels.matvec(self.X, w))

    def change_ideal(self, planes: BlockPlanes, last: Floats, ideal: Floats) -> None:
        """Change planes of the problem with one ideal into planes of the problem with another.

        The offset of a plane is the loss of its ranking. dPsi changes by Psi(ideal) - Psi(last); in
        slack scaling the slope changes by that times the loss.
        """
        shifts = kernels.rmatvec_by_query(self.X, last - ideal, self.loss.groups.offsets)
        planes.tilt(shifts, 1.0 if self.loss.search == "margin" else planes.offsets)

    def convex_problem(self, ideal: Floats) -> BlockProblem:
        """Return the convex problem with this ideal."""

        def loss(scores: Floats, reached: Floats) -> tuple[Floats, Floats]:
            values, gradient, _ = self.loss.most_violated(ideal, scores, reached)
            return values, gradient

        return BlockProblem(self.X, self.loss.groups.offsets, loss, self.totals)

    def exact_losses(self, w: Floats, ideal: Floats) -> tuple[Floats, Floats]:
        """Return the losses, and those of single rankings, by the search that finds the maximum."""
        exact: Search = "margin" if self.loss.search == "margin" else "hull"
        losses, _, vertices = self.loss.most_violated(
            ideal, kernels.matvec(self.X, w), search=exact
        )
        return losses, vertices

    def value(self, w: Floats, ideal: Floats) -> float:
        """Return the objective with this ideal."""
        return norm2(w) / 2 + float(np.sum(self.totals * self.exact_losses(w, ideal)[0]))

    def shrink(self, w: Floats, ideal: Floats, bound: float, max_gap: float) -> Floats:
        """Return w, or a multiple within the gap if w = 0 is optimal; the ranking stays the same.

        f is convex, so f(t w) - f(0) <= t (f(w) - f(0)).
        """
        at_zero = self.value(np.zeros_like(w), ideal)
        excess, room = self.value(w, ideal) - at_zero, max_gap - (at_zero - bound)
        return w * (room / (2 * excess)) if 0 < room < excess else w

    def certificate(
        self, w: Floats, ideal: Floats, bound: float, rounds: int, passes: int, max_gap: float
    ) -> HeadCertificate:
        """Return what is proved about w; it does not depend on the search during training."""
        losses, vertices = self.exact_losses(w, ideal)
        value = norm2(w) / 2 + float(np.sum(self.totals * losses))
        at_zero = self.value(np.zeros_like(w), ideal)
        is_own_ideal = np.array_equal(self.ideal(w), ideal)
        gap = max(0.0, value - bound)
        is_zero_optimal = value >= at_zero and at_zero - bound <= max_gap
        reason = (
            f"the gap is {gap:.3g} after {rounds} rounds and {passes} passes; {max_gap:.3g} "
            "was requested"
        )
        if is_zero_optimal:
            reason += (
                "; w = 0 is optimal within the gap, so the order of the first round is kept; "
                "use a larger C, scaled features, or a measure that counts more places"
            )
        elif value >= at_zero:
            reason += "; no w is better than w = 0; try a larger C"
        elif not is_own_ideal:
            reason += "; w orders the ties of the ideal ranking differently from the last round"
        is_solution = is_zero_optimal or (is_own_ideal and value < at_zero)
        return HeadCertificate(
            value=value, iterations=passes, converged=is_solution and gap <= max_gap,
            reason=reason, gap=gap, rounds=rounds, at_zero=at_zero,
            relaxation_gap=float(np.sum(self.totals * (losses - vertices))),
        )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class TopSlack(HeadSVM):
    """A structural SVM on the head of the list with slack scaling: a ranking with a larger loss weighs more.

    min 1/2 |w|^2 + C/m sum_q max_z Delta(z) (1 - w.dPsi(z)), where Delta is the loss in NDCG@n or
    P@n of ranking z. The maximum is over mixtures of rankings. It is exact, convex, and hardly
    larger than the maximum over rankings (`certificate_.relaxation_gap` bounds the difference).
    Cheng, Sun, Xie, TopRank: a novel top-k ranking method based on rank aggregation, section 3.1;
    Tsochantaridis et al., JMLR 2005.

    Parameters
    ----------
    oracle
        The slack search: "hull", or "paper" for the golden section search of the paper, which misses
        violated rankings and so may end without a certificate.

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
    """A structural SVM on the head of the list with margin scaling: the required lead is the loss.

    min 1/2 |w|^2 + C/m sum_q max_z Delta(z) - w.dPsi(z), where Delta is the loss in NDCG@n or P@n
    of ranking z. The maximum is exact: a sort by w.x minus the document's share of Delta. Cheng,
    Sun, Xie, TopRank, section 4.1.1; Le, Smola, Direct optimization of ranking measures, 2007.

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
