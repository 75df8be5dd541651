"""Which kind of file is this? By its ending, else by its first line."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.checks import to_array
from podium.data.files import (
    Path_,
    Progress,
    atomic_path,
    atomic_writer,
    check_regular,
    read_blocks,
    stem,
)
from podium.data.letor import read_letor
from podium.data.parquet import read_parquet, read_scores_parquet
from podium.data.ranking_data import Missing, RankingData, concatenate
from podium.data.trec import Qrels, read_qrels
from podium.errors import CorruptFileError, EmptyDataError, MalformedLineError, NonFiniteError

Format = Literal["letor", "parquet", "qrels", "run", "npy", "scores"]

_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".qrels": "qrels",
    ".run": "run",
}


_NPY_DAMAGE = (
    ValueError, TypeError, EOFError, OverflowError, AttributeError, RuntimeError, MemoryError,
    zipfile.BadZipFile, SyntaxError, TokenError,  # NumPy reads headers as Python
)  # fmt: skip

_KINDS = {"qrels": "TREC qrels", "run": "a TREC run", "npy": "a NumPy array", "scores": "scores"}


def detect_format(path: Path_) -> Format:
    """The kind of a file; plain text is told apart by its first line.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "judgments.txt"
    >>> _ = path.write_text("q1 0 doc7 2\\n")
    >>> detect_format(path)
    'qrels'
    """
    ending = Path(stem(path)).suffix.lower()
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    words = _first_words(os.fspath(path))
    if len(words) > 1 and words[1].startswith(b"qid:"):
        return "letor"
    if len(words) == 1 and not _is_number(words[0]):
        raise CorruptFileError(
            f"expected LETOR text, scores, qrels or a run, got a first line with {_shown(words[0])}",
            path=os.fspath(path),
        )
    return {1: "scores", 4: "qrels", 6: "run"}.get(len(words), "letor")  # type: ignore[return-value]


def _first_words(path: str) -> list[bytes]:
    for text in read_blocks(path):
        for line in text.tobytes().split(b"\n"):
            words = line.split()
            if words and not words[0].startswith(b"#"):
                return words
    raise EmptyDataError("expected at least one line, got an empty file", path=path)


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word


def _shown(word: bytes) -> str:
    return repr(word[:40].decode("utf-8", "replace"))


def read_data(
    paths: Sequence[Path_],
    *,
    missing: Missing = "error",
    labelled: bool = True,
    progress: Progress | None = None,
) -> RankingData:
    """Ranking data from LETOR text or Parquet, several files as one set.

    With ``labelled=False`` a table may come without labels: documents to be scored.
    """
    formats = [detect_format(path) for path in paths]
    for path, kind in zip(paths, formats, strict=True):
        if kind not in ("letor", "parquet"):
            raise CorruptFileError(
                f"expected LETOR text or Parquet, got what looks like {_KINDS[kind]}",
                path=os.fspath(path),
            )
    if set(formats) == {"letor"}:
        return read_letor(list(paths), missing=missing, progress=progress)
    parts = [
        read_parquet(path, missing=missing, labelled=labelled)
        if kind == "parquet"
        else read_letor(path, missing=missing, progress=progress)
        for path, kind in zip(paths, formats, strict=True)
    ]
    return parts[0] if len(parts) == 1 else concatenate(parts)


def read_judged(
    path: Path_, *, missing: Missing = "error", progress: Progress | None = None
) -> RankingData | Qrels:
    """What scores can be judged by: LETOR text, Parquet, or TREC qrels."""
    if detect_format(path) == "qrels":
        return read_qrels(path, progress)
    return read_data([path], missing=missing, progress=progress)


def read_scores(path: Path_) -> NDArray[np.float64]:
    """Scores: one a line (as SVMrank writes them), a .npy vector, or the column score of Parquet.

    Blank lines do not count.
    """
    name = os.fspath(path)
    if detect_format(path) == "parquet":
        return read_scores_parquet(name)
    if detect_format(path) == "npy":
        return _read_npy(name)
    scores: list[float] = []
    line_number = 0
    for text in read_blocks(name):
        for line in text.tobytes().splitlines():
            line_number += 1
            word = line.strip()
            if word:
                scores.append(_score(word, name, line_number))
    return np.array(scores)


def write_scores(
    scores: ArrayLike, path: Path_, file_format: Literal["scores", "npy"] | None = None
) -> None:
    """Write scores one a line (.npy: as a vector), all or nothing; they read back exactly.

    A matrix has one row per line, its columns with spaces between (.npy: as a matrix).

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
    """Scores as text, one a line, in the fewest digits that read back exactly."""
    if scores.ndim == 2:
        return "".join(" ".join(map(repr, row)) + "\n" for row in scores.tolist())
    return "".join(f"{score!r}\n" for score in scores.tolist())


def _score(word: bytes, path: str, line: int) -> float:
    got = _shown(word)
    if not _is_number(word):
        raise MalformedLineError(f"expected one score a line, got {got}", path=path, line=line)
    score = float(word)
    if np.isnan(score):
        raise NonFiniteError(f"expected a score, got {got}", path=path, line=line)
    return score


def _read_npy(path: str) -> NDArray[np.float64]:
    check_regular(path)
    try:
        # As a map of the file: what its header asks for is never more than what the file holds.
        scores = np.load(path, mmap_mode="r", allow_pickle=False)
    except _NPY_DAMAGE as error:
        raise CorruptFileError(
            "expected a .npy file of numbers, got something else", path=path
        ) from error
    if not isinstance(scores, np.ndarray) or scores.ndim != 1 or scores.dtype.kind not in "fiu":
        got = f"shape {scores.shape}" if isinstance(scores, np.ndarray) else "several arrays"
        raise CorruptFileError(f"expected one vector of numbers, got {got}", path=path)
    return np.array(scores, dtype=np.float64)
