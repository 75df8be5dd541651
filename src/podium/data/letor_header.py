"""The header of LETOR text: a first line ``#podium {...}`` for names, weights, texts and the like."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from podium.data.argument_checks import check_scaled
from podium.data.categories import Category
from podium.data.judged_by import check_judged_by
from podium.data.packed_strings import Strings
from podium.data.ranking_columns import RankingColumns
from podium.data.text_files import read_first_line
from podium.errors import CorruptFileError

_HEADER_START = b"#podium "  # a comment for every other reader
PER_ROW_ENTRIES = {"docids", "comments", "query_weight", "query_text", "doc_text"}
"""Entries of a header with one value for each document or query of the file."""


def header_line(data: RankingColumns, with_comments: bool) -> bytes:
    """Return the header of the data as a line; empty if the other lines say everything.

    `with_comments`: the header carries document ids and comments, because the lines cannot.
    """
    header: dict[str, Any] = {}
    if with_comments:
        header["docids"] = None if data.docid_column is None else list(data.docid_column)
        header["comments"] = None if data.comment_column is None else list(data.comment_column)
    if data.X.dtype == np.float32:
        header["dtype"] = "float32"
    if data.feature_names is not None:
        header["feature_names"] = data.feature_names
    if data.topk is not None:
        header["topk"] = data.topk
    if data.scaled is not None:
        header["scaled"] = data.scaled
    if data.judged_by is not None:
        header["judged_by"] = data.judged_by
    if data.missing == "nan":
        header["missing"] = "nan"
    if data.categories:
        header["categories"] = {name: c.to_record() for name, c in data.categories.items()}
    if data.query_weight is not None:
        header["query_weight"] = data.query_weight.tolist()
    if data.query_text is not None:
        header["query_text"] = list(data.query_text)
    if data.doc_text:
        header["doc_text"] = {name: list(text) for name, text in data.doc_text.items()}
    return _HEADER_START + json.dumps(header).encode() + b"\n" if header else b""


def has_per_row_entries(line: bytes) -> bool:
    """Whether a header has values for each document or query.

    Examples
    --------
    >>> has_per_row_entries(b'#podium {"dtype": "float32"}\\n'), has_per_row_entries(b"")
    (False, False)
    """
    return bool(line) and bool(json.loads(line[len(_HEADER_START) :]).keys() & PER_ROW_ENTRIES)


def read_header(path: str) -> dict[str, Any]:
    """Return the entries of a file's header; empty if the first line is not a header."""
    line = read_first_line(path, _HEADER_START)
    if line is None:
        return {}
    try:
        header = json.loads(line[len(_HEADER_START) :])
        if not isinstance(header, dict) or header.get("dtype") not in (None, "float32", "float64"):
            raise ValueError(f"not a header: {header!r:.60}")
        header_fields(header)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise CorruptFileError(
            f"expected JSON after '#podium ', got something else ({error})", path=path, line=1
        ) from error
    return header


def header_fields(header: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of RankingData in a header; raises ValueError or TypeError for anything else."""
    columns: dict[str, Any] = {}
    for column, key in (("docid_column", "docids"), ("comment_column", "comments")):
        if key in header:
            columns[column] = None if header[key] is None else _to_strings(header[key])
    if "feature_names" in header:
        columns["feature_names"] = tuple(_to_strings(header["feature_names"]))
    if "topk" in header:
        if type(header["topk"]) is not int:
            raise TypeError(f"topk {header['topk']!r}")
        columns["topk"] = header["topk"]
    if "scaled" in header:
        check_scaled(header["scaled"])
        columns["scaled"] = header["scaled"]
    if "judged_by" in header:
        check_judged_by(header["judged_by"])
        columns["judged_by"] = header["judged_by"]
    if "missing" in header:
        if header["missing"] not in ("error", "nan"):
            raise ValueError(f"missing {header['missing']!r:.60}")
        columns["missing"] = header["missing"]
    if "categories" in header:
        records = header["categories"].items()
        columns["categories"] = {name: Category.from_record(record) for name, record in records}
    if "query_weight" in header:
        columns["query_weight"] = np.array([float(w) for w in header["query_weight"]])
    if "query_text" in header:
        columns["query_text"] = _to_strings(header["query_text"])
    if "doc_text" in header:
        columns["doc_text"] = {name: _to_strings(t) for name, t in header["doc_text"].items()}
    return columns


def _to_strings(values: Any) -> Strings:
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise TypeError("a list of texts was expected")
    return Strings.of(values)
