"""Files of queries: the text of each query by its id, from lines, JSON lines or a table."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from podium.data.arrow_files import is_arrow_file, read_arrow_rows
from podium.data.columns import QUERY_NAMES, QUERY_TEXT_NAMES, usual_form
from podium.data.document_records import is_json_lines, open_table, read_text, table_rows
from podium.data.json_lines import read_json_lines
from podium.data.query_ids import id_of_text
from podium.data.text_files import stem
from podium.errors import DataError, EmptyDataError, MalformedLineError
from podium.typing import Path_

QUERY_ID_NAMES = (*(name for name in QUERY_NAMES if name != "query"), "id", "query")
"""Usual names of the column of query ids; a column ``query`` mostly has texts, so it comes last."""
TEXT_NAMES_OF_QUERIES = ("text", *QUERY_TEXT_NAMES)

_Rows = Iterator[tuple[int, Mapping[str, Any]]]


def read_queries(path: Path_) -> dict[str, str]:
    """Read the texts of queries by id.

    A file has lines ``qid<TAB>text``, JSON lines, or a table (``.csv``, ``.tsv``, ``.parquet``,
    ``.arrow``) whose columns have usual names: ``qid``, ``query_id``, ``search_id`` or ``id``;
    ``text``, ``query_text``, ``query`` or ``search_term``. Other columns are ignored, and a query
    may come again with the same text. So a table with one row per document is a file of queries,
    too. Without ids, the id of a query is its text, with _ for spaces.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "shop.csv"
    >>> _ = path.write_text("search_id,query,sku\\n1,red shoes,a\\n1,red shoes,b\\n2,hat,a\\n")
    >>> read_queries(path)
    {'1': 'red shoes', '2': 'hat'}
    """
    name = os.fspath(path)
    ending = Path(stem(name)).suffix.lower()
    if is_json_lines(name):
        return _texts_by_id(read_json_lines(name), name)
    if is_arrow_file(name):
        return _texts_by_id(read_arrow_rows(name), name)
    if ending == ".csv" or (ending == ".tsv" and _has_header(name)):
        reader, header = open_table(name)
        rows = table_rows(reader, header, name)
        return _texts_by_id(
            ((line, dict(zip(header, row, strict=True))) for line, row in rows), name
        )
    return dict(_read_tabbed_lines(name))


def _texts_by_id(rows: _Rows, name: str) -> dict[str, str]:
    """Return the text of each query; raises if one is missing, or if a query has two texts."""
    first = next(rows, None)
    if first is None:
        raise EmptyDataError("expected at least one query, got none", path=name)
    id_column, text_column = _query_columns(first[1], name, first[0])
    texts: dict[str, str] = {}
    for line, row in itertools.chain([first], rows):
        qid, text = row.get(id_column), row.get(text_column)
        if isinstance(qid, bool) or not isinstance(qid, str | int) or qid == "":
            raise DataError(
                f"expected a query id as {id_column!r}, got {qid!r:.60}", path=name, line=line
            )
        if not isinstance(text, str) or not text:
            raise DataError(
                f"expected a text for query {str(qid)!r:.60} as {text_column!r}, got {text!r:.60}",
                path=name, line=line,
            )  # fmt: skip
        qid = id_of_text(text) if id_column == text_column else str(qid)
        if texts.setdefault(qid, text) != text:
            raise DataError(
                f"expected one text for query {qid!r:.60}, got {texts[qid]!r:.60} and {text!r:.60}",
                path=name, line=line,
            )  # fmt: skip
    return texts


def _query_columns(row: Mapping[str, Any], name: str, line: int) -> tuple[str, str]:
    """Return the names of the columns of ids and of texts; one column may be both."""
    by_name = {usual_form(key): key for key in reversed(list(row))}
    id_column = next((by_name[n] for n in QUERY_ID_NAMES if n in by_name), None)
    others = {key: column for key, column in by_name.items() if column != id_column}
    text_column = next((others[n] for n in TEXT_NAMES_OF_QUERIES if n in others), None)
    if id_column is None and text_column in (by_name.get(n) for n in QUERY_TEXT_NAMES):
        id_column = text_column
    if text_column is None and id_column is not None and usual_form(id_column) == "query":
        text_column = id_column
    if id_column is None or text_column is None:
        raise MalformedLineError(
            f"expected a column of query ids ({', '.join(QUERY_ID_NAMES[:-1])}) and one of texts "
            f"({', '.join(TEXT_NAMES_OF_QUERIES)}), got {', '.join(row)}",
            path=name, line=line,
        )  # fmt: skip
    return id_column, text_column


def _has_header(name: str) -> bool:
    """Whether the first line of a file has the names of columns: one of ids and one of texts."""
    names = {usual_form(word) for word in read_text(name).partition("\n")[0].split("\t")}
    return bool(names & set(QUERY_ID_NAMES)) and bool(names & set(TEXT_NAMES_OF_QUERIES))


def _read_tabbed_lines(name: str) -> Iterator[tuple[str, str]]:
    qids: set[str] = set()
    for line, row in enumerate(read_text(name).split("\n"), start=1):
        row = row.removesuffix("\r")
        if not row:
            continue
        qid, tab, text = row.partition("\t")
        if not tab or not qid or qid in qids:
            got = "a query twice" if qid in qids else repr(row[:60])
            raise MalformedLineError(f"expected qid<TAB>text, got {got}", path=name, line=line)
        qids.add(qid)
        yield qid, text
    if not qids:
        raise EmptyDataError("expected at least one query, got none", path=name)
