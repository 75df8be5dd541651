"""Rows of a feature matrix whose number is known only when the text has been read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from podium.data.feature_matrix import check_memory
from podium.data.text_files import COMPRESSIONS
from podium.typing import Matrix


class RowAllocator:
    """Rows for one block of text after the other out of one large array.

    Fresh memory is the largest cost of reading. One large array gets it cheaply, and blocks that lie
    end to end in it need no copy afterwards. The system provides memory only when it is written to,
    so the array may be larger than needed.

    Parameters
    ----------
    path
        The file that is read; its size tells how many rows to expect.
    dtype, max_bytes
        The type of the numbers, and the bytes that the matrix may take.
    width
        Columns of the matrix; may grow between blocks.
    max_rows
        Rows of one array, for readers that do not keep all of them; None: all rows of the file.
    """

    def __init__(
        self,
        path: str,
        dtype: np.dtype[Any],
        max_bytes: int,
        width: int = 0,
        max_rows: int | None = None,
    ) -> None:
        self.path, self.dtype, self.max_bytes, self.width = path, dtype, max_bytes, width
        self.max_rows = max_rows
        # Compressed text may be many times the size of its file.
        self._bytes_left = os.path.getsize(path) * (32 if path.endswith(COMPRESSIONS) else 1)
        self._array: Matrix = np.empty((0, 0), dtype=dtype)
        self._used = 0

    def rows(self, n: int, n_bytes: int) -> Matrix:
        """Return n rows for the next block, a text of `n_bytes`."""
        if self._used + n > len(self._array) or self.width != self._array.shape[1]:
            # As many rows as the rest of the file has if its lines are like these.
            self._array = self._allocate(n, int(1.02 * n * self._bytes_left / max(1, n_bytes)))
            self._used = 0
        self._used += n
        self._bytes_left -= n_bytes
        return self._array[self._used - n : self._used]

    def _allocate(self, n_needed: int, n_expected: int) -> Matrix:
        check_memory(n_needed, self.width, self.dtype.itemsize, self.max_bytes, self.path)
        affordable = self.max_bytes // max(1, self.width * self.dtype.itemsize)
        if self.max_rows is not None:
            affordable = min(affordable, self.max_rows)
        try:
            return np.empty((max(n_needed, min(n_expected, affordable)), self.width), self.dtype)
        except MemoryError:  # the system grants no more than it has
            return np.empty((n_needed, self.width), self.dtype)


def stack_rows(parts: list[Matrix], n_rows: int, width: int) -> Matrix:
    """Stack the parts, narrow ones filled up with 0; no copy if they are adjacent already."""
    whole = parts[0].base
    if isinstance(whole, np.ndarray) and whole.shape[1] == width and _are_adjacent(parts):
        return whole[:n_rows]
    out = np.empty((n_rows, width), dtype=parts[0].dtype)
    row = 0
    for part in parts:
        rows = out[row : row + len(part)]
        rows[:, : part.shape[1]] = part[:, :width]
        rows[:, part.shape[1] :] = 0
        row += len(part)
    return out


def _are_adjacent(parts: list[Matrix]) -> bool:
    """Whether the parts are adjacent rows from the start of one array."""
    whole = parts[0].base
    address = whole.ctypes.data if isinstance(whole, np.ndarray) else 0
    for part in parts:
        if part.base is not whole or part.ctypes.data != address:
            return False
        address += part.nbytes
    return True
