"""Served models: a ranker with a name and a version, its scores, and its description."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import ModelInfo
from podium.data.categories import Category
from podium.data.groups import Groups
from podium.ensemble import CFBRS
from podium.errors import UsageError
from podium.rankers.importance import feature_names_of
from podium.rankers.models import Model, Stumps
from podium.rankers.prepared import Prepared
from podium.rankers.prepared_model import PreparedModel
from podium.rankers.ranker import Ranker
from podium.rankers.ranking_estimator import require_finite_scores
from podium.rankers.tree_model import Trees
from podium.typing import Floats

_QUICK_MODEL_KINDS = ("linear", "stumps")
_MAX_QUICK_STUMPS = 10_000
_MAX_QUICK_TREE_STEPS = 1_000_000
"""Steps down trees, of all documents together: about a millisecond."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A ranker that is served, with its name, its version and the time of its load."""

    name: str
    version: str
    ranker: Ranker
    loaded: str

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, in the order of the columns."""
        return feature_names_of(self.ranker)

    @cached_property
    def pick_values(self) -> Any:
        """Function from features by name to values in the order of the columns; it raises KeyError."""
        names = self.feature_names
        return itemgetter(*names) if len(names) > 1 else lambda values: (values[names[0]],)

    @cached_property
    def prepared_model(self) -> PreparedModel | None:
        """The model with the preparation of its features, if it has one."""
        model = self.ranker.model_
        return model if isinstance(model, PreparedModel) else None

    @cached_property
    def categories(self) -> dict[str, Category]:
        """The features that are words, by name."""
        model = self.prepared_model
        return {} if model is None else model.categories(self.feature_names)

    @property
    def fills_missing(self) -> bool:
        """Whether the model fills missing values in, so that a document may lack features."""
        model = self.prepared_model
        return model is not None and model.preparation.fill is not None

    @property
    def _scoring_model(self) -> Model:
        """The model that sees the prepared features."""
        model = self.ranker.model_
        return model.model if isinstance(model, PreparedModel) else model

    def is_quick(self, n_documents: int, explain: bool = False) -> bool:
        """Whether so many documents are scored in no time, so that no thread is needed."""
        model = self._scoring_model
        if isinstance(model, Trees):
            n_steps = n_documents * int(model.arrays.depths.sum())
            return n_steps <= _MAX_QUICK_TREE_STEPS and not explain
        is_small = not isinstance(model, Stumps) or len(model.alphas) <= _MAX_QUICK_STUMPS
        return model.kind in _QUICK_MODEL_KINDS and is_small

    @cached_property
    def user_classes(self) -> tuple[str, ...]:
        """Classes of users that the model knows."""
        classes = self.ranker.classes_ if isinstance(self.ranker, CFBRS) else ()
        return tuple(row.name for row in classes)

    @cached_property
    def explains(self) -> bool:
        """Whether its scores have parts that belong to one feature each."""
        if isinstance(self._scoring_model, Trees):
            return True  # LightGBM explains them, and is not imported before someone asks
        try:
            self.contributions(self.prepare(np.zeros((1, self.ranker.n_features_in_))))
        except UsageError:
            return False
        return True

    def scores(self, X: Floats, user_class: str | None = None) -> tuple[Floats, str | None]:
        """Return one score per row of one query, and the user class whose weights they use."""
        personal = None if user_class is None else self._with_own_weights(user_class)
        if personal is not None:
            queries = np.zeros(len(X), dtype=int)
            return personal.predict(X, qid=queries, user_class=user_class), user_class
        return require_finite_scores(
            self.ranker.model_.scores(X, Groups(np.array([0, len(X)])))
        ), None

    def _with_own_weights(self, user_class: str) -> CFBRS | None:
        """Return the ranker if a user class has weights of its own; 404 if the model has no such class."""
        if not isinstance(self.ranker, CFBRS) or user_class not in self.user_classes:
            message = f"expected a user class of model {self.name!r}, got {user_class!r:.200}"
            raise Refusal(404, "unknown_class", message, known=list(self.user_classes[:100]))
        return self.ranker if self.ranker.classes_[user_class].served else None

    def prepare(self, X: Floats) -> Floats:
        """Return the rows of one query as `contributions` takes them."""
        if self.prepared_model is None:
            return X
        return self.prepared_model.prepare(X, Groups(np.array([0, len(X)])))

    def contributions(self, prepared: Floats) -> Floats:
        """Return what each feature adds to the score of each prepared row."""
        contributions = self._scoring_model.contributions(prepared)
        if self.prepared_model is None:
            return contributions
        return self.prepared_model.fold(contributions)

    def info(self, is_default: bool) -> ModelInfo:
        """Return its description."""
        ranker = self.ranker
        return ModelInfo(
            name=self.name,
            version=self.version,
            default=is_default,
            ranker=ranker.ranker.name if isinstance(ranker, Prepared) else ranker.name,
            kind=self._scoring_model.kind,
            n_features=ranker.n_features_in_,
            feature_names=list(self.feature_names),
            scaled=ranker.trained_.scaled,
            preparation=None if self.prepared_model is None else self.prepared_model.describe(),
            user_classes=list(self.user_classes),
            accepts_missing=ranker.accepts_missing,
            explains=self.explains,
            loaded=self.loaded,
        )


@dataclass(frozen=True, eq=False)
class ServedModels:
    """All models that are served.

    Without a name the first model answers; without a version, the last one of the name.
    """

    models: tuple[LoadedModel, ...]

    @cached_property
    def _by_name(self) -> dict[str | None, LoadedModel]:
        by_name: dict[str | None, LoadedModel] = {}
        for model in self.models:
            by_name[model.name] = by_name[f"{model.name}@{model.version}"] = model
        if self.models:
            by_name[None] = self.models[0]
        return by_name

    def find(self, name: str | None) -> LoadedModel:
        """Return a model by ``NAME`` or ``NAME@VERSION``; 404 if there is none."""
        try:
            return self._by_name[name]
        except KeyError:
            if not self.models:
                message = "expected a service of models, got one that was started without any"
                raise Refusal(404, "unknown_model", message, known=[]) from None
            names = [f"{model.name}@{model.version}" for model in self.models]
            message = f"expected a model that is served here, got {name!r:.200}"
            raise Refusal(404, "unknown_model", message, known=names[:100]) from None

    def info(self) -> list[ModelInfo]:
        """Return their descriptions."""
        return [model.info(model is self.models[0]) for model in self.models]
