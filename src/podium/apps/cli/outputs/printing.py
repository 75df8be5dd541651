"""What commands print: tables, JSON, notes."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table


def print_json(value: object) -> None:
    """Print JSON to stdout."""
    typer.echo(printable(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)))


def printable(text: str) -> str:
    """Return text that any terminal can show: bytes that were not UTF-8 become escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def print_table(
    title: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text_columns: int = 1,
    text_last: bool = False,
) -> None:
    """Print a table. All columns are numbers but the first ones and, with `text_last`, the last."""
    table = Table(header_style="bold")
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    for i, header in enumerate(headers):
        if i < text_columns or (text_last and i == len(headers) - 1):
            widths[i] = min(widths[i], 16)
            table.add_column(header, overflow="fold", min_width=widths[i])
        else:
            table.add_column(header, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(printable, row))
    # A pipe or a file has no width: the table takes what it needs. A narrow terminal breaks lines,
    # but no number is cut.
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 200
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    console.width = max(console.width, sum(widths) + 3 * len(widths) + 1)
    with console.capture() as text:
        console.print(table)
    # rich would exit with 1 if the reader closes the pipe
    typer.echo(f"{printable(title)}\n{text.get()}", nl=False)


def stderr_console() -> Console:
    """Return the terminal of progress bars; names such as :x: and [x] are shown as they are."""
    return Console(stderr=True, markup=False, emoji=False)


def print_notes(notes: Sequence[str], *, kind: str = "note") -> None:
    """Print each note, or warning, as one line on stderr."""
    for note in notes:
        typer.echo(f"podium: {kind}: {' '.join(note.split())}", err=True)


def first_line(kind: type) -> str:
    """Return the first line of a class's docstring."""
    return (kind.__doc__ or "").strip().partition("\n")[0]


def finite_or_none(value: Any) -> Any:
    """Return None for NaN and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
