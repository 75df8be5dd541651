"""The objective of a fit over rows on workers: weights travel there, values and gradients travel back.

Every call has weights and no state, so that a lost worker costs its part of one pass. What a worker keeps
only saves time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from podium.data import RankingData
from podium.errors import DataError
from podium.losses import Loss
from podium.optim import LinearProblem
from podium.optim.linear_problem import norm2
from podium.rankers.remote_rows import RemoteRows
from podium.rankers.training_objective import TrainingObjective
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class RemoteProblem(LinearProblem):
    """f(w) = l2/2 |w|^2 + factor loss(X w), where X is on workers.

    To an optimiser it is a linear problem whose features are the identity: predictions are the weights
    themselves, and the loss is a function of the weights.
    """

    remote: RemoteSums | None = None

    @classmethod
    def of(cls, remote: RemoteSums, l2: float) -> RemoteProblem:
        """Return the problem of a loss on workers."""
        identity = np.eye(remote.rows.n_features)
        return cls(identity, remote, l2, remote.product, remote.products, remote=remote)

    def scores(self, w: Floats) -> Floats:
        """Return the weights."""
        return np.array(w, dtype=np.float64)

    def pull(self, g: Floats) -> Floats:
        """Return the gradient of the weights, which the loss returns already."""
        return g

    def hessian(self, scores: Floats) -> Floats:
        """Return l2 I + X' H X."""
        assert self.remote is not None
        return self.l2 * np.eye(len(scores)) + self.remote.hessian(scores)

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return f(w) and its gradient."""
        value, gradient = self.loss(w)
        return value + 0.5 * self.l2 * norm2(w), gradient + self.l2 * w

    def hessian_product(self, scores: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Return the direction, and the Hessian of f at these weights times it."""
        assert self.product is not None
        return direction.copy(), self.product(scores, direction) + self.l2 * direction


@dataclass(frozen=True, eq=False)
class RemoteSums:
    """The weighted sum of a loss over all queries times a factor, as a function of linear weights.

    Parameters
    ----------
    rows
        The rows on workers.
    loss, seed
        The loss, and the seed of its draws.
    factor
        What the sum is multiplied by.
    """

    rows: RemoteRows
    loss: Loss
    seed: int
    factor: float = 1.0

    def times(self, factor: float) -> RemoteSums:
        """Return the same loss times a factor."""
        return RemoteSums(self.rows, self.loss, self.seed, self.factor * factor)

    def mean(self) -> RemoteSums:
        """Return the mean over active queries."""
        return self.times(1 / max(self.active_weight, 1e-300))

    @property
    def active_weight(self) -> float:
        """The total weight of the active queries."""
        return float(self.rows.add_up(_active_weight, self.loss, self.seed)[0])

    def check(self, name: str) -> None:
        """Raise if no query is active, because then nothing can be learned."""
        if not self.active_weight:
            raise DataError(
                f"the loss of {name} cannot distinguish the documents of any query; expected "
                "at least one query with different labels"
            )

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient."""
        value, gradient = self.rows.add_up(_value_and_gradient, self.loss, self.seed, w)
        return self.factor * value, self.factor * gradient

    def product(self, w: Floats, direction: Floats) -> Floats:
        """Return the Hessian at some weights times a direction."""
        (product,) = self.rows.add_up(_hessian_product, self.loss, self.seed, w, direction)
        return np.asarray(self.factor * product)

    def products(self, w: Floats, directions: Floats) -> Floats:
        """Return the Hessian at some weights times each column."""
        return self.hessian(w) @ directions

    def hessian(self, w: Floats) -> Floats:
        """Return the Hessian at some weights."""
        (hessian,) = self.rows.add_up(_hessian, self.loss, self.seed, w)
        return np.asarray(self.factor * hessian)


# --- on a worker

_objectives: WeakKeyDictionary[RankingData, dict[str, TrainingObjective]] = WeakKeyDictionary()
"""The objectives that were bound to the rows of this worker: they depend on labels only."""
_last_scores: WeakKeyDictionary[RankingData, tuple[bytes, Floats]] = WeakKeyDictionary()
"""The scores of the last weights: a Newton step asks for many products at the same weights."""


def _bind(rows: RankingData, loss: Loss, seed: int) -> TrainingObjective:
    bound = _objectives.setdefault(rows, {})
    key = f"{loss!r} {seed}"
    if key not in bound:
        bound.clear()  # of one fit at a time
        bound[key] = TrainingObjective.from_loss(loss, rows, seed=seed, reduction="sum")
    return bound[key]


def _problem(rows: RankingData, loss: Loss, seed: int) -> LinearProblem:
    objective = _bind(rows, loss, seed)
    X, selected = rows.stored_features()
    return LinearProblem(
        X, objective, 0.0, objective.product, objective.products, rows=selected,
        linear_pass=objective.linear_pass(), product_pass=objective.product_pass,
    )  # fmt: skip


def _scores(rows: RankingData, problem: LinearProblem, w: Floats) -> Floats:
    key, scores = _last_scores.get(rows, (b"", w))
    if key != w.tobytes():
        key, scores = w.tobytes(), problem.scores(w)
        _last_scores[rows] = key, scores
    return scores


def _active_weight(rows: RankingData, loss: Loss, seed: int) -> tuple[float]:
    return (_bind(rows, loss, seed).active_weight,)


def _value_and_gradient(
    rows: RankingData, loss: Loss, seed: int, w: Floats
) -> tuple[float, Floats]:
    return _problem(rows, loss, seed)(w)


def _hessian_product(
    rows: RankingData, loss: Loss, seed: int, w: Floats, direction: Floats
) -> tuple[Any]:
    problem = _problem(rows, loss, seed)
    return (problem.hessian_product(_scores(rows, problem, w), direction)[1],)


def _hessian(rows: RankingData, loss: Loss, seed: int, w: Floats) -> tuple[Any]:
    problem = _problem(rows, loss, seed)
    return (problem.hessian(_scores(rows, problem, w)),)
