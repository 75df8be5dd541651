"""Query ids, and values with one per query or one per row, as columns of ranking data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.argument_checks import to_array
from podium.data.packed_strings import Strings
from podium.errors import DataError, LengthMismatchError

_SPACES = str.maketrans(dict.fromkeys(" \t\r\n\v\f", "_"))


def id_of_text(text: str) -> str:
    """Return the id of a query that is named by its text: TREC files take no spaces in ids.

    Examples
    --------
    >>> id_of_text("cheap garden hose")
    'cheap_garden_hose'
    """
    return text.translate(_SPACES)


def ids_of_texts(texts: Iterable[str], path: str | None = None) -> NDArray[np.object_]:
    """Return the ids of queries that are named by their texts; raise if two of them have the same id."""
    text_of: dict[str, str] = {}
    for text in texts:
        first = text_of.setdefault(id_of_text(text), text)
        if first != text:
            raise DataError(
                f"expected queries with different ids, got {id_of_text(text)!r:.60} for both {first!r:.60} "
                f"and {text!r:.60}",
                path=path,
            ).advise(
                python="add a column of query ids, or correct one of the texts",
                command_line="add a column of query ids (--query), or correct one of the texts",
            )
    return np.array(list(text_of), dtype=object)


def encode_queries(
    qid: ArrayLike | Strings,
) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Return a query number for each row, and the ids as text in order of first appearance."""
    if isinstance(qid, Strings):
        return _encode_packed(qid)
    ids = to_array(qid, "query ids")
    if ids.ndim != 1:
        raise DataError(f"expected one query id per row, got an array of shape {ids.shape}")
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
        ids = np.array([_to_text(i) for i in ids.tolist()], object)
    # Runs of one id first: mostly a query is one run, and runs are far fewer than rows.
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1])) if len(ids) else np.arange(0)
    unique, first, inverse = np.unique(ids[starts], return_index=True, return_inverse=True)
    by_appearance = np.argsort(first, kind="stable")
    number = np.empty(len(unique), dtype=np.int64)
    number[by_appearance] = np.arange(len(unique))
    qids = np.array([str(i) for i in unique[by_appearance].tolist()], dtype=object)
    return np.repeat(number[inverse], np.diff(starts, append=len(ids))), qids


def _encode_packed(ids: Strings) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Encode packed query ids; only the first id of each run becomes a Python string."""
    if not ids.lengths.all():
        raise DataError("expected a query id for every row, got a missing one")
    hashes = ids.hash()
    starts = (
        np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])) if len(ids) else np.arange(0)
    )
    lengths = np.diff(starts, append=len(ids))
    heads = ids.take(starts)
    if heads.take(np.repeat(np.arange(len(starts)), lengths)) != ids:  # two ids with one hash
        starts, lengths, heads = np.arange(len(ids)), np.ones(len(ids), dtype=np.int64), ids
    numbers: dict[str, int] = {}
    run_codes = [numbers.setdefault(qid, len(numbers)) for qid in heads]
    codes = np.repeat(np.array(run_codes, dtype=np.int64), lengths)
    return codes, np.array(list(numbers), dtype=object)


def _to_text(value: object) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN or pandas.NA (which has no truth value)."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def pack_texts(
    values: Sequence[object] | NDArray[Any] | Strings, what: str, n: int | None
) -> Strings:
    """Return texts as packed strings; raises unless there are n of them (None: any number)."""
    if not isinstance(values, Iterable):
        raise DataError(f"expected texts in {what}, one for each row, got {values!r:.80}")
    texts = values if isinstance(values, Strings) else Strings.of([str(v) for v in values])
    if n is not None and len(texts) != n:
        raise LengthMismatchError(
            f"expected {n} values in {what}, one for each row, got {len(texts)}"
        )
    return texts


def values_per_query(
    values: ArrayLike | None, codes: NDArray[np.int64], first: NDArray[np.int64], what: str
) -> NDArray[np.float64] | None:
    """Return one value per query, from one per query or one per row."""
    if values is None:
        return None
    array = to_array(values, what, np.float64)
    if array.shape == first.shape:
        return array
    if array.shape != codes.shape:
        raise LengthMismatchError(
            f"expected {what} with {len(first)} values (one per query) or {len(codes)} (one per row), "
            f"got {array.shape}"
        )
    chosen = array[first]
    if not np.array_equal(chosen[codes], array, equal_nan=True):
        row = int(np.argmin(chosen[codes] == array))
        raise DataError(
            f"expected one {what} for all rows of a query, got {array[row]:g} in row {row} after "
            f"{chosen[codes[row]]:g} in row {first[codes[row]]}"
        )
    return chosen


def texts_per_query(
    values: Sequence[str] | Strings | None, codes: NDArray[np.int64], first: NDArray[np.int64]
) -> Strings | None:
    """Return one text per query, from one per query or one per row."""
    if values is None:
        return None
    texts = pack_texts(values, "query_text", None)
    if len(texts) == len(first):
        return texts
    if len(texts) != len(codes):
        raise LengthMismatchError(
            f"expected query_text with {len(first)} texts (one per query) or {len(codes)} (one per row), "
            f"got {len(texts)}"
        )
    return texts.take(first)
