"""Spooled output: bytes for stdout that appear all or nothing, in little memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

IN_MEMORY_BYTES = 1 << 24
"""More than this goes into a temporary file."""


@contextmanager
def spooled_stdout(*, is_shown: bool = True) -> Iterator[Callable[[bytes], object]]:
    """Give a write function; its bytes go to stdout at the end, if there was no error."""
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as spool:
        yield spool.write if is_shown else _drop
        spool.seek(0)
        shutil.copyfileobj(spool, typer.get_binary_stream("stdout"))


def _drop(content: bytes) -> None:
    """Write nothing."""
