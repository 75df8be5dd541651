"""The report of a search as commands print it: what was tried, the members and their weights."""

from __future__ import annotations

from typing import Any

import typer

from podium.apps.cli.outputs.printing import print_table
from podium.rankers.selection_report import SelectionReport

N_ROWS = 20
"""The number of candidates that are printed."""


def print_report(report: SelectionReport) -> None:
    """Print the candidates, the combinations, and what the budget left out."""
    headers, rows = report.candidate_table()
    print_table(report.title(), headers, rows[:N_ROWS], text_columns=2)
    if len(rows) > N_ROWS:
        typer.echo(f"and {len(rows) - N_ROWS} more")
    n_fits = {candidate.fits for candidate in report.candidates if candidate.fits}
    if len(n_fits) > 1:
        typer.echo(
            "Values of candidates with fewer fits are means over fewer folds: they cannot be compared with "
            "those of the members."
        )
    if report.combinations:
        headers, rows = report.combination_table()
        print_table("combinations, by nested validation", headers, rows, text_columns=2)
    for text in report.left_out:
        typer.echo(f"left out: {text}")


def report_facts(report: SelectionReport) -> dict[str, Any]:
    """Return the outcome of a search in a few words."""
    return {
        "budget": report.budget,
        "fits": report.fits,
        "combination": report.combination or None,
        "members": {member.label: round(member.weight, 4) for member in report.members},
        "left_out": "; ".join(report.left_out) or None,
    }
