"""The scikit-learn estimator under every ranker: parameters, checks, fit and predict."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from podium.data import MAX_DENSE_BYTES, Collection, RankingData, shuffle
from podium.data.argument_checks import to_array
from podium.data.data_frames import with_truth_numbers
from podium.data.feature_matrix import to_dense
from podium.data.free_memory import read_all_rows
from podium.data.ranking_columns import Missing
from podium.data.row_selection import mapped_blocks
from podium.errors import (
    DataError,
    DivergedError,
    NonFiniteError,
    NotConvergedWarning,
    UnknownNameError,
    UsageError,
)
from podium.metrics.naming import parse
from podium.rankers.collection_work import map_collection, rankers_from_disk
from podium.rankers.familiar_parameters import familiar_parameter
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult, Learner, TrainingSummary
from podium.rankers.input_checks import (
    as_data,
    check_feature_count,
    check_feature_names,
    check_scaling,
    column_names,
    pick_features,
    refuse_search_without_routing,
)
from podium.rankers.learning_curve import Callback, History
from podium.rankers.models import ROWS_PER_BLOCK, Model
from podium.rankers.optimality_certificate import Certificate
from podium.rankers.parameters import check_parameters
from podium.rankers.remote_rows import RemoteRows
from podium.rankers.selection_report import SelectionReport
from podium.rankers.training_queries import contrasting_queries, drop_weightless_queries, hold_out
from podium.task_runner import current_runner
from podium.typing import Floats


def require_finite_scores(scores: Floats) -> Floats:
    """Return the scores; raise if one of them is NaN or infinite."""
    # A sum of squares is finite only if every score is. It takes half the time of checking each
    # score.
    if not math.isfinite(np.dot(scores, scores)) and not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise NonFiniteError(
            f"the score of row {row} is {scores[row]}; expected finite "
            "features that are not too large"
        )
    return scores


class RankingEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """Fits a model to labelled queries and predicts one score per row.

    Subclasses are dataclasses: parameters are fields, and `learn` turns data into a model.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """The values that `tune` tries by default: those of the paper."""
    warm_start_along: ClassVar[str | None] = None
    """The parameter along which `tune` starts each fit from the last one."""
    score_only: ClassVar[tuple[str, ...]] = ()
    """Parameters that change only scores: fits that differ only in these learn the same model."""
    aliases: ClassVar[Mapping[str, str]] = {}
    """The papers' names of parameters, for suggestions in errors."""
    is_search: ClassVar[bool] = False
    """Whether a fit is a search over other rankers; comparisons of all rankers leave it out."""
    machine_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that change only how fast a fit is: files leave them out."""
    accepts_missing: ClassVar[bool] = False
    accepts_categories: ClassVar[bool] = False
    fits_from_disk: ClassVar[bool] = False
    """Whether a fit reads the rows of a collection from disk; if not, it needs them in memory."""
    extra: ClassVar[str | None] = None
    """The extra of podium that a fit needs; None: nothing beyond podium itself."""

    # scikit-learn's model selection passes query ids to fit and score, once routing is on.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - read by scikit-learn
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Raise for a parameter that the ranker does not have, with the nearest name."""
        if "__dataclass_fields__" in cls.__dict__:  # a class may define its own __init__
            unknown = parameters.keys() - {field.name for field in fields(cls)}
            if unknown:
                raise TypeError(str(cls.unknown_parameter(min(unknown))))
        ranker: Self = super().__new__(cls)
        return ranker

    model_: Model
    history_: History
    converged_: bool
    stopped_: str
    """Why the fit ended; may be empty."""
    certificate_: Certificate | None
    """Where the optimiser stopped, and its proved distance from the optimum, if there is one."""
    report_: SelectionReport | None
    """What a search for a ranker tried and chose; None for a ranker that is no search."""

    # --- fit ---

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        valid: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn from labelled queries.

        Parameters
        ----------
        X, y, qid
            Features, labels and query ids, one per row; or X alone, a RankingData or a Collection.
            Rankers with `fits_from_disk` read the rows of a collection from disk.
        sample_weight
            How much each query counts: one number per query, or one per row, equal within each
            query.
        valid
            Validation queries, RankingData, a Collection or (X, y, qid): they choose iterations,
            never weights.
        callback
            Called with a FitStep after each iteration; may raise KeyboardInterrupt to stop.

        An interrupted fit (ctrl-C) keeps the best model so far, marked as not converged.
        """
        refuse_search_without_routing()
        train = self.ranking_data(X, y, qid, sample_weight)
        validation = None if valid is None else self.ranking_data(valid, scaled=train.scaled)
        return self.fit_data(train, validation, callback)

    def fit_data(
        self,
        data: RankingData,
        valid: RankingData | None = None,
        callback: Callback | None = None,
        start: Model | None = None,
        learn: Learner | None = None,
    ) -> Self:
        """Fit to ranking data, from the model `start` if there is one; `learn` replaces self.learn."""
        check_parameters(self, self.name)
        self.check_settings()
        result, monitor = self.train_model(data, valid, callback, start, learn)
        if not result.converged:
            warnings.warn(
                f"{self.name} stopped after {len(monitor.steps)} iterations before it "
                f"converged ({result.reason})",
                NotConvergedWarning,
                stacklevel=3,
            )
        self.model_, self.history_ = result.model, monitor.history()
        self.converged_, self.stopped_ = result.converged, result.reason
        self.certificate_, self.report_ = result.certificate, result.report
        self._remember(data)
        return self

    def train_model(
        self,
        data: RankingData,
        valid: RankingData | None = None,
        callback: Callback | None = None,
        start: Model | None = None,
        learn: Learner | None = None,
    ) -> tuple[FitResult, FitMonitor]:
        """Learn a model and leave the ranker unchanged; return the result and its monitor."""
        train, valid = self.training_parts(data, valid)
        # Metrics are means over ties: the order of the validation rows must not choose an
        # iteration.
        metric = parse(self.validation_metric()).averaging_ties()
        total = self.total_iterations()
        monitor = FitMonitor(self.name, metric, valid, callback, total, self.keeps_best)
        return self._learn_or_interrupt(learn or self.learn, train, monitor, start), monitor

    def training_parts(
        self, data: RankingData, valid: RankingData | None
    ) -> tuple[RankingData, RankingData | None]:
        """Return the queries to train on and those to validate on.

        This drops queries without weight, checks the data, holds out validation queries if the
        ranker needs them, and shuffles rows if their order matters.
        """
        train = drop_weightless_queries(data)
        self.check_training(train)
        if valid is not None:
            self._check_missing(valid)
            check_feature_names(valid.feature_names, train.feature_names, "the validation data")
            check_feature_count(valid.n_features, train.n_features, "the validation data")
            check_scaling(valid.scaled, train.scaled, "the validation data")
            if not contrasting_queries(valid).any():
                raise DataError(
                    "in every validation query all documents have the same label; expected at "
                    "least one query with different labels"
                )
        elif self.needs_validation():
            train, valid = hold_out(train, self.validation_fraction, self._seed())
        return (shuffle(train, self._seed()) if self.row_order_matters() else train), valid

    def _learn_or_interrupt(
        self, learn: Learner, train: RankingData, monitor: FitMonitor, start: Model | None
    ) -> FitResult:
        """Learn; if interrupted, end with the best model so far."""
        try:
            # An overflow ends in a DivergedError, which says more than NumPy's warnings.
            with np.errstate(over="ignore", invalid="ignore"):
                return learn(train, monitor, start)
        except DivergedError as error:
            raise DivergedError(f"{self.name}: {error}; settings: {self._settings()}") from error
        except KeyboardInterrupt:
            if monitor.model is None:
                raise
            return FitResult(monitor.model, False, "interrupted")

    @abstractmethod
    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Return the model that fits the data; report each iteration to the monitor."""

    def _remember(self, data: RankingData) -> None:
        self.n_features_in_ = data.n_features
        if data.feature_names is not None:
            self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.trained_ = TrainingSummary(
            data.n_queries, len(data), data.fingerprint, data.topk, data.feature_names, data.scaled
        )

    # --- what a fit depends on: subclasses say it ---

    @property
    def learner_name(self) -> str:
        """The name of the ranker that learns, for messages; a prepared ranker names the one in it."""
        return self.name

    @property
    def keeps_best(self) -> bool:
        """Whether the best iteration by validation data is kept; if not, the last one is."""
        return True

    def row_order_matters(self) -> bool:
        """Whether the order of rows could change the model; if so, rows are shuffled by seed."""
        return False

    def fits_on_workers(self) -> bool:
        """Whether a fit to a collection can leave its rows on the workers of a cluster."""
        return False

    def needs_validation(self) -> bool:
        """Whether queries are held out if there is no validation data."""
        return False

    @property
    def validation_fraction(self) -> float:
        """The share of queries that are held out if `needs_validation`; often a parameter."""
        return 0.2

    def validation_metric(self) -> str:
        """Return the metric on the validation queries."""
        return str(getattr(self, "metric", "NDCG@10"))

    def _seed(self) -> int:
        return int(getattr(self, "seed", 0))

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars; None if it is unknown."""
        return None

    def _settings(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items())

    def result_parameters(self) -> dict[str, Any]:
        """Return what the result depends on besides the data: parameters that change more than speed."""
        parameters = self.get_params(deep=False).items()
        return {name: v for name, v in parameters if name not in self.machine_parameters}

    # --- checks ---

    @classmethod
    def unknown_parameter(cls, parameter: str) -> UnknownNameError:
        """Return the error for a parameter that the ranker does not have."""
        own = [field.name for field in fields(cls)]
        suggestion = cls.aliases.get(parameter, familiar_parameter(parameter, own))
        return UnknownNameError(f"parameter of {cls.name}", parameter, own, suggestion=suggestion)

    def parameter_path(self, name: str) -> str:
        """Return the name of a parameter for `set_params`; raise if there is no such parameter."""
        if name not in self.get_params():
            raise self.unknown_parameter(name)
        return name

    def has_parameter(self, name: str) -> bool:
        """Whether the ranker has a parameter of this name."""
        return name in self.get_params(deep=False)

    def check_fit(self, train: RankingData) -> None:
        """Raise the errors that a fit to this data would raise before it learns."""
        check_parameters(self, self.name)
        self.check_settings()
        self.check_training(drop_weightless_queries(train))

    def check_settings(self) -> None:
        """Raise a UsageError if parameters have the right types but wrong values."""

    def check_training(self, data: RankingData) -> None:
        """Raise if nothing can be learned from the data."""
        self._check_features(data)
        if not contrasting_queries(data).any():
            is_alone = data.n_queries == len(data)
            problem = (
                "there is one document only" if is_alone else "all documents have the same label"
            )
            role, option = ("queries", "query") if is_alone else ("labels", "label")
            n = data.n_queries
            raise DataError(
                f"in {'the only query' if n == 1 else f'each of the {n:,} queries'} {problem}; "
                f"{self.learner_name} needs at least one query with different labels"
            ).advise(
                python=f"name another column of {role}, with {option}=...",
                command_line=f"is the column of {role} right? --{option} names another one",
            )

    def _check_features(self, data: RankingData) -> None:
        """Raise if features are missing, or are words, and the ranker takes none."""
        self._check_missing(data)
        if data.categories and not self.accepts_categories:
            raise DataError(
                f"{self.name} needs numeric features, but {next(iter(data.categories))!r:.80} "
                "is a category"
            ).advise(
                python="Prepared(ranker, impute='none', scale='none') turns categories into "
                "numbers",
                command_line="leave it out with --ignore",
            )

    def _check_missing(self, data: RankingData) -> None:
        if data.n_features == 0:
            raise DataError(f"the data has no features; {self.name} needs at least one")
        if not self.accepts_missing and data.has_missing_values():
            raise DataError(
                f"the features have missing values (NaN), which {self.name} does not take"
            ).advise(
                python="fill them in with Prepared(ranker, impute='median'), or use "
                "lambdamart, which takes missing values",
                command_line="train with --impute median, or use lambdamart, which takes "
                "missing values",
            )

    # --- predict ---

    def predict(self, X: Any, *, ignore_scaling: bool = False) -> Floats:
        """Return one score per row, in the order of rows; X is RankingData, an array or a frame.

        The documents of a `Collection` are scored block by block, in little memory; on a cluster, by
        its workers.

        RankingData that is scaled by query differently from the training data is an error, unless
        `ignore_scaling` is set. Arrays do not record how they are scaled. The features of a frame are
        picked by name: it may have other columns, in any order.

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> from podium.rankers import RankSVM
        >>> data = make_synthetic(n_queries=20, seed=0)
        >>> RankSVM().fit(data).predict(data).shape == (len(data),)
        True
        """
        if "model_" not in self.__dict__:
            check_is_fitted(self, "model_")
        if isinstance(X, Collection):
            score = partial(RankingEstimator.predict, ignore_scaling=ignore_scaling)
            return np.concatenate(list(map_collection(score, self, X)))
        if isinstance(X, RemoteRows):
            return require_finite_scores(X.score(self.model_))
        if isinstance(X, RankingData) and (blocks := mapped_blocks(X, ROWS_PER_BLOCK)) is not None:
            own = RankingEstimator.predict
            return np.concatenate([own(self, b, ignore_scaling=ignore_scaling) for b in blocks])
        matrix = self._features(X, ignore_scaling=ignore_scaling)
        has_groups = isinstance(X, RankingData)
        scores = self.model_.scores(matrix, X.groups) if has_groups else self.model_.predict(matrix)
        return require_finite_scores(scores)

    def predict_by_query(self, X: Any, qid: ArrayLike) -> Floats:
        """Return one score per row of an array or a frame whose queries are known."""
        if isinstance(X, RankingData):
            raise UsageError("RankingData already has query ids; leave out qid")
        self._features(X)  # checks the number and the names of the features
        data = self._documents(X, qid)
        return np.asarray(data.restore(RankingEstimator.predict(self, data)))

    def ranking_data(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        *,
        scaled: str | None = None,
    ) -> RankingData:
        """Return ranking data as `as_data` does; rankers that accept missing values accept NaN."""
        if isinstance(X, Collection):
            X = self.open_rows(X)
        missing: Missing = "nan" if self.accepts_missing else "error"
        return as_data(X, y, qid, weight, scaled=scaled, missing=missing)

    def open_rows(
        self, collection: Collection, progress: Callable[[int], None] | None = None
    ) -> RankingData:
        """Return the rows of a collection where the fit can read them: on workers, on disk, or in memory."""
        # Words become numbers in memory.
        if not collection.manifest.layout.categories:
            runner = current_runner()
            if runner is not None and self.fits_on_workers():
                return RemoteRows(collection, runner)
            if self.fits_from_disk:
                return collection.mapped(progress=progress)
        from_disk = rankers_from_disk(RankingEstimator)
        return read_all_rows(collection, self.learner_name, from_disk, progress=progress)

    def training_columns(self, X: Any) -> Any:
        """Return a data frame with the features of training only; other inputs unchanged."""
        return pick_features(X, getattr(self, "feature_names_in_", None))

    def _documents(self, X: Any, qid: ArrayLike | None) -> RankingData:
        """Return the rows of an array or a frame, without labels."""
        X = self.training_columns(X)
        shape = X.shape if hasattr(X, "shape") else to_array(X, "X").shape
        return self.ranking_data(X, np.zeros(shape[:1]), qid, scaled=self._scaled)

    @property
    def _scaled(self) -> str | None:
        """How the training data was scaled by query."""
        return self.trained_.scaled if "trained_" in self.__dict__ else None

    def _features(self, X: Any, *, ignore_scaling: bool = False) -> NDArray[Any]:
        names: Sequence[str] | None
        matrix: NDArray[Any] | None
        if isinstance(X, RankingData):
            self._check_missing(X)
            names, matrix = X.feature_names, None
        else:
            X = with_truth_numbers(self.training_columns(X))
            names, matrix = (
                column_names(X),
                np.ascontiguousarray(to_dense(X, None, MAX_DENSE_BYTES)),
            )
        n_features = X.n_features if matrix is None else matrix.shape[1]
        check_feature_names(names, getattr(self, "feature_names_in_", None), "the data")
        check_feature_count(n_features, self.n_features_in_, "the data")
        # A model of another program does not record how its training data was scaled.
        is_known = self._scaled is not None or self.trained_.n_queries > 0
        if isinstance(X, RankingData) and is_known and not ignore_scaling:
            check_scaling(X.scaled, self._scaled, "the data")
        return self.model_.align(X) if matrix is None else matrix
