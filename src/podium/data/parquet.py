"""Parquet copies of ranking data: one column a feature, opened without parsing text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.archives import read_json
from podium.data.files import atomic_path, check_regular
from podium.data.frames import from_frame
from podium.data.groups import Groups
from podium.data.ranking_data import Missing, RankingData
from podium.data.strings import Strings
from podium.errors import CorruptFileError, DataError, require

_KEY = b"podium"
_ROWS = 1024  # rows turned from columns into rows at a time: they should stay in the cache
_RESERVED = ("qid", "label", "docid", "comment", "query_weight", "query_text")


def write_parquet(data: RankingData, path: str | os.PathLike[str]) -> None:
    """Write a Parquet file that any tool can open; the file appears whole or not at all."""
    pa = require("pyarrow", "arrow", "writing Parquet")
    pq = require("pyarrow.parquet", "arrow", "writing Parquet")
    columns: dict[str, Any] = {
        "qid": _dictionary(pa, data, data.qids.tolist()),
        "label": pa.array(data.y),
    }
    if data.docid_column is not None:
        columns["docid"] = _arrow(pa, data.docid_column)
    if data.comment_column is not None:
        columns["comment"] = _arrow(pa, data.comment_column)
    if data.query_weight is not None:
        columns["query_weight"] = pa.array(data.groups.spread(data.query_weight))
    if data.query_text is not None:
        columns["query_text"] = _dictionary(pa, data, list(data.query_text))
    columns |= {f"text:{name}": _arrow(pa, text) for name, text in data.doc_text.items()}
    clash = {*columns, *_RESERVED} & set(data.names())
    if clash or len(set(data.names())) < data.n_features:
        raise DataError(
            f"expected feature names that are unique and not {', '.join(_RESERVED)}, "
            f"got {', '.join(sorted(clash)) or 'a name twice'}; rename them first"
        )
    columns |= {name: pa.array(data.X[:, j]) for j, name in enumerate(data.names())}
    kept = {
        "features": data.names(),
        "named": data.feature_names is not None,
        "topk": data.topk,
        "scaled": data.scaled,
        "missing": data.missing,
        "dtype": str(data.X.dtype),
        "doc_text": list(data.doc_text),
    }
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(kept)})
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="lz4")


def write_scores_parquet(
    data: RankingData, scores: ArrayLike, path: str | os.PathLike[str]
) -> None:
    """Write columns qid, docid (where there are ids) and score, in the order of the data's input.

    Examples
    --------
    >>> import tempfile
    >>> from pyarrow.parquet import read_table
    >>> data = RankingData.from_arrays([[0.0]] * 3, [0, 1, 1], qid=["a", "b", "a"])
    >>> path = f"{tempfile.mkdtemp()}/scores.parquet"
    >>> write_scores_parquet(data, data.regroup([0.1, 0.2, 0.3]), path)
    >>> read_table(path).to_pydict()
    {'qid': ['a', 'b', 'a'], 'score': [0.1, 0.2, 0.3]}
    """
    write_columns_parquet(data, {"score": data.check_scores(scores)}, path)


def write_columns_parquet(
    data: RankingData, values: Mapping[str, ArrayLike], path: str | os.PathLike[str]
) -> None:
    """Write qid, docid (where there are ids) and columns of one value per row of the data.

    Rows stand in the order of the data's input.
    """
    pa = require("pyarrow", "arrow", "writing Parquet")
    pq = require("pyarrow.parquet", "arrow", "writing Parquet")
    rows = pa.array(data.restore(np.arange(len(data))))
    columns: dict[str, Any] = {"qid": _dictionary(pa, data, data.qids.tolist())}
    if data.docid_column is not None:
        columns["docid"] = _arrow(pa, data.docid_column)
    columns |= {name: pa.array(np.asarray(column)) for name, column in values.items()}
    with atomic_path(path) as temporary:
        pq.write_table(pa.table(columns).take(rows), temporary, compression="lz4")


def read_scores_parquet(path: str) -> NDArray[np.float64]:
    """The column score of a table, in its order of rows."""
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


def read_parquet(
    path: str | os.PathLike[str],
    *,
    missing: Missing = "error",
    labelled: bool = True,
    **options: Any,
) -> RankingData:
    """Read a Parquet file that ``to_parquet`` wrote, or any table with the options of from_frame.

    With ``labelled=False`` a table may come without labels: documents to be scored.
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
    metadata = (table.schema.metadata or {}).get(_KEY)
    if not labelled and "label" not in table.column_names:
        options = {"label": None, **options}
    if metadata is None or options:
        return from_frame(table, missing=missing, **options)
    try:
        return _restore(table, read_json(metadata))
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
            "query= and features= read it as any other table",
            path=os.fspath(path),
        ) from error


def _read_table(pq: Any, path: str | os.PathLike[str]) -> Any:
    """Return a table of a file or of a folder of files, whose contents are sound."""
    if os.path.exists(path) and not os.path.isdir(path):
        check_regular(path)
    table = pq.read_table(path)
    table.validate(full=True)  # damaged text would be met later, where nothing names the file
    return table


def _restore(table: Any, kept: dict[str, Any]) -> RankingData:
    qid = table["qid"].unify_dictionaries().combine_chunks()
    used, codes = np.unique(qid.indices.to_numpy(), return_inverse=True)
    qids = np.array(qid.dictionary.to_pylist(), dtype=object)[used]
    codes = codes.astype(np.int64)
    groups, rows = Groups.from_codes(codes, len(qids))
    if rows is not None:
        raise DataError("expected each query's rows together in a podium Parquet file")
    first = groups.offsets[:-1]

    def strings(column: str) -> Strings | None:
        return _packed(table[column]) if column in table.column_names else None

    features = [table[name].to_numpy() for name in kept["features"]]
    X = np.empty((table.num_rows, len(features)), dtype=kept["dtype"])
    for start in range(0, len(X), _ROWS):
        for j, column in enumerate(features):
            X[start : start + _ROWS, j] = column[start : start + _ROWS]
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
        doc_text={name: strings(f"text:{name}") or Strings.of([]) for name in kept["doc_text"]},
        feature_names=tuple(kept["features"]) if kept["named"] else None,
        topk=kept["topk"],
        scaled=kept.get("scaled"),
        missing=kept["missing"],
    )


def _packed(column: Any) -> Strings:
    """Arrow's strings are packed strings: only the bytes and their bounds are taken over."""
    pa = require("pyarrow", "arrow", "reading Parquet")
    parts = []
    for chunk in column.cast(pa.large_string()).chunks:
        _, bounds, text = chunk.buffers()
        offsets = np.frombuffer(bounds, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
        content = np.frombuffer(text or b"", np.uint8)[offsets[0] : offsets[-1]]
        parts.append(Strings(content, offsets - offsets[0]))
    return Strings.concatenate(parts)


def _arrow(pa: Any, strings: Strings) -> Any:
    """Packed strings are Arrow's own layout: nothing is copied."""
    buffers = [None, pa.py_buffer(strings.offsets), pa.py_buffer(strings.bytes)]
    column = pa.LargeStringArray.from_buffers(len(strings), buffers[1], buffers[2])
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"expected text in UTF-8 for Parquet, got other bytes ({error})") from error
    return column


def _dictionary(pa: Any, data: RankingData, per_query: list[str]) -> Any:
    texts = _arrow(pa, Strings.of(per_query)).cast(pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(data.groups.codes.astype(np.int32)), texts)
