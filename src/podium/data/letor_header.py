"""A first line ``#podium {...}`` in LETOR text, for what its other lines have no place for."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from podium.data.checks import check_scaled
from podium.data.files import read_first_line
from podium.data.ranking_data import RankingData
from podium.data.strings import Strings
from podium.errors import CorruptFileError

_HEADER = b"#podium "  # a comment for every other reader


def header_line(data: RankingData, unsaid: bool) -> bytes:
    """The first line for what LETOR text has no place for; nothing where there is nothing.

    `unsaid`: the lines' comments do not say the document ids and comments of the data.
    """
    kept: dict[str, Any] = {}
    if unsaid:
        kept["docids"] = None if data.docid_column is None else list(data.docid_column)
        kept["comments"] = None if data.comment_column is None else list(data.comment_column)
    if data.X.dtype == np.float32:
        kept["dtype"] = "float32"
    if data.feature_names is not None:
        kept["feature_names"] = data.feature_names
    if data.topk is not None:
        kept["topk"] = data.topk
    if data.scaled is not None:
        kept["scaled"] = data.scaled
    if data.query_weight is not None:
        kept["query_weight"] = data.query_weight.tolist()
    if data.query_text is not None:
        kept["query_text"] = list(data.query_text)
    if data.doc_text:
        kept["doc_text"] = {name: list(text) for name, text in data.doc_text.items()}
    return _HEADER + json.dumps(kept).encode() + b"\n" if kept else b""


def read_header(path: str) -> dict[str, Any]:
    """What the first line of a file says, if it is podium's."""
    line = read_first_line(path, _HEADER)
    if line is None:
        return {}
    try:
        header = json.loads(line[len(_HEADER) :])
        if not isinstance(header, dict) or header.get("dtype") not in (None, "float32", "float64"):
            raise ValueError(f"not a header: {header!r:.60}")
        header_fields(header)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptFileError(
            f"expected JSON after '#podium ', got something else ({error})", path=path, line=1
        ) from error
    return header


def header_fields(header: dict[str, Any]) -> dict[str, Any]:
    """The fields of RankingData a header carries; anything odd is a ValueError or TypeError."""
    found: dict[str, Any] = {}
    for field, kept in (("docid_column", "docids"), ("comment_column", "comments")):
        if kept in header:
            found[field] = None if header[kept] is None else _texts(header[kept])
    if "feature_names" in header:
        found["feature_names"] = tuple(_texts(header["feature_names"]))
    if "topk" in header:
        if type(header["topk"]) is not int:
            raise TypeError(f"topk {header['topk']!r}")
        found["topk"] = header["topk"]
    if "scaled" in header:
        check_scaled(header["scaled"])
        found["scaled"] = header["scaled"]
    if "query_weight" in header:
        found["query_weight"] = np.array([float(w) for w in header["query_weight"]])
    if "query_text" in header:
        found["query_text"] = _texts(header["query_text"])
    if "doc_text" in header:
        found["doc_text"] = {name: _texts(t) for name, t in header["doc_text"].items()}
    return found


def _texts(values: Any) -> Strings:
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise TypeError("a list of texts was expected")
    return Strings.of(values)
