"""CSV and TSV text, plain or compressed: columns of numbers into a matrix, columns of text packed."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium import kernels
from podium.data.columns import SEPARATORS, Columns
from podium.data.csv_advice import advice, is_date
from podium.data.feature_matrix import MAX_DENSE_BYTES, check_memory
from podium.data.foreign_files import foreign_file
from podium.data.packed_strings import Strings
from podium.data.parallel import map_in_parallel, thread_count
from podium.data.ranking_columns import Missing
from podium.data.row_allocation import RowAllocator, stack_rows
from podium.data.text_files import MAX_LINE_BYTES, Progress, no_utf8, read_blocks, stem
from podium.errors import (
    CorruptFileError,
    DataError,
    EmptyDataError,
    MalformedLineError,
    MissingValueError,
    NonFiniteError,
    UsageError,
)
from podium.typing import Floats, Ints, Matrix

IN_QUOTES = 2
"""The state of `kernels.csv_end` within quotes."""
SAMPLE_RECORDS = 200
"""Records that decide whether a column holds numbers."""
FIRST_NON_ASCII = 128
YES_AND_NO = ("yes", "no")
MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none")
_NUMBER_WITH_LETTERS = re.compile(
    r"[-+]?[\d.,]+e[-+]?\d+|[-+]?inf(inity)?|true|false", re.IGNORECASE
)

_ERRORS: dict[str, type[DataError]] = {
    "malformed": MalformedLineError,
    "columns": MalformedLineError,
    "missing": MissingValueError,
    "nonfinite": NonFiniteError,
}


@dataclass(frozen=True)
class CsvTable:
    """The columns of a CSV file: features, other numbers and texts, each with one value per record."""

    columns: Columns
    X: Matrix
    numbers: dict[str, Floats]
    texts: dict[str, Strings]
    path: str
    lines: Ints
    """The line on which each block of records begins, and the row of its first record."""

    def line_of(self, row: int) -> int | None:
        """Return the line of a row; None if records and lines do not match one to one."""
        first_rows, first_lines, is_regular = self.lines
        block = int(np.searchsorted(first_rows, row, side="right")) - 1
        return int(first_lines[block] + row - first_rows[block]) if is_regular[block] else None


class CsvHead(NamedTuple):
    """The first line of a file, and a sample of what follows."""

    names: list[str]
    n_lines: int
    n_bytes: int
    separator: str
    sample: list[list[str]]


def read_csv(
    path: str,
    columns: Columns,
    *,
    labelled: bool = True,
    missing: Missing = "error",
    dtype: DTypeLike = np.float64,
    max_bytes: int = MAX_DENSE_BYTES,
    progress: Progress | None = None,
) -> CsvTable:
    """Read a CSV file; `columns` says what its columns are, as far as it is not clear by their names."""
    (table,) = stream_csv(
        path, columns, None, labelled=labelled, missing=missing, dtype=dtype, max_bytes=max_bytes,
        progress=progress,
    )  # fmt: skip
    return table


def stream_csv(
    path: str,
    columns: Columns,
    rows: int | None,
    *,
    labelled: bool = True,
    missing: Missing = "error",
    dtype: DTypeLike = np.float64,
    max_bytes: int = MAX_DENSE_BYTES,
    progress: Progress | None = None,
) -> Iterator[CsvTable]:
    """Yield the records of a CSV file, about `rows` at a time (None: all at once)."""
    head = read_head(path, columns)
    columns = resolve_columns(head, columns, labelled, path)
    layout = csv_layout(head, columns, missing)
    width, itemsize = len(layout.features), np.dtype(dtype).itemsize
    allocator = RowAllocator(path, np.dtype(dtype), max_bytes, width, rows)
    blocks: list[_CsvBlock] = []
    line, n_rows, n_yielded = head.n_lines, 0, 0
    for block in _parse_blocks(path, head, layout, allocator):
        if block.problem is not None:
            raise problem_error(block.problem, block.column, path, line, columns, head)
        blocks.append(block._replace(first_line=line + 1))
        line, n_rows = line + block.n_lines, n_rows + len(block.X)
        check_memory(n_rows - n_yielded, width, itemsize, max_bytes, path)
        if progress is not None:
            progress(block.n_bytes)
        if rows is not None and n_rows - n_yielded >= rows:
            yield _csv_table(blocks, columns, layout, path)
            blocks, n_yielded = [], n_rows
    if n_rows == 0:
        raise EmptyDataError("expected at least one record after the column names", path=path)
    if n_rows > n_yielded:
        yield _csv_table(blocks, columns, layout, path)


def _csv_table(blocks: list[_CsvBlock], columns: Columns, layout: CsvLayout, path: str) -> CsvTable:
    numbers, texts = enumerate(layout.numbers), enumerate(layout.texts)
    return CsvTable(
        columns,
        stack_rows([b.X for b in blocks], sum(len(b.X) for b in blocks), len(layout.features)),
        {name: np.concatenate([b.numbers[:, j] for b in blocks]) for j, name in numbers},
        {name: Strings.concatenate([b.texts[j] for b in blocks]) for j, name in texts},
        path,
        _block_lines(blocks),
    )


def read_head(path: str, columns: Columns) -> CsvHead:
    """Read the column names of a file and a sample of its records."""
    text = next(read_blocks(path), None)
    if text is None:
        raise EmptyDataError(
            "expected a first line with column names, got an empty file", path=path
        )
    block = text.tobytes()
    _check_text(block, path)
    first_line = block.lstrip(b"\r\n").partition(b"\n")[0].decode("utf-8", "replace")
    separator = columns.separator or _guess_separator(path, first_line)
    header, n_bytes = _header_text(block, separator, path)
    try:
        names = next(
            row for row in csv.reader(io.StringIO(header, newline=""), delimiter=separator) if row
        )
    except csv.Error as error:
        raise MalformedLineError(f"expected column names ({error})", path=path, line=1) from None
    other = max(SEPARATORS[:4], key=first_line.count)
    if len(names) == 1 and other != separator and other in first_line:
        raise _other_separator(path, columns.separator, separator, other)
    _check_names(names, path)
    rest = io.StringIO(block[n_bytes:].decode("utf-8", "surrogateescape"), newline="")
    records = _first_records(csv.reader(rest, delimiter=separator))
    sample = [record for record in records if len(record) == len(names)]
    return CsvHead(names, block.count(b"\n", 0, n_bytes), n_bytes, separator, sample)


def _other_separator(path: str, option: str | None, expected: str, other: str) -> UsageError:
    """Return the error for fields with another separator than the option says, or that of the ending."""
    written = {"\t": "tab"}.get(other, other)
    python, command_line = f"give separator={other!r}", f"give --separator {written!r}"
    error = UsageError(
        f"{path}: expected fields with {expected!r} between them, got a first line with {other!r}"
    )
    if option is None:
        rename = "rename the file so that it ends in .csv, or "
        return error.advise(python=rename + python, command_line=rename + command_line)
    return error.advise(
        python=f"leave separator= out, or {python}",
        command_line=f"leave --separator out, or {command_line}",
    )


def _header_text(block: bytes, separator: str, path: str) -> tuple[str, int]:
    """Return the text of the column names, and the bytes up to its end; blank lines may precede it."""
    start = len(block) - len(block.lstrip(b"\r\n"))
    state, end = 0, start
    for line in block[start:].splitlines(keepends=True):
        end += len(line)
        _, state = kernels.csv_end(np.frombuffer(line, dtype=np.uint8), ord(separator), state)
        if line.endswith(b"\r") and state != IN_QUOTES:
            raise _wrong_line_ends(b"\r\r\n" in block[end - 1 : end + 2], path)
        if line.endswith(b"\n") and state != IN_QUOTES:
            break
    return block[start:end].decode("utf-8", "surrogateescape"), end


def _wrong_line_ends(is_doubled: bool, path: str) -> MalformedLineError:
    got = "carriage returns alone; save the file with the line ends of Unix or Windows"
    if is_doubled:
        got = (
            "two carriage returns before it, as a program wrote that converted line ends twice; remove "
            f"them, as in: tr -d '\\r' < {os.path.basename(path)} > repaired.csv"
        )
    return MalformedLineError(
        f"expected lines that end in a line feed, got {got}", path=path, line=1
    )


def _check_text(block: bytes, path: str) -> None:
    """Raise if a file is not CSV at all: binary, in another encoding, or LETOR text."""
    first_line = block.lstrip(b"\r\n").partition(b"\n")[0]
    foreign = foreign_file(block[:4096], path)
    if foreign is not None:
        raise foreign
    check_utf8(np.frombuffer(block, dtype=np.uint8), path, 0)
    if re.match(rb"\S+\s+qid:", first_line):
        raise CorruptFileError(
            "expected CSV, got LETOR text; rename the file so that it ends in .txt", path=path
        )


def check_utf8(text: NDArray[np.uint8], path: str, n_lines: int) -> None:
    """Raise if text of whole lines, which follows so many others, is not UTF-8."""
    if len(text) == 0 or text.max() < FIRST_NON_ASCII:
        return
    try:
        bytes(text).decode()
    except UnicodeDecodeError as error:
        lines = n_lines + int(np.count_nonzero(text[: error.start] == ord("\n")))
        raise no_utf8(int(text[error.start]), path, lines + 1) from None


def _first_records(reader: Iterator[list[str]]) -> list[list[str]]:
    """A few records of a file; the last of them may be cut off or wrong."""
    records: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        records.extend(itertools.islice(reader, SAMPLE_RECORDS))
    return records


def resolve_columns(head: CsvHead, columns: Columns, labelled: bool, path: str) -> Columns:
    """Return what each column of a file is; raises if that is not clear."""
    columns = replace(columns, separator=head.separator)

    def is_number(name: str) -> bool:
        return holds_numbers(head, name)

    return columns.resolve(head.names, is_number, labelled=labelled, path=path)


def holds_numbers(head: CsvHead, name: str) -> bool:
    """Whether the first value of a column is a number.

    What looks like a number, and is none, is an error later, with its line and what to do.
    """
    column = head.names.index(name)
    values = (record[column].strip() for record in head.sample)
    first = next((value for value in values if value.lower() not in MISSING_WORDS), "")
    if is_date(first):
        return False
    if first.lower() in YES_AND_NO:  # NO may also be Norway
        words = {record[column].strip().lower() for record in head.sample}
        return words <= {*YES_AND_NO, *MISSING_WORDS}
    return not re.search(r"[^\W\d_]", first) or bool(_NUMBER_WITH_LETTERS.fullmatch(first))


def _guess_separator(path: str, first_line: str) -> str:
    if stem(path).lower().endswith(".tsv"):
        return "\t"
    return max(SEPARATORS[:4], key=first_line.count)


def _check_names(names: Sequence[str], path: str) -> None:
    if not names or all(re.fullmatch(r"\s*[-+.\d]*\s*", name) for name in names):
        raise MalformedLineError(
            "expected a first line with column names, got numbers", path=path, line=1
        ).advise(
            python="write the names of the columns into the first line",
            command_line="write the names of the columns into the first line",
        )


def _is_text(name: str, columns: Columns) -> bool:
    """Whether a column is read as text."""
    texts = (columns.query, columns.doc, columns.query_text, *columns.text, *columns.categories)
    return name in texts or (name == columns.label and bool(columns.grades))


CsvProblem = tuple[str, int, str, str]
"""What is wrong with a record: its kind, the line within the block, what was expected, what was there."""


class CsvLayout(NamedTuple):
    """Where the columns of a file go: features, other numbers and texts; and how fields are written."""

    features: list[str]
    numbers: list[str]
    texts: list[str]
    roles: Ints
    dialect: tuple[int, int, int, bool]


def csv_layout(head: CsvHead, columns: Columns, missing: Missing) -> CsvLayout:
    """Return where each column of a file goes."""
    features = list(columns.features or ())
    numbers = [n for n in (columns.label, columns.weight) if n and not _is_text(n, columns)]
    texts = [n for n in head.names if _is_text(n, columns)]
    # A category is text first: its place among the features is filled in when all words are there.
    place = {name: i for i, name in enumerate([*features, *numbers])}
    place |= {name: len(features) + len(numbers) + i for i, name in enumerate(texts)}
    roles = np.array([place.get(name, -1) for name in head.names], dtype=np.int64)
    return CsvLayout(features, numbers, texts, roles, _dialect(columns, missing))


class _CsvBlock(NamedTuple):
    """The records of one block of text."""

    X: Matrix
    numbers: Floats
    texts: list[Strings]
    n_lines: int
    n_bytes: int
    column: int
    problem: CsvProblem | None
    first_line: int = 0


def _dialect(columns: Columns, missing: Missing) -> tuple[int, int, int, bool]:
    thousands = ord(columns.thousands) if columns.thousands else 0
    return ord(columns.separator or ","), ord(columns.decimal), thousands, missing == "nan"


def _parse_text(text: NDArray[np.uint8], rows: Matrix, layout: CsvLayout) -> tuple[Any, ...]:
    numbers = np.empty((len(rows), len(layout.numbers)))
    return numbers, *kernels.parse_csv(
        text, rows, numbers, layout.roles, len(layout.texts), *layout.dialect
    )


def _parse_blocks(
    path: str, head: CsvHead, layout: CsvLayout, allocator: RowAllocator
) -> Iterator[_CsvBlock]:
    def parse(job: tuple[NDArray[np.uint8], Matrix]) -> _CsvBlock:
        text, rows = job
        numbers, n, texts, n_lines, column, problem = _parse_text(text, rows, layout)
        packed = [Strings(*columns) for columns in texts]
        problem = problem and recount_fields(problem, bytes(text), layout)
        return _CsvBlock(rows[:n], numbers[:n], packed, n_lines, len(text), column, problem)

    texts = whole_records(path, head)
    jobs = ((text, allocator.rows(kernels.count_lines(text), len(text))) for text in texts)
    return map_in_parallel(parse, jobs)


def recount_fields(problem: CsvProblem, text: bytes, layout: CsvLayout) -> CsvProblem:
    """Return the problem of a record; with too few or too many fields, that is its problem.

    Such fields stand under the names of others: what is wrong with their values says nothing.
    """
    kind, line, _, _ = problem
    *before, record = text.split(b"\n", line + 1)[: line + 1]
    if kind == "columns" or any(b.count(b'"') % 2 for b in (b"".join(before), record)):
        return problem
    words = record.decode("utf-8", "replace").rstrip("\r")
    records = _first_records(csv.reader([words], delimiter=chr(layout.dialect[0])))
    if not records or len(records[0]) == len(layout.roles):
        return problem
    return "columns", line, str(len(layout.roles)), str(len(records[0]))


def whole_records(path: str, head: CsvHead) -> Iterator[NDArray[np.uint8]]:
    """The text after the column names, in blocks of whole records.

    A field in quotes may hold line ends. A block that ends inside of one is joined with the next.
    """
    pieces: list[NDArray[np.uint8]] = []
    state, to_skip = 0, head.n_bytes
    n_lines = head.n_lines
    for block in read_blocks(path, in_flight=thread_count() + 1):
        text, to_skip = block[to_skip:], 0
        check_utf8(text, path, n_lines)
        n_lines += kernels.count_lines(text)
        end, state = kernels.csv_end(text, ord(head.separator), state)
        if end:
            yield np.concatenate([*pieces, text[:end]]) if pieces else text[:end]
            pieces = []
        if end < len(text):
            pieces.append(text[end:].copy())  # the copy outlives the buffer of the block
        if sum(map(len, pieces)) > MAX_LINE_BYTES:
            raise MalformedLineError(
                f"expected records of at most {MAX_LINE_BYTES >> 20} MB, got a longer one; "
                "is a quote never closed?",
                path=path,
            )
    if pieces:
        yield np.concatenate(pieces)


def _block_lines(blocks: Sequence[_CsvBlock]) -> Ints:
    """First row, first line, and whether each line is a record, of each block."""
    sizes = [len(block.X) for block in blocks]
    first_rows = [0, *itertools.accumulate(sizes)][:-1]
    return np.array(
        [
            first_rows,
            [block.first_line for block in blocks],
            [size == block.n_lines for size, block in zip(sizes, blocks, strict=True)],
        ]
    )


def problem_error(
    problem: CsvProblem,
    column: int,
    path: str,
    n_lines: int,
    columns: Columns,
    head: CsvHead,
) -> DataError:
    """Return the error for a problem of a block that follows so many lines."""
    kind, line_in_block, expected, got = problem
    line = n_lines + line_in_block + 1
    if kind == "columns":
        return MalformedLineError(
            f"expected {expected} columns, as in the first line, got {got}", path=path, line=line
        ).advise(
            python="a field that holds the separator belongs in quotes; separator= names another one",
            command_line="a field that holds the separator belongs in quotes; "
            "--separator names another one",
        )
    name = head.names[column]
    values = [record[column] for record in head.sample if len(record) > column]
    field = repr(got) if got else "an empty field"
    error = _ERRORS[kind](f"expected {expected}, got {field}", path=path, line=line, column=name)
    python, command_line = advice(kind, got, name, columns, values)
    return error.advise(python=python, command_line=command_line) if python else error
