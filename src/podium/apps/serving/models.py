"""Models as they are served: a ranker with a name and a version, and what it says of itself."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.apps.serving.bodies import ModelTold
from podium.apps.serving.errors import Refusal
from podium.apps.serving.trial import check_by_trial
from podium.data.files import open_regular
from podium.data.groups import Groups
from podium.ensemble import CFBRS
from podium.errors import ModelFileError, UsageError
from podium.rankers.explanation import names_of
from podium.rankers.models import Stumps
from podium.rankers.ranker import Ranker, finite
from podium.registry import load

Floats = NDArray[np.float64]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_QUICK = ("linear", "stumps")
_QUICK_STUMPS = 10_000


@dataclass(frozen=True)
class ModelFile:
    """Where a model is, and how it is called.

    Examples
    --------
    >>> ModelFile.parse("shop@7=models/a.podium")
    ModelFile(name='shop', path='models/a.podium', version='7')
    >>> ModelFile.parse("models/a.podium").name
    'a'
    """

    name: str
    path: str
    version: str | None = None

    @classmethod
    def parse(cls, text: str) -> ModelFile:
        """From ``PATH``, ``NAME=PATH`` or ``NAME@VERSION=PATH``."""
        left, equals, path = text.partition("=")
        if not equals or "/" in left or Path(text).exists():
            left, path = Path(text).name.removesuffix(".podium"), text
        name, at, version = left.partition("@")
        for what, word in (("name", name), ("version", version if at else "1")):
            if not _NAME.fullmatch(word):
                raise UsageError(
                    f"expected a model's {what} of letters, digits, '.', '_' and '-', got {word!r:.120} "
                    f"in {text!r:.200}; NAME=PATH gives a file another name"
                )
        return cls(name, path, version if at else None)

    def load(self) -> LoadedModel:
        """The model, after a trial; without a version of its own it has that of the file's contents."""
        ranker = load(self.path)
        with open_regular(self.path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        at = datetime.now(UTC).isoformat(timespec="seconds")
        model = LoadedModel(self.name, self.version or digest[:12], ranker, at)
        try:
            check_by_trial(model)
        except ModelFileError as error:
            raise ModelFileError(f"{self.path}: {error}") from error
        return model


def model_files(texts: Sequence[str]) -> tuple[ModelFile, ...]:
    """The models of a command line, each name and version once."""
    files = tuple(map(ModelFile.parse, texts))
    for at, file in enumerate(files):
        for other in files[:at]:
            if file.name == other.name and (file.version is None or file.version == other.version):
                raise UsageError(
                    f"expected each model's name and version once, got {file.name!r} for "
                    f"{other.path} and {file.path}; NAME@VERSION=PATH tells them apart"
                )
    return files


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A ranker that is served."""

    name: str
    version: str
    ranker: Ranker
    loaded: str

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """In the order of the columns."""
        return names_of(self.ranker)

    @cached_property
    def pick(self) -> Any:
        """A mapping of features -> values in the order of the columns; raises KeyError."""
        names = self.feature_names
        return itemgetter(*names) if len(names) > 1 else lambda values: (values[names[0]],)

    @property
    def is_quick(self) -> bool:
        """Whether a list is scored in no time, so that no thread is needed."""
        model = self.ranker.model_
        few = not isinstance(model, Stumps) or len(model.alphas) <= _QUICK_STUMPS
        return model.kind in _QUICK and few

    @cached_property
    def user_classes(self) -> tuple[str, ...]:
        """Classes of users that the model knows."""
        known = self.ranker.classes_ if isinstance(self.ranker, CFBRS) else ()
        return tuple(row.name for row in known)

    @cached_property
    def explains(self) -> bool:
        """Whether its scores have parts that belong to one feature each."""
        try:
            self.contributions(np.zeros((1, self.ranker.n_features_in_)))
        except UsageError:
            return False
        return True

    def scores(self, X: Floats, user_class: str | None = None) -> tuple[Floats, str | None]:
        """One score a row, the rows being one query's; and whose weights they are of."""
        personal = None if user_class is None else self._with_own_weights(user_class)
        if personal is not None:
            queries = np.zeros(len(X), dtype=int)
            return personal.predict(X, qid=queries, user_class=user_class), user_class
        return finite(self.ranker.model_.scores(X, Groups(np.array([0, len(X)])))), None

    def _with_own_weights(self, user_class: str) -> CFBRS | None:
        """The ranker, if a class of users has weights of its own; 404 where it is not known."""
        if not isinstance(self.ranker, CFBRS) or user_class not in self.user_classes:
            said = f"expected a user class of model {self.name!r}, got {user_class!r:.200}"
            raise Refusal(404, "unknown_class", said, known=list(self.user_classes[:100]))
        return self.ranker if self.ranker.classes_[user_class].served else None

    def contributions(self, X: Floats) -> Floats:
        """What each feature adds to each row's score."""
        return self.ranker.model_.contributions(X)

    def told(self, default: bool) -> ModelTold:
        """What the service says of it."""
        model = self.ranker.model_
        return ModelTold(
            name=self.name,
            version=self.version,
            default=default,
            ranker=self.ranker.name,
            kind=model.kind,
            n_features=model.n_features,
            feature_names=list(self.feature_names),
            scaled=self.ranker.trained_.scaled,
            user_classes=list(self.user_classes),
            accepts_missing=self.ranker.accepts_missing,
            explains=self.explains,
            loaded=self.loaded,
        )


@dataclass(frozen=True, eq=False)
class Models:
    """All that are served; the first serves who names none, and the last of a name who names no version."""

    listed: tuple[LoadedModel, ...]

    @cached_property
    def _by_name(self) -> dict[str | None, LoadedModel]:
        found: dict[str | None, LoadedModel] = {}
        for model in self.listed:
            found[model.name] = found[f"{model.name}@{model.version}"] = model
        if self.listed:
            found[None] = self.listed[0]
        return found

    def find(self, name: str | None) -> LoadedModel:
        """A model by ``NAME`` or ``NAME@VERSION``; 404 without it."""
        try:
            return self._by_name[name]
        except KeyError:
            if not self.listed:
                said = "expected a service of models, got one that was started without any"
                raise Refusal(404, "unknown_model", said, known=[]) from None
            known = [f"{model.name}@{model.version}" for model in self.listed]
            said = f"expected a model that is served here, got {name!r:.200}"
            raise Refusal(404, "unknown_model", said, known=known[:100]) from None

    def told(self) -> list[ModelTold]:
        """What the service says of them."""
        return [model.told(model is self.listed[0]) for model in self.listed]
