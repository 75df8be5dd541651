"""Mapped arrays: arrays in files, read when they are used and let go when memory is short."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium.errors import DataError
from podium.typing import Path_

_FULL = (errno.ENOSPC, errno.EDQUOT)
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_own_files: set[str] = set()
"""The files that podium itself has mapped in this process."""


def map_own_file(path: Path_, dtype: DTypeLike, mode: Literal["r", "r+"], **shape: Any) -> Any:
    """Map a file of podium: from now on `mapped_file` names it."""
    mapped: Any = np.memmap(path, dtype, mode, **shape)
    _own_files.add(os.fspath(mapped.filename))
    return mapped


def mapped_file(array: NDArray[Any]) -> Path | None:
    """Return the file of podium that an array, or the array that it is a view of, is mapped from.

    None: it is in memory, or in a file of somebody else, such as joblib's, whose folder is not ours.

    Examples
    --------
    >>> mapped_file(np.zeros(3)) is None
    True
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        name = owner.filename if isinstance(owner, np.memmap) else None
        if name is not None and os.fspath(name) in _own_files:
            return Path(name)
        owner = owner.base
    return None


def empty_beside(source: NDArray[Any], shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array to be filled: in memory, or in a file beside that of the source if it has one.

    The file has no name of its own, or a temporary one: it ends with the process. If the folder cannot be
    written to, the file is in the folder of temporary files, or the array in memory.
    """
    path = mapped_file(source)
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if path is None or not n_bytes:
        return np.empty(shape, dtype)
    try:
        return _empty_in(path.parent, shape, dtype, n_bytes)
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise
    with suppress(DataError, OSError):
        return _empty_in(Path(tempfile.gettempdir()), shape, dtype, n_bytes)
    return np.empty(shape, dtype)


def _empty_in(folder: Path, shape: tuple[int, ...], dtype: DTypeLike, n_bytes: int) -> NDArray[Any]:
    """Return an array in a file without a name in a folder."""
    with disk_space(folder, n_bytes), tempfile.NamedTemporaryFile(dir=folder) as file:
        # Without room, a write into a mapped file would end the process: take the room first.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, n_bytes)
        mapped: NDArray[Any] = map_own_file(file.name, dtype, "r+", shape=shape)
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
