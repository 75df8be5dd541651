"""Records of documents: their fields by id, from JSON lines or a table."""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from podium.data.arrow_files import is_arrow_file, read_arrow_rows
from podium.data.columns import DOC_NAMES, Columns
from podium.data.foreign_files import foreign_file
from podium.data.json_lines import read_json_lines
from podium.data.text_files import no_utf8, read_blocks, stem
from podium.errors import DataError, EmptyDataError, MalformedLineError
from podium.typing import Path_

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?")
_RUN_LINE = re.compile(r"\S+\s+Q0\s+\S+\s+\d+\s+\S+\s+\S+", re.IGNORECASE)
FIELD_SEPARATORS = ",;|\t"
"""What may stand between the fields of a .csv file; the most frequent one of the first line does."""
_RENAME = "rename the column that has them to id"
_EXPECTED = "documents as a table or JSON lines, one per row"
Records = dict[str, dict[str, Any]]


def read_fields(path: Path_, *, decimal: str = ".", thousands: str = "") -> Records:
    """Read the fields of documents by id, from JSON lines (``.jsonl``) or a table.

    Every record has an ``id``, or a column with another usual name, such as ``product_id`` or ``sku``.
    A table is CSV, TSV, Parquet or Arrow. In CSV and TSV, cells that spell a number are numbers,
    ``true`` and ``false`` are truth values. An empty cell is a field that the document does not
    have. A record may be repeated; raises DataError if two records of one document differ.

    Parameters
    ----------
    decimal, thousands
        How numbers of a table are written: "," as decimal for 12,99; "." as thousands for 1.299.
    """
    name = os.fspath(path)
    marks = Columns(decimal=decimal, thousands=thousands)
    if not is_json_lines(name) and not is_arrow_file(name):
        reader, header = open_table(name)
        id_column = _id_column(header, name, 1)
        return _by_key(_read_records(reader, header, id_column, name, marks), id_column, name)
    records = read_arrow_rows(name) if is_arrow_file(name) else read_json_lines(name)
    first = next(records, None)
    if first is None:
        raise EmptyDataError("expected at least one record, got none", path=name)
    id_column = _id_column(first[1], name, first[0])
    return _by_key(itertools.chain([first], records), id_column, name)


ID_NAMES = ("id", *DOC_NAMES)
"""Usual names of the column of document ids, the first one that is there is taken."""


def _id_column(names: Iterable[str], path: str, line: int) -> str:
    by_name = {name.lower(): name for name in names}
    column = next((by_name[name] for name in ID_NAMES if name in by_name), None)
    if column is None:
        got = ", ".join(by_name.values())
        if _RUN_LINE.fullmatch(got):
            remedy = "give a table of documents, as CSV or JSON lines"
            raise MalformedLineError(
                f"expected a table of documents, got {got}, which is a line of a TREC run",
                path=path, line=line,
            ).advise(python=remedy, command_line=remedy)  # fmt: skip
        raise MalformedLineError(
            f"expected a column of document ids ({', '.join(ID_NAMES)}), got {got}",
            path=path, line=line,
        ).advise(python=_RENAME, command_line=_RENAME)  # fmt: skip
    return column


def is_json_lines(name: str) -> bool:
    """Whether a file has JSON lines, by its ending."""
    return stem(name).endswith((".jsonl", ".ndjson", ".json"))


def read_text(name: str) -> str:
    """Return the text of a file, plain or compressed; raises if it is not UTF-8."""
    data = b"".join(block.tobytes() for block in read_blocks(name))
    foreign = foreign_file(data[:4096], name, _EXPECTED)
    if foreign is not None:
        raise foreign
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise no_utf8(data[error.start], name, line) from None


def _by_key(records: Iterator[tuple[int, dict[str, Any]]], key: str, name: str) -> Records:
    """Return records by their keys. A record may be repeated, with the same fields.

    Raises DataError if a key is absent, or if two records of one key differ.
    """
    by_key: Records = {}
    line_of_key: dict[str, int] = {}
    for line, record in records:
        value = record.get(key)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise DataError(f"expected {key!r} in each record, got {value!r}", path=name, line=line)
        id_ = str(value)
        if id_ not in by_key:
            by_key[id_], line_of_key[id_] = record, line
        elif by_key[id_] != record:
            raise _two_records(by_key[id_], record, key, name, line_of_key[id_], line)
    if not by_key:
        raise EmptyDataError("expected at least one record, got none", path=name)
    return by_key


def _two_records(
    first: dict[str, Any], second: dict[str, Any], key: str, name: str, first_line: int, line: int
) -> DataError:
    """Return the error for two records of one key that differ."""
    differing = [field for field in {**first, **second} if first.get(field) != second.get(field)]
    field, *others = differing
    more = f" (also different: {', '.join(others[:5])}{', ...' if others[5:] else ''})"
    advice = f"keep one line per {key}, or leave the columns that differ out of the file"
    return DataError(
        f"expected equal fields wherever {key} is {str(second[key])!r:.40}, got {field} "
        f"{first.get(field, '')!r:.40} on line {first_line} and {second.get(field, '')!r:.40} on line "
        f"{line}{more if others else ''}",
        path=name, line=line,
    ).advise(python=advice, command_line=advice)  # fmt: skip


def open_table(name: str) -> tuple[Any, list[str]]:
    """Return a reader of the rows of a table, and the names of its columns."""
    text = read_text(name)
    first_line = text.partition("\n")[0]
    tabs = stem(name).endswith(".tsv")
    delimiter = "\t" if tabs else max(FIELD_SEPARATORS, key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(reader, None)
    except csv.Error as error:
        raise _no_table(error, name, 1) from None
    if header is None or len(set(header)) < len(header):
        raise MalformedLineError(
            f"expected a first line of column names, each once, got {header}", path=name, line=1
        )
    return reader, header


def _no_table(error: csv.Error, name: str, line: int) -> MalformedLineError:
    return MalformedLineError(
        f"expected a table, got something else ({error})", path=name, line=line
    )


def table_rows(reader: Any, header: Sequence[str], name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table that are not empty, with their lines; raises if fields are missing."""
    try:
        for row in reader:
            if len(row) not in (0, len(header)):
                raise MalformedLineError(
                    f"expected {len(header)} columns, got {len(row)}",
                    path=name,
                    line=reader.line_num,
                )
            if any(row):
                yield reader.line_num, row
    except csv.Error as error:
        raise _no_table(error, name, reader.line_num) from None


def _read_records(
    reader: Any, header: list[str], id_column: str, name: str, marks: Columns
) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, row in table_rows(reader, header, name):
        cells = zip(header, row, strict=True)
        yield (
            line,
            {
                key: cell if key == id_column else _parse_cell(cell, marks)
                for key, cell in cells
                if cell
            },
        )


def _plain_number(text: str, marks: Columns) -> str:
    """Return a number with these marks as Python writes it; empty if a text is no such number."""
    if marks.decimal == "." and not marks.thousands:
        return text
    group = f"(?:{re.escape(marks.thousands)}[0-9]{{3}})+" if marks.thousands else "(?!)"
    decimal = re.escape(marks.decimal)
    number = re.fullmatch(f"(-?(?:[1-9][0-9]{{0,2}}{group}|[0-9]+))(?:{decimal}([0-9]+))?", text)
    if number is None:
        return ""
    whole = number[1].replace(marks.thousands, "") if marks.thousands else number[1]
    return whole if number[2] is None else f"{whole}.{number[2]}"


def _parse_cell(text: str, marks: Columns) -> Any:
    """Return the value of a cell: a number, a truth value, or text."""
    number = _plain_number(text, marks)
    if match := _NUMBER.fullmatch(number):
        return float(number) if match[2] or match[3] else int(number)
    return {"true": True, "false": False}.get(text.lower(), text)
