"""Parquet reading: podium's own files, other tables of documents, and files with scores."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.categories import Category
from podium.data.groups import Groups
from podium.data.packed_strings import Strings
from podium.data.parquet_writer import METADATA_KEY
from podium.data.ranking_columns import Missing
from podium.data.ranking_data import RankingData
from podium.data.strict_json import read_json
from podium.data.text_files import check_regular
from podium.errors import CorruptFileError, DataError, require
from podium.typing import Path_

_ROWS_PER_BLOCK = 1024
"""Rows that are copied from columns at a time: few enough to stay in the cache."""


def read_scores_parquet(path: str) -> NDArray[np.float64]:
    """Read the column score of a table, in the order of its rows."""
    pa = require("pyarrow", "arrow", "reading Parquet")
    pq = require("pyarrow.parquet", "arrow", "reading Parquet")
    try:
        table = _read_table(pq, path)
        if "score" not in table.column_names:
            raise CorruptFileError(
                f"expected a column score, got {', '.join(table.column_names)}", path=path
            )
        return np.asarray(table["score"].to_numpy(), dtype=np.float64)
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        if isinstance(error, CorruptFileError | FileNotFoundError | PermissionError):
            raise
        raise CorruptFileError(
            f"expected a Parquet file with scores ({error})", path=path
        ) from error


def is_podium_parquet(path: Path_) -> bool:
    """Whether podium wrote a Parquet file; True if it is not Parquet, so that read_parquet reports it."""
    pa = require("pyarrow", "arrow", "reading Parquet")
    pq = require("pyarrow.parquet", "arrow", "reading Parquet")
    if os.path.isdir(path):
        return False
    check_regular(path)
    try:
        metadata = pq.read_schema(path).metadata
    except (pa.ArrowException, ValueError):
        return True
    return METADATA_KEY in (metadata or {})


def read_parquet(
    path: Path_,
    *,
    missing: Missing = "error",
    labelled: bool = True,
    **options: Any,
) -> RankingData:
    """Read a Parquet file that ``to_parquet`` wrote, or any table with the options of from_frame.

    With ``labelled=False`` the table may lack labels: documents to be scored.
    """
    pa = require("pyarrow", "arrow", "reading Parquet")
    pq = require("pyarrow.parquet", "arrow", "reading Parquet")
    try:
        table = _read_table(pq, path)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, CorruptFileError | FileNotFoundError | PermissionError):
            raise
        raise CorruptFileError(
            f"expected a Parquet file ({error})", path=os.fspath(path)
        ) from error
    metadata = (table.schema.metadata or {}).get(METADATA_KEY)
    if not labelled and "label" not in table.column_names:
        options = {"label": None, **options}
    if metadata is None or options:
        return RankingData.from_frame(table, missing=missing, **options)
    try:
        return _restore_data(table, read_json(metadata))
    except DataError:
        raise
    except (
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        ValueError,
        pa.ArrowException,
    ) as error:
        raise CorruptFileError(
            f"expected what podium writes into Parquet, got something else ({error!r}); "
            "it can still be read as any other table",
            path=os.fspath(path),
        ).advise(
            python="name its columns with query= and features=",
            command_line="name its columns with --query-column and --features",
        ) from error


def row_count(path: Path_) -> int:
    """Return the number of rows of a Parquet file."""
    return int(_open_parquet(path).metadata.num_rows)


def row_group_count(path: Path_) -> int:
    """Return the number of row groups of a Parquet file."""
    return int(_open_parquet(path).num_row_groups)


def read_row_group(path: Path_, number: int, *, with_features: bool = True) -> RankingData:
    """Read one row group of a Parquet file that podium wrote; its queries are whole.

    Without features, only queries, labels, ids and weights are read.
    """
    file = _open_parquet(path)
    try:
        metadata = read_json(file.schema_arrow.metadata[METADATA_KEY])
        columns = None
        if not with_features:
            columns = ["qid", "label", "docid", "query_weight"]
            metadata |= {"features": [], "categories": {}, "named": False, "doc_text": []}
        table = file.read_row_group(number, columns=columns)
        return _restore_data(table, metadata)
    except DataError:
        raise
    except _UNREADABLE as error:
        raise _unreadable_part(path, error) from error


def query_ids_of(path: Path_) -> list[str]:
    """Return the query ids of a Parquet file that podium wrote.

    A query in two row groups is listed twice.
    """
    file = _open_parquet(path)
    try:
        qids: list[str] = []
        for number in range(file.num_row_groups):
            column = file.read_row_group(number, columns=["qid"])["qid"]
            qids += column.unify_dictionaries().combine_chunks().unique().to_pylist()
        return qids
    except _UNREADABLE as error:
        raise _unreadable_part(path, error) from error


_UNREADABLE = (KeyError, TypeError, AttributeError, IndexError, ValueError, OSError)
"""Errors of pyarrow and of podium's own reading, depending on which byte of a file is wrong."""


def _open_parquet(path: Path_) -> Any:
    pq = require("pyarrow.parquet", "arrow", "reading Parquet")
    check_regular(path)
    try:
        return pq.ParquetFile(path)
    except (ValueError, OSError) as error:  # pyarrow's own errors are among these
        raise _unreadable_part(path, error) from error


def _unreadable_part(path: Path_, error: Exception) -> CorruptFileError:
    return CorruptFileError(
        f"expected what podium writes into Parquet, got something else ({error!r:.200})",
        path=os.fspath(path),
    )


def _read_table(pq: Any, path: Path_) -> Any:
    """Read and validate the table of a file or of a folder of files."""
    if os.path.exists(path) and not os.path.isdir(path):
        check_regular(path)
    table = pq.read_table(path)
    table.validate(full=True)  # later, an error about damaged text would not name the file
    return table


def _restore_data(table: Any, metadata: dict[str, Any]) -> RankingData:
    """Make data from a table and the metadata that write_parquet stores with it."""
    qid = table["qid"].unify_dictionaries().combine_chunks()
    used, codes = np.unique(qid.indices.to_numpy(), return_inverse=True)
    qids = np.array(qid.dictionary.to_pylist(), dtype=object)[used]
    codes = codes.astype(np.int64)
    groups, rows = Groups.from_codes(codes, len(qids))
    if rows is not None:
        raise DataError("expected each query's rows together in a podium Parquet file")
    first = groups.offsets[:-1]

    def strings(column: str) -> Strings | None:
        return _pack_column(table[column]) if column in table.column_names else None

    records = metadata.get("categories", {}).items()
    categories = {name: Category.from_record(record) for name, record in records}
    X = _restore_features(table, metadata, categories)
    texts = strings("query_text")
    return RankingData(
        X=X,
        y=table["label"].to_numpy(),
        groups=groups,
        qids=qids,
        docid_column=strings("docid"),
        comment_column=strings("comment"),
        query_weight=table["query_weight"].to_numpy()[first]
        if "query_weight" in table.column_names
        else None,
        query_text=None if texts is None else texts.take(first),
        doc_text={name: strings(f"text:{name}") or Strings.of([]) for name in metadata["doc_text"]},
        feature_names=tuple(metadata["features"]) if metadata["named"] else None,
        topk=metadata["topk"],
        scaled=metadata.get("scaled"),
        missing=metadata["missing"],
        categories=categories,
        judged_by=metadata.get("judged_by"),
    )


def _restore_features(
    table: Any, metadata: dict[str, Any], categories: dict[str, Category]
) -> NDArray[Any]:
    features = [
        categories[name].encode(table[name].to_pylist())
        if name in categories
        else table[name].to_numpy()
        for name in metadata["features"]
    ]
    X = np.empty((table.num_rows, len(features)), dtype=metadata["dtype"])
    for start in range(0, len(X), _ROWS_PER_BLOCK):
        for j, column in enumerate(features):
            X[start : start + _ROWS_PER_BLOCK, j] = column[start : start + _ROWS_PER_BLOCK]
    return X


def _pack_column(column: Any) -> Strings:
    """Return a column of Arrow as packed strings; both have bytes and their bounds."""
    pa = require("pyarrow", "arrow", "reading Parquet")
    parts = []
    for chunk in column.cast(pa.large_string()).chunks:
        _, bounds, text = chunk.buffers()
        offsets = np.frombuffer(bounds, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
        content = np.frombuffer(text or b"", np.uint8)[offsets[0] : offsets[-1]]
        parts.append(Strings(content, offsets - offsets[0]))
    return Strings.concatenate(parts)
