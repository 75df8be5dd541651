"""Mapped arrays: arrays in files, read when they are used and let go when memory is short."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium.errors import DataError
from podium.typing import Path_

_FULL = (errno.ENOSPC, errno.EDQUOT)


def mapped_file(array: NDArray[Any]) -> Path | None:
    """Return the file that an array, or the array that it is a view of, is mapped from; None: memory.

    Examples
    --------
    >>> mapped_file(np.zeros(3)) is None
    True
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if isinstance(owner, np.memmap) and owner.filename is not None:
            return Path(owner.filename)
        owner = owner.base
    return None


def empty_beside(source: NDArray[Any], shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array to be filled: in memory, or in a file beside that of the source if it has one.

    The file has no name of its own, or a temporary one: it ends with the process.
    """
    path = mapped_file(source)
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if path is None or not n_bytes:
        return np.empty(shape, dtype)
    with disk_space(path.parent, n_bytes), tempfile.NamedTemporaryFile(dir=path.parent) as file:
        # Without room, a write into a mapped file would end the process: take the room first.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, n_bytes)
        mapped: NDArray[Any] = np.memmap(file.name, dtype, "r+", shape=shape)
        return mapped


@contextmanager
def disk_space(folder: Path_, n_bytes: int) -> Iterator[None]:
    """Raise DataError if a folder has no room for so many bytes, before they are written or during it."""
    free = shutil.disk_usage(folder).free
    error = DataError(
        f"expected {n_bytes / 1e6:,.1f} MB of free disk for the rows of a fit, got {free / 1e6:,.1f} MB; "
        "free some, or move the collection to a larger disk",
        path=str(folder),
    )
    if free < n_bytes:
        raise error
    with full_disk_is(error):
        yield


@contextmanager
def full_disk_is(error: DataError) -> Iterator[None]:
    """Raise this error in place of one about a disk without room."""
    try:
        yield
    except OSError as own:
        if own.errno not in _FULL:
            raise
        raise error from own
