"""Whose queries these are: labels of classes of users, given as such or read from their feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data import RankingData
from podium.data.groups import Groups
from podium.ensemble.standing import Evidence
from podium.errors import LengthMismatchError, UsageError
from podium.rankers.models import Floats


class Log(Protocol):
    """Feedback on lists that were shown, as ``podium.feedback.Feedback`` has it."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of users that gave it."""
        ...

    def labels(self, data: RankingData, user_class: str | None = None) -> Floats:
        """A label for each row, NaN where the document was not shown."""
        ...

    def query_alphas(self, data: RankingData, user_class: str | None = None) -> Floats:
        """alpha of each query's lists, NaN where there is none."""
        ...


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries, and what their users made of them.

    Parameters
    ----------
    data
        The queries with their features; its labels count where there is no feedback.
    feedback
        What users did, as ``podium.feedback.read_ubi`` reads it: its labels count, for each class
        that it knows and for all users.
    user_class
        Whose labels the data has: one class a query, or one a row; None (or NaN) is nobody's in
        particular.
    """

    data: RankingData
    feedback: Any = None
    user_class: ArrayLike | None = None

    def evidence(self) -> dict[str | None, Evidence]:
        """What speaks for each class, and for all users (None); classes by name."""
        found: dict[str | None, Evidence | None] = {}
        if has_labels(self.feedback):
            if self.user_class is not None:
                raise UsageError(
                    "expected feedback, which knows its classes, or user_class; got both"
                )
            for name in (None, *sorted(self.feedback.classes)):
                found[name] = _clicked(self.data, self.feedback, name)
        else:
            found[None] = Evidence.of(self.data)
            for name, queries in queries_by_class(self.data, self.user_class).items():
                found[name] = Evidence.of(self.data.subset(queries))
        return {name: some for name, some in found.items() if some is not None}


def has_labels(feedback: Any) -> bool:
    """Whether feedback is that on lists, which says what documents were worth."""
    return hasattr(feedback, "labels") and hasattr(feedback, "classes")


def queries_by_class(
    data: RankingData, user_class: ArrayLike | None
) -> dict[str, NDArray[np.int64]]:
    """The queries of each class, by name; those of None are nobody's."""
    if user_class is None:
        return {}
    names = per_query_names(data, user_class)
    known = sorted({name for name in names if name is not None})
    return {name: np.flatnonzero([other == name for other in names]) for name in known}


def per_query_names(
    data: RankingData, user_class: ArrayLike | Sequence[str | None]
) -> list[str | None]:
    """The class of each query: one for all, one a query, or one a row that is equal within a query."""
    if isinstance(user_class, str):
        return [user_class] * data.n_queries
    given = np.asarray(user_class, dtype=object)
    if given.ndim != 1 or len(given) not in (data.n_queries, len(data)):
        raise LengthMismatchError(
            f"expected a class for each of {data.n_queries} queries or {len(data)} rows, got "
            f"{len(given) if given.ndim == 1 else f'an array of shape {given.shape}'}"
        )
    names = [None if _is_nobody(name) else str(name) for name in given.tolist()]
    if len(given) != data.n_queries:
        rows = data.regroup(np.array(names, dtype=object))
        given = rows[data.groups.offsets[:-1]]
        if (rows != data.groups.spread(given)).any():
            raise UsageError("expected one class a query, got rows of one query with several")
        names = given.tolist()
    return names


def _is_nobody(name: Any) -> bool:
    """Whether this is no class: None, NaN, or what data frames have for it."""
    return name is None or type(name).__name__ in ("NAType", "NaTType") or bool(name != name)


def _clicked(data: RankingData, feedback: Log, user_class: str | None) -> Evidence | None:
    """The documents that users saw, labelled by what they made of them, queries weighted by alpha."""
    labels = feedback.labels(data, user_class)
    rows = np.flatnonzero(~np.isnan(labels))
    if len(rows) == 0:
        return None
    alphas = feedback.query_alphas(data, user_class)
    counts = np.bincount(data.groups.codes[rows], minlength=data.n_queries)
    queries = np.flatnonzero(counts)
    column = data.docid_column
    shown = RankingData(
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
    return Evidence.of(shown, alphas[queries])
