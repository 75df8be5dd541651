"""Shared judgments: those of different sessions, numbered so that they can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.labelling.judging_statistics.agreement import AssessorAgreement, mean_kappa, none_if_nan
from podium.labelling.judging_statistics.kappa_alpha import (
    Floats,
    Ints,
    cohen_kappa,
    krippendorff_alpha,
    same_units,
)
from podium.labelling.judgments import JudgedTopK
from podium.labelling.tasks import GradeTask, Task

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog

_TIE = 1  # the place of ~ in PREFERENCES
_BAD = 2  # the code of "both bad" in a log, a tie here


@dataclass(frozen=True, eq=False, repr=False)
class SharedJudgments:
    """Judgments of one tool, in the order of the log; equal units are the same question.

    Parameters
    ----------
    queries, assessors
        Their ids, sorted.
    query, assessor, task
        Of each judgment; places in `queries`, in `assessors`, in the log's tasks.
    unit
        What was judged: a pair of documents of a query whichever came first, or a document.
    value
        The place in PREFERENCES, the document with the smaller id first; or the grade.
    standing, repeated
        Whether the judgment counts, and whether it was asked again.
    n_values
        How many values there can be.
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
        """These judgments only."""
        names = ("query", "assessor", "task", "unit", "value", "standing", "repeated")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def first_standing(self) -> SharedJudgments:
        """The judgments that count, each question once a session: the first answer."""
        rows = np.flatnonzero(self.standing)
        key = self.unit[rows] * (int(self.task.max(initial=0)) + 1) + self.task[rows]
        return self.keep(rows[np.unique(key, return_index=True)[1]])


def shared_judgments(log: JudgmentLog) -> tuple[SharedJudgments, SharedJudgments]:
    """The judgments of pairs, and those with grades; documents are numbered by id within a query."""
    queries, query = _coded([task.query for task in log.tasks])
    assessors, assessor = _coded([task.assessor for task in log.tasks])
    number, starts, sizes = _numbered(log.tasks)
    graded = np.array([isinstance(task, GradeTask) for task in log.tasks], dtype=np.bool_)[log.task]

    def of_tool(rows: Ints, unit: Ints, value: Ints, n_values: int) -> SharedJudgments:
        task = log.task[rows]
        who = query[task], assessor[task], task
        counts = log.standing[rows], (log.repeated & ~log.undone)[rows]
        return SharedJudgments(queries, assessors, *who, unit, value, *counts, n_values)

    rows = np.flatnonzero(~graded)
    base = (np.cumsum(sizes**2) - sizes**2)[query[log.task[rows]]]
    first, second = (
        number[starts[log.task[rows]] + side[rows]] for side in (log.first, log.second)
    )
    low, high = np.minimum(first, second), np.maximum(first, second)
    unit = base + low * sizes[query[log.task[rows]]] + high
    answer = log.answer[rows].astype(np.int64)
    sign = np.where(answer == _BAD, 0, np.where(first < second, answer, -answer))
    pairs = of_tool(rows, unit, _TIE - sign, 3)

    rows = np.flatnonzero(graded)
    base = (np.cumsum(sizes) - sizes)[query[log.task[rows]]]
    unit = base + number[starts[log.task[rows]] + log.first[rows]]
    n_grades = max(
        (len(task.grades) for task in log.tasks if isinstance(task, GradeTask)), default=1
    )
    return pairs, of_tool(rows, unit, log.answer[rows].astype(np.int64), n_grades)


def _coded(names: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """The names, sorted, and the place of each among them."""
    distinct = tuple(sorted(set(names)))
    place = {name: i for i, name in enumerate(distinct)}
    return distinct, np.array([place[name] for name in names], dtype=np.int64)


def _numbered(tasks: Sequence[Task]) -> tuple[Ints, Ints, Ints]:
    """The place of each task's documents among those of its query by id, all in one array; where
    tasks begin in it; and how many documents each query has, queries by id."""
    by_query: dict[str, set[str]] = {}
    for task in tasks:
        by_query.setdefault(task.query, set()).update(task.documents)
    place = {q: {d: i for i, d in enumerate(sorted(docs))} for q, docs in by_query.items()}
    flat = [place[task.query][document] for task in tasks for document in task.documents]
    lengths = np.array([len(task.documents) for task in tasks], dtype=np.int64)
    sizes = np.array([len(by_query[query]) for query in sorted(by_query)], dtype=np.int64)
    return np.array(flat, dtype=np.int64), np.cumsum(lengths) - lengths, sizes


def agreement_on_judged(judged: SharedJudgments) -> AssessorAgreement:
    """Agreement on the pairs of documents that two assessors really judged, both of them."""
    first = judged.first_standing()
    between, table, query, coincidences = _met(first)
    return AssessorAgreement(first.queries, first.assessors, query, between, table, coincidences)


@dataclass(frozen=True)
class GradeReliability:
    """How well assessors agree on grades themselves.

    Parameters
    ----------
    documents
        Documents that two assessors graded, counted once for each two assessors.
    same
        The share of them with the same grade.
    kappa
        Cohen's kappa of each two assessors, in the mean weighted by their documents.
    nominal, ordinal
        Krippendorff's alpha.
    """

    documents: int
    same: float
    kappa: float
    nominal: float
    ordinal: float

    def to_dict(self) -> dict[str, float | int | None]:
        """As JSON can hold it; None for what is not defined."""
        return {name: none_if_nan(value) for name, value in vars(self).items()}


def grade_reliability(graded: SharedJudgments) -> GradeReliability:
    """Kappa and alpha of grades; unfinished sessions count as far as they went."""
    between, table, _, coincidences = _met(graded.first_standing())
    total = int(table.sum())
    return GradeReliability(
        documents=total,
        same=float(np.trace(table.sum(axis=0)) / total) if total else float("nan"),
        kappa=mean_kappa(between, table),
        nominal=krippendorff_alpha(coincidences, "nominal"),
        ordinal=krippendorff_alpha(coincidences, "ordinal"),
    )


def _met(first: SharedJudgments) -> tuple[Ints, Ints, Ints, Floats]:
    """Assessors, counts and query for each query and two assessors of it; coincidences of all."""
    n, n_assessors = first.n_values, max(1, len(first.assessors))
    a, b = same_units(first.unit)
    swap = first.assessor[a] > first.assessor[b]
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    who = (first.query[a] * n_assessors + first.assessor[a]) * n_assessors + first.assessor[b]
    groups, place = np.unique(who, return_inverse=True)
    joint = first.value[a] * n + first.value[b]
    counts = np.bincount(place * n * n + joint, minlength=len(groups) * n * n)
    m = np.bincount(np.unique(first.unit, return_inverse=True)[1])
    of_unit = np.repeat(m, m) if len(m) else m  # rows stand by unit after first_standing
    once = np.bincount(joint, 1.0 / (of_unit[a] - 1), n * n).reshape(n, n)
    between = np.stack([groups // n_assessors % n_assessors, groups % n_assessors], axis=1)
    tables = counts.reshape(-1, n, n).astype(np.int64)
    return between, tables, groups // n_assessors**2, np.asarray(once + once.T, dtype=np.float64)


@dataclass(frozen=True)
class Consistency:
    """What assessors said when they were asked again.

    Parameters
    ----------
    repeats
        Questions asked again whose first answer stands.
    same
        The share with the same answer.
    opposite
        The share where the preference turned round, or the grade changed by two or more.
    kappa
        Cohen's kappa of first and second answer.
    """

    repeats: int
    same: float
    opposite: float
    kappa: float

    def to_dict(self) -> dict[str, float | int | None]:
        """As JSON can hold it; None for what is not defined."""
        return {name: none_if_nan(value) for name, value in vars(self).items()}


def consistency(judged: SharedJudgments) -> Consistency:
    """Self-consistency on repeated questions, sides swapped or not."""
    first, again = judged.first_standing(), judged.keep(judged.repeated)
    n_tasks = int(judged.task.max(initial=0)) + 1
    key, wanted = first.unit * n_tasks + first.task, again.unit * n_tasks + again.task
    at = np.minimum(np.searchsorted(key, wanted), max(0, len(key) - 1))
    met = np.zeros(len(wanted), dtype=np.bool_) if len(key) == 0 else key[at] == wanted
    before, after = first.value[at[met]], again.value[met]
    repeats, n = int(met.sum()), judged.n_values
    table = np.bincount(before * n + after, minlength=n * n).reshape(n, n)
    return Consistency(
        repeats=repeats,
        same=float(np.mean(before == after)) if repeats else float("nan"),
        opposite=float(np.mean(np.abs(before - after) >= 2)) if repeats else float("nan"),
        kappa=cohen_kappa(table),
    )


@dataclass(frozen=True)
class Overlap:
    """How much of the top k assessors have in common.

    Parameters
    ----------
    pairs
        Two assessors on a query, all of them.
    mean, least
        The overlap 2 |A and B| / (|A| + |B|) in the mean, and the smallest.
    first
        The share of them who have a document in common on the first place.
    """

    pairs: int
    mean: float
    least: float
    first: float

    def to_dict(self) -> dict[str, float | int | None]:
        """As JSON can hold it; None for what is not defined."""
        return {name: none_if_nan(value) for name, value in vars(self).items()}


def top_k_overlap(results: Sequence[tuple[str, JudgedTopK]]) -> Overlap:
    """Overlap of the top k between the assessors of each query.

    With k documents each it is the share that both have. Two that found nothing good agree wholly.

    Parameters
    ----------
    results
        (query, top k), one for each assessor.

    Examples
    --------
    >>> ann, bob = JudgedTopK((("x",), ("y",)), 2, 3), JudgedTopK((("x",), ("z",)), 2, 3)
    >>> top_k_overlap([("q", ann), ("q", bob)])
    Overlap(pairs=1, mean=0.5, least=0.5, first=1.0)
    """
    shares, first = [], []
    ordered = sorted(results, key=lambda result: result[0])
    for _, group in groupby(ordered, key=lambda result: result[0]):
        for (_, a), (_, b) in combinations(group, 2):
            left, right = set(a.order), set(b.order)
            size = len(left) + len(right)
            shares.append(2 * len(left & right) / size if size else 1.0)
            first.append(not size or not set(a.levels[:1] and a.levels[0]).isdisjoint(
                b.levels[:1] and b.levels[0]
            ))  # fmt: skip
    if not shares:
        return Overlap(0, float("nan"), float("nan"), float("nan"))
    return Overlap(len(shares), float(np.mean(shares)), min(shares), float(np.mean(first)))
