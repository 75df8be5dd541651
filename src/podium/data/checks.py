"""What must hold of ranking data, and what to say when it does not."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium.errors import (
    DataError,
    EmptyDataError,
    LengthMismatchError,
    MemoryLimitError,
    NegativeLabelError,
    NonFiniteError,
    UsageError,
)

if TYPE_CHECKING:
    from podium.data.ranking_data import RankingData

DENSE_LIMIT = 8 << 30
"""Bytes a feature matrix may take when sparse input is made dense (8 GiB)."""


def to_array(values: Any, what: str, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return an array of values; raises DataError for what is no array of that type.

    Examples
    --------
    >>> to_array([1, 2], "labels", np.float64)
    array([1., 2.])
    >>> to_array([[1, 2], [3]], "X")
    Traceback (most recent call last):
    podium.errors.DataError: expected X as an array, got lists of different lengths
    """
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        ragged = "inhomogeneous" in str(error)
        got = "lists of different lengths" if ragged else f"something else ({error!s:.200})"
        kind = "numbers" if dtype is not None and not ragged else "an array"
        raise DataError(f"expected {what} as {kind}, got {got}") from None


def check_memory(
    n_rows: int, n_features: int, itemsize: int, max_bytes: int, path: str | None = None
) -> None:
    """Raise where a dense matrix of this shape would be larger than allowed."""
    needed = n_rows * n_features * itemsize
    if needed > max_bytes:
        raise MemoryLimitError(
            f"expected a dense matrix of at most {max_bytes / 2**30:.3g} GiB, got {n_rows:,} rows x "
            f"{n_features:,} features = {needed / 2**30:.3g} GiB; raise max_bytes= if you have the "
            "memory, or keep fewer features",
            path=path,
        )


def check_shapes(data: RankingData) -> None:
    """Raise unless every part is as long as the groups say."""
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
    for what, n, one in ((per_row, rows, "document"), (per_query, queries, "query")):
        for name, values in what.items():
            if values is not None and len(values) != n:
                raise LengthMismatchError(
                    f"expected {n} values in {name}, one for each {one}, got {len(values)}"
                )
    if data.feature_names is not None and len(data.feature_names) != data.n_features:
        raise LengthMismatchError(
            f"expected {data.n_features} feature names, got {len(data.feature_names)}"
        )
    if (data.groups.sizes == 0).any():
        empty = data.qids[int(np.argmin(data.groups.sizes))]
        raise EmptyDataError(f"expected documents for every query, got none for query {empty!r}")
    if len(set(data.qids.tolist())) != queries:
        raise DataError("expected every query once, got a query id twice")


def check_values(data: RankingData) -> None:
    """Raise at the first number that cannot be."""
    if data.missing not in ("error", "nan"):
        raise UsageError(f"expected missing='error' or 'nan', got {data.missing!r}")
    check_scaled(data.scaled)
    # A sum is finite only if every term is: one pass and no mask, unless something is wrong.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(data.X.sum(dtype=np.float64))
    if suspicious:
        _check_features(data)
    _check_labels(data)
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


def check_scaled(scaled: object) -> None:
    """Raise unless it is the name of a scaling, or none."""
    if not (scaled is None or (isinstance(scaled, str) and scaled)):
        raise UsageError(f"expected the name of a scaling or none, got scaled={scaled!r}")


_FILL_IN = (
    "; fill it in, or make the data with RankingData.from_arrays(..., missing='nan') for what takes "
    "missing values"
)


def _check_features(data: RankingData) -> None:
    bad = np.isinf(data.X) if data.missing == "nan" else ~np.isfinite(data.X)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        hint = "" if np.isinf(data.X[row, column]) else _FILL_IN
        raise NonFiniteError(
            f"expected finite features, got {data.X[row, column]} in feature "
            f"{data.names()[column]} of {_place(data, row)}{hint}"
        )


def _check_labels(data: RankingData) -> None:
    finite = np.isfinite(data.y)
    if not finite.all():
        row = int(np.argmin(finite))
        raise NonFiniteError(f"expected finite labels, got {data.y[row]} in {_place(data, row)}")
    if data.y.min() < 0:
        row = int(np.argmin(data.y))
        raise NegativeLabelError(
            f"expected labels of 0 or more, got {data.y[row]:g} in {_place(data, row)}"
        )


def _place(data: RankingData, row: int) -> str:
    """A row as the input numbered it, from 0, with its query."""
    query = data.qids[np.searchsorted(data.groups.offsets, row, side="right") - 1]
    source = row if data.source_rows is None else data.source_rows[row]
    return f"row {source} (query {query!r})"


def check_seed(seed: int) -> None:
    """Raise unless the seed is a whole number that fits 63 bits."""
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise UsageError(f"expected a seed from 0 to 2^63 - 1, got {seed!r}")
