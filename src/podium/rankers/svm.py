"""Support vector machines: the base of RankSVM, SVM-MAP and FocusedSVM."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from podium.data import RankingData
from podium.losses import Loss
from podium.optim import BlockLosses, LinearProblem, Minimum, cutting_planes
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.models import Linear, Model, start_weights
from podium.rankers.optimality_certificate import Certificate
from podium.rankers.parameters import Count, Positive
from podium.rankers.ranker import Ranker
from podium.rankers.remote_objective import RemoteProblem, RemoteSums
from podium.rankers.remote_rows import remote_rows
from podium.rankers.training_objective import TrainingObjective
from podium.typing import Floats

MIN_BLOCK_NUMBERS = 2**24
"""The least numbers in X for planes of blocks: passes over fewer cost less than the larger programme."""
MAX_BLOCK_FEATURES = 500
"""The most features for planes of blocks: a step of their programme costs d^2 operations per plane."""
MAX_BLOCKS = 512
MIN_BLOCK_ROWS = 640
"""The least rows per block: the planes of a block, some 32, then take 5% of the memory of its rows."""


@dataclass(kw_only=True, eq=False, repr=False)
class SVM(Ranker):
    """A support vector machine: min 1/2 |w|^2 + C sum_q loss_q(X w).

    Parameters
    ----------
    C
        The weight of the loss against |w|^2.
    max_iter
        The maximum number of iterations.
    """

    warm_start_along: ClassVar[str | None] = "C"
    fits_from_disk: ClassVar[bool] = True

    C: Positive = 1.0
    max_iter: Count = 2000

    @property
    @abstractmethod
    def eps(self) -> float:
        """The proved gap at which cutting planes stop, as a share of the objective: a parameter."""

    @abstractmethod
    def loss(self) -> Loss:
        """Return the loss that is minimised."""

    def _problem(self, train: RankingData) -> LinearProblem:
        if (remote := remote_rows(train)) is not None:
            sums = RemoteSums(remote, self.loss(), self._seed())
            sums.check(self.name)
            return RemoteProblem.of(sums.times(self.C), 1.0)
        objective = TrainingObjective.from_loss(
            self.loss(), train, seed=self._seed(), reduction="sum"
        ).times(self.C)
        objective.check(self.name)
        X, rows = train.stored_features()
        return LinearProblem(
            X, objective, 1.0, objective.product, objective.products, rows=rows,
            product_pass=objective.product_pass,
        )  # fmt: skip

    def _minimise(self, problem: LinearProblem, start: Floats, monitor: FitMonitor) -> Minimum:
        return cutting_planes(
            problem, start, eps=self.eps, max_iter=self.max_iter,
            callback=monitor.record_weights, blocks=_blocks(problem),
        )  # fmt: skip

    @property
    def keeps_best(self) -> bool:
        """Whether the best iteration is kept: no, the solution of the convex problem is kept."""
        return False

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        # The choice among equally violated rankings decides the path, and so the point within the
        # gap.
        return True

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Minimise the hinge losses."""
        weights = start_weights(train.n_features, start)
        minimum = self._minimise(self._problem(train), weights, monitor)
        certificate = Certificate.from_minimum(minimum)
        return FitResult(Linear(minimum.x), minimum.converged, minimum.reason, certificate)


def _blocks(problem: LinearProblem) -> BlockLosses | None:
    """Return the loss in blocks of queries if planes of each block pay."""
    objective, d = problem.loss, problem.X.shape[1]
    assert isinstance(objective, TrainingObjective)
    n_rows = objective.bound.groups.n_rows
    if n_rows * d < MIN_BLOCK_NUMBERS or d > MAX_BLOCK_FEATURES:
        return None
    return objective.in_blocks(max(1, min(MAX_BLOCKS, n_rows // MIN_BLOCK_ROWS)))
