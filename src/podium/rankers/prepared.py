"""Prepared rankers: any ranker, together with a preparation of its features that is learned with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin

from podium.data import RankingData
from podium.data.data_frames import holds_words
from podium.errors import DataError, UsageError
from podium.rankers.category_encoding import CategoryEncoding, learn_encoding
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult, Learner
from podium.rankers.importance import feature_names_of
from podium.rankers.input_checks import as_data, column_names
from podium.rankers.learning_curve import Callback
from podium.rankers.models import Model, check_categories
from podium.rankers.preparation import Bounds, Imputation, Preparation, Scaling
from podium.rankers.preparation_statistics import check_bounds, learn_preparation
from podium.rankers.prepared_model import PreparedModel
from podium.rankers.shared_preparations import (
    PreparedFeatures,
    share_training,
    share_validation,
)
from podium.rankers.transformer_steps import check_imputer, check_scaler, is_transformer
from podium.rankers.wrapped_ranker import WrappedRanker
from podium.typing import Matrix


@dataclass(kw_only=True, eq=False, repr=False)
class Prepared(WrappedRanker):
    """A ranker whose model prepares the features itself: clip, log1p, impute, scale, in this order.

    The steps are learned on the training queries and kept in the model file. With `impute`, every
    ranker takes missing values. Categories become numbers before the other steps: those of
    RankingData, and columns of a data frame that have a categorical type. ``predict``, ``rank`` and
    ``explain`` take raw features, and explanations are about raw features.

    Parameters
    ----------
    ranker
        The ranker that sees the prepared features, or its name, as in "listnet".
    impute
        What a missing value becomes: the "median" or "mean" of the feature, "zero", or "none", which
        leaves it missing; or a SimpleImputer of scikit-learn.
    indicators
        Whether a feature with missing values gets an indicator: another feature, 1 if the value is
        missing, else 0.
    scale
        Over the training data: "zscore" is (x - mean) / sd, "minmax" is (x - min) / (max - min),
        "robust" is (x - median) / (interquartile range). Within each query: "query-zscore",
        "query-minmax". "none" does not scale. Or a StandardScaler, MinMaxScaler or RobustScaler of
        scikit-learn.
    log1p
        The names of the features that become log(1 + x).
    clip
        Feature name -> (lowest, highest) value; None means no bound.

    Examples
    --------
    >>> import numpy as np
    >>> X, y, qid = np.array([[1.0], [np.nan], [300.0], [5.0]]), [0, 1, 1, 0], [1, 1, 2, 2]
    >>> ranker = Prepared("ranksvm", impute="median", scale="zscore").fit(X, y, qid=qid)
    >>> ranker.predict(X).shape
    (4,)
    """

    name: ClassVar[str] = "prepared"
    paper: ClassVar[str] = "any ranker, with preparation of its features"
    accepts_categories: ClassVar[bool] = True

    impute: Imputation | TransformerMixin = "median"
    indicators: bool = False
    scale: Scaling | TransformerMixin = "zscore"
    log1p: Sequence[str] = ()
    clip: Mapping[str, Bounds] | None = None

    def train_model(
        self,
        data: RankingData,
        valid: RankingData | None = None,
        callback: Callback | None = None,
        start: Model | None = None,
        learn: Learner | None = None,
    ) -> tuple[FitResult, FitMonitor]:
        """Learn the steps on the training queries, then a model on the prepared features."""
        train, valid = self.training_parts(data, valid)
        encoding = learn_encoding(train)
        train, valid = _encode(train, encoding), None if valid is None else _encode(valid, encoding)
        names = train.names()
        steps = (
            _comparable(self.impute), self.indicators, _comparable(self.scale), tuple(self.log1p),
            dict(self.clip or {}),
        )  # fmt: skip
        preparation, features = share_training(train, steps, lambda: self._learn_steps(train))
        prepared_valid = None if valid is None else _prepare(valid, preparation, names)
        result, monitor = self.ranker.train_model(
            _with_prepared(train, preparation, features, names), prepared_valid, callback,
            start.model if isinstance(start, PreparedModel) else None, learn,
        )  # fmt: skip
        return replace(result, model=PreparedModel(preparation, result.model, encoding)), monitor

    def _learn_steps(self, train: RankingData) -> PreparedFeatures:
        """Learn the steps on the training queries, and prepare their features."""
        X, rows = train.stored_features()
        preparation = learn_preparation(
            X, train.names(), impute=self.impute, indicators=self.indicators, scale=self.scale,
            log1p=self.log1p, clip=self.clip, rows=rows,
        )  # fmt: skip
        return PreparedFeatures(preparation, preparation.apply(X, train.groups, rows))

    @property
    def learner_name(self) -> str:
        """The name of the ranker in it."""
        return self.ranker.name

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Raise, because `train_model` must prepare the features first."""
        raise UsageError(
            "learn does not prepare the features; call train_model of a prepared ranker"
        )

    # --- checks ---

    def _features(self, X: Any, *, ignore_scaling: bool = False) -> NDArray[Any]:
        """Return the features as the model takes them; raise if the words of categories are missing."""
        model = self.model_
        if isinstance(model, PreparedModel) and model.encoding is not None:
            expected = model.categories(feature_names_of(self))
            if not isinstance(X, RankingData) and not holds_words(X, expected):
                raise DataError(
                    "the model was trained with the categories "
                    f"{', '.join(map(repr, expected))}, but an array or a frame of numbers does not "
                    "contain their words"
                ).advise(
                    python="give a frame with the words, or read the data with "
                    f"categories={list(expected)!r}",
                    command_line="name them with --categories",
                )
            if not isinstance(X, RankingData):
                X = self._documents(X, np.zeros(len(X), dtype=np.int64))
            if not X.categories:
                check_categories((), expected)
        return super()._features(X, ignore_scaling=ignore_scaling)

    def _documents(self, X: Any, qid: ArrayLike | None) -> RankingData:
        """Return the rows of an array or a frame; columns of words are the model's categories."""
        model = self.model_
        if (
            column_names(X) is None
            or not isinstance(model, PreparedModel)
            or model.encoding is None
        ):
            return super()._documents(X, qid)
        expected = model.categories(feature_names_of(self))
        return as_data(
            self.training_columns(X), np.zeros(len(X)), qid, scaled=self._scaled,
            missing="nan" if self.accepts_missing else "error",
            categories={name: category.form for name, category in expected.items()},
        )  # fmt: skip

    def check_settings(self) -> None:
        """Raise if the steps, or the settings of the ranker, are wrong."""
        if isinstance(self.ranker, Prepared):
            raise UsageError(
                "the ranker is prepared already; expected a ranker without preparation"
            )
        if is_transformer(self.impute):
            check_imputer(self.impute)
        if is_transformer(self.scale):
            check_scaler(self.scale)
        if isinstance(self.log1p, str) or not all(isinstance(name, str) for name in self.log1p):
            raise UsageError(f"expected a list of feature names as log1p, got {self.log1p!r:.80}")
        if self.clip is not None:
            if not isinstance(self.clip, Mapping):
                raise UsageError(
                    f"expected clip as in {{'price': (0, 100)}}, got {self.clip!r:.80}"
                )
            for name, bounds in self.clip.items():
                check_bounds(name, bounds)
        super().check_settings()

    # --- what a fit depends on: the inner ranker decides ---

    @property
    def accepts_missing(self) -> bool:  # type: ignore[override]
        """Whether missing values are accepted: they are filled in, or the ranker takes them."""
        return self.impute != "none" or self.ranker.accepts_missing

    @property
    def fits_from_disk(self) -> bool:  # type: ignore[override]
        """Whether a fit reads the rows of a collection from disk."""
        return self.ranker.fits_from_disk

    @property
    def warm_start_along(self) -> str | None:  # type: ignore[override]
        """The parameter along which `tune` starts each fit from the last one."""
        return self.ranker.warm_start_along

    @property
    def score_only(self) -> tuple[str, ...]:  # type: ignore[override]
        """Parameters that change scores only."""
        return self.ranker.score_only

    @property
    def keeps_best(self) -> bool:
        """Whether the best iteration is kept, by validation data."""
        return self.ranker.keeps_best

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return self.ranker.total_iterations()

    def _seed(self) -> int:
        return int(getattr(self.ranker, "seed", 0))


def _comparable(step: Any) -> str:
    """Return a word, or the name and the parameters of a transformer: equal steps have equal text."""
    if isinstance(step, str):
        return step
    return f"{type(step).__name__}{sorted(step.get_params().items())!r}"


def _encode(data: RankingData, encoding: CategoryEncoding | None) -> RankingData:
    """Return the data with categories as numbers."""
    if encoding is None:
        return data
    names = encoding.output_names(data.names())
    return data.with_features(encoding.apply(encoding.align(data)), names)


def _prepare(data: RankingData, preparation: Preparation, names: Sequence[str]) -> RankingData:
    """Return validation data with prepared features."""

    def prepare() -> PreparedFeatures:
        X, rows = data.stored_features()
        return PreparedFeatures(preparation, preparation.apply(X, data.groups, rows))

    features = share_validation(data, preparation, prepare).features
    return _with_prepared(data, preparation, features, names)


def _with_prepared(
    data: RankingData, preparation: Preparation, features: Matrix, names: Sequence[str]
) -> RankingData:
    """Return the data with prepared features; the same data if there was nothing to do."""
    if features is data.stored_features()[0]:
        return data
    return data.with_features(features, preparation.output_names(names))
