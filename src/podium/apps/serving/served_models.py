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
from podium.rankers.models import Model
from podium.rankers.prepared_model import PreparedModel
from podium.rankers.ranker import Ranker
from podium.rankers.ranking_estimator import require_finite_scores
from podium.rankers.tree_model import Trees
from podium.rankers.wrapped_ranker import innermost_ranker
from podium.typing import Floats


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
    def scoring_model(self) -> Model:
        """The model that sees the prepared features."""
        model = self.ranker.model_
        return model.model if isinstance(model, PreparedModel) else model

    @cached_property
    def user_classes(self) -> tuple[str, ...]:
        """Classes of users that the model knows."""
        classes = self.ranker.classes_ if isinstance(self.ranker, CFBRS) else ()
        return tuple(row.name for row in classes)

    @cached_property
    def explains(self) -> bool:
        """Whether its scores have parts that belong to one feature each."""
        if isinstance(self.scoring_model, Trees):
            return True  # LightGBM explains them, and is not imported before someone asks
        try:
            self.contributions(self.prepare(np.zeros((1, self.ranker.n_features_in_))))
        except UsageError:
            return False
        return True

    def score_rows(self, X: Floats, user_class: str | None = None) -> tuple[Floats, str | None]:
        """Return one score per row of one query, and the user class whose weights gave them, if any did.

        A class without weights of its own is served by the model of all users.
        """
        ranker = self.ranker
        if user_class is not None:
            self._check_user_class(user_class)
            if isinstance(ranker, CFBRS) and ranker.classes_[user_class].served:
                queries = np.zeros(len(X), dtype=int)
                return ranker.predict(X, qid=queries, user_class=user_class), user_class
        scores = ranker.model_.scores(X, Groups(np.array([0, len(X)])))
        return require_finite_scores(scores), None

    def _check_user_class(self, user_class: str) -> None:
        """Raise 404 if the model has no such class of users."""
        if user_class not in self.user_classes:
            message = f"expected a user class of model {self.name!r}, got {user_class!r:.200}"
            raise Refusal(404, "unknown_class", message, known=list(self.user_classes[:100]))

    def prepare(self, X: Floats) -> Floats:
        """Return the rows of one query as `contributions` takes them."""
        if self.prepared_model is None:
            return X
        return self.prepared_model.prepare(X, Groups(np.array([0, len(X)])))

    def contributions(self, prepared: Floats) -> Floats:
        """Return what each feature adds to the score of each prepared row."""
        contributions = self.scoring_model.contributions(prepared)
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
            ranker=innermost_ranker(ranker).name,
            kind=self.scoring_model.kind,
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

    def get(self, name: str | None) -> LoadedModel | None:
        """Return a model by ``NAME`` or ``NAME@VERSION``; None if there is none."""
        return self._by_name.get(name)

    def find(self, name: str | None) -> LoadedModel:
        """Return a model as `get` does; 404 if there is none."""
        model = self.get(name)
        if model is not None:
            return model
        if not self.models:
            message = "expected a service of models, got one that was started without any"
            raise Refusal(404, "unknown_model", message, known=[])
        names = [f"{model.name}@{model.version}" for model in self.models]
        message = f"expected a model that is served here, got {name!r:.200}"
        raise Refusal(404, "unknown_model", message, known=names[:100])

    def info(self) -> list[ModelInfo]:
        """Return their descriptions."""
        return [model.info(model is self.models[0]) for model in self.models]
