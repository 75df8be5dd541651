"""The training objective: a loss over all queries as one number, weighted, summed or averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from podium.data import RankingData
from podium.errors import DataError
from podium.losses import BoundLoss, Loss
from podium.optim import BlockLosses, LossOfLinearScores, ProductPass
from podium.typing import Floats, Matrix, Rows


@dataclass(frozen=True, eq=False)
class TrainingObjective:
    """sum_q weight_q loss_q(scores), a function of the scores alone.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> from podium.losses import PairLogistic
    >>> data = RankingData.from_arrays([[0.0]] * 4, [1, 0, 1, 0], qid=[1, 1, 2, 2])
    >>> value, gradient = TrainingObjective.from_loss(PairLogistic(), data)(np.zeros(4))
    >>> bool(np.isclose(value, np.log(2))), gradient.tolist()
    (True, [-0.25, 0.25, -0.25, 0.25])
    """

    bound: BoundLoss
    weight: Floats
    row_weight: Floats | float
    """The weight of each row's query; one number if all queries have the same."""

    @classmethod
    def from_loss(
        cls,
        loss: Loss,
        data: RankingData,
        *,
        seed: int = 0,
        reduction: Literal["mean", "sum"] = "mean",
    ) -> TrainingObjective:
        """Bind a loss to data: the mean over active queries, or the sum."""
        bound = loss.bind(data, seed)
        objective = cls(bound, np.ones(data.n_queries), 1.0)
        if data.query_weight is not None:
            weight = data.query_weight
            objective = cls(bound, weight, np.asarray(data.groups.spread(weight)))
        if reduction == "mean" and objective.active_weight > 0:
            return objective.times(1 / objective.active_weight)
        return objective

    @property
    def active_weight(self) -> float:
        """The total weight of the active queries: those whose documents the loss can distinguish."""
        return float(np.sum(self.weight * self.bound.active))

    def redraw(self, round_number: int) -> TrainingObjective:
        """Return the objective with the random numbers of a round, for losses that draw them."""
        return TrainingObjective(self.bound.redraw(round_number), self.weight, self.row_weight)

    def check(self, name: str) -> None:
        """Raise if no query is active, because then nothing can be learned."""
        if not self.bound.active.any():
            raise DataError(
                f"the loss of {name} cannot distinguish the documents of any query; expected "
                "at least one query with different labels"
            )

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient with respect to the scores."""
        values, gradient = self.bound(scores)
        gradient *= self.row_weight
        return float(np.sum(values * self.weight)), gradient

    def in_blocks(self, n_blocks: int) -> BlockLosses:
        """Return the loss as a sum over blocks of queries with about as many rows each."""
        offsets = self.bound.groups.offsets
        rows = np.linspace(0, offsets[-1], n_blocks + 1)[:-1]
        starts = np.unique(np.searchsorted(offsets[:-1], rows))
        starts = starts[starts < len(self.weight)]

        def evaluate(scores: Floats) -> tuple[Floats, Floats]:
            values, gradient = self.bound(scores)
            gradient *= self.row_weight
            return np.add.reduceat(values * self.weight, starts), gradient

        return BlockLosses(np.append(offsets[starts], offsets[-1]), evaluate)

    def derivatives(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss, its gradient and the Hessian's diagonal, or row weights if there is no Hessian."""
        if not self.bound.smooth:
            value, gradient = self(scores)
            return value, gradient, np.full(len(gradient), self.row_weight)
        values, gradient, curvature = self.bound.derivatives(scores)
        total = float(np.sum(values * self.weight))
        return total, gradient * self.row_weight, curvature * self.row_weight

    def linear_pass(self) -> LossOfLinearScores | None:
        """Return (X, w, rows) -> the loss of X w and its gradient in one pass over X, if the loss can."""
        inner = self.bound.linear_pass()
        if inner is None:
            return None

        def evaluate(X: Matrix, w: Floats, rows: Rows | None) -> tuple[float, Floats]:
            values, gradient = inner(X, w, rows, self.weight)
            return float(np.sum(values * self.weight)), gradient

        return evaluate

    def product_pass(self, scores: Floats) -> ProductPass | None:
        """Return (X, w, rows) -> X w and X' H X w in one pass over X, if the loss can."""
        inner = self.bound.product_pass(scores)
        if inner is None:
            return None
        return lambda X, w, rows: inner(X, w, rows, self.weight)

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """Return the Hessian times a direction."""
        # Not in place: a loss may return the direction itself.
        return np.asarray(self.bound.product(scores, direction) * self.row_weight)

    def products(self, scores: Floats, directions: Floats) -> Floats:
        """Return the Hessian times each column of a matrix."""
        out = self.bound.products(scores, directions)
        weight = self.row_weight if isinstance(self.row_weight, float) else self.row_weight[:, None]
        out *= weight  # in place, because the array is as large as the features
        return out

    def times(self, factor: float) -> TrainingObjective:
        """Return the same loss times a factor."""
        return TrainingObjective(self.bound, self.weight * factor, self.row_weight * factor)
