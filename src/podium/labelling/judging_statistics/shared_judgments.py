"""Shared judgments: judgments of the same question by different assessors, and their agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.labelling.judging_statistics.agreement import AssessorAgreement
from podium.labelling.judging_statistics.kappa_alpha import same_units
from podium.labelling.tasks import GradeTask, Task
from podium.typing import Floats, Ints

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog

_TIE = 1  # the place of ~ in PREFERENCES
_BAD = 2  # the code of "both bad" in a log, a tie here


@dataclass(frozen=True, eq=False, repr=False)
class SharedJudgments:
    """Judgments of one tool, in the order of the log, with a number for each question.

    Parameters
    ----------
    queries, assessors
        Their ids, sorted.
    query, assessor, task
        The query, assessor and task of each judgment: places in `queries`, in `assessors`, in the log's
        tasks.
    unit
        The number of the question: a pair of documents of a query, in any order, or a document.
    value
        The answer: the place in PREFERENCES, with the smaller document id first; or the grade.
    standing, repeated
        Whether the judgment counts, and whether the question was asked again.
    n_values
        The number of possible values.
    """

    queries: tuple[str, ...]
    assessors: tuple[str, ...]
    query: Ints
    assessor: Ints
    task: Ints
    unit: Ints
    value: Ints
    standing: NDArray[np.bool_]
    repeated: NDArray[np.bool_]
    n_values: int

    def keep(self, rows: NDArray[Any]) -> SharedJudgments:
        """Return the judgments of these rows."""
        names = ("query", "assessor", "task", "unit", "value", "standing", "repeated")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def first_standing(self) -> SharedJudgments:
        """Return the judgments that count, the first answer to each question of a session."""
        rows = np.flatnonzero(self.standing)
        key = self.unit[rows] * (int(self.task.max(initial=0)) + 1) + self.task[rows]
        return self.keep(rows[np.unique(key, return_index=True)[1]])


def shared_judgments(log: JudgmentLog) -> tuple[SharedJudgments, SharedJudgments]:
    """Return the judgments of pairs and those with grades; documents are numbered by id."""
    queries, query = _number_names([task.query for task in log.tasks])
    assessors, assessor = _number_names([task.assessor for task in log.tasks])
    number, starts, sizes = _number_documents(log.tasks)
    graded = np.array([isinstance(task, GradeTask) for task in log.tasks], dtype=np.bool_)[log.task]

    def select_tool(rows: Ints, unit: Ints, value: Ints, n_values: int) -> SharedJudgments:
        task = log.task[rows]
        columns = query[task], assessor[task], task
        status = log.standing[rows], (log.repeated & ~log.undone)[rows]
        return SharedJudgments(queries, assessors, *columns, unit, value, *status, n_values)

    rows = np.flatnonzero(~graded)
    base = (np.cumsum(sizes**2) - sizes**2)[query[log.task[rows]]]
    first, second = (
        number[starts[log.task[rows]] + side[rows]] for side in (log.first, log.second)
    )
    low, high = np.minimum(first, second), np.maximum(first, second)
    unit = base + low * sizes[query[log.task[rows]]] + high
    answer = log.answer[rows].astype(np.int64)
    sign = np.where(answer == _BAD, 0, np.where(first < second, answer, -answer))
    pairs = select_tool(rows, unit, _TIE - sign, 3)

    rows = np.flatnonzero(graded)
    base = (np.cumsum(sizes) - sizes)[query[log.task[rows]]]
    unit = base + number[starts[log.task[rows]] + log.first[rows]]
    n_grades = max(
        (len(task.grades) for task in log.tasks if isinstance(task, GradeTask)), default=1
    )
    return pairs, select_tool(rows, unit, log.answer[rows].astype(np.int64), n_grades)


def _number_names(names: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Return the distinct names, sorted, and the place of each name among them."""
    distinct = tuple(sorted(set(names)))
    place = {name: i for i, name in enumerate(distinct)}
    return distinct, np.array([place[name] for name in names], dtype=np.int64)


def _number_documents(tasks: Sequence[Task]) -> tuple[Ints, Ints, Ints]:
    """Number the documents of each query by id.

    Returns the numbers of the documents of all tasks in one array, where each task begins in it, and how
    many documents each query has.
    """
    by_query: dict[str, set[str]] = {}
    for task in tasks:
        by_query.setdefault(task.query, set()).update(task.documents)
    place = {q: {d: i for i, d in enumerate(sorted(docs))} for q, docs in by_query.items()}
    flat = [place[task.query][document] for task in tasks for document in task.documents]
    lengths = np.array([len(task.documents) for task in tasks], dtype=np.int64)
    sizes = np.array([len(by_query[query]) for query in sorted(by_query)], dtype=np.int64)
    return np.array(flat, dtype=np.int64), np.cumsum(lengths) - lengths, sizes


def agreement_on_judged(judged: SharedJudgments) -> AssessorAgreement:
    """Return the agreement on the pairs of documents that both assessors judged themselves."""
    first = judged.first_standing()
    between, table, query, coincidences = count_answer_pairs(first)
    return AssessorAgreement(first.queries, first.assessors, query, between, table, coincidences)


def count_answer_pairs(first: SharedJudgments) -> tuple[Ints, Ints, Ints, Floats]:
    """Count the pairs of answers that every two assessors of a query gave to one question.

    Returns assessors, counts and query, one row per query and two assessors; and all coincidences.
    """
    n, n_assessors = first.n_values, max(1, len(first.assessors))
    a, b = same_units(first.unit)
    swap = first.assessor[a] > first.assessor[b]
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    group_keys = (first.query[a] * n_assessors + first.assessor[a]) * n_assessors + first.assessor[
        b
    ]
    groups, place = np.unique(group_keys, return_inverse=True)
    answer_pair = first.value[a] * n + first.value[b]
    counts = np.bincount(place * n * n + answer_pair, minlength=len(groups) * n * n)
    m = np.bincount(np.unique(first.unit, return_inverse=True)[1])
    unit_sizes = np.repeat(m, m) if len(m) else m  # first_standing sorts rows by unit
    once = np.bincount(answer_pair, 1.0 / (unit_sizes[a] - 1), n * n).reshape(n, n)
    between = np.stack([groups // n_assessors % n_assessors, groups % n_assessors], axis=1)
    tables = counts.reshape(-1, n, n).astype(np.int64)
    return between, tables, groups // n_assessors**2, np.asarray(once + once.T, dtype=np.float64)
