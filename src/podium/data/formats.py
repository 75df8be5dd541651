"""Which kind of file is this? By its ending, else by its first line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium.data.files import read_blocks, stem
from podium.data.letor import Progress, read_letor
from podium.data.parquet import read_parquet
from podium.data.ranking_data import Missing, RankingData, concatenate
from podium.data.trec import Qrels, read_qrels
from podium.errors import CorruptFileError, EmptyDataError, MalformedLineError, NonFiniteError

Format = Literal["letor", "parquet", "qrels", "run", "npy", "scores"]
Path_ = str | os.PathLike[str]

_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".qrels": "qrels",
    ".run": "run",
}


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
    ending = Path(stem(path)).suffix
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    words = _first_words(os.fspath(path))
    if len(words) > 1 and words[1].startswith(b"qid:"):
        return "letor"
    return {1: "scores", 4: "qrels", 6: "run"}.get(len(words), "letor")  # type: ignore[return-value]


def _first_words(path: str) -> list[bytes]:
    for text in read_blocks(path):
        for line in text.tobytes().split(b"\n"):
            words = line.partition(b"#")[0].split()
            if words:
                return words
    raise EmptyDataError("expected at least one line, got an empty file", path=path)


def read_data(
    paths: Sequence[Path_], *, missing: Missing = "error", progress: Progress | None = None
) -> RankingData:
    """Ranking data from LETOR text or Parquet, several files as one set."""
    formats = {detect_format(path) for path in paths}
    if formats == {"letor"}:
        return read_letor(list(paths), missing=missing, progress=progress)
    for path in paths:
        kind = detect_format(path)
        if kind not in ("letor", "parquet"):
            raise CorruptFileError(
                f"expected LETOR text or Parquet, got what looks like {kind}", path=os.fspath(path)
            )
    parts = [
        read_parquet(path)
        if detect_format(path) == "parquet"
        else read_letor(path, missing=missing, progress=progress)
        for path in paths
    ]
    return parts[0] if len(parts) == 1 else concatenate(parts)


def read_judged(
    path: Path_, *, missing: Missing = "error", progress: Progress | None = None
) -> RankingData | Qrels:
    """What scores can be judged by: LETOR text, Parquet, or TREC qrels."""
    if detect_format(path) == "qrels":
        return read_qrels(path)
    return read_data([path], missing=missing, progress=progress)


def read_scores(path: Path_) -> NDArray[np.float64]:
    """Scores, one a line (as SVMrank and RankLib write them) or a .npy vector."""
    name = os.fspath(path)
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


def _score(word: bytes, path: str, line: int) -> float:
    got = repr(word[:40].decode("utf-8", "replace"))
    try:
        score = float(word)
    except ValueError:
        raise MalformedLineError(
            f"expected one score a line, got {got}", path=path, line=line
        ) from None
    if np.isnan(score):
        raise NonFiniteError(f"expected a score, got {got}", path=path, line=line)
    return score


def _read_npy(path: str) -> NDArray[np.float64]:
    try:
        scores = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise CorruptFileError(f"expected a .npy file of numbers ({error})", path=path) from error
    if scores.ndim != 1 or scores.dtype.kind not in "fiu":
        raise CorruptFileError(
            f"expected a vector of numbers, got shape {scores.shape} of {scores.dtype}", path=path
        )
    return np.asarray(scores, dtype=np.float64)
