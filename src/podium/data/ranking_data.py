"""What a ranking problem is: documents in rows, grouped by query, with labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from podium.data.arrays import Matrix, dense, encode_queries, pack, per_query, text_per_query
from podium.data.checks import DENSE_LIMIT, check_shapes, check_values, to_array
from podium.data.groups import Groups
from podium.data.strings import Strings
from podium.errors import (
    DataError,
    EmptyDataError,
    LengthMismatchError,
    MissingDocidsError,
    NonFiniteError,
    UsageError,
)

if TYPE_CHECKING:
    import scipy.sparse

Missing = Literal["error", "nan"]


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """Documents in rows, grouped by query; checked once, never changed.

    Parameters
    ----------
    X
        Features, one row a document, C-contiguous float32 or float64. Not copied where that can
        be avoided: leave your own array as it is.
    y
        Labels, one a document, 0 or more.
    groups
        Which rows belong to which query.
    qids
        Query ids (text), one a query.
    docid_column, comment_column
        Document ids and LETOR comments, one a document.
    query_weight
        How much each query counts, one a query.
    query_text, doc_text
        What people read: one string a query; named fields, one string a document.
    feature_names
        One a feature.
    topk
        Where labels are positions (top-k truth): the k of y = k + 1 - position.
    scaled
        How the features were scaled within each query, if they were: "minmax", "zscore", or a name
        of one's own. A model trained on such data knows it, and no engine can repeat it.
    missing
        "nan" where NaN in X stands for a missing value.
    source_rows
        The input row of each row, where the input had a query's rows apart.

    Examples
    --------
    >>> data = RankingData.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 2], qid=["a", "b", "a"])
    >>> data
    RankingData(2 queries, 3 documents, 1 feature, labels 0..2)
    >>> data.qids.tolist(), data.y.tolist(), data.groups.offsets.tolist()
    (['a', 'b'], [0.0, 2.0, 1.0], [0, 2, 3])
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

    def __post_init__(self) -> None:
        dtype = np.float32 if np.asarray(self.X).dtype == np.float32 else np.float64
        self._set("X", _frozen(self.X, dtype))
        self._set("y", _frozen(np.array(self.y, dtype=np.float64), np.float64))
        self._set("qids", _frozen(np.array(self.qids, dtype=object), object))
        if self.query_weight is not None:
            self._set("query_weight", _frozen(np.array(self.query_weight, np.float64), np.float64))
        self._set("doc_text", MappingProxyType(dict(self.doc_text)))
        check_shapes(self)
        check_values(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled in memory (for joblib) as its fields; the copy is checked and frozen again."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return partial(type(self), **{**values, "doc_text": dict(self.doc_text)}), ()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike | scipy.sparse.sparray | scipy.sparse.spmatrix,
        y: ArrayLike,
        *,
        qid: ArrayLike,
        docid: Sequence[object] | NDArray[Any] | Strings | None = None,
        query_weight: ArrayLike | None = None,
        query_text: Sequence[str] | Strings | None = None,
        doc_text: Mapping[str, Sequence[str] | Strings] | None = None,
        feature_names: Sequence[str] | None = None,
        topk: int | None = None,
        scaled: str | None = None,
        missing: Missing = "error",
        dtype: DTypeLike | None = None,
        max_bytes: int = DENSE_LIMIT,
    ) -> RankingData:
        """From arrays, one row a document; rows of one query need not be contiguous.

        Queries keep the order of their first row, rows their order within the query. Where
        rows had to move, ``regroup`` brings other per-row values into the new order and
        ``restore`` takes them back. ``query_weight`` and ``query_text`` are given one a query
        (in the order of first rows) or one a row. Sparse X is made dense if that takes at
        most ``max_bytes``.

        Examples
        --------
        >>> import numpy as np
        >>> X, y, qid = np.eye(4), [2, 0, 1, 0], [7, 8, 7, 8]
        >>> data = RankingData.from_arrays(X, y, qid=qid)
        >>> data.regroup(["r0", "r1", "r2", "r3"]).tolist()
        ['r0', 'r2', 'r1', 'r3']
        """
        X = dense(X, dtype, max_bytes)
        codes, qids = encode_queries(qid)
        y = to_array(y, "labels", np.float64)
        for what, values in (("labels", y), ("query ids", codes)):
            if values.shape != X.shape[:1]:
                raise LengthMismatchError(
                    f"expected {len(X)} {what}, one for each row of X, got {values.shape}"
                )
        groups, rows = Groups.from_codes(codes, len(qids))
        order = slice(None) if rows is None else rows
        first = np.arange(len(codes))[order][groups.offsets[:-1]]
        column = None if docid is None else pack(docid, "docid", len(X))
        texts = {
            name: pack(values, f"doc_text[{name!r}]", len(X))
            for name, values in (doc_text or {}).items()
        }
        return cls(
            X=X[order],
            y=y[order],
            groups=groups,
            qids=qids,
            docid_column=_reorder(column, rows),
            query_weight=per_query(query_weight, codes, first, "query_weight"),
            query_text=text_per_query(query_text, codes, first),
            doc_text={
                name: text if rows is None else text.take(rows) for name, text in texts.items()
            },
            feature_names=None if feature_names is None else tuple(map(str, feature_names)),
            topk=topk,
            scaled=scaled,
            missing=missing,
            source_rows=rows,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str | None = "label",
        query: str = "qid",
        features: Sequence[str] | None = None,
        doc: str | None = None,
        **options: Any,
    ) -> RankingData:
        """From a pandas, polars or pyarrow table; see ``podium.data.frames.from_frame``."""
        from podium.data.frames import from_frame

        return from_frame(frame, label, query, features, doc, **options)

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """As a pandas, polars or pyarrow table; see ``podium.data.frames.to_frame``."""
        from podium.data.frames import to_frame

        return to_frame(self, backend)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write a Parquet copy, which opens without parsing; read with ``read_parquet``."""
        from podium.data.parquet import write_parquet

        write_parquet(self, path)

    def __len__(self) -> int:
        return self.groups.n_rows

    def __repr__(self) -> str:
        labels = f"labels {self.y.min():g}..{self.y.max():g}"
        if self.topk is not None:
            labels = f"top-{self.topk} truth"
        return (
            f"{type(self).__name__}({_count(self.n_queries, 'query', 'queries')}, "
            f"{_count(len(self), 'document')}, {_count(self.n_features, 'feature')}, {labels})"
        )

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
        """Document ids, one a row, or None."""
        return None if self.docid_column is None else self.docid_column.to_array()

    @cached_property
    def comments(self) -> NDArray[np.object_] | None:
        """What stood behind ``#`` in a LETOR file, one a row, or None."""
        return None if self.comment_column is None else self.comment_column.to_array()

    @cached_property
    def fingerprint(self) -> str:
        """What tells data sets apart: SHA-256 of features, labels, queries and their weights.

        Made once: on large data it takes as long as some passes of training.
        """
        digest = hashlib.sha256()
        weight = np.ones(self.n_queries) if self.query_weight is None else self.query_weight
        for array in (self.X, self.y, self.groups.offsets, weight):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(array.data)
        digest.update("\n".join(self.qids.tolist()).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def require_docids(self, purpose: str) -> Strings:
        """The document ids, or an error that says what they are needed for."""
        if self.docid_column is None:
            raise MissingDocidsError(
                f"{purpose} needs document ids and this data has none; "
                "give docid= (arrays), doc= (frames) or '#docid = ...' comments (LETOR)"
            )
        return self.docid_column

    def check_scores(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Scores as a vector with one number a row, or an error that says what they are instead."""
        values = to_array(scores, "scores", np.float64)
        if values.ndim != 1:
            got = f"an array of shape {values.shape}"
            raise LengthMismatchError(f"expected one score per document, got {got}")
        values = np.ascontiguousarray(values)
        self.groups.check(values, "scores")
        if np.isnan(values).any():
            row = int(np.argmax(np.isnan(values)))
            raise NonFiniteError(
                f"expected scores that are numbers, got nan in row {row} "
                f"(query {self.qids[self.groups.codes[row]]!r})"
            )
        return values

    def names(self) -> tuple[str, ...]:
        """Feature names, or f1..fd where they have none."""
        return self.feature_names or tuple(f"f{j}" for j in range(1, self.n_features + 1))

    def queries(self) -> Iterator[tuple[str, slice]]:
        """Each query id with its rows."""
        return zip(self.qids.tolist(), self.groups.slices(), strict=True)

    def subset(self, queries: Sequence[int] | NDArray[Any]) -> RankingData:
        """These queries (by number, or a mask), in this order.

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> make_synthetic(n_queries=5, seed=0).subset([4, 0]).qids.tolist()
        ['q5', 'q1']
        """
        queries = to_array(queries, "query numbers")
        if queries.dtype == bool:
            if len(queries) != self.n_queries:
                raise LengthMismatchError(
                    f"expected a mask of {self.n_queries} queries, got {len(queries)}"
                )
            queries = np.flatnonzero(queries)
        groups, rows = self.groups.take(queries)
        if len(rows) == 0:
            raise EmptyDataError("expected at least one query in a subset, got none")
        return RankingData(
            X=self.X[rows],
            y=self.y[rows],
            groups=groups,
            qids=self.qids[queries],
            docid_column=_reorder(self.docid_column, rows),
            comment_column=_reorder(self.comment_column, rows),
            query_weight=None if self.query_weight is None else self.query_weight[queries],
            query_text=_reorder(self.query_text, queries),
            doc_text={name: text.take(rows) for name, text in self.doc_text.items()},
            feature_names=self.feature_names,
            topk=self.topk,
            scaled=self.scaled,
            missing=self.missing,
        )

    def with_features(
        self,
        X: ArrayLike,
        feature_names: Sequence[str] | None = None,
        *,
        scaled: str | None = None,
    ) -> RankingData:
        """The same documents with other features; `scaled` as it was, unless it is given."""
        names = self.feature_names if feature_names is None else tuple(feature_names)
        # What is made of features that were scaled depends on the whole query as they do.
        how = self.scaled if scaled is None else scaled
        return self._plain(X=to_array(X, "X"), feature_names=names, scaled=how)

    def with_labels(self, y: ArrayLike, topk: int | None = None) -> RankingData:
        """The same documents with other labels (positions, where topk is given)."""
        return self._plain(y=to_array(y, "labels", np.float64), topk=topk)

    def _plain(self, **changes: Any) -> RankingData:
        values = {f.name: getattr(self, f.name) for f in fields(RankingData)}
        return RankingData(**{**values, **changes})

    def regroup(self, values: ArrayLike) -> NDArray[Any]:
        """Per-row values in the order of the input -> in the order of this data's rows."""
        array = to_array(values, "values")
        self.groups.check(array, "values")
        return array if self.source_rows is None else array[self.source_rows]

    def restore(self, values: ArrayLike) -> NDArray[Any]:
        """Per-row values in the order of this data's rows -> in the order of the input."""
        array = to_array(values, "values")
        self.groups.check(array, "values")
        if self.source_rows is None:
            return array
        out = np.empty_like(array)
        out[self.source_rows] = array
        return out

    def equals(self, other: RankingData) -> bool:
        """Whether all is the same, to the bit (missing values included)."""
        return isinstance(other, RankingData) and all(
            _same(getattr(self, f.name), getattr(other, f.name))
            for f in fields(RankingData)
            if f.name != "source_rows"
        )


def concatenate(parts: Sequence[RankingData]) -> RankingData:
    """The queries of several data sets as one; a query that stands in two of them is an error.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=4, seed=0)
    >>> concatenate([data.subset([0, 1]), data.subset([2, 3])]).n_queries
    4
    """
    if not parts:
        raise UsageError("expected at least one data set to concatenate, got none")
    head = parts[0]
    for part in parts[1:]:
        if part.scaled != head.scaled:
            first, second = (
                "not said to be" if one is None else one for one in (head.scaled, part.scaled)
            )
            raise DataError(
                f"expected data sets scaled alike within queries, got one that is {first} and one that "
                f"is {second}; see podium data convert --scale and --scaled"
            )
        for what in ("n_features", "feature_names", "topk"):
            if getattr(part, what) != getattr(head, what):
                raise DataError(
                    f"expected data sets with the same {what}, "
                    f"got {getattr(head, what)} and {getattr(part, what)}"
                )
    weights = [p.query_weight for p in parts]
    weighted = any(w is not None for w in weights)
    return RankingData(
        X=np.concatenate([p.X for p in parts]),
        y=np.concatenate([p.y for p in parts]),
        groups=Groups.from_sizes(np.concatenate([p.groups.sizes for p in parts])),
        qids=np.concatenate([p.qids for p in parts]),
        docid_column=_join([p.docid_column for p in parts]),
        comment_column=_join([p.comment_column for p in parts]),
        query_weight=np.concatenate(
            [np.ones(p.n_queries) if w is None else w for p, w in zip(parts, weights, strict=True)]
        )
        if weighted
        else None,
        query_text=_join([p.query_text for p in parts]),
        doc_text={
            name: Strings.concatenate([p.doc_text[name] for p in parts])
            for name in head.doc_text
            if all(name in p.doc_text for p in parts)
        },
        feature_names=head.feature_names,
        topk=head.topk,
        scaled=head.scaled,
        source_rows=_joined_rows(parts),
        missing="nan" if any(p.missing == "nan" for p in parts) else "error",
    )


def _joined_rows(parts: Sequence[RankingData]) -> NDArray[np.int64] | None:
    """The input rows of data sets one below the other."""
    if all(p.source_rows is None for p in parts):
        return None
    starts = np.cumsum([0] + [len(p) for p in parts])
    rows = [np.arange(len(p)) if p.source_rows is None else p.source_rows for p in parts]
    return np.concatenate([r + start for r, start in zip(rows, starts, strict=False)])


def _join(columns: Sequence[Strings | None]) -> Strings | None:
    present = [c for c in columns if c is not None]
    return Strings.concatenate(present) if len(present) == len(columns) else None


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _frozen(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    # A view, so that freezing it leaves the caller's own array writable.
    array = np.ascontiguousarray(values, dtype=dtype).view()
    array.setflags(write=False)
    return array


def _reorder(column: Strings | None, rows: NDArray[np.int64] | None) -> Strings | None:
    return column if column is None or rows is None else column.take(rows)


def _same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        nan = a.dtype.kind == "f"
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=nan)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b
