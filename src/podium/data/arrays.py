"""Arrays as people have them -> what RankingData holds."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from podium.data.checks import check_memory, to_array
from podium.data.strings import Strings
from podium.errors import DataError, LengthMismatchError, UsageError

Matrix = NDArray[np.float64] | NDArray[np.float32]


def dense(X: Any, dtype: DTypeLike | None, max_bytes: int) -> Matrix:
    """X as a dense matrix, or an error where a sparse one would grow too large."""
    if dtype is None:
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = None
    if kind not in (np.float32, np.float64):
        raise UsageError(f"expected dtype float32 or float64, got {dtype}")
    # scipy.sparse takes a quarter of a second to import; who has a sparse matrix has paid for it.
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(X):
        check_sparse(X)
        check_memory(X.shape[0], X.shape[1], np.dtype(dtype).itemsize, max_bytes)
        X = X.toarray()
    dense: Matrix = to_array(X, "X", dtype)
    if dense.ndim != 2:
        raise DataError(f"expected X with rows and columns (2 dimensions), got shape {dense.shape}")
    return dense


def check_sparse(X: Any) -> None:
    """Raise DataError where a sparse matrix points outside itself.

    SciPy's loops do not look, so a damaged matrix would write beyond the dense one.
    """
    if X.ndim != 2:
        raise DataError(f"expected X with rows and columns (2 dimensions), got shape {X.shape}")
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
        elif X.format == "coo":
            _check_coordinates(X)
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(f"expected a sound sparse matrix X, got a damaged one ({error})") from None


def _check_coordinates(X: Any) -> None:
    for places, length in zip((X.row, X.col), X.shape, strict=True):
        if len(places) != len(X.data):
            raise ValueError("not one row and column for each value")
        if len(places) and not 0 <= places.min() <= places.max() < length:
            raise ValueError("a row or column outside the matrix")


def encode_queries(qid: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Query ids -> a number for each row, and the ids as text in order of first appearance."""
    ids = to_array(qid, "query ids")
    if ids.ndim != 1:
        raise DataError(f"expected one query id a row, got an array of shape {ids.shape}")
    if ids.dtype.kind == "f":
        if not (np.abs(ids) < 2**63).all() or not np.array_equal(ids, np.floor(ids)):
            raise DataError(
                "expected query ids that are text or whole numbers, got fractions or NaN"
            )
        ids = ids.astype(np.int64)
    if ids.dtype.kind not in "iuUSO":
        raise DataError(f"expected query ids that are text or whole numbers, got dtype {ids.dtype}")
    if ids.dtype.kind in "OS":
        if any(is_missing(i) for i in ids.tolist()):
            raise DataError("expected a query id for every row, got a missing one")
        ids = np.array([_text(i) for i in ids.tolist()], object)
    # Runs of one id first: mostly there is one a query, and far fewer of them than rows.
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1])) if len(ids) else np.arange(0)
    unique, first, inverse = np.unique(ids[starts], return_index=True, return_inverse=True)
    by_appearance = np.argsort(first, kind="stable")
    number = np.empty(len(unique), dtype=np.int64)
    number[by_appearance] = np.arange(len(unique))
    qids = np.array([str(i) for i in unique[by_appearance].tolist()], dtype=object)
    return np.repeat(number[inverse], np.diff(starts, append=len(ids))), qids


def _text(value: object) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def is_missing(value: object) -> bool:
    """None, NaN or pandas.NA (which has no truth value)."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def pack(values: Sequence[object] | NDArray[Any] | Strings, what: str, n: int | None) -> Strings:
    """Text for each row, packed; n says how many there must be."""
    if not isinstance(values, Iterable):
        raise DataError(f"expected texts in {what}, one for each row, got {values!r:.80}")
    texts = values if isinstance(values, Strings) else Strings.of([str(v) for v in values])
    if n is not None and len(texts) != n:
        raise LengthMismatchError(
            f"expected {n} values in {what}, one for each row, got {len(texts)}"
        )
    return texts


def per_query(
    values: ArrayLike | None, codes: NDArray[np.int64], first: NDArray[np.int64], what: str
) -> NDArray[np.float64] | None:
    """One value a query from one a query or one a row."""
    if values is None:
        return None
    array = to_array(values, what, np.float64)
    if array.shape == first.shape:
        return array
    if array.shape != codes.shape:
        raise LengthMismatchError(
            f"expected {what} with {len(first)} values (one a query) or {len(codes)} (one a row), "
            f"got {array.shape}"
        )
    chosen = array[first]
    if not np.array_equal(chosen[codes], array, equal_nan=True):
        raise DataError(f"expected one {what} for all rows of a query, got different ones")
    return chosen


def text_per_query(
    values: Sequence[str] | Strings | None, codes: NDArray[np.int64], first: NDArray[np.int64]
) -> Strings | None:
    """One text a query from one a query or one a row."""
    if values is None:
        return None
    texts = pack(values, "query_text", None)
    if len(texts) == len(first):
        return texts
    if len(texts) != len(codes):
        raise LengthMismatchError(
            f"expected query_text with {len(first)} texts (one a query) or {len(codes)} (one a row), "
            f"got {len(texts)}"
        )
    return texts.take(first)
