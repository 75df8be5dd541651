"""Personal ranking: scores, lists and updates for classes of users, each with its own block weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from podium.data import Collection, RankingData
from podium.ensemble.cfbrs.block_weights import BlockModels, BlockWeights, Evidence
from podium.ensemble.cfbrs.composed_model import ensemble_of, simplest_model
from podium.ensemble.cfbrs.user_classes import (
    Adaptation,
    ClassTable,
    FeedbackBatch,
    PersonalList,
    adapt,
    add_to_population,
    class_of_each_query,
    has_classes,
    is_feedback_log,
    learn_classes,
    measure_classes,
)
from podium.errors import NothingLearnedWarning, UnknownClassWarning, UsageError
from podium.metrics import Metric
from podium.metrics.naming import parse
from podium.rankers import Ranker
from podium.rankers.ranked_lists import stream_lists
from podium.typing import Floats

NO_CLASSES_MESSAGE = (
    "nothing was learned from users: only classes of users have their own weights, and no "
    "class is named; name the class of each query (user_class=; read_ubi(..., user_class=); "
    "--classes)"
)


class PersonalRanker(Ranker):
    """A ranker whose model is a `ComposedModel`: it serves classes of users and learns from them."""

    # Normalised scores and ranks need query ids: predict requests them, too.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 - read by scikit-learn

    metric: str
    max_error: float
    weights: Literal["size", "validation"]
    seed: int

    @property
    def classes_(self) -> ClassTable:
        """The classes of users: their numbers of queries, and their training errors.

        After updates, the error is the mean over all queries of the error at the time when each was
        added.
        """
        return ClassTable.of(ensemble_of(self.model_).classes, self.metric, self.max_error)

    def class_weights(self, user_class: str | None) -> tuple[BlockWeights, str | None]:
        """Return the weights that a class gets, and why they are not its own (None if they are)."""
        composed = ensemble_of(self.model_)
        weights = composed.weights_of(user_class)
        if weights is None:
            names = ", ".join(str(own.name) for own in composed.classes) or "none"
            return composed.population, f"unknown user class {user_class!r} (known: {names})"
        if weights.name is not None and weights.error > self.max_error:
            return composed.population, (
                f"user class {user_class!r} has a training error of {weights.error:.3f}, "
                f"above max_error={self.max_error:g}"
            )
        return weights, None

    def tie_averaged_metric(self) -> Metric:
        """Return the metric as a mean over the orders of equal scores."""
        return parse(self.metric).averaging_ties()

    def learn_classes(
        self,
        evidence: Mapping[str | None, Evidence],
        models: Mapping[str, BlockModels] | None = None,
    ) -> None:
        """Learn the weights of each class from its evidence; some classes may have their own models."""
        composed = ensemble_of(self.model_)
        composed = learn_classes(composed, evidence, self.tie_averaged_metric(), self.seed, models)
        self.model_ = simplest_model(composed)

    def learn_population(self, evidence: Mapping[str | None, Evidence]) -> None:
        """Add the evidence of all users to their weights, if these are measured."""
        if None in evidence and self.weights == "validation":
            composed = ensemble_of(self.model_)
            composed = add_to_population(composed, evidence[None], self.tie_averaged_metric())
            self.model_ = simplest_model(composed)

    # --- prediction ---

    def predict(
        self,
        X: Any,
        *,
        qid: ArrayLike | None = None,
        user_class: ArrayLike | Sequence[str | None] | None = None,
        ignore_scaling: bool = False,
    ) -> Floats:
        """Return one score per row, in the order of the rows, for all users or for a class of users.

        Parameters
        ----------
        X
            RankingData; or an array or a data frame, together with `qid`.
        qid
            The query of each row, if blocks are normalised or ranked, or classes differ by query.
        user_class
            One class for all queries, or one per query. A class that is unknown, or whose error is
            too high, gets the ranking of all users, with an ``UnknownClassWarning``.
        ignore_scaling
            Whether to accept RankingData that is scaled differently from the training data.
        """
        if qid is not None:
            if isinstance(X, RankingData):
                raise UsageError("RankingData already has query ids; leave out qid")
            self._features(X)  # checks the number and the names of the features
            data = self._documents(X, qid)
            return np.asarray(data.restore(self.predict(data, user_class=user_class)))
        population = super().predict(X, ignore_scaling=ignore_scaling)
        if user_class is None:
            return population
        if not isinstance(X, RankingData):
            if not (isinstance(user_class, str) and ensemble_of(self.model_).combination.is_linear):
                raise UsageError("the query ids are missing; use qid= or RankingData")
            X = self._documents(X, np.zeros(np.shape(X)[0], dtype=int))
        return self._predict_by_class(X, class_of_each_query(X, user_class), population)

    def _predict_by_class(
        self, data: RankingData, names: Sequence[str | None], population: Floats
    ) -> Floats:
        scores, composed = population.copy(), ensemble_of(self.model_)
        for name in dict.fromkeys(names):
            weights, reason = self.class_weights(name)
            if reason is not None:
                warnings.warn(f"{reason}: it gets the ranking of all users", UnknownClassWarning, 3)
            if weights.name is not None:
                own = data.groups.spread(np.array([other == name for other in names]))
                scores[own] = composed.for_users(weights).scores(data.X, data.groups)[own]
        return scores

    def rank(  # type: ignore[override]
        self,
        X: Any,
        k: int | None = None,
        *,
        qid: ArrayLike | None = None,
        user_class: ArrayLike | Sequence[str | None] | None = None,
    ) -> Sequence[PersonalList] | Iterator[PersonalList]:
        """Return the top k of each query, best first; each list names its class of users."""
        if isinstance(X, Collection):
            if not (user_class is None or isinstance(user_class, str)):
                raise UsageError("expected one user class for all queries of a collection")
            return stream_lists(
                X, self, lambda ranker, block: list(ranker.rank(block, k, user_class=user_class))
            )
        if user_class is None:
            return [PersonalList.of(ranked, None, None) for ranked in super().rank(X, k, qid=qid)]
        data = X if isinstance(X, RankingData) else self._documents(X, qid)
        names = class_of_each_query(data, user_class)
        lists = self._lists(X, k, qid, lambda data: self.predict(data, user_class=names))
        served = {name: self.class_weights(name)[0].name for name in dict.fromkeys(names)}
        return [
            PersonalList.of(ranked, name, served[name])
            for ranked, name in zip(lists, names, strict=True)
        ]

    # --- updates ---

    def update(
        self, data: Any, *, feedback: Any = None, user_class: ArrayLike | None = None
    ) -> Self:
        """Change the blocks' weights by new feedback, for its classes and for all users; refit no block.

        Earlier feedback still counts: several updates give the same weights as one update with all
        their queries. The exception is T of a class, which each update tries on its queries with
        the earlier weights. The weights of all users change if they are measured (``weights`` is
        not "size"). Otherwise feedback without user classes changes nothing, and a
        ``NothingLearnedWarning`` says so.

        Parameters
        ----------
        data
            The queries whose lists were shown.
        feedback, user_class
            As in ``fit``; without feedback the data's labels count.
        """
        batch = self._feedback_batch(data, feedback, user_class)
        if batch.feedback is not None and not is_feedback_log(batch.feedback):
            raise UsageError(
                "update needs a log from podium.feedback.read_ubi as feedback, got "
                f"{batch.feedback!r}"
            )
        evidence = batch.evidence()
        if not evidence:
            raise UsageError(
                "in every query all documents have the same label; expected at "
                "least one query with different labels"
            )
        self.learn_classes(evidence)
        if not has_classes(evidence) and self.weights == "size":
            warnings.warn(NO_CLASSES_MESSAGE, NothingLearnedWarning, stacklevel=2)
        self.learn_population(evidence)
        return self

    def learn_until_converged(
        self,
        batches: Iterable[Any],
        valid: Any = None,
        *,
        tol: float = 1e-3,
        patience: int = 2,
    ) -> Adaptation:
        """Update with one batch of feedback after another until the metric stops changing.

        Parameters
        ----------
        batches
            Each batch is a ``podium.ensemble.FeedbackBatch`` (queries and their feedback), or
            RankingData, whose labels count.
        valid
            Another batch to measure on; None: each batch is measured before the ranker learns from
            it.
        tol, patience
            The loop ends when `patience` batches in a row change the metric by less than `tol`.
        """
        return adapt(
            (self._feedback_batch(batch) for batch in batches),
            None if valid is None else self._feedback_batch(valid),
            metric=self.metric, measure=self._measure, update=self.update,
            tol=tol, patience=patience,
        )  # fmt: skip

    def _measure(self, batch: FeedbackBatch) -> float:
        composed, metric = ensemble_of(self.model_), self.tie_averaged_metric()
        return measure_classes(composed, batch, metric, lambda name: self.class_weights(name)[0])

    def _feedback_batch(
        self, data: Any, feedback: Any = None, user_class: ArrayLike | None = None
    ) -> FeedbackBatch:
        """Return a batch of this data; raise if the ranker was fitted on other features."""
        batch = (
            data
            if isinstance(data, FeedbackBatch)
            else FeedbackBatch(self.ranking_data(data), feedback, user_class)
        )
        check_is_fitted(self, "model_")
        self._features(batch.data)
        return batch
