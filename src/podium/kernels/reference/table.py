"""Text in white-space separated columns: TREC qrels (4 columns) and runs (6 columns)."""

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

TableBlock = tuple[Packed, Packed, NDArray[np.float64], int, Problem | None]

_COLUMNS = {
    4: "4 columns: query 0 document label",
    6: "6 columns: query Q0 document rank score tag",
}


def parse_table(text: NDArray[np.uint8], n_columns: int) -> TableBlock:
    """Query, document and number of each line; lines read; the first problem or None."""
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
        except ProblemError as found:
            problem, done = found.at(number), number
            break
        rows.append((fields[0], fields[2], value))
    values = np.array([value for _, _, value in rows], dtype=np.float64)
    return pack(q for q, _, _ in rows), pack(d for _, d, _ in rows), values, done, problem


def _number(token: bytes, n_columns: int) -> float:
    expected = "a finite label" if n_columns == 4 else "a finite score"
    if not NUMBER.fullmatch(token):
        kind = "nonfinite" if NONFINITE_WORD.fullmatch(token) else "malformed"
        raise ProblemError(kind, expected, token)
    value = float(token)
    if not math.isfinite(value):
        raise ProblemError("nonfinite", expected, token)
    return value
