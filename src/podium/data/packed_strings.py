"""Packed strings: many short strings as two arrays, the layout of Arrow."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from podium import kernels


@dataclass(frozen=True, eq=False)
class Strings(Sequence[str]):
    """A packed column of strings: string i is ``bytes[offsets[i]:offsets[i + 1]]``, UTF-8.

    A million document ids are two arrays instead of a million objects. Bytes that are not
    UTF-8 survive a round trip (surrogateescape).

    Examples
    --------
    >>> ids = Strings.of(["a1", "b22", ""])
    >>> ids[1], len(ids), list(ids.take([2, 0]))
    ('b22', 3, ['', 'a1'])
    """

    bytes: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, strings: Iterable[str]) -> Strings:
        """Pack Python strings."""
        parts = [s.encode("utf-8", "surrogateescape") for s in strings]
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(p) for p in parts], out=offsets[1:])
        return cls(np.frombuffer(b"".join(parts), dtype=np.uint8), offsets)

    @classmethod
    def concatenate(cls, columns: Sequence[Strings]) -> Strings:
        """Return the strings of all columns, one column after the other."""
        starts = np.cumsum([0] + [int(c.offsets[-1]) for c in columns])
        offsets = [c.offsets[:-1] + start for c, start in zip(columns, starts, strict=False)]
        return cls(
            np.concatenate([c.bytes for c in columns]),
            np.concatenate([*offsets, starts[-1:]]).astype(np.int64, copy=False),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Strings: ...
    def __getitem__(self, index: int | slice) -> str | Strings:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        i = range(len(self))[index]
        string = self.bytes[self.offsets[i] : self.offsets[i + 1]].tobytes()
        return string.decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        text, bounds = self.bytes.tobytes(), self.offsets.tolist()
        for a, b in itertools.pairwise(bounds):
            yield text[a:b].decode("utf-8", "surrogateescape")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Strings):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(
            self.bytes, other.bytes
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Bytes in each string."""
        return np.diff(self.offsets)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Strings:
        """Return the strings of these rows, in this order."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        # Byte j of the result is byte j - offsets[i] of the string of its row i.
        shift = np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Strings(self.bytes[shift + np.arange(offsets[-1])], offsets)

    def to_array(self) -> NDArray[np.object_]:
        """Return the strings as a NumPy array of Python strings."""
        return np.array(list(self), dtype=object)

    def hash(self, seed: int = 0) -> NDArray[np.uint64]:
        """Return a 64-bit number for each string, the same on every machine."""
        return kernels.hash_strings(self.bytes, self.offsets, int(seed))
