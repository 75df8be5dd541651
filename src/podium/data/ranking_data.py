"""RankingData, a ranking problem: documents in rows, grouped by query, with labels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from podium import kernels
from podium.data.argument_checks import to_array, to_labels
from podium.data.categories import Category
from podium.data.data_description import DataDescription
from podium.data.data_frames import Backend, make_frame, read_frame
from podium.data.feature_matrix import MAX_DENSE_BYTES, to_dense
from podium.data.feature_statistics import feature_statistics
from podium.data.groups import Groups
from podium.data.judged_by import JudgedBy
from podium.data.label_figures import draw_calibration, draw_category, draw_feature, draw_labels
from podium.data.large_labels import warn_of_large_labels
from podium.data.packed_strings import Strings
from podium.data.parquet_writer import write_parquet
from podium.data.query_ids import encode_queries, pack_texts, texts_per_query, values_per_query
from podium.data.ranking_columns import (
    ROWS_PER_CHECK,
    Missing,
    RankingColumns,
    check_doc_text,
    to_feature_names,
)
from podium.errors import EmptyDataError, LengthMismatchError, UnknownNameError
from podium.figure_style import new_axes
from podium.typing import Matrix, Path_

if TYPE_CHECKING:
    import scipy.sparse

MAX_DIGESTED_BYTES = 64 << 20
"""The most bytes of features that a fingerprint digests as they are (64 MiB)."""
WIDE_ROW_BYTES = 256
"""The least bytes of a document's features that are hashed eight words at a time, not as text."""
MAX_KEPT_COLUMNS = 4
"""The most columns of derived values that the data keeps."""


@dataclass(frozen=True, eq=False, repr=False)
class RankingData(RankingColumns):
    """Documents in rows, grouped by query; checked once, never changed.

    Parameters
    ----------
    X
        Features, one row per document, C-contiguous float32 or float64. Not copied if that can be
        avoided: do not change your own array afterwards.
    y
        Labels, one per document, 0 or more.
    groups
        Which rows belong to which query.
    qids
        Query ids (text), one per query.
    docid_column, comment_column
        Document ids and LETOR comments, one per document.
    query_weight
        How much each query counts, one per query.
    query_text, doc_text
        What people read: one string per query; named fields, one string per document.
    feature_names
        One per feature.
    topk
        The k of y = k + 1 - position, if labels are positions (top-k truth).
    scaled
        How the features were scaled within each query, if they were: "minmax", "zscore", or a name
        of your own. A model that is trained on the data keeps it; no engine can repeat the scaling.
    missing
        "nan" if NaN in X stands for a missing value.
    source_rows
        The input row of each row, if the rows of a query were apart in the input.
    categories
        The features that are words, by name: X has the place of each word. `Prepared` rankers take
        them.
    judged_by
        Who made the labels: ``"people"``, ``"machines"`` or ``"both"``; None if nobody says so. Files keep
        it, and `compare` warns of test data that machines judged.

    Examples
    --------
    >>> data = RankingData.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 2], qid=["a", "b", "a"])
    >>> data
    RankingData(2 queries, 3 documents, 1 feature, labels 0..2)
    >>> data.qids.tolist(), data.y.tolist(), data.groups.offsets.tolist()
    (['a', 'b'], [0.0, 2.0, 1.0], [0, 2, 3])
    """

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
        categories: Mapping[str, Category] | None = None,
        judged_by: JudgedBy | None = None,
        dtype: DTypeLike | None = None,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> RankingData:
        """Make data from arrays, one row per document; rows of one query need not be contiguous.

        Queries keep the order of their first row, rows their order within the query. If rows had
        to move, ``regroup`` brings other values per row into the new order, and ``restore`` takes
        them back. ``query_weight`` and ``query_text`` have one value per query (in the order of
        first rows) or one per row. A sparse X becomes dense if that takes at most ``max_bytes``.

        Examples
        --------
        >>> import numpy as np
        >>> X, y, qid = np.eye(4), [2, 0, 1, 0], [7, 8, 7, 8]
        >>> data = RankingData.from_arrays(X, y, qid=qid)
        >>> data.regroup(["r0", "r1", "r2", "r3"]).tolist()
        ['r0', 'r2', 'r1', 'r3']
        """
        X = to_dense(X, dtype, max_bytes)
        codes, qids = encode_queries(qid)
        y = to_labels(y)
        for what, values in (("labels", y), ("query ids", codes)):
            if values.shape != X.shape[:1]:
                raise LengthMismatchError(
                    f"expected {len(X)} {what}, one for each row of X, got {values.shape}"
                )
        warn_of_large_labels(y, topk)
        groups, rows = Groups.from_codes(codes, len(qids))
        order = slice(None) if rows is None else rows
        first = np.arange(len(codes))[order][groups.offsets[:-1]]
        column = None if docid is None else pack_texts(docid, "docid", len(X))
        texts = {
            name: pack_texts(values, f"doc_text[{name!r}]", len(X))
            for name, values in check_doc_text({} if doc_text is None else doc_text).items()
        }
        return cls(
            X=X[order],
            y=y[order],
            groups=groups,
            qids=qids,
            docid_column=_reorder(column, rows),
            query_weight=values_per_query(query_weight, codes, first, "query_weight"),
            query_text=texts_per_query(query_text, codes, first),
            doc_text={
                name: text if rows is None else text.take(rows) for name, text in texts.items()
            },
            feature_names=to_feature_names(feature_names),
            topk=topk,
            scaled=scaled,
            missing=missing,
            source_rows=rows,
            categories={} if categories is None else categories,
            judged_by=judged_by,
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
        """Make data from a pandas, polars or pyarrow table, one row per document.

        Parameters
        ----------
        frame
            The table.
        label, query, doc
            Column names. With label=None all labels are 0: documents to be scored.
        features
            Columns to use; by default every other column. They hold numbers, or have a categorical
            type, or are named in ``categories``.
        options
            ``weight`` and ``query_text``: names of columns. ``doc_text``: names of columns that people
            read, such as title and body. ``categories``: names of features that are words.
            ``topk``, ``scaled`` and ``missing``: as in RankingData.

        Examples
        --------
        >>> import pandas as pd
        >>> df = pd.DataFrame({"qid": [1, 1], "label": [1, 0], "bm25": [2.5, 0.5], "id": ["a", "b"]})
        >>> data = RankingData.from_frame(df, doc="id")
        >>> data.feature_names, data.docids.tolist()
        (('bm25',), ['a', 'b'])
        """
        return cls.from_arrays(**read_frame(frame, label, query, features, doc, **options))

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Make a pandas, polars or pyarrow table: qid, label, docid (if there are ids), features.

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> make_synthetic(n_queries=2, seed=0).to_frame("polars").columns[:3]
        ['qid', 'label', 'docid']
        """
        return make_frame(self, backend)

    def to_parquet(self, path: Path_) -> None:
        """Write a Parquet copy, which opens without parsing; read with ``read_parquet``."""
        write_parquet(self, path)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of features, labels, queries and their weights, which identifies a data set.

        Large features enter by a hash of each document, which takes no longer than to read them.
        """
        features: NDArray[Any] = self.X
        if features.nbytes > MAX_DIGESTED_BYTES:
            return self.fingerprint_of(features.dtype.name, features.shape, self.feature_hashes())
        return self.fingerprint_of("", (), features)

    def fingerprint_of(self, dtype: str, shape: tuple[int, ...], features: NDArray[Any]) -> str:
        """Return the fingerprint from small features, or from the hashes of features of a type and shape."""
        digest = hashlib.sha256()
        weight = np.ones(self.n_queries) if self.query_weight is None else self.query_weight
        if dtype:
            digest.update(f"{dtype}{shape}".encode())
        for array in (features, self.y, self.groups.offsets, weight):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(array.data)
        digest.update("\n".join(self.qids.tolist()).encode("utf-8", "surrogatepass"))
        for name, category in self.categories.items():
            digest.update("\n".join((name, *category.words)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def feature_hashes(self, seed: int = 0) -> NDArray[np.uint64]:
        """Return a number for each document that its features decide, computed once for all fits."""
        return self.per_document(
            f"feature hashes, seed {seed}", lambda data: data.hash_features(seed)
        )

    def hash_features(self, seed: int = 0) -> NDArray[np.uint64]:
        """Return a new number for each document that its features decide; wide rows are read by words."""
        features, width = self.X.view(np.uint8), self.X[:1].nbytes
        if width >= WIDE_ROW_BYTES:
            return kernels.hash_rows(features, int(seed))
        bounds = np.arange(len(self) + 1, dtype=np.int64) * width
        return Strings(features.reshape(-1), bounds).hash(seed)

    def per_document(
        self, name: str, compute: Callable[[RankingData], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return one value per document that its own content decides, computed once for all fits."""
        values: dict[str, NDArray[Any]] = self.__dict__.setdefault("_per_document", {})
        column = values.get(name)
        if column is None:
            column = compute(self)
            if len(values) >= MAX_KEPT_COLUMNS:
                values.clear()
            values[name] = column
        return column  # not values[name]: another thread may have cleared them

    def stored_features(self) -> tuple[Matrix, NDArray[np.int64] | None]:
        """Return the features as they are stored, and which of their rows the documents are (None: all)."""
        return self.X, None

    def feature_rows(self, first: int, last: int) -> Matrix:
        """Return the features of the documents `first` to `last` - 1; others are not copied."""
        X, rows = self.stored_features()
        return X[first:last] if rows is None else X[rows[first:last]]

    def feature_column(self, feature: int) -> NDArray[Any]:
        """Return one feature of all documents; others are not copied."""
        X, rows = self.stored_features()
        column: NDArray[Any] = X[:, feature] if rows is None else X[rows, feature]
        return column

    def has_missing_values(self) -> bool:
        """Whether a feature is NaN; only data with missing="nan" can have such features."""
        if self.missing != "nan":
            return False
        starts = range(0, len(self), ROWS_PER_CHECK)
        return any(np.isnan(self.feature_rows(i, i + ROWS_PER_CHECK)).any() for i in starts)

    def subset(self, queries: Sequence[int] | NDArray[Any]) -> RankingData:
        """Return these queries (by number, or a mask), in this order.

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
            categories=self.categories,
            judged_by=self.judged_by,
        )

    def with_features(
        self,
        X: ArrayLike,
        feature_names: Sequence[str] | None = None,
        *,
        scaled: str | None = None,
    ) -> RankingData:
        """Return the same documents with other features, all of them numbers.

        scaled=None keeps `scaled` as it was.
        """
        return self._replace_columns(
            X=to_array(X, "X"),
            categories={},
            feature_names=to_feature_names(feature_names) or self.feature_names,
            # Features made from scaled ones depend on the whole query, as those do.
            scaled=self.scaled if scaled is None else scaled,
        )

    def with_labels(self, y: ArrayLike, topk: int | None = None) -> RankingData:
        """Return the same documents with other labels, which are positions if topk is given."""
        return self._replace_columns(y=to_labels(y), topk=topk)

    def _replace_columns(self, **changes: Any) -> RankingData:
        """Return RankingData even if this is a subclass with fields of its own."""
        names = [f.name for f in fields(RankingData) if f.name not in changes]
        values = {name: getattr(self, name) for name in names} | changes
        return RankingData(**values) if "X" in changes else RankingData.of_checked_features(values)

    def describe(self) -> DataDescription:
        """Return the range, the missing values and the oddities of each feature.

        Examples
        --------
        >>> RankingData.from_arrays([[1, 5], [2, 5], [4, 5]], [0, 1, 0], qid=[1, 1, 1]).describe()
        RankingData(1 query, 3 documents, 2 features, labels 0..1)
        feature  missing  min  median  max  note
        f1             0    1       2    4
        f2             0    5       5    5  constant
        """
        return DataDescription(repr(self), feature_statistics(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the number of documents with each label; return the axes."""
        ax = new_axes("drawing labels") if ax is None else ax
        draw_labels(ax, self.y, self.n_queries)
        return ax

    def plot_feature(self, feature: str, ax: Any = None) -> Any:
        """Draw the distribution of a feature for each label; return the axes.

        The thick line has the quartiles, the thin one 5% to 95% of the documents, the black one is
        the median. For a category, bars count the documents with each word, divided by label.

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> make_synthetic(n_queries=20, seed=0).plot_feature("f1").get_ylabel()
        'f1'
        """
        names = self.names()
        if feature not in names:
            raise UnknownNameError("feature", str(feature), names)
        ax = new_axes("drawing a feature") if ax is None else ax
        values = self.X[:, names.index(feature)].astype(np.float64)
        if feature in self.categories:
            draw_category(ax, values, self.y, feature, self.categories[feature])
        else:
            draw_feature(ax, values, self.y, feature)
        return ax

    def plot_calibration(self, scores: ArrayLike, ax: Any = None, *, bins: int = 10) -> Any:
        """Draw the mean label of documents with about the same score; return the axes.

        The documents of all queries are sorted by score and cut into equal parts. A line that falls
        somewhere shows scores that put worse documents first. The intervals take documents as
        independent, so they are somewhat narrow.

        Parameters
        ----------
        scores
            One score per row, in the order of the rows.
        bins
            The number of parts.
        """
        values = self.check_scores(scores)
        ax = new_axes("drawing a calibration") if ax is None else ax
        draw_calibration(ax, values, self.y, bins)
        return ax

    def equals(self, other: RankingData) -> bool:
        """Whether all columns are the same, to the bit (missing values included)."""
        return isinstance(other, RankingData) and all(
            _is_same(getattr(self, f.name), getattr(other, f.name))
            for f in fields(RankingData)
            if f.name != "source_rows"
        )


def _reorder(column: Strings | None, rows: NDArray[np.int64] | None) -> Strings | None:
    return column if column is None or rows is None else column.take(rows)


def _is_same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        nan = a.dtype.kind == "f"
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=nan)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_is_same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b
