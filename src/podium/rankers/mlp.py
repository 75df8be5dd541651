"""MLP: a multi-layer perceptron as scorer, trained by Adam on mini-batches of queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from podium.data import RankingData, shuffled_queries
from podium.data.row_selection import select_queries
from podium.errors import ModelFileError, UsageError
from podium.losses import Loss
from podium.optim import Adam, Patience, one_blas_thread
from podium.optim.linear_problem import check_finite
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.models import Model, Part, vector
from podium.rankers.parameters import Count, Positive, Range, check_parameters
from podium.rankers.training_objective import TrainingObjective
from podium.typing import Floats, Rows

Activation = Literal["relu", "tanh", "sigmoid"]


@dataclass(kw_only=True, repr=False)
class MLP(BaseEstimator):  # type: ignore[misc]
    """A multi-layer perceptron as scorer, in place of ``"linear"``.

    Parameters
    ----------
    hidden
        The number of units of each hidden layer.
    activation
        The activation between the layers.
    learning_rate
        The step size of Adam.
    batch_queries
        The number of queries in a mini-batch.
    epochs
        The maximum number of passes over the queries.
    patience
        Training stops after this many epochs without a better validation metric.
    validation_fraction
        The share of queries held out if there is no validation data.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import ListNet
    >>> data = make_synthetic(n_queries=60, n_features=5, truth="nonlinear", seed=0)
    >>> ranker = ListNet(scorer=MLP(hidden=(16,), epochs=20)).fit(data)
    >>> ranker.model_.kind, ranker.predict(data).shape == (len(data),)
    ('mlp', True)
    """

    hidden: tuple[int, ...] = (64, 32)
    activation: Activation = "relu"
    learning_rate: Positive = 1e-3
    batch_queries: Count = 16
    epochs: Count = 100
    patience: Count = 10
    validation_fraction: Annotated[float, Range(0.01, 0.9)] = 0.2

    def check(self) -> None:
        """Raise if a parameter has a wrong value."""
        check_parameters(self, "the mlp scorer")
        if not isinstance(self.hidden, list | tuple) or not all(
            isinstance(n, int | np.integer) and 0 < n <= 100_000 for n in self.hidden
        ):
            raise UsageError(
                "expected hidden layers of 1 unit or more, as in (64, 32) or (8,), "
                f"got {self.hidden!r}"
            )


@dataclass(frozen=True, eq=False)
class Network(Model):
    """A network: s = W_L a(... a(W_1 z + b_1) ...) + b_L, with features z = (x - mean) / scale."""

    kind = "mlp"
    mean: Floats
    scale: Floats
    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    activation: Activation

    @classmethod
    def draw(cls, data: RankingData, mlp: MLP, rng: np.random.Generator) -> Network:
        """Draw random weights (He's scale); standardise by means and standard deviations of the features."""
        mean, scale = _mean_and_deviation(data)
        sizes = [data.n_features, *mlp.hidden, 1]
        weights = tuple(
            rng.standard_normal((a, b)) * np.sqrt((2.0 if b > 1 else 1.0) / a)
            for a, b in pairwise(sizes)
        )
        biases = tuple(np.zeros(b) for b in sizes[1:])
        return cls(mean, np.where(scale > 1e-12, scale, 1.0), weights, biases, mlp.activation)

    @property
    def n_features(self) -> int:
        """The number of inputs of the first layer."""
        return len(self.mean)

    def layers(self, X: NDArray[Any]) -> list[Floats]:
        """Return the output of each layer, the standardised features first and the scores last."""
        out = [(X - self.mean) / self.scale]
        act, last = _ACTIVATIONS[self.activation][0], len(self.weights) - 1
        for i, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            z = out[-1] @ W + b
            out.append(z if i == last else act(z))
        return out

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return the scores; blocks of rows keep memory small."""
        out = np.empty(len(X))
        with one_blas_thread():
            for first in range(0, len(X), 8192):
                out[first : first + 8192] = self.layers(X[first : first + 8192])[-1][:, 0]
        return out

    def backward(self, layers: list[Floats], gradient: Floats) -> list[Floats]:
        """Return the gradient of weights and biases, first layer first, from that of the scores."""
        slope = _ACTIVATIONS[self.activation][1]
        delta, gradients = gradient[:, None], []
        for i in reversed(range(len(self.weights))):
            gradients += [delta.sum(axis=0), layers[i].T @ delta]
            if i:
                delta = (delta @ self.weights[i].T) * slope(layers[i])
        return gradients[::-1]

    def parameters(self) -> list[Floats]:
        """Return weights and biases, first layer first."""
        return [p for pair in zip(self.weights, self.biases, strict=True) for p in pair]

    def copy(self) -> Network:
        """Return a copy that further steps do not change."""
        weights = tuple(W.copy() for W in self.weights)
        biases = tuple(b.copy() for b in self.biases)
        return Network(self.mean, self.scale, weights, biases, self.activation)

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Raise, because the score of a network is not a sum over features."""
        raise UsageError(
            "an mlp has no contributions per feature; expected a linear, boosted or tree "
            "model. permutation_importance measures which features an mlp needs"
        )

    def importance(self) -> Floats:
        """Raise, because the weights of a network do not show the importance of a feature."""
        raise UsageError(
            "an mlp has no feature importance without data; expected a linear, boosted or "
            "tree model. permutation_importance measures it on data"
        )

    def parts(self) -> dict[str, Part]:
        """Return the weights and biases of every layer."""
        layers = {f"weights{i}": W for i, W in enumerate(self.weights)}
        layers |= {f"biases{i}": b for i, b in enumerate(self.biases)}
        return {"activation": self.activation, "mean": self.mean, "scale": self.scale, **layers}

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the network from its weights and biases, whose shapes must fit each other."""
        mean, scale = vector(parts, "mean"), vector(parts, "scale")
        activation = parts.get("activation")
        weights: list[Floats] = []
        while isinstance(W := parts.get(f"weights{len(weights)}"), np.ndarray):
            weights.append(W)
        biases = [vector(parts, f"biases{i}") for i in range(len(weights))]
        sizes = [len(mean), *map(len, biases)]
        shapes = list(pairwise(sizes))
        fits = [W.shape for W in weights] == shapes and sizes[-1] == 1 and len(scale) == len(mean)
        if activation not in _ACTIVATIONS or not weights or not fits or (scale <= 0).any():
            raise ModelFileError(
                "the layers of the network in the model file do not fit each other"
            )
        if not all(W.dtype == np.float64 and np.isfinite(W).all() for W in weights):
            raise ModelFileError("expected finite numbers in the layers of a network")
        return cls(mean, scale, tuple(weights), tuple(biases), activation)  # type: ignore[arg-type]


def _sigmoid(z: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * z)))


# Each activation, and its slope as a function of the activation's value.
_ACTIVATIONS: dict[Any, Any] = {
    "relu": (lambda z: np.maximum(z, 0.0), lambda a: (a > 0).astype(np.float64)),
    "tanh": (np.tanh, lambda a: 1 - a * a),
    "sigmoid": (_sigmoid, lambda a: a * (1 - a)),
}


def train_mlp(
    mlp: MLP,
    loss: Loss,
    data: RankingData,
    monitor: FitMonitor,
    *,
    l2: float,
    seed: int,
) -> Network:
    """Minimise the mean loss of a query plus l2/2 |W|^2 by Adam on mini-batches of queries."""
    rng = np.random.default_rng(seed)
    network = Network.draw(data, mlp, rng)
    adam = Adam(network.parameters(), mlp.learning_rate)
    batches = _batches(data, loss, mlp.batch_queries, seed)
    stop = Patience(mlp.patience)
    with one_blas_thread():
        for epoch in range(1, mlp.epochs + 1):
            total = 0.0
            for b in rng.permutation(len(batches)).tolist():
                features, rows, objective = batches[b]
                layers = network.layers(features[rows])
                value, gradient = objective.redraw(epoch)(layers[-1][:, 0])
                check_finite(value, epoch)
                steps = network.backward(layers, gradient)
                for step, W in zip(steps[::2], network.weights, strict=True):
                    step += l2 * W
                adam.step(steps)
                total += value
            metric = monitor(total / len(batches), network.copy())
            if metric is not None and stop(metric):
                break
    assert isinstance(monitor.model, Network)
    return monitor.model


def _mean_and_deviation(data: RankingData) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each feature, summed row by row in two passes."""

    def mean(values: Callable[[NDArray[Any]], Floats]) -> Floats:
        total = np.zeros(data.n_features)
        for first in range(0, len(data), 8192):
            block = values(data.feature_rows(first, first + 8192))
            total = np.add.reduce(np.concatenate([total[None], block]), axis=0)
        return total / len(data)

    centre = mean(lambda X: X.astype(np.float64))
    return centre, np.sqrt(mean(lambda X: (X - centre) ** 2))


def _batches(
    data: RankingData, loss: Loss, size: int, seed: int
) -> list[tuple[NDArray[Any], Rows, TrainingObjective]]:
    """Return random batches of queries: features, which rows of them, and the loss.

    The loss of each is in units of the mean over all queries.
    """
    order = shuffled_queries(data, seed)
    parts = [
        select_queries(data, np.sort(order[first : first + size]))
        for first in range(0, len(order), size)
    ]
    objectives = [
        TrainingObjective.from_loss(loss, part, seed=seed, reduction="sum") for part in parts
    ]
    share = len(parts) / max(sum(objective.active_weight for objective in objectives), 1e-300)
    return [
        (part.source.X, part.rows, o.times(share))
        for part, o in zip(parts, objectives, strict=True)
    ]
