"""The contract every ranker keeps: a scikit-learn estimator that never forgets whose rows are whose."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from podium.data import DENSE_LIMIT, RankingData, shuffled
from podium.data.arrays import dense
from podium.data.checks import to_array
from podium.data.files import Path_
from podium.data.ranking_data import Missing
from podium.errors import (
    DataError,
    DivergedError,
    NonFiniteError,
    NotConvergedWarning,
    UnknownNameError,
    UsageError,
)
from podium.metrics import evaluate
from podium.metrics.naming import parse
from podium.rankers.certificate import Certificate
from podium.rankers.history import Callback, History, Watch
from podium.rankers.inputs import (
    as_data,
    check_count,
    check_names,
    check_scaling,
    column_names,
    contrasting_queries,
    drop_weightless_queries,
    hold_out,
)
from podium.rankers.models import Model
from podium.rankers.parameters import check_parameters

if TYPE_CHECKING:
    from podium.rankers.explanation import Explanation

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Learned:
    """What a fit came to: the model, and whether the optimiser was done."""

    model: Model
    converged: bool = True
    reason: str = ""
    certificate: Certificate | None = None


Learner = Callable[[RankingData, Watch, Model | None], Learned]
"""Turns training data into a model; each iteration is reported to the watch."""


@dataclass(frozen=True, eq=False)
class RankedList:
    """The top of one query's list: rows of the data, their ids where they have any, their scores."""

    qid: str
    rows: NDArray[np.int64]
    docids: tuple[str, ...] | None
    scores: Floats

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        best = self.docids or tuple(map(str, self.rows.tolist()))
        shown = ", ".join(best[:5]) + (", ..." if len(best) > 5 else "")
        return f"RankedList({self.qid}: {shown})"


@dataclass(frozen=True)
class Trained:
    """On what a ranker was trained."""

    n_queries: int
    n_documents: int
    fingerprint: str
    topk: int | None = None
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)
    scaled: str | None = None


def finite(scores: Floats) -> Floats:
    """The scores, all of them numbers."""
    # A sum of squares is finite only if every score is: half the time of looking at each.
    if not math.isfinite(np.dot(scores, scores)) and not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise NonFiniteError(f"expected finite features, got a score of {scores[row]} in row {row}")
    return scores


def check_top(k: int | None) -> None:
    """Raise unless there can be a top k."""
    if k is not None and (not isinstance(k, int | np.integer) or k < 1):
        raise UsageError(f"expected k to be a whole number of 1 or more, got {k!r}")


class Ranker(BaseEstimator, ABC):  # type: ignore[misc]
    """A ranker: ``fit`` on labelled queries, ``predict`` one score a row, ``rank`` the top k.

    Subclasses are dataclasses: parameters are fields, and `learn` turns data into a model.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """What `tune` tries by default: the paper's own grid."""
    warm_start_along: ClassVar[str | None] = None
    """The parameter along which `tune` starts each fit from the last one."""
    score_only: ClassVar[tuple[str, ...]] = ()
    """Parameters of the scores alone: from fits that differ in these `tune` has nothing to learn."""
    aliases: ClassVar[Mapping[str, str]] = {}
    """The paper's names of parameters, for who asks by them."""
    accepts_missing: ClassVar[bool] = False

    # Query ids are routed to fit and score by scikit-learn's model selection, once routing is on.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - read by scikit-learn
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    model_: Model
    history_: History
    converged_: bool
    certificate_: Certificate | None
    """Where the optimiser stopped and how far from the optimum, where it proves that."""

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
            Features, labels and query ids, one a row; or X alone, a RankingData.
        sample_weight
            How much each query counts: one a query, or one a row that is equal within a query.
        valid
            Validation queries, RankingData or (X, y, qid): they choose iterations, never weights.
        callback
            Called with a Step after each iteration; may raise KeyboardInterrupt to stop.

        A fit that is interrupted (ctrl-C) ends with the best model so far, marked as not converged.
        """
        train = self.ranking_data(X, y, qid, sample_weight)
        held_out = None if valid is None else self.ranking_data(valid, scaled=train.scaled)
        return self.fit_data(train, held_out, callback)

    def fit_data(
        self,
        data: RankingData,
        valid: RankingData | None = None,
        callback: Callback | None = None,
        start: Model | None = None,
        learn: Learner | None = None,
    ) -> Self:
        """Fit to ranking data: from the model `start`, and by `learn` in place of the ranker's own."""
        check_parameters(self, self.name)
        self.check_settings()
        # Hashing data takes as long as some passes over it: it is done beside the learning.
        hashing = Thread(target=lambda: data.fingerprint, daemon=True)
        hashing.start()
        learned, watch = self.train_model(data, valid, callback, start, learn)
        hashing.join()
        if not learned.converged:
            warnings.warn(
                f"{self.name} stopped before it was done after {len(watch.steps)} iterations "
                f"({learned.reason})",
                NotConvergedWarning,
                stacklevel=3,
            )
        self.model_, self.history_ = learned.model, watch.history()
        self.converged_, self.stopped_ = learned.converged, learned.reason
        self.certificate_ = learned.certificate
        self._remember(data)
        return self

    def train_model(
        self,
        data: RankingData,
        valid: RankingData | None = None,
        callback: Callback | None = None,
        start: Model | None = None,
        learn: Learner | None = None,
    ) -> tuple[Learned, Watch]:
        """Learn a model and keep nothing of it in the ranker: the model, and what was watched."""
        train, valid = self.training_parts(data, valid)
        # Equal scores are averaged over: the order of the validation rows must not choose.
        metric = parse(self.validation_metric()).averaging_ties()
        watch = Watch(self.name, metric, valid, callback, self.total_iterations(), self.keeps_best)
        return self._attempt(learn or self.learn, train, watch, start), watch

    def training_parts(
        self, data: RankingData, valid: RankingData | None
    ) -> tuple[RankingData, RankingData | None]:
        """The queries to train on and those to validate on, checked."""
        train = drop_weightless_queries(data)
        self.check_training(train)
        if valid is not None:
            self._check_missing(valid)
            check_names(valid.feature_names, train.feature_names, "the validation data")
            check_count(valid.n_features, train.n_features, "the validation data")
            check_scaling(valid.scaled, train.scaled, "the validation data")
            if not contrasting_queries(valid).any():
                raise DataError(
                    "expected a validation query with documents of different labels, got none: "
                    "nothing could be chosen by them"
                )
        elif self.needs_validation():
            train, valid = hold_out(train, self.validation_fraction, self._seed())
        return (shuffled(train, self._seed()) if self.row_order_matters() else train), valid

    def _attempt(
        self, learn: Learner, train: RankingData, watch: Watch, start: Model | None
    ) -> Learned:
        """Learn; interrupted, end with the best model so far."""
        try:
            # What overflows ends in a DivergedError that says more than NumPy's warnings.
            with np.errstate(over="ignore", invalid="ignore"):
                return learn(train, watch, start)
        except DivergedError as error:
            raise DivergedError(f"{self.name}: {error}; settings: {self._settings()}") from error
        except KeyboardInterrupt:
            if watch.model is None:
                raise
            return Learned(watch.model, False, "interrupted")

    def ranking_data(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        *,
        scaled: str | None = None,
    ) -> RankingData:
        """As `as_data`; NaN is a missing value to rankers that take those."""
        missing: Missing = "nan" if self.accepts_missing else "error"
        return as_data(X, y, qid, weight, scaled=scaled, missing=missing)

    def _documents(self, X: Any, qid: ArrayLike | None) -> RankingData:
        """The rows of an array or a frame, to be scored."""
        shape = X.shape if hasattr(X, "shape") else to_array(X, "X").shape
        return self.ranking_data(X, np.zeros(shape[:1]), qid, scaled=self._scaled)

    @property
    def _scaled(self) -> str | None:
        """How features are expected to be scaled by query."""
        return self.trained_.scaled if "trained_" in self.__dict__ else None

    @abstractmethod
    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Return the model that fits the data; report each iteration to the watch."""

    @property
    def keeps_best(self) -> bool:
        """Whether validation data chooses the iteration that is kept, not the optimiser the last."""
        return True

    def row_order_matters(self) -> bool:
        """Whether what is learned could depend on the order of rows, which must mean nothing."""
        return False

    def needs_validation(self) -> bool:
        """Whether queries are held out where no validation data is given."""
        return False

    def validation_metric(self) -> str:
        """What is measured on the validation queries."""
        return str(getattr(self, "metric", "NDCG@10"))

    def _seed(self) -> int:
        return int(getattr(self, "seed", 0))

    def total_iterations(self) -> int | None:
        """Iterations to come, where the number is known (for progress bars)."""
        return None

    def _settings(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items())

    def result_parameters(self) -> dict[str, Any]:
        """What the results depend on besides the data: the parameters, unless a ranker knows more."""
        found: dict[str, Any] = self.get_params(deep=False)
        return found

    @classmethod
    def unknown_parameter(cls, parameter: str) -> UnknownNameError:
        """The error for a parameter that there is not."""
        known = [own.name for own in fields(cls)]
        meant = cls.aliases.get(parameter, "")
        return UnknownNameError(f"parameter of {cls.name}", parameter, known, meant=meant)

    def _check(self, train: RankingData) -> None:
        """Raise what a fit to this data would raise before it learns anything."""
        check_parameters(self, self.name)
        self.check_settings()
        self.check_training(drop_weightless_queries(train))

    def check_settings(self) -> None:
        """Raise a UsageError on parameters that their types alone do not tell to be wrong."""

    def check_training(self, data: RankingData) -> None:
        """Raise if nothing can be learned from the data."""
        self._check_missing(data)
        if not contrasting_queries(data).any():
            raise DataError(
                f"expected at least one query with documents of different labels to train "
                f"{self.name}, got one label only in each of {data.n_queries} queries"
            )

    def _check_missing(self, data: RankingData) -> None:
        if data.n_features == 0:
            raise DataError(f"expected features for {self.name}, got none")
        if data.missing == "nan" and not self.accepts_missing and np.isnan(data.X).any():
            raise DataError(
                f"expected every feature to have a value for {self.name}, got missing ones (NaN); "
                "fill them in first, or use lambdamart, which takes them as they are"
            )

    def _remember(self, data: RankingData) -> None:
        self.n_features_in_ = data.n_features
        if data.feature_names is not None:
            self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.trained_ = Trained(
            data.n_queries, len(data), data.fingerprint, data.topk, data.feature_names, data.scaled
        )

    def predict(self, X: Any) -> Floats:
        """One score a row, in the rows' order; X is RankingData, an array or a data frame.

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
        matrix = self._features(X)
        given = isinstance(X, RankingData)
        scores = self.model_.scores(matrix, X.groups) if given else self.model_.predict(matrix)
        return finite(scores)

    def rank(
        self, X: Any, k: int | None = None, *, qid: ArrayLike | None = None
    ) -> list[RankedList]:
        """The top k of each query, best first (all documents without k).

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> from podium.rankers import RankSVM
        >>> data = make_synthetic(n_queries=20, seed=0)
        >>> RankSVM().fit(data).rank(data, k=3)[0]
        RankedList(q1: q1-d5, q1-d31, q1-d17)
        """
        return self._lists(X, k, qid, self.predict)

    def _lists(
        self,
        X: Any,
        k: int | None,
        qid: ArrayLike | None,
        predict: Callable[[RankingData], Floats],
    ) -> list[RankedList]:
        """The top k of each query by these scores."""
        check_top(k)
        given = isinstance(X, RankingData)
        data = X if given else self._documents(X, qid)
        scores = predict(data)
        order = data.groups.order(scores)
        # Arrays may have a query's rows apart: rows are told as they were given.
        rows = np.arange(len(data)) if given else data.regroup(np.arange(len(data)))
        docids = data.docids
        lists = []
        for query, places in data.queries():
            top = order[places][:k]
            ids = None if docids is None else tuple(docids[top].tolist())
            lists.append(RankedList(query, rows[top], ids, scores[top]))
        return lists

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Mean NDCG@10; `sample_weight` is one a query, or one a row that is equal within a query."""
        data = self.ranking_data(X, y, qid, sample_weight, scaled=self._scaled)
        return evaluate(data, self.predict(data), "NDCG@10")["NDCG@10"].mean

    def explain(self, data: RankingData, query: str | int) -> Explanation:
        """One query's list with each feature's contribution; see ``podium.rankers.explain``."""
        from podium.rankers.explanation import explain

        return explain(self, data, query)

    def save(self, path: Path_) -> None:
        """Write the fitted ranker to a ``.podium`` file, all or nothing; see ``podium.load``."""
        from podium.rankers.model_files import save

        save(self, path)

    def _features(self, X: Any) -> NDArray[Any]:
        names: Sequence[str] | None
        matrix: NDArray[Any]
        if isinstance(X, RankingData):
            self._check_missing(X)
            names, matrix = X.feature_names, X.X
        else:
            names, matrix = column_names(X), np.ascontiguousarray(dense(X, None, DENSE_LIMIT))
        check_count(matrix.shape[1], self.n_features_in_, "the data")
        check_names(names, getattr(self, "feature_names_in_", None), "the data")
        if isinstance(X, RankingData):
            check_scaling(X.scaled, self._scaled, "the data")
        return matrix
