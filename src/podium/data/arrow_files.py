"""Parquet and Arrow files as tables of pyarrow, and row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from podium.data.text_files import check_regular
from podium.errors import CorruptFileError, require
from podium.typing import Path_

ARROW_ENDINGS = {
    ".parquet": "Parquet", ".pq": "Parquet",
    ".arrow": "Arrow", ".feather": "Arrow", ".ipc": "Arrow",
}  # fmt: skip


def is_arrow_file(path: Path_) -> bool:
    """Whether a file is Parquet or Arrow, by its ending."""
    return Path(path).suffix.lower() in ARROW_ENDINGS


def read_arrow_file(path: str) -> Any:
    """Return the table of a Parquet or an Arrow file."""
    kind = ARROW_ENDINGS[Path(path).suffix.lower()]
    pa = require("pyarrow", "arrow", f"reading {kind} files")
    module = require(f"pyarrow.{'parquet' if kind == 'Parquet' else 'feather'}", "arrow", kind)
    if Path(path).exists() and not Path(path).is_dir():
        check_regular(path)
    try:
        return module.read_table(path)
    except (pa.ArrowException, ValueError) as error:
        raise CorruptFileError(f"expected a file in {kind} format ({error})", path=path) from error


def read_arrow_rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a file with their numbers, from 1. Missing values are left out of a row.

    Dates become text, as in JSON lines.
    """
    number = 0
    for batch in read_arrow_file(path).to_batches():
        for row in batch.to_pylist():
            number += 1
            values = {name: _json_value(value) for name, value in row.items()}
            yield number, {name: value for name, value in values.items() if value is not None}


def _json_value(value: Any) -> Any:
    """Return a value of the types that JSON has; None for NaN."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    is_json = value is None or isinstance(value, str | int | float | list | dict)
    return value if is_json else str(value)
