"""CSV text (RFC 4180): fields between separators, quoted if they contain separators or line ends."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.kernels.reference.lines import (
    NONFINITE_WORD,
    NUMBER,
    Packed,
    Problem,
    ProblemError,
    pack,
)
from podium.typing import Floats, Ints, Matrix

CsvBlock = tuple[int, tuple[Packed, ...], int, int, Problem | None]

MISSING_WORDS = {b"", b"na", b"n/a", b"nan", b"null", b"none"}
TRUTH_VALUES = {b"true": 1.0, b"yes": 1.0, b"false": 0.0, b"no": 0.0}
BLANK_LINE = re.compile(rb"\r*(\n|\Z)")
QUOTED = re.compile(rb'"((?:[^"]|"")*)"(?!")')


class Dialect(NamedTuple):
    """How fields and numbers are written, and whether an empty field is NaN or a problem."""

    separator: bytes
    decimal: bytes
    thousands: bytes
    missing_is_nan: bool


class Field(NamedTuple):
    """The contents of a field, the position behind it, and the line ends in it."""

    content: bytes
    end: int
    line_ends: int


FIELD_START, IN_PLAIN_FIELD, IN_QUOTES, QUOTE_CLOSED = range(4)
"""The state of the reader between two bytes."""


def csv_end(text: NDArray[np.uint8], separator: int, state: int) -> tuple[int, int]:
    """Continue from a state; return the end of the last whole record and the state after the text.

    A line end in quotes does not end a record. A quote opens a field only at its start. In quotes, two
    quotes in a row mean one.
    """
    end = 0
    for position, byte in enumerate(text.tobytes()):
        if state == IN_QUOTES:
            state = QUOTE_CLOSED if byte == ord('"') else IN_QUOTES
        elif byte == ord('"') and state != IN_PLAIN_FIELD:
            state = IN_QUOTES
        elif byte in (ord("\n"), separator):
            end = position + 1 if byte == ord("\n") else end
            state = FIELD_START
        else:
            state = IN_PLAIN_FIELD
    return end, state


def parse_csv(
    text: NDArray[np.uint8],
    x: Matrix,
    numbers: Floats,
    roles: Ints,
    n_texts: int,
    separator: int,
    decimal: int,
    thousands: int,
    missing_is_nan: bool,
) -> CsvBlock:
    """Fill x and numbers, one row per record, and return rows, texts, lines, column, problem.

    roles[c] says what column c is. Below 0 it is ignored. From 0 on, the numbers count the columns of x,
    then those of numbers, then the texts. `column` and `problem` describe the first problem; without a
    problem they are -1 and None.
    """
    dialect = Dialect(
        bytes([separator]), bytes([decimal]), bytes([thousands] if thousands else []), missing_is_nan
    )  # fmt: skip
    data = text.tobytes()
    texts: list[list[bytes]] = [[] for _ in range(n_texts)]
    position = rows = lines = 0
    column, problem = -1, None
    while position < len(data) and problem is None:
        if blank_line := BLANK_LINE.match(data, position):
            position, lines = blank_line.end(), lines + len(blank_line[1])
            continue
        targets = _targets(x[rows], numbers[rows], texts, roles)
        position, lines, column, problem = _read_record(data, position, lines, targets, dialect)
        rows += problem is None
    return rows, tuple(pack(strings) for strings in texts), lines, column, problem


Target = tuple[Matrix, int] | list[bytes] | None
"""The target of a column's value: a place in an array, a list of texts, or nothing."""


def _targets(
    features: Matrix, numbers: Floats, texts: list[list[bytes]], roles: Ints
) -> list[Target]:
    """Return the target of each column of a record."""
    places: list[Target] = [
        *((features, j) for j in range(len(features))),
        *((numbers, j) for j in range(len(numbers))),
        *texts,
    ]
    return [places[role] if role >= 0 else None for role in roles]


def _read_record(
    data: bytes, position: int, lines: int, targets: list[Target], dialect: Dialect
) -> tuple[int, int, int, Problem | None]:
    """Read one record; return the position behind it, the lines so far, and a problem's column."""
    column, n_columns = 0, len(targets)
    try:
        while True:
            if column == n_columns:
                raise ProblemError("columns", str(n_columns), b"more")
            field, target = read_field(data, position, dialect.separator), targets[column]
            if isinstance(target, tuple):
                array, place = target
                array[place] = read_value(field.content, dialect, array.dtype)
            elif target is not None:
                target.append(field.content)
            position, lines, column = field.end + 1, lines + field.line_ends, column + 1
            if data[field.end : field.end + 1] != dialect.separator:
                break
        if column < n_columns:
            column -= 1
            raise ProblemError("columns", str(n_columns), str(column + 1).encode())
    except ProblemError as error:
        kind, line, expected, got = error.on_line(lines)
        return position, lines, column, (kind, line, expected, got if error.got else "")
    return position, lines + 1, -1, None


def read_field(data: bytes, start: int, separator: bytes) -> Field:
    """Read the field at `start`; raise ProblemError if its quotes are wrong."""
    if data[start : start + 1] != b'"':
        line_end = data.find(b"\n", start)
        line_end = len(data) if line_end < 0 else line_end
        end = data.find(separator, start, line_end)
        at_line_end = end < 0
        end = line_end if at_line_end else end
        content = data[start:end]
        return Field(content.removesuffix(b"\r") if at_line_end else content, end, 0)
    quoted = QUOTED.match(data, start)
    if quoted is None:
        raise ProblemError("malformed", "a closing quote", data[start:])
    end = quoted.end()
    if re.compile(rb"\r(\n|\Z)").match(data, end):
        end += 1
    if data[end : end + 1] not in (b"", b"\n", separator):
        raise ProblemError("malformed", "a separator after the closing quote", data[start:end])
    return Field(quoted[1].replace(b'""', b'"'), end, quoted[1].count(b"\n"))


def read_value(content: bytes, dialect: Dialect, dtype: np.dtype[Any]) -> float:
    """Read the number of a field; raise ProblemError if the field is not a number."""
    word = content.strip(b" ")
    if word.lower() in MISSING_WORDS:
        if not dialect.missing_is_nan:
            raise ProblemError("missing", "a number", word)
        return math.nan
    digits = plain_digits(word, dialect)
    if NUMBER.fullmatch(digits):
        with np.errstate(over="ignore"):
            if not np.isfinite(dtype.type(float(digits))):
                raise ProblemError("nonfinite", "a finite number", word)
        return float(digits)
    if NONFINITE_WORD.fullmatch(word):
        raise ProblemError("nonfinite", "a finite number", word)
    if word.lower() in TRUTH_VALUES:
        return TRUTH_VALUES[word.lower()]
    raise ProblemError("malformed", "a number", word)


def plain_digits(word: bytes, dialect: Dialect) -> bytes:
    """Write a number with a decimal point and without thousands separators.

    A separator that is not before a group of three digits makes the number invalid.
    """
    if dialect.thousands:
        mark = re.escape(dialect.thousands)
        groups = re.match(rb"[+-]?[1-9][0-9]{0,2}(?:%b[0-9]{3}(?![0-9]))*" % mark, word)
        end = 0 if groups is None else groups.end()
        word = word[:end].replace(dialect.thousands, b"") + word[end:].replace(
            dialect.thousands, b"?"
        )
    if dialect.decimal != b".":
        word = word.replace(b".", b"?").replace(dialect.decimal, b".")
    return word
