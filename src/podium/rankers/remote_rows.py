"""Rows of a collection on the workers of a cluster: labels are here, features stay with the workers."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import Collection, RankingData, ranking_data
from podium.data.collections.collection_parts import CollectionPart, collection_parts
from podium.data.concatenation import concatenate
from podium.data.row_selection import SelectedData
from podium.errors import UsageError
from podium.task_runner import TaskRunner
from podium.typing import Floats, Matrix

MAX_GROUPS = 64
"""The most groups of parts: each is one call per pass, whatever the number of workers."""


class RemoteRows(RankingData):
    """Ranking data whose features are on workers, in groups of consecutive parts.

    Parameters
    ----------
    collection
        The collection; every worker reads its parts from the same path.
    runner
        The cluster.
    """

    def __new__(cls, *arguments: Any, **columns: Any) -> Any:
        """Make data of columns plain RankingData, as `dataclasses.replace` does."""
        return RankingData(**columns) if "X" in columns else super().__new__(cls)

    def __init__(self, collection: Collection, runner: TaskRunner) -> None:
        labels = concatenate(list(collection.blocks(with_features=False)))
        for field in fields(RankingData):
            if field.name != "X":
                self._set(field.name, getattr(labels, field.name))
        self._set("feature_names", collection.feature_names)
        self._set("collection", collection)
        self._set("runner", runner)
        self._set("part_groups", group_parts(collection_parts(collection)))

    collection: Collection
    runner: TaskRunner
    part_groups: Sequence[Sequence[CollectionPart]]

    @cached_property
    def handles(self) -> list[Any]:
        """A handle of the rows of each group; workers read them when it is first used."""
        return [self.runner.keep((read_parts, (group,), {})) for group in self.part_groups]

    def forget(self) -> None:
        """Let the workers free the rows until they are used again."""
        self.__dict__.pop("handles", None)

    @property
    def X(self) -> Matrix:  # noqa: N802
        """Raise, because the features are not here."""
        raise UsageError(
            "the features of this collection are on the workers of the cluster, and this work needs them "
            "here"
        ).advise(python="leave podium.use for it", command_line="leave out --cluster")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.collection.n_features

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint that the rows have in memory."""
        n_bytes = (
            len(self) * self.n_features * np.dtype(self.collection.manifest.layout.dtype).itemsize
        )
        if n_bytes <= ranking_data.MAX_DIGESTED_BYTES:  # read here
            return self.collection.read().fingerprint
        return self.fingerprint_of(
            self.collection.manifest.layout.dtype,
            (len(self), self.n_features),
            self.feature_hashes(),
        )

    def feature_hashes(self, seed: int = 0) -> NDArray[np.uint64]:
        """Return a number for each document that its features decide."""
        return np.concatenate(self.map(_feature_hashes, seed))

    def per_document(
        self, name: str, compute: Callable[[RankingData], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return one value per document that its own content decides, computed by the workers."""
        return np.concatenate(self.map(_per_document, name, compute))

    def has_missing_values(self) -> bool:
        """Whether a feature is NaN."""
        return self.missing == "nan" and any(self.map(RankingData.has_missing_values))

    def score(self, model: Any) -> Floats:
        """Return a model's score of each document."""
        return np.concatenate(self.map(_score, model))

    def map(self, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return work(rows, *arguments) of each group, in order."""
        return list(self.runner.run((work, (rows, *arguments), {}) for rows in self.handles))

    def add_up(self, work: Callable[..., tuple[Any, ...]], *arguments: Any) -> tuple[Any, ...]:
        """Return the sums over groups of the tuples work(rows, *arguments)."""
        return self.runner.add_up([(work, (rows, *arguments), {}) for rows in self.handles])


def remote_rows(data: RankingData) -> RemoteRows | None:
    """Return the rows on workers that data is, or was selected from; None if its features are here."""
    source = data.source if isinstance(data, SelectedData) else data
    return source if isinstance(source, RemoteRows) else None


def group_parts(
    parts: Sequence[CollectionPart], n_groups: int = MAX_GROUPS
) -> list[list[CollectionPart]]:
    """Return consecutive parts in at most so many groups of about as many rows each."""
    ends = list(itertools.accumulate(part.record.rows for part in parts))
    bounds = sorted({bisect.bisect_left(ends, i * ends[-1] / n_groups) for i in range(n_groups)})
    return [list(parts[a:b]) for a, b in itertools.pairwise([*bounds, len(parts)])]


def read_parts(parts: Iterable[CollectionPart]) -> RankingData:
    """Return the rows of parts, without what fits do not need."""
    data = concatenate([part.read() for part in parts])
    return replace(data, comment_column=None, query_text=None, doc_text={})


def _feature_hashes(rows: RankingData, seed: int) -> NDArray[np.uint64]:
    return rows.feature_hashes(seed)


def _per_document(
    rows: RankingData, name: str, compute: Callable[[RankingData], NDArray[Any]]
) -> NDArray[Any]:
    return rows.per_document(name, compute)


def _score(rows: RankingData, model: Any) -> Floats:
    scores: Floats = model.score_documents(rows)
    return scores
