"""The columns of ranking data, checked once: features, labels, queries, ids, texts, weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from podium.counted_nouns import count_text, count_texts
from podium.data.argument_checks import check_scaled, to_array
from podium.data.categories import Category
from podium.data.groups import Groups
from podium.data.judged_by import JudgedBy, check_judged_by, has_machine_labels, judges_text
from podium.data.packed_strings import Strings
from podium.errors import (
    DataError,
    EmptyDataError,
    LengthMismatchError,
    MissingDocidsError,
    NegativeLabelError,
    NonFiniteError,
    UsageError,
)
from podium.html_tables import html_table
from podium.typing import Matrix

Missing = Literal["error", "nan"]

_HOW_TO_FILL_IN = {
    "python": "podium.Prepared(ranker, impute='median') fills it in; read_table(..., missing='nan') and "
    "RankingData.from_arrays(..., missing='nan') keep it for rankers that take missing values",
    "command_line": "fill it in, or add --missing nan for rankers that take missing values",
}

ROWS_PER_CHECK = 1 << 14
"""Rows that are checked at a time: flags of all rows would take a share of the memory of X."""


@dataclass(frozen=True, eq=False, repr=False)
class RankingColumns:
    """The columns of RankingData, which describes them, with their checks and accessors.

    Writers of frames and files need only this class.
    """

    X: Matrix
    y: NDArray[np.float64]
    groups: Groups
    qids: NDArray[np.object_]
    docid_column: Strings | None = None
    comment_column: Strings | None = None
    query_weight: NDArray[np.float64] | None = None
    query_text: Strings | None = None
    doc_text: Mapping[str, Strings] = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None
    topk: int | None = None
    scaled: str | None = None
    missing: Missing = "error"
    source_rows: NDArray[np.int64] | None = None
    categories: Mapping[str, Category] = field(default_factory=dict)
    judged_by: JudgedBy | None = None

    def __post_init__(self) -> None:
        self.freeze_columns()
        _check_shapes(self)
        _check_features(self)
        _check_values(self)
        _check_categories(self)

    @classmethod
    def of_checked_features(cls, values: Mapping[str, Any]) -> Self:
        """Return data with these fields; its features were checked before, so they are not read again."""
        data = cls.__new__(cls)
        for name, value in values.items():
            object.__setattr__(data, name, value)  # a frozen dataclass allows no assignment
        data.freeze_columns()
        _check_shapes(data)
        _check_values(data)
        return data

    def freeze_columns(self) -> None:
        """Convert the columns to their types, and forbid changes."""
        dtype = np.float32 if np.asarray(self.X).dtype == np.float32 else np.float64
        self._set("X", _freeze(self.X, dtype))
        self._set("y", _freeze(np.array(self.y, dtype=np.float64), np.float64))
        self._set("qids", _freeze(np.array(self.qids, dtype=object), object))
        if self.query_weight is not None:
            self._set("query_weight", _freeze(np.array(self.query_weight, np.float64), np.float64))
        self._set("doc_text", MappingProxyType(dict(check_doc_text(self.doc_text))))
        self._set("feature_names", to_feature_names(self.feature_names))
        self._set("categories", MappingProxyType(dict(self.categories)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields, in memory for joblib; the copy is checked and frozen again."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        plain = {"doc_text": dict(self.doc_text), "categories": dict(self.categories)}
        return partial(type(self), **{**values, **plain}), ()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self.groups.n_rows

    def __repr__(self) -> str:
        labels = f"labels {self.y.min():g}..{self.y.max():g}"
        if self.topk is not None:
            labels = f"top-{self.topk} truth"
        if has_machine_labels(self.judged_by):
            labels += f" judged by {judges_text(self.judged_by)}"
        return (
            f"{type(self).__name__}({count_texts(query=self.n_queries, document=len(self))}, "
            f"{count_text(self.n_features, 'feature')}, {labels})"
        )

    def _repr_html_(self) -> str:
        """Return the first and last documents as a table for notebooks."""
        return html_table(
            repr(self), ("query", "document", "label", *self.names()), len(self), self._cells
        )

    def _cells(self, row: int) -> tuple[object, ...]:
        docid = None if self.docid_column is None else self.docid_column[row]
        qid = self.qids[int(np.searchsorted(self.groups.offsets, row, side="right")) - 1]
        return (qid, docid, f"{self.y[row]:g}", *self.feature_values(row))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.groups)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @cached_property
    def docids(self) -> NDArray[np.object_] | None:
        """Document ids, one per row, or None."""
        return None if self.docid_column is None else self.docid_column.to_array()

    @cached_property
    def comments(self) -> NDArray[np.object_] | None:
        """The comments behind ``#`` in a LETOR file, one per row, or None."""
        return None if self.comment_column is None else self.comment_column.to_array()

    def names(self) -> tuple[str, ...]:
        """Feature names, or f1..fd if the data has none."""
        return self.feature_names or tuple(f"f{j}" for j in range(1, self.n_features + 1))

    def feature_values(self, row: int) -> list[float | str]:
        """Return the features of a row; the word where a feature is a category."""
        values: list[float | str] = self.X[row].tolist()
        for j, category in self.category_columns():
            values[j] = category.decode(self.X[row, j])
        return values

    def category_columns(self) -> list[tuple[int, Category]]:
        """Return the column of each category, and its words."""
        names = self.names()
        return [(names.index(name), category) for name, category in self.categories.items()]

    def queries(self) -> Iterator[tuple[str, slice]]:
        """Each query id with its rows."""
        return zip(self.qids.tolist(), self.groups.slices(), strict=True)

    def require_docids(self, purpose: str) -> Strings:
        """Return the document ids; raises MissingDocidsError, which names the purpose, without them."""
        if self.docid_column is None:
            raise MissingDocidsError(f"{purpose} needs document ids and this data has none").advise(
                python="give docid= (arrays), doc= (tables) or '#docid = ...' comments (LETOR)",
                command_line="name their column with --doc (tables), or add '#docid = ...' comments "
                "(LETOR)",
            )
        return self.docid_column

    def check_scores(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Return scores as a vector; raises unless there is one number per row."""
        values = to_array(scores, "scores", np.float64)
        if values.ndim != 1:
            got = f"an array of shape {values.shape}"
            raise LengthMismatchError(f"expected one score per document, got {got}")
        values = np.ascontiguousarray(values)
        self.groups.check(values, "scores")
        if np.isnan(np.min(values, initial=0)):  # one pass, and no array of flags
            row = int(np.argmax(np.isnan(values)))
            raise NonFiniteError(
                f"expected scores that are numbers, got nan in row {row} "
                f"(query {self.qids[self.groups.codes[row]]!r})"
            )
        return values

    def regroup(self, values: ArrayLike) -> NDArray[Any]:
        """Put one value per row from the order of the input into the order of this data's rows."""
        array = to_array(values, "values")
        self.groups.check(array, "values")
        return array if self.source_rows is None else array[self.source_rows]

    def restore(self, values: ArrayLike) -> NDArray[Any]:
        """Put one value per row from the order of this data's rows into the order of the input."""
        array = to_array(values, "values")
        self.groups.check(array, "values")
        if self.source_rows is None:
            return array
        out = np.empty_like(array)
        out[self.source_rows] = array
        return out


def check_doc_text(doc_text: object) -> Mapping[str, Any]:
    """Return texts by field name; raises UsageError for anything else."""
    if not isinstance(doc_text, Mapping):
        raise UsageError(
            "expected doc_text as texts by field name, such as {'title': [...]}, "
            f"got {doc_text!r:.80}"
        )
    return doc_text


def to_feature_names(feature_names: object) -> tuple[str, ...] | None:
    """Return names as a tuple, or None; raise UsageError if they are not a list of names."""
    if feature_names is None:
        return None
    if not isinstance(feature_names, Iterable):
        raise UsageError(
            "expected feature_names as a list of names, one for each feature, "
            f"got {feature_names!r:.80}"
        )
    return tuple(map(str, feature_names))


def _check_shapes(data: RankingColumns) -> None:
    """Raise unless every column is as long as the groups say."""
    if data.X.ndim != 2 or data.y.ndim != 1:
        raise DataError(
            f"expected X with 2 dimensions and y with 1, got {data.X.ndim}, {data.y.ndim}"
        )
    if len(data.X) == 0:
        raise EmptyDataError("expected at least one document, got none")
    rows, queries = data.groups.n_rows, len(data.groups)
    per_row: dict[str, Sized | None] = {"X": data.X, "y": data.y, "docid_column": data.docid_column}
    per_row |= {"comment_column": data.comment_column, "source_rows": data.source_rows}
    per_row |= {f"doc_text[{name!r}]": text for name, text in data.doc_text.items()}
    per_query: dict[str, Sized | None] = {"qids": data.qids, "query_weight": data.query_weight}
    per_query |= {"query_text": data.query_text}
    for columns, n, unit in ((per_row, rows, "document"), (per_query, queries, "query")):
        for name, values in columns.items():
            if values is not None and len(values) != n:
                raise LengthMismatchError(
                    f"expected {n} values in {name}, one for each {unit}, got {len(values)}"
                )
    if data.feature_names is not None and len(data.feature_names) != data.n_features:
        raise LengthMismatchError(
            f"expected {data.n_features} feature names, got {len(data.feature_names)}"
        )
    if (data.groups.sizes == 0).any():
        empty = data.qids[int(np.argmin(data.groups.sizes))]
        raise EmptyDataError(f"expected documents for every query, got none for query {empty!r}")
    if len(set(data.qids.tolist())) != queries:
        qid, n_times = Counter(data.qids.tolist()).most_common(1)[0]
        raise DataError(f"expected every query once, got query {qid!r:.80} {n_times} times").advise(
            python="leave a file or a part out that repeats queries of another one",
            command_line="name each file once, and leave out files that repeat queries of others; a second "
            "file after --valid is training data",
        )


def _check_values(data: RankingColumns) -> None:
    """Raise at the first label, weight or setting of truth that is not allowed."""
    _check_labels(data)
    check_judged_by(data.judged_by)
    if data.query_weight is not None:
        good = np.isfinite(data.query_weight) & (data.query_weight >= 0)
        if not good.all() or not data.query_weight.any():
            raise DataError(
                "expected query weights that are finite, 0 or more and not all 0, "
                f"got {data.query_weight[np.argmin(good)]} for query {data.qids[np.argmin(good)]!r}"
            )
    if not isinstance(data.topk, int | np.integer | None):
        raise UsageError(f"expected topk to be a whole number, got {data.topk!r:.80}")
    if data.topk is not None and (
        data.topk < 1 or data.y.max() > data.topk or (data.y != np.floor(data.y)).any()
    ):
        raise DataError(
            f"expected whole position labels 0..{data.topk} for top-{data.topk} truth, "
            f"got labels up to {data.y.max():g}"
        )


def _check_categories(data: RankingColumns) -> None:
    """Raise unless each category is a feature whose values are places of its words."""
    for name, category in data.categories.items():
        if data.feature_names is None or data.feature_names.count(name) != 1:
            raise DataError(f"expected a category that is one of the features, got {name!r:.80}")
        codes = data.X[:, data.feature_names.index(name)]
        codes = codes[~np.isnan(codes)]
        if ((codes < 0) | (codes >= len(category.words)) | (codes != np.floor(codes))).any():
            raise DataError(
                f"expected places of {len(category.words)} words in the category {name!r:.80}, "
                "got other numbers"
            )


def _check_features(data: RankingColumns) -> None:
    if data.missing not in ("error", "nan"):
        raise UsageError(f"expected missing='error' or 'nan', got {data.missing!r}")
    check_scaled(data.scaled)
    # A sum is finite only if every term is: one pass and no mask, unless something is wrong.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(data.X.sum(dtype=np.float64)):
            return
    for first in range(0, len(data.X), ROWS_PER_CHECK):
        _check_block(data, first)


def _check_block(data: RankingColumns, first: int) -> None:
    """Raise at the first value of a block of rows that is not allowed."""
    block = data.X[first : first + ROWS_PER_CHECK]
    bad = np.isinf(block) if data.missing == "nan" else ~np.isfinite(block)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        value = block[row, column]
        error = NonFiniteError(
            f"expected finite features, got {value} in feature "
            f"{data.names()[column]} of {_describe_row(data, first + row)}"
        )
        raise error if np.isinf(value) else error.advise(**_HOW_TO_FILL_IN)


def _check_labels(data: RankingColumns) -> None:
    finite = np.isfinite(data.y)
    if not finite.all():
        row = int(np.argmin(finite))
        raise NonFiniteError(
            f"expected finite labels, got {data.y[row]} in {_describe_row(data, row)}"
        )
    if data.y.min() < 0:
        row = int(np.argmin(data.y))
        raise NegativeLabelError(
            f"expected labels of 0 or more, got {data.y[row]:g} in {_describe_row(data, row)}"
        )


def _describe_row(data: RankingColumns, row: int) -> str:
    """A row as the input numbered it, from 0, with its query."""
    query = data.qids[np.searchsorted(data.groups.offsets, row, side="right") - 1]
    source = row if data.source_rows is None else data.source_rows[row]
    return f"row {source} (query {query!r})"


def _freeze(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    # A view, so that freezing it leaves the caller's own array writable.
    array = np.ascontiguousarray(values, dtype=dtype).view()
    array.setflags(write=False)
    return array
