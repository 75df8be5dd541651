"""Prepared models: the preparation of features, and the model that sees the prepared ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray

from podium.data import RankingData
from podium.data.categories import Category
from podium.data.groups import Groups
from podium.errors import ModelFileError
from podium.rankers.category_encoding import CategoryEncoding
from podium.rankers.mlp import Network
from podium.rankers.models import Linear, Model, Part, Stumps
from podium.rankers.ordinal import OrdinalModel
from podium.rankers.preparation import Preparation
from podium.rankers.tree_model import Trees
from podium.typing import Floats

INNER = "model/"
PLAIN_MODELS: dict[str, type[Model]] = {
    "linear": Linear,
    "stumps": Stumps,
    "mlp": Network,
    "trees": Trees,
    "ordinal": OrdinalModel,
}
"""The models of this room without preparation, by their kind in model files."""


@dataclass(frozen=True, eq=False)
class PreparedModel(Model):
    """Raw features -> preparation -> model -> scores.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.rankers.preparation_statistics import learn_preparation
    >>> steps = learn_preparation(np.array([[1.0], [3.0]]), ["price"], scale="minmax")
    >>> PreparedModel(steps, Linear(np.array([2.0]))).predict(np.array([[2.0]])).tolist()
    [1.0]
    """

    kind = "prepared"
    preparation: Preparation
    model: Model
    encoding: CategoryEncoding | None = None
    """The encoding of categories, which comes before the other steps; None without categories."""

    @property
    def n_features(self) -> int:
        """The number of raw features."""
        return (self.encoding or self.preparation).n_features

    def describe(self) -> str:
        """Return the steps in words."""
        steps = self.preparation.describe()
        if self.encoding is None:
            return steps
        return self.encoding.describe() + ("" if steps == "none" else f", {steps}")

    def align(self, data: RankingData) -> NDArray[Any]:
        """Return the features of data, with categories as places of the model's words."""
        return super().align(data) if self.encoding is None else self.encoding.align(data)

    def categories(self, names: Sequence[str]) -> dict[str, Category]:
        """Return the categories by the names of the raw features."""
        categories = {} if self.encoding is None else self.encoding.categories
        return {names[j]: category for j, category in categories.items()}

    def prepare(self, X: NDArray[Any], groups: Groups | None = None) -> NDArray[Any]:
        """Return the rows that the inner model sees."""
        encoded = X if self.encoding is None else self.encoding.apply(X)
        return self.preparation.apply(encoded, groups)

    def prepared_names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the features that the inner model sees."""
        encoded = names if self.encoding is None else self.encoding.output_names(names)
        return self.preparation.output_names(encoded)

    def fold(self, values: Floats) -> Floats:
        """Add the numbers of indicators and words to those of their raw features, along the last axis."""
        folded = self.preparation.fold_indicators(values)
        return folded if self.encoding is None else self.encoding.fold(folded)

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return one score per row; raise if a step needs all documents of a query."""
        return self.model.predict(self.prepare(X))

    def scores(self, X: NDArray[Any], groups: Groups) -> Floats:
        """Return one score per row."""
        return self.model.scores(self.prepare(X, groups), groups)

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Return what each raw feature adds, including its indicator and its words."""
        return self.fold(self.model.contributions(self.prepare(X)))

    def query_contributions(self, X: NDArray[Any], groups: Groups) -> Floats:
        """Return what each raw feature adds, including its indicator and its words."""
        return self.fold(self.model.query_contributions(self.prepare(X, groups), groups))

    def linear_weights(self, names: Sequence[str]) -> tuple[Sequence[str], Floats] | None:
        """Return the prepared features and their weights; None if the inner model is not linear."""
        return self.model.linear_weights(self.prepared_names(names))

    def importance(self) -> Floats:
        """Return how much the model uses each raw feature, including its indicator and its words."""
        return self.fold(self.model.importance())

    def parts(self) -> dict[str, Part]:
        """Return the steps, and the parts of the inner model under ``model/``."""
        inner = {f"{INNER}{name}": part for name, part in self.model.parts().items()}
        words = {} if self.encoding is None else self.encoding.parts()
        return {**words, **self.preparation.parts(), f"{INNER}kind": self.model.kind, **inner}

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the model from its parts; the inner model is one of this room."""
        return cls.read(parts, PLAIN_MODELS)

    @classmethod
    def read(cls, parts: dict[str, Part], kinds: Mapping[str, type[Model]]) -> Self:
        """Build the model from its parts; `kinds` has the classes of inner models."""
        preparation, encoding = Preparation.from_parts(parts), CategoryEncoding.from_parts(parts)
        if encoding is not None and encoding.n_outputs != preparation.n_features:
            raise ModelFileError(
                f"expected a preparation of {encoding.n_outputs} features after the categories, got "
                f"{preparation.n_features}"
            )
        inner = {
            name.removeprefix(INNER): part for name, part in parts.items() if name.startswith(INNER)
        }
        kind = inner.pop("kind", None)
        if not isinstance(kind, str) or kind not in kinds or issubclass(kinds[kind], cls):
            raise ModelFileError(f"unknown kind of model after a preparation: {kind!s:.80}")
        model = kinds[kind].read(inner, kinds)
        if model.n_features != preparation.n_outputs:
            raise ModelFileError(
                f"expected a model of {preparation.n_outputs} features after the preparation, got "
                f"{model.n_features}"
            )
        return cls(preparation, model, encoding)
