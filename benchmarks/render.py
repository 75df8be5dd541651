"""Tables of the saved figures, on the terminal and on the page docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

COLUMNS = ("what", "podium", "peer", "ratio", "target", "", "floor", "from the floor")

_WIDTH = 180  # narrower than this the table is hard to read

_INTRO = """\
# Benchmarks

How fast is podium, compared with other programs and with what the machine can do? `make bench`
measures it and writes `benchmarks/results`; `python -m benchmarks --docs` makes this page from
these files. All contenders run in turn in the same process, after one warm-up. The figures are
medians, and the files keep the seconds of every repetition. A ratio says how many times faster
podium is than the peer, unless it says otherwise. The floor is the least work of the task on this
machine, such as the bytes to move, or one operation that is necessary. It is measured in the same
run. "Busy with other work" is the share of the cores that other processes used meanwhile.
"""


def print_report(report: dict[str, Any]) -> None:
    """Print the table of one subject on the terminal."""
    console = Console()
    console.width = max(console.width, _WIDTH)
    rows = [list(COLUMNS), *map(_cells, report["rows"])]
    for header, *body in ([rows] if report["rows"] else []) + report.get("tables", []):
        table = Table(title=report["title"])
        for column in header:
            table.add_column(column)
        for row in body:
            table.add_row(*map(escape, row))
        console.print(table)
    console.print(*report["notes"], sep="\n", markup=False)


def markdown(reports: Sequence[dict[str, Any]]) -> str:
    """Return the page, from the saved reports alone."""
    return "\n".join([_INTRO, *(_section(report) for report in reports)])


def _section(report: dict[str, Any]) -> str:
    lines = [f"## {report['title']}", ""]
    lines += [f"`{report['command']}`, {report['date'][:10]}.", ""]
    lines += [f"- {name}: {_facts(report[key])}" for name, key in _FACTS.items()]
    rows = [[column or "met" for column in COLUMNS], *map(_cells, report["rows"])]
    for header, *body in ([rows] if report["rows"] else []) + report.get("tables", []):
        lines += ["", _line(header), _line(["---"] * len(header)), *map(_line, body)]
    lines += ["", *(f"- {note}" for note in report["notes"]), ""]
    return "\n".join(lines)


_FACTS = {"Machine": "machine", "Versions": "versions", "Setting": "setting"}


def _facts(facts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_plain(value)}" for name, value in facts.items())


def _plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _cells(row: dict[str, Any]) -> list[str]:
    peer = ""
    if row["theirs"] is not None:
        peer = f"{row['peer']}: {_amount(row['theirs'], row['unit'], row['peer_bytes'])}"
    return [
        row["what"],
        _amount(row["ours"], row["unit"], row["n_bytes"]),
        peer,
        _ratio(row),
        _target(row),
        {True: "met", False: "not met", None: ""}[row["met"]],
        _floor(row),
        "" if row["from_floor"] is None else _times(row["from_floor"]),
    ]


def _ratio(row: dict[str, Any]) -> str:
    if row["ratio"] is None:
        return ""
    if row["says"] == "faster" and row["ratio"] < 1:
        return f"{_times(1 / row['ratio'])} slower"
    return f"{_times(row['ratio'])} {row['says']}"


def _floor(row: dict[str, Any]) -> str:
    if row["floor"] is None:
        return ""
    return f"{row['floor']}: {_amount(row['floor_value'], row['unit'], None)}"


def _target(row: dict[str, Any]) -> str:
    unit = f" {row['unit']}" if row["ratio"] is None else "x"
    if row["at_least"] is not None:
        return f"at least {row['at_least']:g}{unit}"
    return "" if row["at_most"] is None else f"at most {row['at_most']:g}{unit}"


def _amount(value: float, unit: str, n_bytes: int | None) -> str:
    """Return seconds in a readable unit, with a rate if the number of bytes is there."""
    if unit != "s":
        return f"{value:,.0f} {unit}"
    text = f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.1f} ms"
    return text if n_bytes is None else f"{text} ({n_bytes / value / 1e6:,.0f} MB/s)"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio >= 10 else f"{ratio:.2f}x"
