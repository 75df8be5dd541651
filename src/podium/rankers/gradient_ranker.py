"""Gradient rankers: the base of RankNet, ListNet, ListMLE and FocusedNet."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from podium.data import RankingData
from podium.losses import Loss
from podium.optim import LinearProblem, lbfgs
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.mlp import MLP, train_mlp
from podium.rankers.models import Linear, Model, start_weights
from podium.rankers.optimality_certificate import Certificate
from podium.rankers.parameters import Count, NonNegative, Positive, Seed
from podium.rankers.ranker import Ranker
from podium.rankers.remote_objective import RemoteProblem, RemoteSums
from podium.rankers.remote_rows import remote_rows
from podium.rankers.training_objective import TrainingObjective
from podium.typing import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class GradientRanker(Ranker):
    """Minimises a smooth loss over a scorer: linear (L-BFGS) or a network (Adam on mini-batches).

    Parameters
    ----------
    l2
        The strength of the penalty l2/2 |w|^2, added to the mean loss of a query.
    scorer
        ``"linear"``, ``"mlp"`` or an ``MLP`` with its settings.
    metric
        The metric by which validation data chooses the iteration.
    early_stopping
        Whether validation data chooses the iteration, as in the papers. If not, a linear scorer
        keeps the optimum, and `tune` uses warm starts.
    max_iter
        The maximum number of L-BFGS iterations.
    tol
        The fit has converged if the gradient is at most this share of the gradient at 0.
    seed
        The seed of all random numbers.
    """

    grid: ClassVar[dict[str, Any]] = {"l2": (1.0, 0.1, 0.01, 1e-3, 1e-4)}
    warm_start_along: ClassVar[str | None] = "l2"
    fits_from_disk: ClassVar[bool] = True

    l2: NonNegative = 1e-3
    scorer: Literal["linear", "mlp"] | MLP = "linear"
    metric: str = "NDCG@10"
    early_stopping: bool = True
    max_iter: Count = 500
    tol: Positive = 1e-6
    seed: Seed = 0

    @abstractmethod
    def loss(self) -> Loss:
        """Return the loss that is minimised."""

    def _mlp(self) -> MLP | None:
        if isinstance(self.scorer, MLP):
            return self.scorer
        return MLP() if self.scorer == "mlp" else None

    @property
    def validation_fraction(self) -> float:
        """The share of queries held out for early stopping of a network."""
        return (self._mlp() or MLP()).validation_fraction

    def needs_validation(self) -> bool:
        """Whether queries are held out if there is no validation data: only for a network."""
        return self._mlp() is not None

    @property
    def keeps_best(self) -> bool:
        """Whether the best iteration is kept: always for a network, which has no single optimum."""
        return self.early_stopping or self._mlp() is not None

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return True  # the last bits of a sum change the path of L-BFGS

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        mlp = self._mlp()
        return None if mlp is None else mlp.epochs

    def fits_on_workers(self) -> bool:
        """Whether rows may stay on workers: a network draws batches of queries, which are everywhere."""
        return self._mlp() is None

    def _problem(self, train: RankingData) -> LinearProblem:
        if (remote := remote_rows(train)) is not None:
            sums = RemoteSums(remote, self.loss(), self.seed)
            sums.check(self.name)
            return RemoteProblem.of(sums.mean(), self.l2)
        objective = TrainingObjective.from_loss(self.loss(), train, seed=self.seed)
        objective.check(self.name)
        X, rows = train.stored_features()
        return LinearProblem(X, objective, self.l2, rows=rows, linear_pass=objective.linear_pass())

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Minimise the loss: by L-BFGS over weights, or by Adam over a network."""
        if (mlp := self._mlp()) is not None:
            mlp.check()
            return FitResult(
                train_mlp(mlp, self.loss(), train, monitor, l2=self.l2, seed=self.seed)
            )
        problem = self._problem(train)
        at_zero = problem(np.zeros(train.n_features))

        def evaluate(w: Floats) -> tuple[float, Floats]:
            # A fit without a start begins at 0, whose slope is the measure of the others.
            return problem(w) if w.any() else (at_zero[0], at_zero[1].copy())

        minimum = lbfgs(
            evaluate, start_weights(train.n_features, start), tol=self.tol,
            steepest=float(np.abs(at_zero[1]).max()), max_iter=self.max_iter,
            callback=monitor.record_weights,
        )  # fmt: skip
        chosen = monitor.model if monitor.valid is not None and self.keeps_best else None
        return FitResult(
            chosen or Linear(minimum.x),
            minimum.converged,
            minimum.reason,
            Certificate.from_minimum(minimum),
        )
