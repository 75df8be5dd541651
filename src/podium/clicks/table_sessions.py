"""Read sessions from tables with one row per impression: CSV, TSV or Parquet, in blocks of rows."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from podium.clicks.event_rows import CLICK, IMPRESSION, EventRows
from podium.data.text_files import Progress, check_regular, read_blocks, stem
from podium.errors import CorruptFileError, MalformedLineError, UnknownNameError, require
from podium.feedback.ubi_fields import identifier_of, number_of, seconds_of
from podium.typing import Path_

TABLE_COLUMNS = {
    "session": ("session_id", "session", "list_id", "query_id", "search_id"),
    "query": ("query", "user_query", "query_text", "qid"),
    "doc": ("doc", "doc_id", "docid", "document", "document_id", "object_id", "product_id", "item_id"),
    "position": ("position", "rank", "ordinal"),
    "clicked": ("clicked", "click", "clicks", "click_order"),
    "time": ("time", "timestamp"),
    "click_time": ("click_time",),
    "variant": ("variant", "ranker", "model"),
    "user": ("user", "user_id", "client_id"),
    "user_class": ("user_class", "segment"),
    "base_position": ("base_position",),
}  # fmt: skip
"""Columns of a table -> the names by which they are recognised. The first five are required."""

REQUIRED = ("session", "query", "doc", "position", "clicked")
_BATCH_ROWS = 1 << 16
_TRUE, _FALSE = ("true", "t", "yes"), ("false", "f", "no", "")

Column = list[Any]


def read_table_rows(
    path: Path_, rows: EventRows, columns: Mapping[str, str], progress: Progress | None = None
) -> None:
    """Add the impressions and clicks of a table to rows."""
    name = os.fspath(path)
    is_parquet = Path(stem(name)).suffix == ".parquet"
    batches = _parquet_batches(name) if is_parquet else _csv_batches(name, progress)
    places: dict[str, int] | None = None
    for header, batch in batches:
        if places is None:
            places = _find_columns(header, columns, name)
        _add_batch(rows, {role: batch[place] for role, place in places.items()})


def _find_columns(header: Sequence[str], columns: Mapping[str, str], path: str) -> dict[str, int]:
    """Return the place of each column by its role."""
    lowered = [name.strip().lower() for name in header]
    for role, name in columns.items():
        if role not in TABLE_COLUMNS:
            raise UnknownNameError("column", role, TABLE_COLUMNS, path=path)
        if name.strip().lower() not in lowered:
            raise UnknownNameError("column", name, header, path=path, holder="the table")
    names = {role: (columns[role].strip().lower(),) for role in columns}
    places = {}
    for role, usual in {**TABLE_COLUMNS, **names}.items():
        match = next((name for name in usual if name in lowered), None)
        if match is not None:
            places[role] = lowered.index(match)
    missing = [role for role in REQUIRED if role not in places]
    if missing:
        raise MalformedLineError(
            f"expected columns {', '.join(REQUIRED)}, got no {', '.join(missing)} among "
            f"{', '.join(header)[:200]}", path=path, line=1,
        ).advise(
            python=f"name them, as in columns={{{missing[0]!r}: ...}}",
            command_line=f"name them, as in --column {missing[0]}=NAME",
        )  # fmt: skip
    return places


def _csv_batches(path: str, progress: Progress | None) -> Iterator[tuple[list[str], list[Column]]]:
    separator = "\t" if Path(stem(path)).suffix == ".tsv" else ","
    header: list[str] | None = None
    batch: list[list[str]] = []
    try:
        for fields in csv.reader(_lines(path, progress), delimiter=separator, strict=True):
            if header is None:
                header = fields
            elif fields:
                if len(fields) != len(header):
                    raise MalformedLineError(
                        f"expected {len(header)} fields, got {len(fields)}: {fields!r:.80}",
                        path=path,
                    )
                batch.append(fields)
                if len(batch) == _BATCH_ROWS:
                    yield header, [list(column) for column in zip(*batch, strict=True)]
                    batch = []
    except (csv.Error, UnicodeDecodeError) as error:
        raise MalformedLineError(f"this is not CSV text ({error})", path=path) from None
    if batch and header is not None:
        yield header, [list(column) for column in zip(*batch, strict=True)]


def _lines(path: str, progress: Progress | None) -> Iterator[str]:
    for block in read_blocks(path):
        yield from io.StringIO(block.tobytes().decode(), newline="")
        if progress is not None:
            progress(len(block))


def _parquet_batches(path: str) -> Iterator[tuple[list[str], list[Column]]]:
    parquet = require("pyarrow.parquet", "arrow", "reading Parquet")
    check_regular(path)
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                header = list(batch.schema.names)
                yield header, [column.to_pylist() for column in batch.columns]
    except (OSError, ValueError) as error:  # pyarrow's errors are of these kinds
        raise CorruptFileError(
            f"this is not a Parquet file, or it is damaged ({error})", path=path
        ) from None


def _add_batch(rows: EventRows, columns: dict[str, Column]) -> None:
    """Add rows of a table; a row without a session or a document is malformed."""
    rows.counts["records"] += len(columns["session"])
    ids = [[identifier_of(v) for v in columns[role]] for role in ("session", "doc")]
    if None in ids[0] or None in ids[1]:
        whole = [i for i, pair in enumerate(zip(*ids, strict=True)) if None not in pair]
        rows.counts["malformed"] += len(ids[0]) - len(whole)
        ids = [[values[i] for i in whole] for values in ids]
        columns = {role: [values[i] for i in whole] for role, values in columns.items()}
    numbers = [rows.lists[name] for name in ids[0]]
    docs = [rows.docs[name] for name in ids[1]]
    n = len(numbers)
    time = [_seconds(t) for t in columns.get("time", [None] * n)]
    rows.add(
        n, list_number=numbers, doc=docs, kind=IMPRESSION, time=time,
        position=[number_of(p) for p in columns["position"]],
        base=[number_of(p) for p in columns.get("base_position", [None] * n)],
    )  # fmt: skip
    order = [_click_number(c) for c in columns["clicked"]]
    malformed = [i for i, value in enumerate(order) if value != value]
    rows.counts["malformed"] += len(malformed)
    rows.facts.malformed.update(numbers[i] for i in malformed)
    clicks = [i for i, value in enumerate(order) if value > 0]
    click_times = [_seconds(t) for t in columns.get("click_time", [None] * n)]
    rows.add(
        len(clicks), list_number=[numbers[i] for i in clicks], doc=[docs[i] for i in clicks], kind=CLICK,
        # Without times of clicks, numbers from 1 on that follow the time of the list say their order.
        time=[t if (t := click_times[i]) == t else time[i] + order[i] * 1e-3 for i in clicks],
    )  # fmt: skip
    _add_facts(rows, numbers, columns)


def _add_facts(rows: EventRows, numbers: list[int], columns: dict[str, Column]) -> None:
    facts = rows.facts
    tables = {
        "query": facts.text, "user": facts.user, "variant": facts.variant, "user_class": facts.user_class
    }  # fmt: skip
    for role, table in tables.items():
        for number, value in zip(numbers, columns.get(role, ()), strict=False):
            if number not in table and (name := identifier_of(value)) is not None:
                table[number] = name


def _seconds(value: object) -> float:
    return (
        nan
        if value is None
        else seconds_of(value.isoformat() if hasattr(value, "isoformat") else value)
    )


def _click_number(value: object) -> float:
    """Return 0 without a click, else the number of the click or 1; NaN if it is none of these."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _TRUE or word in _FALSE:
            return float(word in _TRUE)
    number = 0.0 if value is None else number_of(value)
    return number if number >= 0 and number % 1 == 0 else nan
