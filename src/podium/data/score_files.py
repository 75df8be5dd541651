"""Score files: one score per line, a .npy vector, or a column of Parquet."""

from __future__ import annotations

import os
import zipfile
from array import array
from pathlib import Path
from tokenize import TokenError
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.argument_checks import to_array
from podium.data.atomic_files import atomic_path, atomic_writer
from podium.data.file_formats import detect_format, quote_word, spells_number
from podium.data.parquet_reader import read_scores_parquet
from podium.data.text_files import check_regular, read_blocks
from podium.errors import CorruptFileError, MalformedLineError, NonFiniteError
from podium.typing import Path_

_NPY_DAMAGE = (
    ValueError, TypeError, EOFError, OverflowError, AttributeError, RuntimeError, MemoryError,
    zipfile.BadZipFile, SyntaxError, TokenError,  # NumPy reads headers as Python
)  # fmt: skip
"""Errors that NumPy raises, depending on which byte of a file is wrong."""


def read_scores(path: Path_) -> NDArray[np.float64]:
    """Read scores: one per line (as SVMrank writes them), a .npy vector, or the column score of Parquet.

    Blank lines do not count.
    """
    name = os.fspath(path)
    if detect_format(path) == "parquet":
        return read_scores_parquet(name)
    if detect_format(path) == "npy":
        return _read_npy(name)
    scores = array("d")
    line_number = 0
    for text in read_blocks(name):
        for line in text.tobytes().splitlines():
            line_number += 1
            word = line.strip()
            if word:
                scores.append(_parse_score(word, name, line_number))
    return np.array(scores, dtype=np.float64)


def write_scores(
    scores: ArrayLike, path: Path_, file_format: Literal["scores", "npy"] | None = None
) -> None:
    """Write one score per line (.npy: a vector), all or nothing; the scores read back exactly.

    A matrix has one row per line, with spaces between its columns (.npy: as a matrix).

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "scores.txt.gz"
    >>> write_scores([0.1, 2.0], path)
    >>> read_scores(path).tolist()
    [0.1, 2.0]
    """
    values = to_array(scores, "scores", np.float64)
    if file_format is None:
        file_format = "npy" if Path(path).suffix == ".npy" else "scores"
    if file_format == "npy":
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.save(file, values, allow_pickle=False)
        return
    with atomic_writer(path) as write:
        write(score_lines(values).encode())


def score_lines(scores: NDArray[np.float64]) -> str:
    """Return scores as text, one per line, in the fewest digits that read back exactly."""
    if scores.ndim == 2:
        return "".join(" ".join(map(repr, row)) + "\n" for row in scores.tolist())
    return "".join(f"{score!r}\n" for score in scores.tolist())


def _parse_score(word: bytes, path: str, line: int) -> float:
    got = quote_word(word)
    if not spells_number(word):
        raise MalformedLineError(f"expected one score per line, got {got}", path=path, line=line)
    score = float(word)
    if np.isnan(score):
        raise NonFiniteError(f"expected a score, got {got}", path=path, line=line)
    return score


def _read_npy(path: str) -> NDArray[np.float64]:
    check_regular(path)
    try:
        # As a map of the file: a header that asks for more than the file holds is an error.
        scores = np.load(path, mmap_mode="r", allow_pickle=False)
    except _NPY_DAMAGE as error:
        raise CorruptFileError(
            "expected a .npy file of numbers, got something else", path=path
        ) from error
    if not isinstance(scores, np.ndarray) or scores.ndim != 1 or scores.dtype.kind not in "fiu":
        got = f"shape {scores.shape}" if isinstance(scores, np.ndarray) else "several arrays"
        raise CorruptFileError(f"expected one vector of numbers, got {got}", path=path)
    return np.array(scores, dtype=np.float64)
