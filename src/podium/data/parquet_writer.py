"""Parquet writing: one column per feature, opened without parsing text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.atomic_files import atomic_path
from podium.data.categories import Category
from podium.data.packed_strings import Strings
from podium.data.ranking_columns import RankingColumns
from podium.errors import DataError, require
from podium.typing import Path_

METADATA_KEY = b"podium"
"""The key of podium's metadata in the schema of a Parquet file."""

MAX_GROUP_ROWS = 1 << 20
"""The maximum number of rows of one row group."""

_RESERVED_COLUMNS = ("qid", "label", "docid", "comment", "query_weight", "query_text")


def write_parquet(data: RankingColumns, path: Path_) -> None:
    """Write a Parquet file that any tool can open; the file appears whole or not at all."""
    write_parquet_blocks([data], path, max_group_rows=MAX_GROUP_ROWS)


def write_parquet_blocks(
    blocks: Iterable[RankingColumns], path: Path_, max_group_rows: int | None = None
) -> None:
    """Write a Parquet file with a row group for each block; the blocks have the same columns.

    With `max_group_rows`, a longer block becomes several row groups.
    """
    with parquet_writer(path) as write:
        for block in blocks:
            write(block, max_group_rows)


@contextmanager
def parquet_writer(path: Path_) -> Iterator[Callable[..., None]]:
    """Give a function that writes a block of documents as a row group; the file appears all or nothing."""
    with _table_writer(path) as add_table:

        def write(data: RankingColumns, max_group_rows: int | None = None) -> None:
            add_table(_arrow_table(data), min(len(data), max_group_rows or len(data)))

        yield write


@contextmanager
def _table_writer(path: Path_) -> Iterator[Callable[[Any, int], None]]:
    """Give a function that writes a table in row groups of some size."""
    pq = require("pyarrow.parquet", "arrow", "writing Parquet")
    with ExitStack() as stack:
        temporary = stack.enter_context(atomic_path(path))
        temporary_writer: Any = None

        def write(table: Any, group_rows: int) -> None:
            nonlocal temporary_writer
            if temporary_writer is None:
                temporary_writer = stack.enter_context(
                    pq.ParquetWriter(temporary, table.schema, compression="lz4")
                )
            temporary_writer.write_table(table, row_group_size=group_rows)

        yield write


def _arrow_table(data: RankingColumns) -> Any:
    """Return the columns as an Arrow table, with what is not a column as its metadata."""
    pa = require("pyarrow", "arrow", "writing Parquet")
    columns: dict[str, Any] = {
        "qid": _to_dictionary(pa, data, data.qids.tolist()),
        "label": pa.array(data.y),
    }
    if data.docid_column is not None:
        columns["docid"] = _to_arrow(pa, data.docid_column)
    if data.comment_column is not None:
        columns["comment"] = _to_arrow(pa, data.comment_column)
    if data.query_weight is not None:
        columns["query_weight"] = pa.array(data.groups.spread(data.query_weight))
    if data.query_text is not None:
        columns["query_text"] = _to_dictionary(pa, data, list(data.query_text))
    columns |= {f"text:{name}": _to_arrow(pa, text) for name, text in data.doc_text.items()}
    clash = {*columns, *_RESERVED_COLUMNS} & set(data.names())
    if clash or len(set(data.names())) < data.n_features:
        raise DataError(
            f"expected feature names that are unique and not {', '.join(_RESERVED_COLUMNS)}, "
            f"got {', '.join(sorted(clash)) or 'a name twice'}; rename them first"
        )
    columns |= {name: pa.array(data.X[:, j]) for j, name in enumerate(data.names())}
    for j, category in data.category_columns():
        columns[data.names()[j]] = _to_words(pa, data.X[:, j], category)
    metadata: dict[str, Any] = {
        "features": data.names(),
        "named": data.feature_names is not None,
        "topk": data.topk,
        "scaled": data.scaled,
        "missing": data.missing,
        "dtype": str(data.X.dtype),
        "doc_text": list(data.doc_text),
    }
    if data.judged_by is not None:
        metadata["judged_by"] = data.judged_by
    if data.categories:
        metadata["categories"] = {name: c.to_record() for name, c in data.categories.items()}
    return pa.table(columns).replace_schema_metadata({METADATA_KEY: json.dumps(metadata)})


def write_scores_parquet(data: RankingColumns, scores: ArrayLike, path: Path_) -> None:
    """Write columns qid, docid (if there are ids) and score, in the order of the data's input.

    Examples
    --------
    >>> import tempfile
    >>> from pyarrow.parquet import read_table
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 3, [0, 1, 1], qid=["a", "b", "a"])
    >>> path = f"{tempfile.mkdtemp()}/scores.parquet"
    >>> write_scores_parquet(data, data.regroup([0.1, 0.2, 0.3]), path)
    >>> read_table(path).to_pydict()
    {'qid': ['a', 'b', 'a'], 'score': [0.1, 0.2, 0.3]}
    """
    write_columns_parquet(data, {"score": data.check_scores(scores)}, path)


def write_columns_parquet(
    data: RankingColumns, values: Mapping[str, ArrayLike], path: Path_
) -> None:
    """Write qid, docid (if there are ids) and columns of one value per row of the data.

    The rows of the file have the order of the data's input.
    """
    with columns_writer(path) as write:
        write(data, values)


@contextmanager
def columns_writer(
    path: Path_,
) -> Iterator[Callable[[RankingColumns, Mapping[str, ArrayLike]], None]]:
    """Give a function that writes a block of documents as `write_columns_parquet` does."""
    pa = require("pyarrow", "arrow", "writing Parquet")
    with _table_writer(path) as add_table:

        def write(data: RankingColumns, values: Mapping[str, ArrayLike]) -> None:
            rows = pa.array(data.restore(np.arange(len(data))))
            columns: dict[str, Any] = {"qid": _to_dictionary(pa, data, data.qids.tolist())}
            if data.docid_column is not None:
                columns["docid"] = _to_arrow(pa, data.docid_column)
            columns |= {name: pa.array(np.asarray(column)) for name, column in values.items()}
            add_table(pa.table(columns).take(rows), MAX_GROUP_ROWS)

        yield write


def _to_arrow(pa: Any, strings: Strings) -> Any:
    """Return packed strings as an Arrow array, without a copy: the layout is the same."""
    buffers = [None, pa.py_buffer(strings.offsets), pa.py_buffer(strings.bytes)]
    column = pa.LargeStringArray.from_buffers(len(strings), buffers[1], buffers[2])
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"expected text in UTF-8 for Parquet, got other bytes ({error})") from error
    return column


def _to_words(pa: Any, codes: NDArray[Any], category: Category) -> Any:
    """Return a category as the words that any tool shows."""
    indices = pa.array(np.nan_to_num(codes).astype(np.int32), mask=np.isnan(codes))
    return pa.DictionaryArray.from_arrays(indices, pa.array(category.words, pa.string()))


def _to_dictionary(pa: Any, data: RankingColumns, per_query: list[str]) -> Any:
    texts = _to_arrow(pa, Strings.of(per_query)).cast(pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(data.groups.codes.astype(np.int32)), texts)
