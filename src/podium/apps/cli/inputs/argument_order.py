"""Errors about files: the right order of arguments, and the names of the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from podium.errors import CorruptFileError, DataError, MalformedLineError


@contextmanager
def advice_on_order(advice: str) -> Iterator[None]:
    """Add the right order of arguments to an error about the first line of a file, or its kind."""
    try:
        yield
    except DataError as error:
        is_kind = isinstance(error, CorruptFileError)
        is_first_line = isinstance(error, MalformedLineError) and error.line == 1
        if is_kind or is_first_line:
            error.advise(python=error.python_advice, command_line=advice)
        raise


@contextmanager
def names_files(work: str, paths: Sequence[Path]) -> Iterator[None]:
    """Begin an error about data that names no file with the work and the files."""
    try:
        yield
    except DataError as error:
        if error.path is None:
            files = ", ".join(map(str, paths[:3])) + ", ..." * (len(paths) > 3)
            error.args = (f"{work} {files}: {error.args[0]}",)
        raise
