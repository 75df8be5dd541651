"""Classes of users: their feedback, the block weights learned from it, and their lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data import RankingData
from podium.data.groups import Groups
from podium.ensemble.cfbrs.block_weights import (
    FALLBACK_TEMPERATURE,
    BlockModels,
    BlockWeights,
    Evidence,
    TemperatureTrial,
    choose_temperature,
    make_trials,
    mean_gains,
    try_temperatures,
)
from podium.ensemble.cfbrs.composed_model import ComposedModel
from podium.ensemble.cfbrs.feature_blocks import BlockVotes
from podium.errors import LengthMismatchError, UsageError
from podium.metrics import Metric
from podium.rankers.ranked_lists import RankedList
from podium.typing import Floats

# --- feedback of users ---


class FeedbackLog(Protocol):
    """Feedback of users on the lists that they saw, such as ``podium.feedback.Feedback``."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of users that gave feedback."""
        ...

    def labels(self, data: RankingData, user_class: str | None = None) -> Floats:
        """Return one label per row, NaN if the document was not shown."""
        ...

    def query_alphas(self, data: RankingData, user_class: str | None = None) -> Floats:
        """Return alpha of each query's lists, NaN if there is none."""
        ...


def is_feedback_log(feedback: Any) -> bool:
    """Whether feedback is a `FeedbackLog`, which has labels of documents."""
    return hasattr(feedback, "labels") and hasattr(feedback, "classes")


@dataclass(frozen=True, eq=False)
class FeedbackBatch:
    """Queries, and the feedback of their users.

    Parameters
    ----------
    data
        The queries with their features; its labels count if there is no feedback.
    feedback
        A log from ``podium.feedback.read_ubi``: its labels count for each of its classes and for
        all users.
    user_class
        The class of users behind the labels: one per query, or one per row; None (or NaN) means no
        class.
    """

    data: RankingData
    feedback: Any = None
    user_class: ArrayLike | None = None

    def evidence(self) -> dict[str | None, Evidence]:
        """Return the labelled queries of all users (None) and of each class, by name."""
        evidence: dict[str | None, Evidence | None] = {}
        if is_feedback_log(self.feedback):
            if self.user_class is not None:
                raise UsageError(
                    "feedback already has classes; use feedback or user_class, not both"
                )
            for name in (None, *sorted(self.feedback.classes)):
                evidence[name] = _evidence_of_log(self.data, self.feedback, name)
        else:
            evidence[None] = Evidence.of(self.data)
            for name, queries in _queries_by_class(self.data, self.user_class).items():
                evidence[name] = Evidence.of(self.data.subset(queries))
        return {name: own for name, own in evidence.items() if own is not None}


def has_classes(evidence: Mapping[str | None, Evidence]) -> bool:
    """Whether some of the evidence comes from a class of users."""
    return any(name is not None for name in evidence)


def _evidence_of_log(
    data: RankingData, feedback: FeedbackLog, user_class: str | None
) -> Evidence | None:
    """Return the documents that users saw, with their labels, and queries weighted by alpha."""
    labels = feedback.labels(data, user_class)
    rows = np.flatnonzero(~np.isnan(labels))
    if len(rows) == 0:
        return None
    alphas = feedback.query_alphas(data, user_class)
    counts = np.bincount(data.groups.codes[rows], minlength=data.n_queries)
    queries = np.flatnonzero(counts)
    column = data.docid_column
    shown_documents = RankingData(
        X=data.X[rows],
        y=labels[rows],
        groups=Groups.from_sizes(counts[queries]),
        qids=data.qids[queries],
        docid_column=None if column is None else column.take(rows),
        feature_names=data.feature_names,
        scaled=data.scaled,
        missing=data.missing,
        query_weight=None if data.query_weight is None else data.query_weight[queries],
    )
    return Evidence.of(shown_documents, alphas[queries])


def _queries_by_class(
    data: RankingData, user_class: ArrayLike | None
) -> dict[str, NDArray[np.int64]]:
    """Return the queries of each class, by name; queries without a class are left out."""
    if user_class is None:
        return {}
    names = class_of_each_query(data, user_class)
    classes = sorted({name for name in names if name is not None})
    return {name: np.flatnonzero([other == name for other in names]) for name in classes}


def class_of_each_query(
    data: RankingData, user_class: ArrayLike | Sequence[str | None]
) -> list[str | None]:
    """Return the class of each query.

    `user_class` is one name for all queries, one per query, or one per row, equal within each
    query.
    """
    if isinstance(user_class, str):
        return [user_class] * data.n_queries
    classes = np.asarray(user_class, dtype=object)
    if classes.ndim != 1 or len(classes) not in (data.n_queries, len(data)):
        raise LengthMismatchError(
            f"expected user_class to have {data.n_queries} entries (one per query) or "
            f"{len(data)} (one per row), got "
            f"{len(classes) if classes.ndim == 1 else f'an array of shape {classes.shape}'}"
        )
    names = [None if _is_missing(name) else str(name) for name in classes.tolist()]
    if len(classes) != data.n_queries:
        by_row = data.regroup(np.array(names, dtype=object))
        by_query = by_row[data.groups.offsets[:-1]]
        if (by_row != data.groups.spread(by_query)).any():
            raise UsageError("a query has rows of several classes; expected one class per query")
        names = by_query.tolist()
    return names


def _is_missing(name: Any) -> bool:
    """Whether a name is None, NaN, or a data frame's missing value."""
    return name is None or type(name).__name__ in ("NAType", "NaTType") or bool(name != name)


# --- weights learned from users ---


def votes_and_gains(
    composed: ComposedModel, evidence: Evidence, metric: Metric
) -> tuple[BlockVotes, Floats]:
    """Return the blocks' votes on the documents, and the metric of each query by each block alone."""
    all_blocks, data = np.arange(len(composed.blocks)), evidence.data
    scores = composed.block_scores(data.X, data.groups, all_blocks)
    return composed.combination.votes(scores, data.groups), evidence.gains(scores, metric)


def weigh_population(composed: ComposedModel, valid: RankingData, metric: Metric) -> ComposedModel:
    """Weight blocks for all users by their metric on validation queries, which also choose T."""
    evidence = Evidence.of(valid)
    if evidence is None:
        return composed
    votes, gains = votes_and_gains(composed, evidence, metric)
    all_queries = np.ones(evidence.data.n_queries, dtype=bool)
    trial = TemperatureTrial(mean_gains(gains, evidence.alpha), all_queries)
    T = choose_temperature(composed.prior, [trial], evidence, votes, metric)
    population = replace(composed.population, temperature=T).add_queries(gains, evidence.alpha)
    value = evidence.mean(votes(population.shares(composed.prior)), metric)
    return replace(composed, population=replace(population, error=1 - value))


def add_to_population(composed: ComposedModel, evidence: Evidence, metric: Metric) -> ComposedModel:
    """Add queries to the weights of all users; T does not change."""
    _, gains = votes_and_gains(composed, evidence, metric)
    population = composed.population.add_queries(gains, evidence.alpha)
    return replace(composed, population=population)


def learn_classes(
    composed: ComposedModel,
    evidence: Mapping[str | None, Evidence],
    metric: Metric,
    seed: int,
    models: Mapping[str, BlockModels] | None = None,
) -> ComposedModel:
    """Learn the weights of each class from its new and earlier evidence.

    Parameters
    ----------
    models
        The blocks' models for classes that have their own.
    """
    own_models = models or {}
    classes = {weights.name: weights for weights in composed.classes}
    for name, own in evidence.items():
        if name is not None:
            earlier = classes.get(name) or BlockWeights.empty(
                len(composed.blocks), name, FALLBACK_TEMPERATURE, own_models.get(name)
            )
            classes[name] = _learn_class(composed, earlier, own, metric, seed)
    by_name = sorted(classes.values(), key=lambda weights: str(weights.name))
    return replace(composed, classes=tuple(by_name))


def _learn_class(
    composed: ComposedModel, earlier: BlockWeights, own: Evidence, metric: Metric, seed: int
) -> BlockWeights:
    """Return the weights of a class after this evidence; all queries so far choose T."""
    votes, gains = votes_and_gains(composed.for_users(earlier), own, metric)
    trials = make_trials(own, gains, seed, earlier)
    sums = try_temperatures(composed.prior, trials, own, votes, metric)
    n_queries = sum(int(np.sum(trial.queries)) for trial in trials)
    weights = earlier.add_queries(gains, own.alpha).add_trials(sums, n_queries)
    error = 1 - own.mean(votes(weights.shares(composed.prior)), metric)
    if earlier.mass > 0:  # the mean over all queries
        error += (earlier.error - error) * earlier.mass / weights.mass
    return replace(weights, error=error)


def measure_classes(
    composed: ComposedModel,
    batch: FeedbackBatch,
    metric: Metric,
    weights_of: Callable[[str | None], BlockWeights],
) -> float:
    """Return the mean metric over the queries of all classes, each under the weights of its class.

    Without classes, it is the metric of all queries. `weights_of` returns the weights of a class.
    """
    evidence = batch.evidence()
    if not evidence:
        raise UsageError(
            "in every query all documents have the same label; expected at least "
            "one query with different labels"
        )
    by_class = {name: own for name, own in evidence.items() if name is not None}
    total = mass = 0.0
    for name, own in (by_class or evidence).items():
        scores = composed.for_users(weights_of(name)).scores(own.data.X, own.data.groups)
        share = float(own.alpha.sum())
        total += own.mean(scores, metric) * share
        mass += share
    return total / mass


# --- adaptation ---


@dataclass(frozen=True)
class Adaptation:
    """The record of the paper's loop: learn as feedback arrives, until the metric stops changing.

    Parameters
    ----------
    metric
        The metric, on each class's queries with its own weights and on other queries with those of
        all users.
    values
        With validation data: the metric before the first batch and after each batch. Otherwise: the
        metric of each batch before the ranker learns from it.
    queries
        The number of queries in each batch.
    converged
        Whether the metric stopped changing; if not, there were no more batches.
    reason
        Why it stopped.
    """

    metric: str
    values: tuple[float, ...]
    queries: tuple[int, ...]
    converged: bool
    reason: str

    def __len__(self) -> int:
        return len(self.queries)


def adapt(
    batches: Iterable[FeedbackBatch],
    valid: FeedbackBatch | None,
    *,
    metric: str,
    measure: Callable[[FeedbackBatch], float],
    update: Callable[[FeedbackBatch], object],
    tol: float,
    patience: int,
) -> Adaptation:
    """Update batch by batch until `measure` stops changing; see `CFBRS.learn_until_converged`."""
    if tol < 0 or patience < 1:
        raise UsageError(f"expected tol >= 0 and patience >= 1, got {tol!r} and {patience!r}")
    values = [] if valid is None else [measure(valid)]
    queries: list[int] = []
    n_unchanged, reason = 0, "no more batches"
    for batch in batches:
        if valid is None:
            values.append(measure(batch))
        update(batch)
        queries.append(batch.data.n_queries)
        if valid is not None:
            values.append(measure(valid))
        if len(values) > 1:
            n_unchanged = n_unchanged + 1 if abs(values[-1] - values[-2]) < tol else 0
        if n_unchanged >= patience:
            reason = f"{metric} changed by less than {tol:g} in {patience} batches"
            break
    return Adaptation(metric, tuple(values), tuple(queries), n_unchanged >= patience, reason)


# --- tables and lists ---


@dataclass(frozen=True)
class UserClass:
    """A class of users: its number of queries, its training error, and whether it has its own weights.

    After updates the error is the mean, over all queries, of the error when each was added.
    """

    name: str
    queries: int
    error: float
    temperature: float
    served: bool


@dataclass(frozen=True)
class ClassTable(Sequence[UserClass]):
    """The classes that a ranker knows, by name."""

    rows: tuple[UserClass, ...]
    metric: str = "NDCG@10"

    @classmethod
    def of(cls, classes: Sequence[BlockWeights], metric: str, max_error: float) -> ClassTable:
        """Return the table of these classes."""
        rows = (
            UserClass(str(c.name), c.queries, c.error, c.temperature, c.error <= max_error)
            for c in classes
        )
        return cls(tuple(rows), metric)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: int | str) -> UserClass:  # type: ignore[override]
        if isinstance(key, str):
            rows = [row for row in self.rows if row.name == key]
            if not rows:
                raise KeyError(key)
            return rows[0]
        return self.rows[key]

    def __iter__(self) -> Iterator[UserClass]:
        return iter(self.rows)

    def __repr__(self) -> str:
        lines = [("class", "queries", f"1 - {self.metric}", "T", "served")]
        for row in self.rows:
            own = "own weights" if row.served else "as all users"
            lines.append(
                (row.name, f"{row.queries:,}", f"{row.error:.4f}", f"{row.temperature:g}", own)
            )
        widths = [max(len(line[j]) for line in lines) for j in range(5)]
        return "\n".join(
            "  ".join(
                cell.rjust(w) if 0 < j < 4 else cell.ljust(w)
                for j, (cell, w) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )


@dataclass(frozen=True, eq=False, repr=False)
class PersonalList(RankedList):
    """The top of one query's list, and its class of users."""

    user_class: str | None = None
    served: str | None = None
    """The class whose weights were used; None: the weights of all users."""

    @classmethod
    def of(cls, ranked: RankedList, user_class: str | None, served: str | None) -> PersonalList:
        """Return a list for a class."""
        return cls(ranked.qid, ranked.rows, ranked.docids, ranked.scores, user_class, served)
