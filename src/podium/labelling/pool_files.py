"""Files of pools: JSONL, CSV or TSV, or a TREC run beside documents and queries."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from podium.data.files import COMPRESSIONS, MAX_LINE, Path_, atomic_writer, read_blocks, stem
from podium.data.trec import read_run
from podium.errors import DataError, EmptyDataError, MalformedLineError, UsageError
from podium.labelling.pools import (
    Pool,
    PoolDocument,
    PoolQuery,
    pool_lines,
    read_document,
    read_id,
    read_text,
)

Record = Mapping[str, Any]
Read = TypeVar("Read")

_DOCUMENT_ID = ("id", "_id", "document", "docid", "doc_id", "docno")
_QUERY_ID = ("id", "_id", "query", "qid", "query_id")


def read_pool(path: Path_) -> Pool:
    """Read a pool from JSONL (``.jsonl``, ``.ndjson``), CSV or TSV, compressed or not.

    A line of JSONL is a query, ``{"query": id, "text": ..., "description": ..., "documents": [{"id": ...,
    "text" | "html" | "image": ..., "title": ..., "score": ...}]}``, or one document of it, ``{"query": id,
    "query_text": ..., "description": ..., "document": id, "text" | "html" | "image": ..., ...}``, which
    are also the columns of CSV and TSV.

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

    def rows() -> Iterator[tuple[PoolQuery, PoolDocument]]:
        first: dict[tuple[str, str], int] = {}
        for line, record in read_records(name):
            for query, document in _located(_pool_rows, record, name, line):
                before = first.setdefault((query.id, document.id), line)
                if before != line:
                    raise MalformedLineError(
                        f"expected each document once a query, got {document.id!r:.60} of query "
                        f"{query.id!r:.60} as in line {before}",
                        path=name,
                        line=line,
                    )
                yield query, document

    try:
        return Pool.of(rows())
    except EmptyDataError:
        raise EmptyDataError(
            "expected at least one document, got an empty file", path=name
        ) from None
    except DataError as error:
        raise error if error.path else DataError(str(error), path=name) from None


def read_trec_pool(
    run: Path_, documents: Path_, queries: Path_ | None = None, *, depth: int | None = None
) -> Pool:
    """A pool from a TREC run: the documents of each query with their scores, best first.

    Parameters
    ----------
    run
        ``query Q0 document rank score tag`` a line.
    documents
        JSONL, CSV or TSV with ``id`` (or ``_id``, ``docid``, ``docno``), ``title`` and one of ``text``,
        ``html``, ``image``; only documents of the run are kept.
    queries
        JSONL, CSV or TSV with ``id`` (or ``_id``, ``qid``), ``text`` and ``description``; TSV may have no
        header: ``id`` and ``text``. Without it a query's text is its id.
    depth
        How many documents of each query, or all.
    """
    if depth is not None and depth < 1:
        raise UsageError(f"expected a depth of 1 or more, got {depth}")
    ranked = read_run(run)
    order = ranked.groups.order(ranked.values)
    wanted: dict[str, list[tuple[str, float]]] = {}
    for qid, rows in zip(ranked.qids.tolist(), ranked.groups.slices(), strict=True):
        best = order[rows][:depth].tolist()
        wanted[qid] = [(ranked.docids[row], float(ranked.values[row])) for row in best]
    known = _read_by_id(documents, {doc for docs in wanted.values() for doc, _ in docs})
    texts = {} if queries is None else _read_queries(queries)
    for qid, docs in wanted.items():
        for doc, _ in docs:
            if doc not in known:
                raise DataError(
                    f"expected every document of the run, got none with id {doc!r:.60} "
                    f"(query {qid!r:.60})",
                    path=os.fspath(documents),
                )
        if queries is not None and qid not in texts:
            raise DataError(
                f"expected every query of the run, got none with id {qid!r:.60}",
                path=os.fspath(queries),
            )
    return Pool(
        tuple(
            PoolQuery(
                qid,
                *texts.get(qid, (qid, "")),
                tuple(read_document({**known[doc], "score": s}, doc) for doc, s in docs),
            )
            for qid, docs in wanted.items()
        )
    )


def write_pool(pool: Pool, path: Path_) -> None:
    """Write a pool as JSONL, a query a line; it reads back equal."""
    with atomic_writer(path) as write:
        for line in pool_lines(pool):
            write(line.encode())


def read_records(path: str) -> Iterator[tuple[int, Record]]:
    """Line number and record of each record of a JSONL, CSV or TSV file."""
    ending = Path(stem(path)).suffix.lower()
    if ending in (".jsonl", ".ndjson", ".json"):
        return _json_records(path)
    if ending in (".csv", ".tsv"):
        return _table_records(path, "," if ending == ".csv" else "\t")
    raise UsageError(
        f"expected a file that ends in .jsonl, .csv or .tsv ({', '.join(COMPRESSIONS)} after it or not), "
        f"got {path}"
    )


def text_lines(path: str) -> Iterator[str]:
    """The lines of a file with their ends; one that is not UTF-8 raises."""
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
    """Lines with their ends; of the many characters that may end a line only the newline does."""
    pieces = text.split(b"\n")
    last = pieces.pop()
    return [piece + b"\n" for piece in pieces] + ([last] if last else [])


def _json_records(path: str) -> Iterator[tuple[int, Record]]:
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise MalformedLineError(
                f"expected a JSON object a line, got {line.strip()!r:.60} ({error})",
                path=path,
                line=number,
            ) from None
        if not isinstance(record, dict):
            raise MalformedLineError(
                f"expected a JSON object a line, got {line.strip()!r:.60}", path=path, line=number
            )
        yield number, record


def _table_records(path: str, delimiter: str) -> Iterator[tuple[int, Record]]:
    """Records of CSV or TSV; a record is at the line where it begins."""
    header: list[str] | None = None
    for number, row in table_rows(path, delimiter):
        if header is None:
            header = [name.strip() for name in row]
            continue
        if len(row) != len(header):
            raise MalformedLineError(
                f"expected {len(header)} fields ({', '.join(header)}), got {len(row)}",
                path=path,
                line=number,
            )
        yield number, dict(zip(header, row, strict=True))


def table_rows(path: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each row that is not empty."""
    # Quotes in TSV are text: that is how queries come.
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    rows = csv.reader(text_lines(path), delimiter=delimiter, strict=True, quoting=quoting)
    limit = csv.field_size_limit()
    begin = 1
    while True:
        csv.field_size_limit(MAX_LINE)  # of the whole process: set for one row, then put back
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


def _pool_rows(record: Record) -> list[tuple[PoolQuery, PoolDocument]]:
    """The documents of a line, each with its query (of which it is the only one here)."""
    query_id = read_id(record, "query", "qid", "query_id")
    nested = record.get("documents")
    if nested is None:
        document = read_document(record, read_id(record, "document", "docid", "doc_id"))
        return [_row(query_id, read_text(record, "query_text"), record, document)]
    if not isinstance(nested, list) or not nested:
        raise DataError(f"expected a list of documents, got {nested!r:.60}")
    rows = []
    for at, entry in enumerate(nested, start=1):
        if not isinstance(entry, dict):
            raise DataError(f"expected an object as document {at}, got {entry!r:.60}")
        document = read_document(entry, read_id(entry, *_DOCUMENT_ID))
        rows.append(_row(query_id, read_text(record, "text"), record, document))
    PoolQuery(query_id, documents=tuple(document for _, document in rows))  # each once
    return rows


def _row(
    query_id: str, text: str, record: Record, document: PoolDocument
) -> tuple[PoolQuery, PoolDocument]:
    return PoolQuery(query_id, text, read_text(record, "description"), (document,)), document


def _read_by_id(path: Path_, wanted: set[str]) -> dict[str, Record]:
    name = os.fspath(path)
    known: dict[str, Record] = {}
    for line, record in read_records(name):
        doc = _located(lambda record: read_id(record, *_DOCUMENT_ID), record, name, line)
        if doc in wanted:
            _located(partial(read_document, id=doc), record, name, line)
            if doc in known:
                raise MalformedLineError(
                    f"expected each document once, got {doc!r:.60} again", path=name, line=line
                )
            known[doc] = record
    return known


def _read_queries(path: Path_) -> dict[str, tuple[str, str]]:
    """Text and description of each query."""
    name = os.fspath(path)
    texts: dict[str, tuple[str, str]] = {}
    for line, record in _query_records(name):

        def read(record: Record) -> tuple[str, tuple[str, str]]:
            text = "text" if "text" in record else "title"
            said = read_text(record, text), read_text(record, "description")
            return read_id(record, *_QUERY_ID), said

        qid, said = _located(read, record, name, line)
        if qid in texts:
            raise MalformedLineError(
                f"expected each query once, got {qid!r:.60} again", path=name, line=line
            )
        texts[qid] = said
    return texts


def _query_records(path: str) -> Iterator[tuple[int, Record]]:
    """Records of queries; TSV without a header is id and text."""
    if Path(stem(path)).suffix.lower() != ".tsv":
        return read_records(path)
    first = next(table_rows(path, "\t"), None)
    if first is None or set(first[1]) & set(_QUERY_ID):
        return read_records(path)
    return _plain_queries(path)


def _plain_queries(path: str) -> Iterator[tuple[int, Record]]:
    for line, row in table_rows(path, "\t"):
        if len(row) != 2:
            raise MalformedLineError(
                f"expected a query id and its text, got {len(row)} fields", path=path, line=line
            )
        yield line, {"id": row[0], "text": row[1]}


def _located(read: Callable[[Record], Read], record: Record, path: str, line: int) -> Read:
    """What is read of a record; an error says where the record stands."""
    try:
        return read(record)
    except (DataError, UsageError) as error:
        raise MalformedLineError(str(error), path=path, line=line) from None
