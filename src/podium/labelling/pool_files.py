"""Pool files: import pools from JSONL, a table or a TREC run; write them as JSONL."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from podium.data.arrow_files import is_arrow_file, read_arrow_rows
from podium.data.atomic_files import atomic_writer
from podium.data.json_lines import read_json_lines
from podium.data.text_files import COMPRESSIONS, MAX_LINE_BYTES, read_blocks, stem
from podium.data.trec import read_run
from podium.errors import DataError, EmptyDataError, MalformedLineError, UsageError
from podium.labelling.pool_records import (
    ANY_ID,
    QUERY_ID,
    RecordFields,
    document_id,
    plain_name,
    read_document,
    read_flat,
    read_nested,
    read_query,
)
from podium.labelling.pools import Pool, PoolDocument, PoolQuery, first_repeated, pool_lines
from podium.typing import Path_

Record = Mapping[str, Any]
COMMAS = ",;|\t"
"""Marks between the fields of CSV files; some programs write semicolons."""
Read = TypeVar("Read")


def read_pool(path: Path_, *, visible: Sequence[str] = ()) -> Pool:
    """Read a pool from JSONL (``.jsonl``, ``.ndjson``), CSV or TSV, compressed or not, Parquet or Arrow.

    A line of JSONL is a query, ``{"query": id, "text": ..., "description": ..., "documents": [{"id": ...,
    "text" | "html" | "image": ..., "title": ..., "score": ...}]}``, or one document of it, ``{"query": id,
    "query_text": ..., "description": ..., "document": id, "text" | "html" | "image": ..., ...}``, which
    are also the columns of tables. Other usual names work, too (``query_id`` and ``qid`` for the
    query's id, beside which ``query`` is its text; ``doc_id``, ``docid`` and ``docno``; ``body`` and
    ``content``): see docs/judging.md. Two names with different values are an error. `Pool.ignored` lists
    unknown fields.

    Parameters
    ----------
    path
        The file.
    visible
        Other fields that assessors see below the text of a document, such as price and brand.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/pool.csv"
    >>> with open(path, "w") as file:
    ...     _ = file.write("query,query_text,document,text\\nq1,jazz,x,Miles\\nq1,,y,Duke\\n")
    >>> pool = read_pool(path)
    >>> pool, [document.content for document in pool["q1"].documents]
    (Pool(1 query, 2 documents), ['Miles', 'Duke'])
    """
    name = os.fspath(path)
    ignored: dict[str, None] = {}

    def rows() -> Iterator[tuple[PoolQuery, PoolDocument]]:
        first: dict[tuple[str, str], int] = {}
        for line, record in read_records(name):
            pairs, unread = _read_at(partial(_pool_rows, visible=visible), record, name, line)
            ignored.update(dict.fromkeys(unread))
            for query, document in pairs:
                before = first.setdefault((query.id, document.id), line)
                if before != line:
                    raise MalformedLineError(
                        f"query {query.id!r:.60} has document {document.id!r:.60} already in "
                        f"line {before}; expected each document once",
                        path=name,
                        line=line,
                    )
                yield query, document

    try:
        pool = Pool.of(rows())
        return replace(pool, ignored=tuple(ignored))
    except EmptyDataError:
        raise EmptyDataError(
            "the file is empty; expected at least one document", path=name
        ) from None
    except DataError as error:
        raise error if error.path else DataError(str(error), path=name) from None


def read_trec_pool(
    run: Path_,
    documents: Path_,
    queries: Path_ | None = None,
    *,
    depth: int | None = None,
    visible: Sequence[str] = (),
) -> Pool:
    """Read a pool from a TREC run: the documents of each query with their scores, best first.

    Parameters
    ----------
    run
        Lines of ``query Q0 document rank score tag``.
    documents
        JSONL or a table with ``id`` (or ``_id``, ``doc_id``, ``docno``), ``title`` and one of ``text``,
        ``html``, ``image``; only documents of the run are kept.
    queries
        JSONL or a table with ``id`` (or ``_id``, ``qid``, ``query_id``), ``text`` (or ``query``)
        and ``description``; TSV may have no header: ``id`` and ``text``. Without it, the text of a
        query is its id.
    depth
        The number of documents per query; None for all.
    visible
        Other fields that assessors see below the text of a document, such as price and brand.
    """
    if depth is not None and depth < 1:
        raise UsageError(f"expected a depth of 1 or more, got {depth}")
    ranked = read_run(run)
    order = ranked.groups.order(ranked.values)
    best_of: dict[str, list[tuple[str, float]]] = {}
    for qid, rows in zip(ranked.qids.tolist(), ranked.groups.slices(), strict=True):
        best = order[rows][:depth].tolist()
        best_of[qid] = [(ranked.docids[row], float(ranked.values[row])) for row in best]
    ignored: dict[str, None] = {}
    names = {doc for docs in best_of.values() for doc, _ in docs}
    by_id = _read_by_id(documents, names, ignored, visible)
    texts = {} if queries is None else _read_queries(queries, ignored)
    for qid, docs in best_of.items():
        for doc, _ in docs:
            if doc not in by_id:
                raise DataError(
                    f"the file has no document {doc!r:.60} (query {qid!r:.60}); expected "
                    "every document of the run",
                    path=os.fspath(documents),
                )
        if queries is not None and qid not in texts:
            raise DataError(
                f"the file has no query {qid!r:.60}; expected every query of the run",
                path=os.fspath(queries),
            )
    return Pool(
        tuple(
            PoolQuery(
                qid,
                *texts.get(qid, (qid, "")),
                tuple(replace(by_id[doc], score=score) for doc, score in docs),
            )
            for qid, docs in best_of.items()
        ),
        tuple(ignored),
    )


def write_pool(pool: Pool, path: Path_) -> None:
    """Write a pool as JSONL, one query per line; reading it gives an equal pool."""
    with atomic_writer(path) as write:
        for line in pool_lines(pool):
            write(line.encode())


def read_records(path: str) -> Iterator[tuple[int, Record]]:
    """Yield line number and record of a JSONL, CSV, TSV, Parquet or Arrow file."""
    if is_arrow_file(path):
        return read_arrow_rows(path)
    ending = Path(stem(path)).suffix.lower()
    if ending in (".jsonl", ".ndjson", ".json"):
        return read_json_lines(path)
    if ending in (".csv", ".tsv"):
        return _table_records(path, _guess_comma(path) if ending == ".csv" else "\t")
    raise UsageError(
        "expected a file name that ends in .jsonl, .csv, .tsv (optionally with "
        f"{', '.join(COMPRESSIONS)}), .parquet or .arrow, got {path}"
    )


def text_lines(path: str) -> Iterator[str]:
    """Yield the lines of a file with their ends; a line that is not UTF-8 raises."""
    line = 0
    for block in read_blocks(path):
        for raw in _split(block.tobytes()):
            line += 1
            try:
                yield raw.decode()
            except UnicodeDecodeError as error:
                raise MalformedLineError(
                    f"expected UTF-8 text, got byte {raw[error.start]:#04x}", path=path, line=line
                ) from None


def _split(text: bytes) -> Iterable[bytes]:
    """Return lines with their ends. Only a newline ends a line, unlike in str.splitlines."""
    pieces = text.split(b"\n")
    last = pieces.pop()
    return [piece + b"\n" for piece in pieces] + ([last] if last else [])


def _guess_comma(path: str) -> str:
    """Return what is between the fields of a CSV file: the mark that its first line has most often."""
    first_line = next(text_lines(path), "")
    return max(COMMAS, key=first_line.count)


def _table_records(path: str, delimiter: str) -> Iterator[tuple[int, Record]]:
    """Yield the records of CSV or TSV, each with the line where it begins."""
    header: list[str] | None = None
    for number, row in table_rows(path, delimiter):
        if header is None:
            header = [name.strip() for name in row]
            if (twice := first_repeated(map(plain_name, header))) is not None:
                raise MalformedLineError(
                    f"the column {twice!r:.60} occurs twice; expected each column once",
                    path=path,
                    line=number,
                )
            continue
        if len(row) != len(header):
            raise MalformedLineError(
                f"expected {len(header)} fields ({', '.join(header)}), got {len(row)}",
                path=path,
                line=number,
            )
        yield number, dict(zip(header, row, strict=True))


def table_rows(path: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of each row that is not empty."""
    # In TSV, quotes are part of the text, as usual in files of queries.
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    rows = csv.reader(text_lines(path), delimiter=delimiter, strict=True, quoting=quoting)
    limit = csv.field_size_limit()
    begin = 1
    while True:
        csv.field_size_limit(
            MAX_LINE_BYTES
        )  # a setting of the whole process, so it is restored after each row
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise MalformedLineError(
                f"expected fields between {delimiter!r}, got {error}", path=path, line=begin
            ) from None
        finally:
            csv.field_size_limit(limit)
        if row is None:
            return
        if any(field.strip() for field in row):
            yield begin, row
        begin = rows.line_num + 1


def _pool_rows(
    record: Record, visible: Sequence[str] = ()
) -> tuple[list[tuple[PoolQuery, PoolDocument]], list[str]]:
    """Return the documents of a record, each with its query, and the names of unknown fields."""
    fields = RecordFields(record, visible)
    if "documents" not in fields:
        row = read_flat(fields)
        return [row], fields.unread
    query, entries = read_nested(fields)
    unread = fields.unread + [name for entry in entries for name in entry.unread]
    return [(query, document) for document in query.documents], unread


def _read_by_id(
    path: Path_, ids: set[str], ignored: dict[str, None], visible: Sequence[str]
) -> dict[str, PoolDocument]:
    """Return the documents of a file that have these ids."""
    name = os.fspath(path)
    by_id: dict[str, PoolDocument] = {}

    def read(record: Record) -> PoolDocument | None:
        fields = RecordFields(record, visible)
        doc = document_id(fields)
        if doc not in ids:
            return None
        # The score is that of the run; a table may have a document once for each query.
        document = replace(read_document(fields, doc), score=None)
        if by_id.get(doc, document) != document:
            raise DataError(
                f"document {doc!r:.60} occurs twice with different contents; expected one content"
            )
        ignored.update(dict.fromkeys(fields.unread))
        return document

    for line, record in read_records(name):
        if (document := _read_at(read, record, name, line)) is not None:
            by_id[document.id] = document
    return by_id


def _read_queries(path: Path_, ignored: dict[str, None]) -> dict[str, tuple[str, str]]:
    """Return text and description of each query."""
    name = os.fspath(path)
    texts: dict[str, tuple[str, str]] = {}

    def read(record: Record) -> tuple[str, str, str]:
        fields = RecordFields(record)
        query = read_query(fields)
        if texts.get(query[0], query[1:]) != query[1:]:
            raise DataError(
                f"query {query[0]!r:.60} occurs twice with different texts; expected one text"
            )
        ignored.update(dict.fromkeys(fields.unread))
        return query

    for line, record in _query_records(name):
        qid, text, description = _read_at(read, record, name, line)
        texts[qid] = text, description
    return texts


def _query_records(path: str) -> Iterator[tuple[int, Record]]:
    """Yield the records of queries; TSV without a header has the columns id and text."""
    if Path(stem(path)).suffix.lower() != ".tsv":
        return read_records(path)
    first = next(table_rows(path, "\t"), None)
    if first is None or set(map(plain_name, first[1])) & {"query", *QUERY_ID, *ANY_ID}:
        return read_records(path)
    return _headerless_queries(path)


def _headerless_queries(path: str) -> Iterator[tuple[int, Record]]:
    for line, row in table_rows(path, "\t"):
        if len(row) != 2:
            raise MalformedLineError(
                f"expected a query id and its text, got {len(row)} fields", path=path, line=line
            )
        yield line, {"id": row[0], "text": row[1]}


def _read_at(read: Callable[[Record], Read], record: Record, path: str, line: int) -> Read:
    """Read a record; an error names the file and the line."""
    try:
        return read(record)
    except (DataError, UsageError) as error:
        raise MalformedLineError(str(error), path=path, line=line) from None
