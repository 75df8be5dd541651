"""Checks of the values of a table: query ids, labels, and words of a category."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from podium.data.categories import ONE_HOT, LineOf, category_word, wrong_word
from podium.data.columns import Columns
from podium.data.csv_advice import label_advice
from podium.data.packed_strings import Strings
from podium.errors import DataError, MissingValueError, NegativeLabelError
from podium.typing import Floats

_GRADES_FROM_0 = "0 means not relevant: add a number to all labels, or leave such rows out"


@dataclass(frozen=True)
class TableValues:
    """Values of a table by column: numbers and texts."""

    columns: Columns
    numbers: dict[str, Floats]
    texts: dict[str, Strings]
    path: str
    keeps_missing: bool
    """Whether an empty field is a missing value, not a problem."""


def wrong_values(values: TableValues, n_rows: int, line_of: LineOf) -> Iterator[DataError]:
    """Yield an error for each value of the first rows that is wrong though it can be read."""
    yield from wrong_query_ids(values, n_rows, line_of)
    yield from wrong_labels(values, n_rows, line_of)
    for name, form in values.columns.categories.items():
        for row, text in enumerate(islice(values.texts[name], n_rows)):
            word = category_word(text)
            is_missing = word is None and not values.keeps_missing
            if is_missing or (word is not None and form != ONE_HOT and word not in form):
                order = () if form == ONE_HOT else tuple(form)
                yield wrong_word(word, order, name, values.path, line_of(row), row)


def wrong_query_ids(values: TableValues, n_rows: int, line_of: LineOf) -> Iterator[DataError]:
    """Yield an error for each row without a query id."""
    query = values.columns.query
    assert query is not None
    for row in np.flatnonzero(values.texts[query].lengths[:n_rows] == 0).tolist():
        yield DataError(
            "expected a query id, got an empty field",
            path=values.path, line=line_of(row), column=query,
        ).advise(
            python="fill it in, or leave the row out", command_line="fill it in, or leave the row out"
        )  # fmt: skip


def wrong_weights(values: TableValues, n_rows: int, line_of: LineOf) -> Iterator[DataError]:
    """Yield an error for each weight that differs from that of the first row of its query."""
    query, weight = values.columns.query, values.columns.weight
    if query is None or weight is None:
        return
    first: dict[str, float] = {}
    rows = zip(values.texts[query], values.numbers[weight].tolist(), strict=True)
    for row, (qid, number) in enumerate(islice(rows, n_rows)):
        if first.setdefault(qid, number) != number:
            yield DataError(
                f"expected one weight per query, got {number:g} after {first[qid]:g} for query {qid!r:.80}",
                path=values.path, line=line_of(row), column=weight,
            ).advise(
                python="weight= names a column with one number per query",
                command_line="--weight names a column with one number per query",
            )  # fmt: skip


def wrong_labels(values: TableValues, n_rows: int, line_of: LineOf) -> Iterator[DataError]:
    """Yield an error for each label that is missing, negative, or a word without a number."""
    columns, path = values.columns, values.path
    name = columns.label
    if name is None:
        return
    if columns.grades:
        for row, word in enumerate(islice(values.texts[name], n_rows)):
            if word not in columns.grades:
                yield unknown_grade(word, columns, path, line_of(row))
        return
    labels = values.numbers[name][:n_rows]
    for row in np.flatnonzero(np.isnan(labels)).tolist():
        python, command_line = label_advice(name, columns)
        yield MissingValueError(
            "expected a label, got an empty field", path=path, line=line_of(row), column=name
        ).advise(python=python, command_line=command_line)
    for row in np.flatnonzero(labels < 0).tolist():
        yield NegativeLabelError(
            f"expected labels of 0 or more, got {labels[row]:g}",
            path=path, line=line_of(row), column=name,
        ).advise(python=_GRADES_FROM_0, command_line=_GRADES_FROM_0)  # fmt: skip


def unknown_grade(word: str, columns: Columns, path: str | None, line: int | None) -> DataError:
    """Return the error for a label that is a word without a number."""
    grades = ", ".join(f"{grade}={number:g}" for grade, number in columns.grades.items())
    if not word:
        python, command_line = label_advice(columns.label or "", columns)
    else:
        python = f"add {word!r:.80}: N to grades=, where N is the number of this grade"
        command_line = f"add {word:.80}=N to --grades, where N is the number of this grade"
    return DataError(
        f"expected one of the grades {grades}, got {repr(word)[:80] if word else 'an empty field'}",
        path=path, line=line, column=columns.label,
    ).advise(python=python, command_line=command_line)  # fmt: skip
