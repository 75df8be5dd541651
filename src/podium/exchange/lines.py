"""The text of a model file, line by line, and errors that name file and line."""

from __future__ import annotations

import os
from collections.abc import Sequence

from podium.data.files import Path_, read_blocks
from podium.errors import ModelFileError

LIMIT = 1 << 28
"""Bytes a text model may have; more is taken for a mistake or an attack."""
MOST_LINES = 1 << 22
MOST_FEATURES = 1 << 20
"""Features a text model may speak of."""


class Lines(tuple[str, ...]):
    """Lines without their ends and the name of the file they are from."""

    path: str

    @classmethod
    def of(cls, text: str, path: str) -> Lines:
        """The lines of a text."""
        made = cls(text.replace("\r\n", "\n").removesuffix("\n").split("\n"))
        made.path = path
        return made

    @classmethod
    def read(cls, path: Path_) -> Lines:
        """The lines of a file, compressed or not (.gz .xz .bz2 .zst)."""
        name, pieces, size = os.fspath(path), [], 0
        for block in read_blocks(name):
            size += len(block)
            if size > LIMIT:
                raise ModelFileError(f"{name}: expected a model of at most {LIMIT >> 20} MiB")
            pieces.append(block.tobytes())
        data = b"".join(pieces)
        if data.count(b"\n") > MOST_LINES:
            raise ModelFileError(f"{name}: expected a model of at most {MOST_LINES:,} lines")
        try:
            return cls.of(data.decode(), name)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ModelFileError(
                f"{name}:{line}: expected a model as text (UTF-8), got other bytes"
            ) from None

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self)

    def wrong(self, line: int, message: str) -> ModelFileError:
        """An error at a line, from 1."""
        return ModelFileError(f"{self.path}:{line}: {message}")


def width_of(lines: Lines, used: Sequence[int], n_features: int | None) -> int:
    """How many features rows have: as told, or as many as the largest id that is used (from 1)."""
    largest = max(used, default=0)
    if n_features is None:
        n_features = max(largest, 1)
    if largest > n_features:
        raise ModelFileError(
            f"{lines.path}: expected features 1 to {n_features}, got a model of feature {largest}"
        )
    return n_features
