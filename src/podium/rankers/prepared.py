"""Prepared rankers: any ranker, with a preparation of its features that is learned and kept with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from numpy.typing import ArrayLike, NDArray

from podium.data import RankingData
from podium.errors import DataError, UsageError
from podium.rankers.category_encoding import CategoryEncoding, learn_encoding
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult, Learner
from podium.rankers.importance import feature_names_of
from podium.rankers.learning_curve import Callback
from podium.rankers.models import Model, check_categories
from podium.rankers.parameters import check_parameters
from podium.rankers.preparation import (
    Bounds,
    Imputation,
    Preparation,
    Scaling,
    check_bounds,
    learn_preparation,
)
from podium.rankers.prepared_model import PreparedModel
from podium.rankers.ranker import Ranker
from podium.typing import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class Prepared(Ranker):
    """A ranker whose model prepares the features itself: clip, log1p, impute, scale, in this order.

    The steps are learned on the training queries and kept in the model file. Every ranker then takes
    missing values, if `impute` says what they become. Features that are categories become numbers
    before the other steps. ``predict``, ``rank`` and ``explain`` take raw
    features, and explanations are about raw features.

    Parameters
    ----------
    ranker
        The ranker that sees the prepared features.
    impute
        What a missing value becomes: the "median" or "mean" of the feature, "zero", or "none", which
        leaves it missing.
    indicators
        Whether a feature with missing values gets an indicator: a feature of its own, 1 where the
        value is missing, else 0.
    scale
        Over the training data: "zscore" is (x - mean) / sd, "minmax" is (x - min) / (max - min),
        "robust" is (x - median) / (interquartile range). Within each query: "query-zscore",
        "query-minmax". "none" leaves the features as they are.
    log1p
        The names of the features that become log(1 + x).
    clip
        Feature name -> (lowest, highest) value; None is no bound.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.rankers import RankSVM
    >>> X, y, qid = np.array([[1.0], [np.nan], [300.0], [5.0]]), [0, 1, 1, 0], [1, 1, 2, 2]
    >>> ranker = Prepared(RankSVM(), impute="median", scale="zscore").fit(X, y, qid=qid)
    >>> ranker.predict(X).shape
    (4,)
    """

    name: ClassVar[str] = "prepared"
    paper: ClassVar[str] = "any ranker, with features prepared"
    accepts_categories: ClassVar[bool] = True

    # Scaling within queries needs query ids: predict requests them, too.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 - read by scikit-learn

    ranker: Ranker = field(kw_only=False)
    impute: Imputation = "median"
    indicators: bool = False
    scale: Scaling = "zscore"
    log1p: Sequence[str] = ()
    clip: Mapping[str, Bounds] | None = None

    def predict(
        self, X: Any, *, qid: ArrayLike | None = None, ignore_scaling: bool = False
    ) -> Floats:
        """Return one score per row, in the order of rows.

        Parameters
        ----------
        X
            RankingData; or, for a model without categories, an array or a data frame of raw features.
        qid
            The query of each row of an array, for scaling within queries.
        ignore_scaling
            Whether to take RankingData that is scaled otherwise than the training data.
        """
        if qid is None:
            return super().predict(X, ignore_scaling=ignore_scaling)
        return self.predict_by_query(X, qid)

    def train_model(
        self,
        data: RankingData,
        valid: RankingData | None = None,
        callback: Callback | None = None,
        start: Model | None = None,
        learn: Learner | None = None,
    ) -> tuple[FitResult, FitMonitor]:
        """Learn the steps on the training queries, and a model on the features they make."""
        train, valid = self.training_parts(data, valid)
        encoding = learn_encoding(train)
        train, valid = _encode(train, encoding), None if valid is None else _encode(valid, encoding)
        names = train.names()
        preparation = learn_preparation(
            train.X, names, impute=self.impute, indicators=self.indicators, scale=self.scale,
            log1p=self.log1p, clip=self.clip,
        )  # fmt: skip
        prepared_valid = None if valid is None else _prepare(valid, preparation, names)
        result, monitor = self.ranker.train_model(
            _prepare(train, preparation, names), prepared_valid, callback,
            start.model if isinstance(start, PreparedModel) else None, learn,
        )  # fmt: skip
        return replace(result, model=PreparedModel(preparation, result.model, encoding)), monitor

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Raise: `train_model` prepares the features first."""
        raise UsageError("expected train_model of a prepared ranker, which prepares features first")

    # --- checks ---

    def _features(self, X: Any, *, ignore_scaling: bool = False) -> NDArray[Any]:
        """Return the features as the model takes them; raise if they lack the words of categories."""
        model = self.model_
        if isinstance(model, PreparedModel) and model.encoding is not None:
            expected = model.categories(feature_names_of(self))
            if not isinstance(X, RankingData):
                raise DataError(
                    f"expected RankingData with the categories {', '.join(map(repr, expected))}, as in "
                    "training, got an array or a frame, which does not say the words of its numbers"
                ).advise(
                    python=f"read the data with categories={list(expected)!r}",
                    command_line="name them with --categories",
                )
            if not X.categories:
                check_categories((), expected)
        return super()._features(X, ignore_scaling=ignore_scaling)

    def check_settings(self) -> None:
        """Raise if the steps, or the settings of the ranker, are wrong."""
        if isinstance(self.ranker, Prepared):
            raise UsageError("expected one preparation, got a prepared ranker to prepare again")
        if isinstance(self.log1p, str) or not all(isinstance(name, str) for name in self.log1p):
            raise UsageError(f"expected a list of feature names as log1p, got {self.log1p!r:.80}")
        if self.clip is not None:
            if not isinstance(self.clip, Mapping):
                raise UsageError(
                    f"expected clip as in {{'price': (0, 100)}}, got {self.clip!r:.80}"
                )
            for name, bounds in self.clip.items():
                check_bounds(name, bounds)
        check_parameters(self.ranker, self.ranker.name)
        self.ranker.check_settings()

    # --- what a fit depends on is what the ranker says ---

    @property
    def accepts_missing(self) -> bool:  # type: ignore[override]
        """Whether missing values are filled in, or the ranker takes them as they are."""
        return self.impute != "none" or self.ranker.accepts_missing

    @property
    def grid(self) -> Mapping[str, Sequence[Any]]:  # type: ignore[override]
        """The values that `tune` tries by default: those of the ranker."""
        return self.ranker.grid

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

    @property
    def validation_fraction(self) -> float:
        """The share of the queries that is held out if there is no validation data."""
        return self.ranker.validation_fraction

    def parameter_path(self, name: str) -> str:
        """Return the name of a parameter for set_params: those of the ranker need no prefix."""
        is_own = name in self.get_params()
        return name if is_own else f"ranker__{self.ranker.parameter_path(name)}"

    def has_parameter(self, name: str) -> bool:
        """Whether the preparation or the ranker has a parameter of this name."""
        return super().has_parameter(name) or self.ranker.has_parameter(name)

    def needs_validation(self) -> bool:
        """Whether queries are held out if there is no validation data."""
        return self.ranker.needs_validation()

    def validation_metric(self) -> str:
        """Return the metric on the validation queries."""
        return self.ranker.validation_metric()

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return self.ranker.total_iterations()

    def _seed(self) -> int:
        return int(getattr(self.ranker, "seed", 0))


def _encode(data: RankingData, encoding: CategoryEncoding | None) -> RankingData:
    """Return the data with categories as numbers."""
    if encoding is None:
        return data
    names = encoding.output_names(data.names())
    return data.with_features(encoding.apply(encoding.align(data)), names)


def _prepare(data: RankingData, preparation: Preparation, names: Sequence[str]) -> RankingData:
    """Return the data with prepared features; the same data if there is nothing to do."""
    X = preparation.apply(data.X, data.groups)
    return data if X is data.X else data.with_features(X, preparation.output_names(names))
