"""The report of the guard: candidates beside plain click rates on held-out sessions."""

from __future__ import annotations

from podium.apps.cli.outputs.printing import print_notes, print_table
from podium.rankers import GuardReport


def print_guard_report(report: GuardReport) -> None:
    """Print what each candidate earns beyond plain click rates, and which one was taken."""
    rows = [
        [name, f"{e.value:+.4f}", f"{e.interval.low:+.4f}", f"{e.interval.high:+.4f}",
         f"{e.interval.level:.1%}", f"{e.effective_queries:,.0f}", f"{e.covered:.0%}"]
        for name, e in report.differences.items()
    ]  # fmt: skip
    if rows:
        print_table(
            f"clicks per session more than plain click rates, {report.n_held_out:,} held-out sessions",
            ["debias", "clicks", "low", "high", "level", "effective queries", "covered"],
            rows,
        )
    note = f"{report.reason}; the model is that of {_model_name(report.chosen)}"
    print_notes([note], kind="note" if rows else "warning")
    print_notes(report.messages, kind="warning")


def _model_name(chosen: str) -> str:
    return "plain click rates" if chosen == "none" else f"--debias {chosen}"
