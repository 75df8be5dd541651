"""What every command shares: errors in one line, tables, progress, JSON."""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn, ParamSpec, TypeVar

import typer

from podium.errors import BackendError, MissingExtraError, PodiumError, UsageError

if TYPE_CHECKING:
    from podium.data import RankingData
    from podium.rankers import Step

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
MissingChoice = Literal["error", "nan"]
Missing = Annotated[
    MissingChoice,
    typer.Option(help="What NULL means in LETOR text: an error, or a missing value that is kept."),
]
Seed = Annotated[int, typer.Option(help="Same seed, same result.", min=0, max=2**63 - 1)]


def reports_errors(command: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """One line on stderr and an exit code instead of a traceback.

    1: the data is wrong. 2: the command line is wrong. 130: interrupted.
    """

    @functools.wraps(command)
    def wrapped(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            fail("interrupted", 130)
        except BrokenPipeError:
            # The reader (head, less) has seen enough. Python would complain again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from None
        except (UsageError, MissingExtraError, BackendError) as error:
            fail(str(error), 2)
        except OSError as error:
            fail(_system_error(error), 1)
        except (PodiumError, MemoryError) as error:
            fail(str(error) or type(error).__name__, 1)

    return wrapped


def _system_error(error: OSError) -> str:
    """What the system says of a file, without its number."""
    if error.strerror is None or error.filename is None:
        return str(error) or type(error).__name__
    return f"{os.fsdecode(error.filename)}: {error.strerror}"


def fail(message: str, code: int) -> NoReturn:
    """Say what is wrong in one line and leave."""
    typer.echo(f"podium: {' '.join(message.split())}", err=True)
    raise typer.Exit(code)


def print_json(value: object) -> None:
    """JSON to stdout."""
    typer.echo(printable(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)))


def printable(text: str) -> str:
    """Text that any terminal takes: bytes that were not UTF-8 are shown as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def print_table(
    title: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text_columns: int = 1,
    text_last: bool = False,
) -> None:
    """A table to stdout; all but the first columns, and with `text_last` the last, are numbers."""
    from rich.console import Console
    from rich.table import Table

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
    # A pipe or a file has no width of its own: let the table have what it needs. Too narrow a
    # terminal breaks lines, but no number is ever cut short.
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 200
    console = Console(width=width, highlight=False, markup=False)
    console.width = max(console.width, sum(widths) + 3 * len(widths) + 1)
    with console.capture() as text:
        console.print(table)
    # rich itself would leave with 1 when the reader goes away
    typer.echo(f"{printable(title)}\n{text.get()}", nl=False)


@contextmanager
def reading(paths: Sequence[Path]) -> Iterator[Callable[[int], None]]:
    """A progress bar for reading files, shown once it has taken half a second."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from podium.data.files import COMPRESSIONS

    started, plain = time.monotonic(), all(p.suffix not in COMPRESSIONS for p in paths)
    total = sum(p.stat().st_size for p in paths) if plain else None
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("reading", total=total)

    def advance(n_bytes: int) -> None:
        bar.advance(task, n_bytes)
        if console.is_terminal and not bar.live.is_started and time.monotonic() - started > 0.5:
            bar.start()

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()


def read_files(
    paths: Sequence[Path], missing: MissingChoice, *, labelled: bool = True
) -> RankingData:
    """Ranking data from several files as one set, with a progress bar."""
    from podium.data import read_data

    with reading(paths) as progress:
        return read_data(paths, missing=missing, labelled=labelled, progress=progress)


@contextmanager
def training(what: str) -> Iterator[tuple[Callable[[Step], None], Callable[[str], None]]]:
    """A progress bar for learning, fed with its steps; and a function that says what is next."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )  # fmt: skip
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(what, total=None, state="")

    def advance(step: Step) -> None:
        state = step.stage
        if step.iteration:
            state += ("  " if state else "") + f"objective {step.objective:.6g}"
        if step.valid is not None:
            state += f"  {step.metric} {step.valid:.4f}"
        bar.update(task, completed=step.iteration, total=step.total, state=state)

    def say(text: str) -> None:
        bar.update(task, description=text, state="")

    with bar if console.is_terminal else nullcontext():  # a bar that is off still ends its line
        yield advance, say


@contextmanager
def advancing(what: str) -> Iterator[Callable[[int, int], object]]:
    """A progress bar, told how much is done and of how much."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn(what), BarColumn(), MofNCompleteColumn(), console=console, transient=True
    )
    task = bar.add_task("", total=None)
    with bar if console.is_terminal else nullcontext():  # a bar that is off still ends its line
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """What the library warns of as a line each on stderr, without Python's decoration."""
    import warnings

    from podium.errors import (
        NotConvergedWarning,
        NothingLearnedWarning,
        ScalingWarning,
        TruncationWarning,
        UnknownClassWarning,
    )

    with warnings.catch_warnings(record=True) as caught:
        for told in (
            NotConvergedWarning, NothingLearnedWarning, ScalingWarning, TruncationWarning,
            UnknownClassWarning,
        ):  # fmt: skip
            warnings.simplefilter("always", told)
        try:
            yield
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                typer.echo(f"podium: warning: {' '.join(message.split())}", err=True)


@contextmanager
def busy(doing: str) -> Iterator[None]:
    """A spinner for work whose end is not in sight."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(doing) if console.is_terminal else nullcontext():
        yield
