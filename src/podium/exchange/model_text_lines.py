"""Lines of a model file as text, and errors that name file and line."""

from __future__ import annotations

import os
from collections.abc import Sequence

from podium.data.text_files import read_blocks
from podium.errors import ModelFileError
from podium.typing import Path_

MAX_MODEL_BYTES = 1 << 28
"""The maximum number of bytes of a text model; more must be a mistake or an attack."""
MAX_MODEL_LINES = 1 << 22
MAX_FEATURES = 1 << 20
"""The highest feature that a text model may name."""
FEATURES_OF_SMALL_FILE = 1 << 16
"""The number of features that a file of any size may have; a larger file may have one per byte."""


class ModelLines(tuple[str, ...]):
    """Lines of a model file, without their ends, and the path of the file."""

    path: str

    @classmethod
    def from_text(cls, text: str, path: str) -> ModelLines:
        """Return the lines of a text."""
        lines = cls(text.replace("\r\n", "\n").removesuffix("\n").split("\n"))
        lines.path = path
        return lines

    @classmethod
    def read(cls, path: Path_) -> ModelLines:
        """Read the lines of a file, compressed or not (.gz .xz .bz2 .zst)."""
        name, pieces, size = os.fspath(path), [], 0
        for block in read_blocks(name):
            size += len(block)
            if size > MAX_MODEL_BYTES:
                limit = f"{MAX_MODEL_BYTES >> 20} MiB"
                raise ModelFileError(f"{name}: expected a model of at most {limit}")
            pieces.append(block.tobytes())
        data = b"".join(pieces)
        if data.count(b"\n") > MAX_MODEL_LINES:
            raise ModelFileError(f"{name}: expected a model of at most {MAX_MODEL_LINES:,} lines")
        try:
            return cls.from_text(data.decode(), name)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ModelFileError(
                f"{name}:{line}: the file is not UTF-8 text; expected a text model"
            ) from None

    @property
    def text(self) -> str:
        """All lines as one text."""
        return "\n".join(self)

    @property
    def n_bytes(self) -> int:
        """The size of the text: one byte per character or more."""
        return sum(map(len, self)) + len(self)

    def error(self, line: int, message: str) -> ModelFileError:
        """Return an error at a line; the first line is 1."""
        return ModelFileError(f"{self.path}:{line}: {message}")


def count_features(lines: ModelLines, features: Sequence[int], n_features: int | None) -> int:
    """Return how many features rows have: `n_features`, or the highest feature that the model uses.

    Features are counted from 1.
    """
    largest = max(features, default=0)
    check_width(lines, largest, n_features)
    if n_features is None:
        n_features = max(largest, 1)
    if largest > n_features:
        raise ModelFileError(
            f"{lines.path}: the model uses feature {largest}, but n_features is {n_features}"
        )
    return n_features


def check_width(lines: ModelLines, width: int, n_features: int | None) -> None:
    """Raise if the file claims too many features for its size, unless the caller expects some number.

    A model takes memory for every feature, so that a tiny file must not claim a million.
    """
    size = lines.n_bytes
    if n_features is None and width > max(FEATURES_OF_SMALL_FILE, size):
        raise ModelFileError(
            f"{lines.path}: the model claims {width:,} features, too many for a file of {size:,} bytes; "
            f"expected at most {FEATURES_OF_SMALL_FILE:,}, or one per byte"
        ).advise(
            python=f"if rows have so many features, pass n_features={width}",
            command_line=f"if rows have so many features, pass --features {width}",
        )
