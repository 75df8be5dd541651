"""Documents and queries in words: files with documents' fields and with queries' texts."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator
from typing import Any

from podium.data.files import Path_, Progress, read_blocks, stem
from podium.errors import DataError, EmptyDataError, MalformedLineError

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?")
Records = dict[str, dict[str, Any]]


def read_fields(path: Path_) -> Records:
    """Documents' fields by their ids, from JSON lines (``.jsonl``) or a table (``.csv``, ``.tsv``).

    Every record has an ``id``. In a table numbers are numbers, ``true`` and ``false`` are truth
    values, and an empty cell is a field that the document does not have.
    """
    name = os.fspath(path)
    records = read_json_lines(name) if _is_json(name) else _table(name)
    return dict(_by_key(records, "id", name))


def read_queries(path: Path_) -> dict[str, str]:
    """Queries' texts by their ids: ``qid<TAB>text`` a line, or JSON lines with ``qid`` and ``text``."""
    name = os.fspath(path)
    if not _is_json(name):
        return dict(_tabbed(name))
    found = {}
    for qid, record in _by_key(read_json_lines(name), "qid", name):
        if not isinstance(record.get("text"), str):
            raise DataError(
                f"expected a text for query {qid!r}, got {record.get('text')!r}", path=name
            )
        found[qid] = record["text"]
    return found


def _is_json(name: str) -> bool:
    return stem(name).endswith((".jsonl", ".ndjson", ".json"))


def _text(name: str) -> str:
    data = b"".join(block.tobytes() for block in read_blocks(name))
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MalformedLineError(
            "expected UTF-8 text, got other bytes", path=name, line=line
        ) from None


def _by_key(
    records: Iterator[tuple[int, dict[str, Any]]], key: str, name: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    seen: dict[str, int] = {}
    for line, record in records:
        value = record.get(key)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise DataError(f"expected {key!r} in each record, got {value!r}", path=name, line=line)
        if str(value) in seen:
            first = seen[str(value)]
            raise DataError(
                f"expected each {key} once, got {str(value)!r} as on line {first}",
                path=name,
                line=line,
            )
        seen[str(value)] = line
        yield str(value), record
    if not seen:
        raise EmptyDataError("expected at least one record, got none", path=name)


def read_json_lines(
    path: Path_, progress: Progress | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON lines file, each with its line number; never the whole file at once."""
    name, line = os.fspath(path), 0
    for block in read_blocks(name):
        data = block.tobytes()
        for text in data.removesuffix(b"\n").split(b"\n"):
            line += 1
            if text.strip():
                yield line, _json_object(text, name, line)
        if progress is not None:
            progress(len(data))


def _json_object(text: bytes, name: str, line: int) -> dict[str, Any]:
    try:
        record = json.loads(text.decode())
    except UnicodeDecodeError:
        raise MalformedLineError(
            "expected UTF-8 text, got other bytes", path=name, line=line
        ) from None
    except (ValueError, RecursionError) as error:
        raise MalformedLineError(
            f"expected JSON, got something else ({error})", path=name, line=line
        ) from None
    if not isinstance(record, dict):
        raise MalformedLineError(
            "expected a JSON object a line, got something else", path=name, line=line
        )
    return record


def _table(name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    tabs = stem(name).endswith(".tsv")
    reader = csv.reader(
        io.StringIO(_text(name), newline=""), delimiter="\t" if tabs else ",", strict=True
    )
    try:
        header = next(reader, None)
        if header is None or "id" not in header or len(set(header)) < len(header):
            raise MalformedLineError(
                f"expected a first line of column names, each once, 'id' among them, got {header}",
                path=name,
                line=1,
            )
        for row in reader:
            if len(row) not in (0, len(header)):
                raise MalformedLineError(
                    f"expected {len(header)} columns, got {len(row)}",
                    path=name,
                    line=reader.line_num,
                )
            cells = zip(header, row, strict=False)
            record = {key: cell if key == "id" else _cell(cell) for key, cell in cells if cell}
            if record:
                yield reader.line_num, record
    except csv.Error as error:
        raise MalformedLineError(
            f"expected a table, got something else ({error})", path=name, line=reader.line_num
        ) from None


def _cell(text: str) -> Any:
    """A cell's value: a number, a truth value, or text."""
    if match := _NUMBER.fullmatch(text):
        return float(text) if match[2] or match[3] else int(text)
    return {"true": True, "false": False}.get(text.lower(), text)


def _tabbed(name: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for line, row in enumerate(_text(name).split("\n"), start=1):
        row = row.removesuffix("\r")
        if not row:
            continue
        qid, tab, text = row.partition("\t")
        if not tab or not qid or qid in seen:
            got = "a query twice" if qid in seen else repr(row[:60])
            raise MalformedLineError(f"expected qid<TAB>text, got {got}", path=name, line=line)
        seen.add(qid)
        yield qid, text
    if not seen:
        raise EmptyDataError("expected at least one query, got none", path=name)
