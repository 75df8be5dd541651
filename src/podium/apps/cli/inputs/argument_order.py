"""Advice on the order of arguments, for files that are of another kind than a command expects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
