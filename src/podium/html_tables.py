"""HTML tables for notebooks: escaped, without scripts, in the colours of the page, of bounded size."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from numbers import Integral, Real

MAX_ROWS, LAST_ROWS = 15, 5
"""The most rows of a table, and how many of them are the last ones."""
MAX_COLUMNS, LAST_COLUMNS = 14, 3
"""The most columns of a table, and how many of them are the last ones."""
MAX_CELL_CHARACTERS = 80
_NUMBER = " class='number'"
GAP = "…"
"""Stands for rows and columns that are left out."""

# Only colours that suit a light and a dark page: the text's own colour, and half-clear grey.
_STYLE = (
    ".podium-table{overflow-x:auto;max-width:100%;color:inherit}"
    ".podium-table table{border-collapse:collapse;font-size:.9em;color:inherit;"
    "background:transparent;font-variant-numeric:tabular-nums}"
    ".podium-table caption{text-align:left;white-space:nowrap;font-weight:600;"
    "padding:.3em .6em;color:inherit}"
    ".podium-table th,.podium-table td{text-align:left;padding:.2em .6em;white-space:pre-wrap;"
    "color:inherit;background:transparent;border:0;border-bottom:1px solid rgba(127,127,127,.35)}"
    ".podium-table .number{text-align:right}"
    ".podium-table tbody tr:nth-child(even){background:rgba(127,127,127,.08)}"
    ".podium-table p{margin:.3em .6em;font-size:.85em;opacity:.75}"
)
_CONTROL_CHARACTERS = re.compile("[\\x00-\\x1f\\x7f-\\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def html_table(
    title: str,
    headers: Sequence[object],
    n_rows: int,
    row: Callable[[int], Sequence[object]],
    note: str = "",
) -> str:
    """Return a table; of a large one only the first and last rows and columns.

    Parameters
    ----------
    headers
        The names of the columns.
    n_rows, row
        The number of rows, and a function that returns the cells of a row; it is called only for rows
        that are in the table.
    note
        A sentence below the table.

    Examples
    --------
    >>> rows = [("<b>", 0.25), ("b", None)]
    >>> text = html_table("Scores", ("document", "score"), len(rows), rows.__getitem__)
    >>> "<td>&lt;b&gt;</td><td class='number'>0.2500</td>" in text
    True
    """
    columns = _ends(len(headers), MAX_COLUMNS, LAST_COLUMNS)
    cells = [None if i is None else row(i) for i in _ends(n_rows, MAX_ROWS, LAST_ROWS)]
    numeric = [
        any(line is not None and _is_number(line[j]) for line in cells) for j in range(len(headers))
    ]
    head = _row("th", headers, columns, numeric)
    body = [_row("td", line or [GAP] * len(headers), columns, numeric) for line in cells]
    notes = [f"{n_rows:,} rows"] * (n_rows > MAX_ROWS)
    notes += [f"{len(headers):,} columns"] * (len(headers) > MAX_COLUMNS)
    foot = "; ".join(filter(None, [", ".join(notes), note]))
    return (
        f"<div class='podium-table'><style>{_STYLE}</style><table>"
        f"<caption>{escape_cell(title, 4 * MAX_CELL_CHARACTERS)}</caption>"
        f"<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"
        + (f"<p>{escape_cell(foot, 4 * MAX_CELL_CHARACTERS)}</p>" if foot else "")
        + "</div>"
    )


def escape_cell(value: object, max_characters: int = MAX_CELL_CHARACTERS) -> str:
    """Return a value as text that is safe in HTML, cut to a bounded length.

    Examples
    --------
    >>> escape_cell("<script>"), escape_cell(True), escape_cell(1234), escape_cell(None)
    ('&lt;script&gt;', 'yes', '1,234', '–')
    """
    text = _CONTROL_CHARACTERS.sub(" ", _text(value)).encode("utf-8", "backslashreplace").decode()
    return escape(text if len(text) <= max_characters else text[: max_characters - 1] + GAP)


def _text(value: object) -> str:
    if value is None or (isinstance(value, Real) and value != value):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{int(value):,}"
    if isinstance(value, Real):
        number = float(value)
        return f"{number:.4f}" if number == 0 or 1e-3 <= abs(number) < 1e4 else f"{number:.4g}"
    return str(value)


def _ends(n: int, most: int, last: int) -> list[int | None]:
    """Return the numbers of the first and last of n things, with None for those in between."""
    if n <= most:
        return list(range(n))
    return [*range(most - last), None, *range(n - last, n)]


def _row(
    tag: str, cells: Sequence[object], columns: Sequence[int | None], numeric: Sequence[bool]
) -> str:
    texts = [
        _cell(tag, GAP, False) if j is None else _cell(tag, cells[j], numeric[j]) for j in columns
    ]
    return f"<tr>{''.join(texts)}</tr>"


def _cell(tag: str, cell: object, in_numbers: bool) -> str:
    """Return a cell; numbers, names of their columns and what stands for them are on the right."""
    is_right = _is_number(cell) or (in_numbers and (tag == "th" or cell in (None, GAP)))
    return f"<{tag}{_NUMBER if is_right else ''}>{escape_cell(cell)}</{tag}>"


def _is_number(cell: object) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, bool)
