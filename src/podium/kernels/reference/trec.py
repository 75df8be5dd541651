"""TREC qrels (4 columns) and runs (6 columns): columns of text, separated by white space."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from podium.kernels.reference.lines import (
    NONFINITE_WORD,
    NUMBER,
    Packed,
    Problem,
    ProblemError,
    pack,
    split_lines,
    words,
)

TrecBlock = tuple[NDArray[np.int64], Packed, Packed, NDArray[np.float64], int, Problem | None]

_COLUMNS = {
    4: "4 columns: query 0 document label",
    6: "6 columns: query Q0 document rank score tag",
}


def parse_trec(text: NDArray[np.uint8], n_columns: int) -> TrecBlock:
    """Return the contents of the lines.

    These are the row at which each run of one query starts, and its id; the document and the number of
    each row; the number of lines read; the first problem or None.
    """
    rows: list[tuple[bytes, bytes, float]] = []
    problem = None
    lines = split_lines(text)
    done = len(lines)
    for number, line in enumerate(lines):
        fields = words(line)
        if not fields:
            continue
        try:
            if len(fields) != n_columns:
                raise ProblemError("malformed", _COLUMNS[n_columns], line.strip(b" \t\r"))
            value = _number(fields[3 if n_columns == 4 else 4], n_columns)
        except ProblemError as error:
            problem, done = error.on_line(number), number
            break
        rows.append((fields[0], fields[2], value))
    values = np.array([value for _, _, value in rows], dtype=np.float64)
    starts = [i for i, row in enumerate(rows) if i == 0 or row[0] != rows[i - 1][0]]
    run_ids, docids = pack(rows[i][0] for i in starts), pack(row[1] for row in rows)
    return np.array(starts, dtype=np.int64), run_ids, docids, values, done, problem


def _number(token: bytes, n_columns: int) -> float:
    expected = "a finite label" if n_columns == 4 else "a finite score"
    if not NUMBER.fullmatch(token):
        kind = "nonfinite" if NONFINITE_WORD.fullmatch(token) else "malformed"
        raise ProblemError(kind, expected, token)
    value = float(token)
    if not math.isfinite(value):
        raise ProblemError("nonfinite", expected, token)
    return value
