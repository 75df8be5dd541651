"""Problems of a CSV file: all of them, not only the first one that stops a reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data.columns import Columns
from podium.data.csv_text import (
    IN_QUOTES,
    CsvHead,
    CsvLayout,
    csv_layout,
    problem_error,
    read_head,
    recount_fields,
    resolve_columns,
    whole_records,
)
from podium.data.packed_strings import Strings
from podium.data.ranking_columns import Missing
from podium.data.table_checks import TableValues, wrong_values
from podium.data.word_grades import find_word_grades
from podium.errors import DataError
from podium.typing import Ints

MAX_LISTED_PROBLEMS = 20
MAX_LISTED_PROBLEMS_OF_A_KIND = 3
"""Problems of one kind in one column that are listed: a wrong column must not hide other problems."""
MAX_COUNTED_PROBLEMS = 10_000


class CsvProblems(NamedTuple):
    """The problems of a file that are listed, by line, and how many others there are."""

    listed: tuple[DataError, ...]
    n_others: int
    columns: Columns
    """What each column was taken as."""
    is_complete: bool
    """Whether the whole file was checked."""


def find_csv_problems(
    path: str, columns: Columns, *, labelled: bool = True, missing: Missing = "error"
) -> CsvProblems:
    """Return the problems of the values of a CSV file; raises if its columns are not clear.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "shop.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("qid,label,price\\n1,good,9\\n1,0,cheap\\n,1,7\\n")
    >>> [(error.line, error.column) for error in find_csv_problems(path, Columns()).listed]
    [(2, 'label'), (3, 'price'), (4, 'qid')]
    """
    head = read_head(path, columns)
    columns = resolve_columns(head, columns, labelled, path)
    layout = csv_layout(head, columns, missing)
    word_grades = find_word_grades(path, head, columns)
    if word_grades is not None:  # one problem, not one for each row
        layout.roles[head.names.index(columns.label or "")] = -1
    checker = _RecordChecker(path, head, columns, layout)
    listed: list[DataError] = [] if word_grades is None else [word_grades]
    kinds: Counter[tuple[str | None, type[DataError]]] = Counter()
    for error in checker.problems():
        kind = (error.column, type(error))
        kinds[kind] += 1
        if len(listed) < MAX_LISTED_PROBLEMS and kinds[kind] <= MAX_LISTED_PROBLEMS_OF_A_KIND:
            listed.append(error)
        if kinds.total() == MAX_COUNTED_PROBLEMS:
            break
    listed.sort(key=lambda error: error.line or 0)
    is_complete = kinds.total() < MAX_COUNTED_PROBLEMS
    n_others = kinds.total() + (word_grades is not None) - len(listed)
    return CsvProblems(tuple(listed), n_others, columns, is_complete)


class _Records(NamedTuple):
    """Records of a text: how many are right, their values, and the problem of the next one."""

    values: TableValues
    n_rows: int
    n_lines: int
    column: int
    problem: tuple[str, int, str, str] | None


class _RowSpace:
    """Arrays that the kernel writes rows to; they are used for one text after the other."""

    def __init__(self, n_rows: int, layout: CsvLayout) -> None:
        self.X = np.empty((n_rows, len(layout.features)))
        self.numbers = np.empty((n_rows, len(layout.numbers)))


class _RecordChecker:
    """Reads a file record by record with the kernel that reads tables, and goes on after a problem."""

    def __init__(self, path: str, head: CsvHead, columns: Columns, layout: CsvLayout) -> None:
        self.path, self.head, self.columns, self.layout = path, head, columns, layout

    def problems(self) -> Iterator[DataError]:
        """Yield the problems of the file, block by block."""
        n_lines = self.head.n_lines
        for text in whole_records(self.path, self.head):
            yield from self._text_problems(text, n_lines)
            n_lines += kernels.count_lines(text)

    def _text_problems(self, text: NDArray[np.uint8], n_lines: int) -> Iterator[DataError]:
        """Yield the problems of whole records that follow so many lines."""
        line_ends = np.flatnonzero(text == ord("\n")) + 1
        space = _RowSpace(len(line_ends) + 1, self.layout)
        start, line = 0, 0
        while start < len(text):
            records = self._parse(text[start:], space, self.layout)
            yield from self._value_problems(records, text[start:], n_lines + line)
            if records.problem is None:
                return
            first_line, end_line = self._record_lines(
                text, line_ends, start, line, line + records.problem[1]
            )
            start = 0 if first_line == 0 else int(line_ends[first_line - 1])
            end = int(line_ends[end_line - 1]) if end_line <= len(line_ends) else len(text)
            yield from self._record_problems(text[start:end], space, n_lines + first_line)
            start, line = end, end_line

    def _record_lines(
        self, text: NDArray[np.uint8], line_ends: Ints, start: int, line: int, problem_line: int
    ) -> tuple[int, int]:
        """Return the first line of the record that has a line, and the line behind the record.

        A field in quotes may have line ends. `start` is where a record on `line` begins.
        """
        separator = self.layout.dialect[0]
        first_line = line
        if problem_line > line:
            before = text[start : int(line_ends[problem_line - 1])]
            start += kernels.csv_end(before, separator, 0)[0]
            first_line = int(np.searchsorted(line_ends, start)) + 1
        state, position = 0, start
        for end_line in range(first_line + 1, len(line_ends) + 1):
            line_end = int(line_ends[end_line - 1])
            _, state = kernels.csv_end(text[position:line_end], separator, state)
            if state != IN_QUOTES:
                return first_line, end_line
            position = line_end
        return first_line, len(line_ends) + 1

    def _record_problems(
        self, record: NDArray[np.uint8], space: _RowSpace, n_lines: int
    ) -> Iterator[DataError]:
        """Yield the problems of one record: each wrong field, or that fields are too few or too many."""
        layout = self.layout._replace(roles=self.layout.roles.copy())
        while True:
            records = self._parse(record, space, layout)
            if records.problem is None:
                yield from self._value_problems(records, record, n_lines)
                return
            problem = recount_fields(records.problem, bytes(record), layout)
            yield problem_error(
                problem, records.column, self.path, n_lines, self.columns, self.head
            )
            has_wrong_quotes = problem[3].startswith('"')  # where its field ends is not clear
            if problem[0] == "columns" or has_wrong_quotes or layout.roles[records.column] < 0:
                return
            layout.roles[records.column] = -1

    def _parse(self, text: NDArray[np.uint8], space: _RowSpace, layout: CsvLayout) -> _Records:
        space.numbers[:1] = 0.0  # what stays in a column that a record leaves out
        n_rows, texts, n_lines, column, problem = kernels.parse_csv(
            text, space.X, space.numbers, layout.roles, len(layout.texts), *layout.dialect
        )
        values = TableValues(
            self.columns,
            {name: space.numbers[:n_rows, j] for j, name in enumerate(layout.numbers)},
            {name: Strings(*packed) for name, packed in zip(layout.texts, texts, strict=True)},
            self.path,
            keeps_missing=layout.dialect[3],
        )
        return _Records(values, n_rows, n_lines, column, problem)

    def _value_problems(
        self, records: _Records, text: NDArray[np.uint8], n_lines: int
    ) -> Iterator[DataError]:
        """Yield the problems of values that can be read: query ids, labels, words of a category."""
        lines_before = records.n_lines if records.problem is None else records.problem[1]
        is_regular = records.n_rows == lines_before
        first_lines: list[int] = []

        def line_of(row: int) -> int:
            if not is_regular and not first_lines:
                first_lines.extend(self._first_lines(text))
            return n_lines + 1 + (row if is_regular else first_lines[row])

        yield from wrong_values(records.values, records.n_rows, line_of)

    def _first_lines(self, text: NDArray[np.uint8]) -> Iterator[int]:
        """Yield the line on which each record begins, from 0; blank lines are no records."""
        state = 0
        for line, content in enumerate(text.tobytes().split(b"\n")):
            if state != IN_QUOTES and content.strip(b"\r"):
                yield line
            whole_line = np.frombuffer(content + b"\n", dtype=np.uint8)
            _, state = kernels.csv_end(whole_line, self.layout.dialect[0], state)
