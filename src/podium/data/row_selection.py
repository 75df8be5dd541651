"""Some rows of ranking data in an order of their own, without a copy of the features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.groups import Groups
from podium.data.mapped_arrays import mapped_file
from podium.data.packed_strings import Strings
from podium.data.ranking_data import RankingData
from podium.typing import Matrix

_COLUMNS = ("X", "y", "docid_column", "comment_column", "doc_text")
"""Fields with one value per document: they are copied when they are asked for."""


class SelectedData(RankingData):
    """Queries of other ranking data, their rows in any order; columns are copied when they are asked for.

    Parameters
    ----------
    source
        The data that the rows come from. It is checked, so its rows need no check.
    queries
        The numbers of the queries.
    rows
        The row of the source for each row, query by query.

    Examples
    --------
    >>> data = RankingData.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 2], qid=["a", "a", "b"])
    >>> chosen = SelectedData(data, np.array([1, 0]), np.array([2, 1, 0]))
    >>> chosen.qids.tolist(), chosen.y.tolist(), chosen.X.ravel().tolist()
    (['b', 'a'], [2.0, 1.0, 0.0], [3.0, 2.0, 1.0])
    """

    def __new__(cls, *selection: Any, **columns: Any) -> Any:
        """Make data of columns plain RankingData: so `dataclasses.replace` gives data of its own."""
        return RankingData(**columns) if "X" in columns else super().__new__(cls)

    def __init__(
        self, source: RankingData, queries: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> None:
        if isinstance(source, SelectedData):
            rows = source.rows[rows]
        self._set("source", source.source if isinstance(source, SelectedData) else source)
        self._set("rows", rows)
        for field in fields(RankingData):
            if field.name not in _COLUMNS:
                self._set(field.name, getattr(source, field.name))
        self._set("groups", Groups.from_sizes(source.groups.sizes[queries]))
        self._set("qids", source.qids[queries])
        weight, text = source.query_weight, source.query_text
        self._set("query_weight", None if weight is None else weight[queries])
        self._set("query_text", None if text is None else text.take(queries))
        self._set("source_rows", None)

    source: RankingData
    rows: NDArray[np.int64]

    @cached_property
    def X(self) -> Matrix:  # noqa: N802
        """Features, one row per document: a copy."""
        return self._column(self.source.X)

    @cached_property
    def y(self) -> NDArray[np.float64]:
        """Labels, one per document."""
        return self._column(self.source.y)

    @cached_property
    def docid_column(self) -> Strings | None:
        """Document ids."""
        ids = self.source.docid_column
        return None if ids is None else ids.take(self.rows)

    @cached_property
    def comment_column(self) -> Strings | None:
        """LETOR comments."""
        comments = self.source.comment_column
        return None if comments is None else comments.take(self.rows)

    @cached_property
    def doc_text(self) -> dict[str, Strings]:
        """What people read of each document."""
        return {name: text.take(self.rows) for name, text in self.source.doc_text.items()}

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.source.n_features

    def stored_features(self) -> tuple[Matrix, NDArray[np.int64] | None]:
        """Return the features of the source, and the rows of them that these are."""
        return self.source.X, self.rows

    def per_document(
        self, name: str, compute: Callable[[RankingData], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return the values of these rows among those of the source."""
        return self.source.per_document(name, compute)[self.rows]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the columns as data of their own."""
        values = {field.name: getattr(self, field.name) for field in fields(RankingData)}
        return partial(RankingData, **{**values, "categories": dict(self.categories)}), ()

    def _column(self, values: NDArray[Any]) -> NDArray[Any]:
        column = values[self.rows]
        column.setflags(write=False)
        return column


def select_queries(data: RankingData, queries: NDArray[np.int64]) -> SelectedData:
    """Return these queries, in this order, without a copy of the features."""
    return SelectedData(data, queries, data.groups.take(queries)[1])


def mapped_blocks(data: RankingData, n_rows: int) -> Iterator[SelectedData] | None:
    """Return blocks of about `n_rows` selected rows of a mapped file; None for all other data.

    One block of such rows is no longer cut: it is copied when it is used.
    """
    X, rows = data.stored_features()
    if rows is None or mapped_file(X) is None or len(data) <= n_rows or data.n_queries == 1:
        return None
    return (
        select_queries(data, np.arange(block.queries.start, block.queries.stop))
        for block in data.groups.blocks(n_rows)
    )
