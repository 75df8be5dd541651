"""What a ranker has learned: functions from features to a score. Data, never code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data.groups import Groups
from podium.errors import ModelFileError, UsageError

Floats = NDArray[np.float64]
Part = NDArray[Any] | str
"""A model is stored as named arrays and texts."""

MAX_STUMP_FEATURES = 1 << 17
"""Stumps name few of their features, so no part of a file says how many there are: this is the most."""


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """Features -> scores."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Features a row must have."""

    @abstractmethod
    def predict(self, X: NDArray[Any]) -> Floats:
        """One score a row."""

    def scores(self, X: NDArray[Any], groups: Groups) -> Floats:
        """One score a row, where it is known which rows are a query's; few models ask."""
        return self.predict(X)

    @abstractmethod
    def contributions(self, X: NDArray[Any]) -> Floats:
        """What each feature adds to each row's score; the rest of the score is the same for all."""

    @abstractmethod
    def importance(self) -> Floats:
        """How much the model uses each feature, 0 or more; the scale is the kind of model's own."""

    @abstractmethod
    def parts(self) -> dict[str, Part]:
        """What the model is made of, for a file."""

    @classmethod
    @abstractmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """The model made of these parts; raises ModelFileError where they do not fit."""


@dataclass(frozen=True, eq=False)
class Linear(Model):
    """s = w.x.

    Examples
    --------
    >>> model = Linear(np.array([2.0, -1.0]))
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> model.predict(X).tolist(), model.contributions(X).tolist()
    ([2.0, 1.0], [[2.0, -0.0], [2.0, -1.0]])
    """

    kind = "linear"
    weights: Floats

    @property
    def n_features(self) -> int:
        """One a weight."""
        return len(self.weights)

    def predict(self, X: NDArray[Any]) -> Floats:
        """X w."""
        return kernels.matvec(X, self.weights)

    def contributions(self, X: NDArray[Any]) -> Floats:
        """x_j w_j."""
        return np.asarray(X * self.weights, dtype=np.float64)

    def importance(self) -> Floats:
        """|w|."""
        return np.abs(self.weights)

    def parts(self) -> dict[str, Part]:
        """The weights."""
        return {"weights": self.weights}

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """From the weights."""
        return cls(vector(parts, "weights"))


def first_weights(n_features: int, start: Model | None) -> Floats:
    """Where a linear ranker begins: at another one's weights, or at 0."""
    return start.weights.copy() if isinstance(start, Linear) else np.zeros(n_features)


@dataclass(frozen=True, eq=False)
class Stumps(Model):
    """s = sum_t alpha_t [x_(f_t) > theta_t].

    Examples
    --------
    >>> model = Stumps(1, np.array([0, 0]), np.array([0.0, 1.0]), np.array([1.0, 0.5]))
    >>> model.predict(np.array([[-1.0], [0.5], [2.0]])).tolist()
    [0.0, 1.0, 1.5]
    >>> model.importance().tolist()
    [1.5]
    """

    kind = "stumps"
    width: int
    features: NDArray[np.int64]
    thresholds: Floats
    alphas: Floats

    @property
    def n_features(self) -> int:
        """Features of a row, used or not."""
        return self.width

    def predict(self, X: NDArray[Any]) -> Floats:
        """The steps of each feature, added up."""
        out = np.zeros(len(X))
        for j in np.unique(self.features).tolist():
            out += self._steps(X, j)
        return out

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Each feature's steps."""
        out = np.zeros(X.shape)
        for j in np.unique(self.features).tolist():
            out[:, j] = self._steps(X, j)
        return out

    def importance(self) -> Floats:
        """The sum of |alpha| over a feature's stumps."""
        total = np.bincount(self.features, np.abs(self.alphas), minlength=self.width)
        return np.asarray(total, dtype=np.float64)

    def _steps(self, X: NDArray[Any], j: int) -> Floats:
        """All stumps of one feature are a step function: x lies above this many thresholds."""
        mine = np.flatnonzero(self.features == j)
        mine = mine[np.argsort(self.thresholds[mine], kind="stable")]
        heights = np.concatenate([[0.0], np.cumsum(self.alphas[mine])])
        x = X[:, j].astype(np.float64)
        above = np.searchsorted(self.thresholds[mine], x, side="left")
        return np.where(np.isnan(x), np.nan, heights[above])

    def parts(self) -> dict[str, Part]:
        """One row a stump."""
        if self.width > MAX_STUMP_FEATURES:
            raise UsageError(
                f"expected at most {MAX_STUMP_FEATURES:,} features of stumps to save, got "
                f"{self.width:,}; leave out features that no stump uses"
            )
        return {
            "width": np.array([self.width]),
            "features": self.features,
            "thresholds": self.thresholds,
            "alphas": self.alphas,
        }

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """From one row a stump."""
        width = count(parts, "width")
        if width > MAX_STUMP_FEATURES:
            raise ModelFileError(
                f"expected stumps on at most {MAX_STUMP_FEATURES:,} features, got {width:,}"
            )
        features = vector(parts, "features", np.int64)
        thresholds, alphas = vector(parts, "thresholds"), vector(parts, "alphas")
        if not len(features) == len(thresholds) == len(alphas):
            raise ModelFileError("expected stumps with one feature, threshold and weight each")
        if len(features) and not 0 <= features.min() <= features.max() < width:
            raise ModelFileError(f"expected stumps on features 0..{width - 1}")
        return cls(width, features, thresholds, alphas)


def count(parts: dict[str, Part], name: str) -> int:
    """A part that must be one whole number above 0."""
    value = vector(parts, name, np.int64)
    if len(value) != 1 or value[0] < 1:
        raise ModelFileError(f"expected one number of 1 or more as {name!r} of the model")
    return int(value[0])


def vector(parts: dict[str, Part], name: str, dtype: Any = np.float64) -> NDArray[Any]:
    """A part that must be a vector of finite numbers."""
    value = parts.get(name)
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != dtype:
        raise ModelFileError(f"expected a vector of {np.dtype(dtype)} named {name!r} in the model")
    if not np.isfinite(value).all():
        raise ModelFileError(f"expected finite numbers in {name!r} of the model")
    return value
