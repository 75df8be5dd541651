"""Documents that a query has twice: a warning with their number and an example."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from podium.data.groups import Groups
from podium.data.packed_strings import Strings
from podium.data.ranking_data import RankingData
from podium.errors import DataError, DuplicateDocumentWarning
from podium.typing import Ints

KEEP_FIRST_IN_PYTHON = "podium.data.keep_first_documents(data) keeps the first row of each"
KEEP_FIRST_ON_COMMAND_LINE = "--repeated first keeps the first row of each"


def warn_of_duplicates(data: RankingData, path: str | None = None) -> None:
    """Warn if a query has a document twice; names the first such pair."""
    rows = repeated_rows(data)
    if len(rows):
        code, docid = data.groups.codes[rows[0]], data.docid_column[rows[0]]  # type: ignore[index]
        place = "" if path is None else f"{path}: "
        verb = "row repeats" if len(rows) == 1 else "rows repeat"
        warnings.warn(
            f"{place}{len(rows)} {verb} a document of a query, for example document "
            f"{docid!r} of query {data.qids[code]!r}; each counts as a document of its own",
            DuplicateDocumentWarning,
            stacklevel=3,
        )


def repeated_rows(data: RankingData) -> Ints:
    """Return the rows whose document stands in an earlier row of the same query."""
    docids = data.docid_column
    if docids is None:
        return np.zeros(0, dtype=np.int64)
    # One number per pair of query and document; equal numbers are looked at again below.
    keys = docids.hash() ^ (data.groups.codes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    in_order = np.sort(keys)
    repeated_keys = np.unique(in_order[1:][in_order[1:] == in_order[:-1]])
    if not len(repeated_keys):
        return np.zeros(0, dtype=np.int64)
    pairs: set[tuple[int, str]] = set()
    repeats: list[int] = []
    rows = np.flatnonzero(np.isin(keys, repeated_keys))
    if data.source_rows is not None:  # the first row is that of the input
        rows = rows[np.argsort(data.source_rows[rows], kind="stable")]
    for row in rows.tolist():
        pair = (int(data.groups.codes[row]), docids[row])
        if pair in pairs and docids[row]:
            repeats.append(row)
        pairs.add(pair)
    return np.array(sorted(repeats), dtype=np.int64)


def keep_first_documents(data: RankingData) -> RankingData:
    """Return the data with the first row of each document of a query; rows without an id all stay.

    Examples
    --------
    >>> data = RankingData.from_arrays(
    ...     [[1.0], [2.0], [3.0]], [0, 1, 2], qid=["a", "a", "a"], docid=["x", "y", "x"]
    ... )
    >>> keep_first_documents(data).y.tolist()
    [0.0, 1.0]
    """
    repeats = repeated_rows(data)
    if not len(repeats):
        return data
    rows = np.delete(np.arange(len(data)), repeats)
    source = data.source_rows
    return replace(
        data,
        X=data.X[rows],
        y=data.y[rows],
        groups=Groups.from_sizes(np.bincount(data.groups.codes[rows], minlength=data.n_queries)),
        docid_column=_take(data.docid_column, rows),
        comment_column=_take(data.comment_column, rows),
        doc_text={name: text.take(rows) for name, text in data.doc_text.items()},
        source_rows=None if source is None else np.argsort(np.argsort(source[rows])),
    )


def settle_repeats(data: RankingData, repeated: str) -> RankingData:
    """Return the data as it is ("keep"), with the "first" row of each document, or raise ("error")."""
    if repeated == "keep" or not len(rows := repeated_rows(data)):
        return data
    if repeated == "first":
        return keep_first_documents(data)
    docid, qid = data.docid_column[rows[0]], data.qids[data.groups.codes[rows[0]]]  # type: ignore[index]
    raise DataError(
        f"expected each document once per query, got {docid!r} twice in query {qid!r}, and "
        f"{len(rows):,} repeated rows in all"
    ).advise(python=KEEP_FIRST_IN_PYTHON, command_line=KEEP_FIRST_ON_COMMAND_LINE)


def _take(column: Strings | None, rows: Ints) -> Strings | None:
    return None if column is None else column.take(rows)
