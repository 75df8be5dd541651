"""The leaderboard of a search on stderr: a bar for the budget and the best candidates so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from podium.apps.cli.outputs.printing import stderr_console
from podium.counted_nouns import count_text

if TYPE_CHECKING:
    from podium.ensemble import SearchStep
    from podium.rankers import FitStep


@contextmanager
def search_board(seconds: float | None) -> Iterator[Callable[[FitStep], None]]:
    """Show a leaderboard while a search runs; yield a function that takes each step.

    Parameters
    ----------
    seconds
        The budget in seconds; None if it counts fits.
    """
    from podium.ensemble import SearchStep

    console = stderr_console()
    columns = (
        TextColumn("auto"), BarColumn(), TextColumn("{task.fields[state]}", markup=False),
    )  # fmt: skip
    bar = Progress(*columns, console=console)
    task = bar.add_task("auto", total=seconds, state="")
    live = Live(bar, console=console, transient=True, refresh_per_second=4)

    def show(step: FitStep) -> None:
        if isinstance(step, SearchStep):
            done = step.iteration if seconds is None else step.seconds
            total = step.total if seconds is None else seconds
            bar.update(task, completed=done, total=total, state=search_state(step))
            live.update(Group(bar, leaderboard(step)))
        else:
            bar.update(task, state=step.stage)

    with live if console.is_terminal else nullcontext():
        yield show


def search_state(step: SearchStep) -> str:
    """Return the state of a search in words."""
    used = count_text(step.iteration, "fit") + ("" if step.total is None else f" of {step.total}")
    left = "" if step.seconds_left is None else f", {max(step.seconds_left, 0):.0f} s left"
    return f"{used}, {step.seconds:.0f} s{left}; {step.stage}"


def leaderboard(step: SearchStep) -> Table:
    """Return the best candidates so far as a table."""
    table = Table("best so far", step.metric, "95% interval", "fits", header_style="bold")
    for row in step.leaders:
        table.add_row(
            row.label, f"{row.value:.4f}", f"{row.low:.4f} to {row.high:.4f}", str(row.folds)
        )
    return table
