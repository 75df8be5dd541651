"""Models: what rankers learn, functions from features to scores. They are data, never code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data import RankingData
from podium.data.groups import Groups
from podium.data.strict_json import read_json
from podium.errors import DataError, ModelFileError, UsageError
from podium.rankers.remote_rows import RemoteRows
from podium.typing import Floats, Matrix

Part = NDArray[Any] | str
"""A part of a stored model: an array or a text."""

ROWS_PER_BLOCK = 8192
"""Selected rows that are copied at a time to be scored; a longer query is one block."""
MAX_STUMP_FEATURES = 1 << 17
"""The maximum number of features of stumps: a small file could otherwise claim any number."""


def check_categories(categories: Collection[str], expected: Collection[str]) -> None:
    """Raise if the categories of data are not those of the training data."""
    if set(categories) == set(expected):
        return
    words = ", ".join(map(repr, expected)) or "none"
    got = ", ".join(map(repr, categories)) or "none"
    raise DataError(f"expected the categories {words}, as in training, got {got}").advise(
        python=f"read the data with categories={list(expected)!r}",
        command_line="name them with --categories" if expected else "leave --categories out",
    )


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """Features -> scores."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features that a row must have."""

    def align(self, data: RankingData) -> NDArray[Any]:
        """Return the features of data as the model takes them; raise if it has other categories."""
        check_categories(data.categories, ())
        return data.X

    @abstractmethod
    def predict(self, X: NDArray[Any]) -> Floats:
        """Return one score per row."""

    def scores(self, X: NDArray[Any], groups: Groups) -> Floats:
        """Return one score per row; a few models need to know the rows of each query."""
        return self.predict(X)

    def score_documents(self, data: RankingData) -> Floats:
        """Return one score per document; selected rows are copied a block of whole queries at a time."""
        if isinstance(data, RemoteRows):
            return data.score(self)
        X, rows = data.stored_features()
        if rows is None:
            return self.scores(X, data.groups)
        out = np.empty(len(data))
        for block in data.groups.blocks(ROWS_PER_BLOCK):
            first, last = block.rows.start, block.rows.stop
            out[first:last] = self.scores(X[rows[first:last]], block.groups)
        return out

    @abstractmethod
    def contributions(self, X: NDArray[Any]) -> Floats:
        """Return what each feature adds to each row's score; the rest is the same for all rows."""

    def query_contributions(self, X: NDArray[Any], groups: Groups) -> Floats:
        """Return the contributions; a few models need to know the rows of each query."""
        return self.contributions(X)

    def linear_weights(self, names: Sequence[str]) -> tuple[Sequence[str], Floats] | None:
        """Return the features that have weights, and the weights; None if the model is not linear."""
        return None

    @abstractmethod
    def importance(self) -> Floats:
        """Return how much the model uses each feature, 0 or more; each kind has its own scale."""

    @abstractmethod
    def parts(self) -> dict[str, Part]:
        """Return the parts of the model for a file."""

    @classmethod
    @abstractmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the model from its parts; raise a ModelFileError if they do not fit."""

    @classmethod
    def read(cls, parts: dict[str, Part], kinds: Mapping[str, type[Model]]) -> Model:
        """Build the model from its parts; `kinds` has the classes of models inside it."""
        return cls.from_parts(parts)


@dataclass(frozen=True, eq=False)
class Linear(Model):
    """A linear model: s = w.x.

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
        """The number of weights."""
        return len(self.weights)

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return X w."""
        return kernels.matvec(X, self.weights)

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Return x_j w_j."""
        return np.asarray(X * self.weights, dtype=np.float64)

    def linear_weights(self, names: Sequence[str]) -> tuple[Sequence[str], Floats]:
        """Return the names and the weight of each feature."""
        return names, self.weights

    def importance(self) -> Floats:
        """Return |w|."""
        return np.abs(self.weights)

    def parts(self) -> dict[str, Part]:
        """Return the weights."""
        return {"weights": self.weights}

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the model from its weights."""
        return cls(vector(parts, "weights"))


def start_weights(n_features: int, start: Model | None) -> Floats:
    """Return the weights at which a linear ranker starts: those of another model, or 0."""
    return start.weights.copy() if isinstance(start, Linear) else np.zeros(n_features)


class StepFunctions(NamedTuple):
    """The arguments of `kernels.predict_stumps` after the rows."""

    features: NDArray[np.int64]
    bounds: NDArray[np.int64]
    thresholds: Floats
    heights: Floats

    def of_feature(self, i: int) -> StepFunctions:
        """Return the step function of the i-th feature alone."""
        first, last = self.bounds[i : i + 2].tolist()
        return StepFunctions(
            self.features[i : i + 1],
            np.array([0, last - first]),
            self.thresholds[first:last],
            self.heights[first + i : last + i + 1],
        )


@dataclass(frozen=True, eq=False)
class Stumps(Model):
    """A sum of stumps: s = sum_t alpha_t [x_(f_t) > theta_t].

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
        """The number of features of a row, used or not."""
        return self.width

    @cached_property
    def steps(self) -> StepFunctions:
        """The sum of all stumps of each feature, as a step function of the feature."""
        order = np.lexsort((self.thresholds, self.features))
        features, first = np.unique(self.features[order], return_index=True)
        bounds = np.append(first, len(order))
        heights = [
            np.concatenate([[0.0], np.cumsum(self.alphas[order[a:b]])]) for a, b in pairwise(bounds)
        ]
        return StepFunctions(
            features, bounds, self.thresholds[order], np.concatenate([np.zeros(0), *heights])
        )

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return the sum of the steps of each feature."""
        return kernels.predict_stumps(feature_rows(X, self.width), *self.steps)

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Return the steps of each feature."""
        rows, steps = feature_rows(X, self.width), self.steps
        out = np.zeros(rows.shape)
        for i, feature in enumerate(steps.features.tolist()):
            out[:, feature] = kernels.predict_stumps(rows, *steps.of_feature(i))
        return out

    def importance(self) -> Floats:
        """Return the sum of |alpha| over the stumps of each feature."""
        total = np.bincount(self.features, np.abs(self.alphas), minlength=self.width)
        return np.asarray(total, dtype=np.float64)

    def parts(self) -> dict[str, Part]:
        """Return one row per stump."""
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
        """Build the model from one row per stump."""
        width = count(parts, "width")
        if width > MAX_STUMP_FEATURES:
            raise ModelFileError(
                f"expected stumps on at most {MAX_STUMP_FEATURES:,} features, got {width:,}"
            )
        features = vector(parts, "features", np.int64)
        thresholds, alphas = vector(parts, "thresholds"), vector(parts, "alphas")
        if not len(features) == len(thresholds) == len(alphas):
            raise ModelFileError("expected one feature, one threshold and one weight per stump")
        if len(features) and not 0 <= features.min() <= features.max() < width:
            raise ModelFileError(f"expected stumps on features 0..{width - 1}")
        return cls(width, features, thresholds, alphas)


def feature_rows(X: NDArray[Any], width: int) -> Matrix:
    """Return rows as kernels take them; float32 stays float32. Raise a UsageError for any other array."""
    if X.ndim != 2 or X.shape[1] != width:
        raise UsageError(f"expected rows of {width} features, got shape {X.shape}")
    if X.dtype.kind not in "fiub":
        raise UsageError(f"expected numbers as features, got an array of {X.dtype}")
    return np.ascontiguousarray(X, dtype=None if X.dtype == np.float32 else np.float64)


def count(parts: dict[str, Part], name: str) -> int:
    """Return a part as a number; raise if it is not one whole number above 0."""
    value = vector(parts, name, np.int64)
    if len(value) != 1 or value[0] < 1:
        raise ModelFileError(f"expected {name!r} of the model to be one number of 1 or more")
    return int(value[0])


def vector(parts: dict[str, Part], name: str, dtype: Any = np.float64) -> NDArray[Any]:
    """Return a part as a vector; raise if it is not a vector of finite numbers."""
    value = parts.get(name)
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != dtype:
        raise ModelFileError(f"expected a vector of {np.dtype(dtype)} named {name!r} in the model")
    if not np.isfinite(value).all():
        raise ModelFileError(f"expected finite numbers in {name!r} of the model")
    return value


@contextmanager
def json_part(parts: Mapping[str, Part], name: str, content: str) -> Iterator[Any]:
    """Yield the value of a part that is JSON, whose content nobody has checked yet.

    Errors of the block that reads it become a ModelFileError: "CONTENT are damaged".
    """
    text = parts.get(name)
    if not isinstance(text, str):
        raise ModelFileError(f"expected a text named {name!r} in the model")
    try:
        yield read_json(text)
    except ModelFileError:
        raise
    except (
        LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError
    ) as error:  # fmt: skip
        raise ModelFileError(f"{content} are damaged ({error!s:.200})") from error
