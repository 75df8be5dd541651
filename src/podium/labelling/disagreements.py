"""Disagreements: pairs and grades on which assessors differ, with their answers and times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from podium.labelling.grading import Grades
from podium.labelling.judgments import DocumentId, JudgedTopK
from podium.labelling.session import ANSWER_CODES
from podium.labelling.settlements import Settlement
from podium.labelling.tasks import Task

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog, Store

_ANSWERS = {code: answer for answer, code in ANSWER_CODES.items()}
_FLIPPED_CODES = {1: -1, -1: 1, 0: 0, 2: 2}


@dataclass(frozen=True)
class AssessorAnswer:
    """The answer of one assessor about the documents of a disagreement.

    Parameters
    ----------
    assessor
        The assessor's id.
    answer
        ``>``, ``<``, ``~`` or ``bad`` for the pair in its order, or the name of a grade.
    at
        When, in milliseconds since 1970; 0 if the answer follows from the assessor's top k.
    guidelines
        The version of the guidelines at that time; 0 for none.
    """

    assessor: str
    answer: str
    at: int = 0
    guidelines: int = 0

    @property
    def is_judged(self) -> bool:
        """Whether the assessor judged exactly this; otherwise the answer follows from the top k."""
        return self.at > 0


@dataclass(frozen=True)
class Disagreement:
    """Documents of a query on which assessors differ: two of them, or one with different grades."""

    query: str
    documents: tuple[DocumentId, ...]
    answers: tuple[AssessorAnswer, ...]
    grades: tuple[str, ...] = ()
    settlement: Settlement | None = None


def find_disagreements(store: Store, query: str | None = None) -> list[Disagreement]:
    """Return the disagreements of all queries, or of one; pairs first, then grades.

    Two assessors disagree about a pair if both judged it and answered differently, or if their finished
    top k have it in opposite order. They disagree about a document if their grades differ.
    """
    results = store.results()
    log = store.judgments(details=True)
    settlements = {settlement.key: settlement for settlement in store.settlements()}
    by_query: dict[str, list[int]] = {}
    for number, task in enumerate(log.tasks):
        if query is None or task.query == query:
            by_query.setdefault(task.query, []).append(number)
    rows = _standing_rows(log)
    pairs: list[Disagreement] = []
    graded: list[Disagreement] = []
    for name, numbers in by_query.items():
        tasks = [(log.tasks[n], rows.get(n, [])) for n in numbers]
        pairs += _pairs(name, tasks, log, results, settlements)
        graded += _graded(name, tasks, log, settlements)
    return pairs + graded


def _standing_rows(log: JudgmentLog) -> dict[int, list[int]]:
    """Return the rows of the judgments that count, by the number of their task."""
    rows: dict[int, list[int]] = {}
    for row in np.flatnonzero(log.standing).tolist():
        rows.setdefault(int(log.task[row]), []).append(row)
    return rows


Pair = tuple[DocumentId, DocumentId]
"""Two documents in the order of their ids."""


def _pairs(
    query: str,
    tasks: Iterable[tuple[Task, Sequence[int]]],
    log: JudgmentLog,
    results: Mapping[str, JudgedTopK | Grades],
    settlements: Mapping[tuple[str, frozenset[DocumentId]], Settlement],
) -> list[Disagreement]:
    """Return the pairs of one query on which assessors differ, in the order of the documents' ids."""
    views = [
        _PairView(task, rows, log, results.get(task.id))
        for task, rows in tasks
        if task.tool == "preference"
    ]
    documents = sorted({document for view in views for document in view.task.documents})
    differing = _opposite_pairs(documents, [view.level_of for view in views if view.level_of])
    answers: dict[Pair, set[str]] = {}
    for view in views:
        for pair, own_answer in view.judged.items():
            answers.setdefault(pair, set()).add(own_answer.answer)
    differing |= {pair for pair, own in answers.items() if len(own) > 1}
    return [
        Disagreement(
            query,
            pair,
            tuple(answer for view in views if (answer := view.answer(pair)) is not None),
            settlement=settlements.get((query, frozenset(pair))),
        )
        for pair in sorted(differing)
    ]


class _PairView:
    """The answers of one assessor about pairs, from judgments and from the finished top k."""

    def __init__(
        self, task: Task, rows: Sequence[int], log: JudgmentLog, result: JudgedTopK | Grades | None
    ) -> None:
        self.task = task
        self.judged = dict(_judged_answer(task, row, log) for row in rows)
        self.level_of: dict[DocumentId, int] = {}
        if isinstance(result, JudgedTopK):
            self.level_of = dict.fromkeys(task.documents, len(result.levels))
            for i, level in enumerate(result.levels):
                self.level_of |= dict.fromkeys(level, i)

    def answer(self, pair: Pair) -> AssessorAnswer | None:
        """Return the assessor's own answer, or the one that follows from the finished top k."""
        if pair in self.judged or not self.level_of.keys() >= set(pair):
            return self.judged.get(pair)
        first, second = (self.level_of[document] for document in pair)
        return AssessorAnswer(self.task.assessor, _ANSWERS[(first < second) - (first > second)])


def _judged_answer(task: Task, row: int, log: JudgmentLog) -> tuple[Pair, AssessorAnswer]:
    """Return a pair that an assessor judged, in the order of its ids, and the answer."""
    a, b = task.documents[log.first[row]], task.documents[log.second[row]]
    code = int(log.answer[row])
    answer = _ANSWERS[code if a < b else _FLIPPED_CODES[code]]
    return (min(a, b), max(a, b)), AssessorAnswer(task.assessor, answer, *log.details(row))


def _opposite_pairs(
    documents: Sequence[DocumentId], levels: Sequence[Mapping[DocumentId, int]]
) -> set[Pair]:
    """Return the pairs that two finished top k have in opposite order."""
    if len(levels) < 2:
        return set()
    signs = []
    for level_of in levels:
        places = np.array([level_of.get(d, len(documents)) for d in documents], dtype=np.int64)
        signs.append(np.sign(places[None, :] - places[:, None]))
    is_opposite = (np.maximum.reduce(signs) > 0) & (np.minimum.reduce(signs) < 0)
    return {(documents[i], documents[j]) for i, j in np.argwhere(np.triu(is_opposite)).tolist()}


def _graded(
    query: str,
    tasks: Iterable[tuple[Task, Sequence[int]]],
    log: JudgmentLog,
    settlements: Mapping[tuple[str, frozenset[DocumentId]], Settlement],
) -> list[Disagreement]:
    """Return the documents of one query with different grades."""
    answers: dict[DocumentId, list[AssessorAnswer]] = {}
    names: tuple[str, ...] = ()
    for task, rows in tasks:
        if task.tool != "grade":
            continue
        names = task.grades  # type: ignore[union-attr]
        for row in rows:
            at, guidelines = log.details(row)
            grade = names[int(log.answer[row])]
            answers.setdefault(task.documents[log.first[row]], []).append(
                AssessorAnswer(task.assessor, grade, at, guidelines)
            )
    return [
        Disagreement(query, (d,), tuple(own), names, settlements.get((query, frozenset((d,)))))
        for d, own in sorted(answers.items())
        if len({answer.answer for answer in own}) > 1
    ]
