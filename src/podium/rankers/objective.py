"""A loss over the queries of a data set as one number: weighted, summed or averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData
from podium.errors import DataError
from podium.losses import BoundLoss, Loss

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Objective:
    """sum_q weight_q loss_q(scores), a function of the scores alone.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> from podium.losses import PairLogistic
    >>> data = RankingData.from_arrays([[0.0]] * 4, [1, 0, 1, 0], qid=[1, 1, 2, 2])
    >>> value, gradient = Objective.of(PairLogistic(), data)(np.zeros(4))
    >>> bool(np.isclose(value, np.log(2))), gradient.tolist()
    (True, [-0.25, 0.25, -0.25, 0.25])
    """

    bound: BoundLoss
    weight: Floats
    row_weight: Floats

    @classmethod
    def of(
        cls,
        loss: Loss,
        data: RankingData,
        *,
        seed: int = 0,
        over: Literal["mean", "sum"] = "mean",
    ) -> Objective:
        """A loss on data: the mean over the queries that say anything, or the sum."""
        bound = loss.bind(data, seed)
        weight = np.ones(data.n_queries) if data.query_weight is None else data.query_weight
        found = cls(bound, weight, np.asarray(data.groups.spread(weight)))
        if over == "mean" and found.active_weight > 0:
            return found.times(1 / found.active_weight)
        return found

    @property
    def active_weight(self) -> float:
        """The weight of the queries that say anything."""
        return float(np.sum(self.weight * self.bound.active))

    def check(self, name: str) -> None:
        """Raise where no query says anything: the best model would be none."""
        if not self.bound.active.any():
            raise DataError(
                f"expected a query with documents that the loss of {name} tells apart, got none"
            )

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """The loss and its gradient with respect to the scores."""
        values, gradient = self.bound(scores)
        return float(np.sum(values * self.weight)), gradient * self.row_weight

    def derivatives(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """The loss, its gradient, and the diagonal of the Hessian (1 for each row where it has none)."""
        if not self.bound.smooth:
            return *self(scores), self.row_weight
        values, gradient, curvature = self.bound.derivatives(scores)
        total = float(np.sum(values * self.weight))
        return total, gradient * self.row_weight, curvature * self.row_weight

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """The Hessian times a direction."""
        return self.bound.product(scores, direction) * self.row_weight

    def products(self, scores: Floats, directions: Floats) -> Floats:
        """The Hessian times each column of a matrix."""
        out = self.bound.products(scores, directions)
        out *= self.row_weight[:, None]  # in place: it is as large as the features
        return out

    def times(self, factor: float) -> Objective:
        """The same loss, this many times as strong."""
        return Objective(self.bound, self.weight * factor, self.row_weight * factor)
