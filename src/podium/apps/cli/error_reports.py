"""Errors and warnings in one line on stderr, and exit codes."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, ParamSpec, TypeVar

import typer

from podium.apps.cli.usage_advice import near_file_advice
from podium.errors import (
    BackendError,
    DuplicateDocumentWarning,
    LargeLabelsWarning,
    MissingExtraError,
    NotConvergedWarning,
    NothingLearnedWarning,
    PluginWarning,
    PodiumError,
    SlowWarning,
    SmallBudgetWarning,
    TruncationWarning,
    UnknownClassWarning,
    UsageError,
)

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def reports_errors(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a command: an error is one line on stderr and an exit code, not a traceback.

    1: the data is wrong. 2: the command line is wrong. 130: interrupted.
    """

    @functools.wraps(command)
    def wrapped(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            with warnings.catch_warnings():
                # Commands that read data note large labels themselves, with options.
                warnings.simplefilter("ignore", LargeLabelsWarning)
                return command(*args, **kwargs)
        except KeyboardInterrupt:
            fail("interrupted", 130)
        except BrokenPipeError:
            # The reader (head, less) has closed the pipe. Python would report it again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from None
        except (UsageError, MissingExtraError, BackendError) as error:
            fail(error.on_command_line(), 2)
        except PodiumError as error:
            fail(error.on_command_line(), 1)
        except OSError as error:
            fail(_system_error(error), 1)
        except MemoryError as error:
            fail(str(error) or type(error).__name__, 1)

    return wrapped


def _system_error(error: OSError) -> str:
    """Return an error of the system with the name of the file, without its number."""
    if error.strerror is None or error.filename is None:
        return str(error) or type(error).__name__
    name = os.fsdecode(error.filename)
    advice = near_file_advice(name) if isinstance(error, FileNotFoundError) else ""
    return "; ".join(filter(None, [f"{name}: {error.strerror}", advice]))


def fail(message: str, code: int) -> NoReturn:
    """Print what is wrong in one line and exit with this code."""
    typer.echo(f"podium: {' '.join(message.split())}", err=True)
    raise typer.Exit(code)


@contextmanager
def plugin_warnings_in_one_line() -> Iterator[None]:
    """Print a warning of a plug-in as one line, without the place in the code that looked for plug-ins."""
    usual = warnings.formatwarning

    def format_warning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int,
        line: str | None = None,
    ) -> str:  # fmt: skip
        if issubclass(category, PluginWarning):
            return f"podium: warning: {' '.join(str(message).split())}\n"
        return usual(message, category, filename, lineno, line)

    warnings.formatwarning = format_warning
    try:
        yield
    finally:
        warnings.formatwarning = usual


@contextmanager
def warnings_in_one_line(advice_on_repeats: str = "") -> Iterator[None]:
    """Print each warning of the library once, as one line on stderr.

    `advice_on_repeats` follows a warning of documents that a query has twice.
    """
    with warnings.catch_warnings(record=True) as caught:
        for category in (
            DuplicateDocumentWarning, NotConvergedWarning, NothingLearnedWarning, SlowWarning,
            SmallBudgetWarning, TruncationWarning, UnknownClassWarning,
        ):  # fmt: skip
            warnings.simplefilter("always", category)
        try:
            yield
        finally:
            advice: dict[type[Warning], str] = {DuplicateDocumentWarning: advice_on_repeats}
            messages = [
                "; ".join(filter(None, [str(warning.message), advice.get(warning.category, "")]))
                for warning in caught
            ]
            for message in dict.fromkeys(messages):
                typer.echo(f"podium: warning: {' '.join(message.split())}", err=True)
