"""LETOR / SVMlight text: ``label qid:token id:value ... # comment``, one document per line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

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
from podium.typing import Matrix

LetorBlock = tuple[
    NDArray[np.float64], NDArray[np.int64], Packed, Packed, Packed, int, int, Problem | None
]

_FEATURE = re.compile(rb"(\d+):(.*)", re.DOTALL)
_DOCID = re.compile(rb"(?:^|(?<=[ \t\r]))docid[ \t\r]*=[ \t\r]*([^ \t\r]*)")


def parse_letor(
    text: NDArray[np.uint8], x: Matrix, max_feature: int, null_is_nan: bool
) -> LetorBlock:
    """Fill x, one row per document; features beyond its width are read but not kept.

    Returns labels; the row at which each run of one query begins, and its id;
    comments; doc ids; the largest feature id; lines read; the first problem or None.
    """
    labels: list[float] = []
    run_starts: list[int] = []
    run_ids: list[bytes] = []
    comments: list[bytes] = []
    max_id = 0
    problem = None
    lines = split_lines(text)
    done = len(lines)
    for number, line in enumerate(lines):
        body, _, comment = line.partition(b"#")
        fields = words(body)
        if not fields:
            continue
        try:
            labels.append(_label(fields[0]))
            qid = _qid(fields[1] if len(fields) > 1 else b"")
            if not run_ids or run_ids[-1] != qid:
                run_starts.append(len(labels) - 1)
                run_ids.append(qid)
            for feature in _fill_row(x[len(labels) - 1], fields[2:], max_feature, null_is_nan):
                max_id = max(max_id, feature)
        except ProblemError as error:
            problem, done = error.on_line(number), number
            break
        comments.append(comment.rstrip(b"\r"))
    return (
        np.array(labels, dtype=np.float64),
        np.array(run_starts, dtype=np.int64),
        pack(run_ids),
        pack(comments),
        pack(map(_docid, comments)),
        max_id,
        done,
        problem,
    )


def _fill_row(
    row: Matrix, fields: list[bytes], max_feature: int, null_is_nan: bool
) -> Iterator[int]:
    """Fill a row with the features of a line; yield each feature id, also before a problem."""
    row[:] = 0
    earlier_ids: set[int] = set()
    for field in fields:
        feature, value = _feature(field, max_feature, null_is_nan, row.dtype)
        yield feature
        if feature > len(row):
            continue  # the caller calls again with a wider x
        if feature in earlier_ids:
            raise ProblemError("duplicate", "each feature id once per line", field)
        earlier_ids.add(feature)
        row[feature - 1] = value


def _label(token: bytes) -> float:
    if not NUMBER.fullmatch(token):
        if NONFINITE_WORD.fullmatch(token):
            raise ProblemError("nonfinite", "a finite label", token)
        raise ProblemError("malformed", "a label (a number) at the start of the line", token)
    label = float(token)
    if not math.isfinite(label):
        raise ProblemError("nonfinite", "a finite label", token)
    if label < 0:
        raise ProblemError("negative", "a label of 0 or more", token)
    return label


def _qid(token: bytes) -> bytes:
    if not token.startswith(b"qid:") or len(token) <= 4:
        raise ProblemError("malformed", "qid:<query id> after the label", token)
    return token[4:]


def _feature(
    token: bytes, max_feature: int, null_is_nan: bool, dtype: np.dtype[np.floating]
) -> tuple[int, float]:
    match = _FEATURE.fullmatch(token)
    if match is None:
        raise ProblemError("malformed", "a feature as <id>:<value>", token)
    digits, text = match[1].lstrip(b"0"), match[2]
    if not digits or len(digits) > 9 or int(digits) > max_feature:
        raise ProblemError("feature-id", f"a feature id from 1 to {max_feature}", token)
    return int(digits), _value(token, text, null_is_nan, dtype)


def _value(token: bytes, text: bytes, null_is_nan: bool, dtype: np.dtype[np.floating]) -> float:
    if NUMBER.fullmatch(text):
        value = float(text)
        if abs(value) > float(np.finfo(dtype).max) and not _rounds_down(value, dtype):
            raise ProblemError("nonfinite", "a finite feature value", token)
        return value
    if text == b"NULL":
        if null_is_nan:
            return math.nan
        raise ProblemError("null", "a number", token)
    if NONFINITE_WORD.fullmatch(text):
        raise ProblemError("nonfinite", "a finite feature value", token)
    raise ProblemError("malformed", "a number as the feature's value", token)


def _rounds_down(value: float, dtype: np.dtype[np.floating]) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.array(value).astype(dtype)))


def _docid(comment: bytes) -> bytes:
    match = _DOCID.search(comment)
    if match:
        return match[1]
    fields = words(comment)
    return fields[0] if len(fields) == 1 else b""


def format_letor(
    x: Matrix,
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    first: int,
    last: int,
    qid_bytes: NDArray[np.uint8],
    qid_offsets: NDArray[np.int64],
    tail_bytes: NDArray[np.uint8],
    tail_offsets: NDArray[np.int64],
) -> NDArray[np.uint8]:
    """Return queries first..last-1 as LETOR text; a tail is the text after the features, with its "#"."""
    qids, tails = qid_bytes.tobytes(), tail_bytes.tobytes()
    lines = []
    for q in range(first, last):
        qid = qids[qid_offsets[q] : qid_offsets[q + 1]]
        for row in range(offsets[q], offsets[q + 1]):
            tail = tails[tail_offsets[row] : tail_offsets[row + 1]]
            fields = [_text(y[row]), b"qid:" + qid]
            fields += [b"%d:%b" % (j, _text(v)) for j, v in enumerate(x[row], start=1)]
            lines.append(b" ".join([*fields, tail] if tail else fields) + b"\n")
    return np.frombuffer(b"".join(lines), dtype=np.uint8)


def _text(value: np.floating) -> bytes:
    """Return the shortest text that reads back the same, such as 0.25 rather than 2.5e-01."""
    if np.isnan(value):
        return b"NULL"
    # A whole number is written in full, as printf does; NumPy would fill up with zeros.
    whole = value != 0 and float(value).is_integer()
    fixed = str(int(value)) if whole else np.format_float_positional(value, trim="-")
    scientific = np.format_float_scientific(value, trim="-", exp_digits=2)
    return min(fixed, scientific, key=len).encode()
