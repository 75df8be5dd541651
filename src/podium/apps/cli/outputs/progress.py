"""Progress bars and spinners on stderr; none of them is shown unless stderr is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from podium.apps.cli.outputs.printing import stderr_console

if TYPE_CHECKING:
    from podium.rankers import FitStep


@contextmanager
def training_bar(title: str) -> Iterator[tuple[Callable[[FitStep], None], Callable[[str], None]]]:
    """Show a progress bar for learning; yield functions that take a step and the next title."""
    console = stderr_console()
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn("{task.fields[state]}", markup=False),
    )  # fmt: skip
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(title, total=None, state="")

    def advance(step: FitStep) -> None:
        state = step.stage
        if step.iteration:
            state += ("  " if state else "") + f"objective {step.objective:.6g}"
        if step.valid is not None:
            state += f"  {step.metric} {step.valid:.4f}"
        bar.update(task, completed=step.iteration, total=step.total, state=state)

    def rename(text: str) -> None:
        bar.update(task, description=text, state="")

    with bar if console.is_terminal else nullcontext():  # a disabled bar still prints a newline
        yield advance, rename


@contextmanager
def counting_bar(title: str) -> Iterator[Callable[[int, int], object]]:
    """Show a progress bar; yield a function that takes how much is done, and of how much."""
    console = stderr_console()
    bar = Progress(
        TextColumn(title, markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task("", total=None)
    with bar if console.is_terminal else nullcontext():  # a disabled bar still prints a newline
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def spinner(title: str) -> Iterator[None]:
    """Show a spinner for work of unknown length."""
    console = stderr_console()
    with console.status(title) if console.is_terminal else nullcontext():
        yield
