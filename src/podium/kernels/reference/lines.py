"""Lines of text: words, packed strings, and the first problem of a reader."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Packed = tuple[NDArray[np.uint8], NDArray[np.int64]]
Problem = tuple[str, int, str, str]  # kind, line from 0, expected, got

NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
NONFINITE_WORD = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


class ProblemError(Exception):
    """The first problem of a text; it ends the loop over lines."""

    def __init__(self, kind: str, expected: str, got: bytes) -> None:
        super().__init__(kind, expected, got)
        self.kind, self.expected, self.got = kind, expected, got

    def on_line(self, line: int) -> Problem:
        """Return the problem as kernels do, with at most 40 bytes of the wrong text."""
        got = self.got[:40] + b"..." if len(self.got) > 40 else self.got
        text = got.decode("utf-8", "replace") if got else "the end of the line"
        return self.kind, line, self.expected, text


def pack(strings: Iterable[bytes]) -> Packed:
    """Return the concatenated strings, and their bounds."""
    parts = list(strings)
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(p) for p in parts], out=offsets[1:])
    return np.frombuffer(b"".join(parts), dtype=np.uint8), offsets


def unpack(text: NDArray[np.uint8], bounds: NDArray[np.int64]) -> list[bytes]:
    """Return packed strings one by one."""
    whole = text.tobytes()
    return [whole[a:b] for a, b in itertools.pairwise(bounds.tolist())]


def split_lines(text: NDArray[np.uint8]) -> list[bytes]:
    """Return the lines of a text; the last line needs no newline."""
    lines = text.tobytes().split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def words(line: bytes) -> list[bytes]:
    """Return the words of a line; white space is space, tab and carriage return."""
    spaced = line.translate(bytes.maketrans(b"\t\r", b"  "))
    return [word for word in spaced.split(b" ") if word]


def count_lines(text: NDArray[np.uint8]) -> int:
    """Return the number of lines of a text; the last line needs no newline."""
    return len(split_lines(text))
