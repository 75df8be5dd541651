"""Drift: how a machine's agreement with people differs between its models and prompts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from podium.labelling.grading import Graded
from podium.labelling.judgments import Judgment
from podium.labelling.machine_agreement.agreement_intervals import Estimate, estimate_share
from podium.labelling.session import ANSWER_CODES, Session
from podium.labelling.tasks import Task

if TYPE_CHECKING:
    from podium.labelling.store import Store

QuestionKey = tuple[str, tuple[str, ...]]
"""A query and one document or two, the smaller id first."""


class VersionKey(NamedTuple):
    """A machine assessor, the model as its endpoint named it, and the prompt."""

    assessor: str
    model: str
    prompt: str

    def __str__(self) -> str:
        return f"{self.assessor}: {self.model}, {self.prompt}"


@dataclass(frozen=True)
class MachineVersion:
    """The judgments of one model with one prompt.

    Parameters
    ----------
    version
        The assessor, the model and the prompt.
    judgments
        Its judgments.
    first, last
        When the first and the last one were made, in milliseconds since 1970.
    shared
        Its answers to questions that people answered, once for each person.
    same
        The share of these answers that are equal.
    """

    version: VersionKey
    judgments: int
    first: int
    last: int
    shared: int
    same: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return JSON."""
        counts = {n: getattr(self, n) for n in ("judgments", "first", "last", "shared")}
        return self.version._asdict() | counts | {"same": self.same.to_dict()}


@dataclass(frozen=True)
class VersionChange:
    """Two versions of machines on the questions that both answered.

    Parameters
    ----------
    before, after
        The versions, the earlier one first.
    shared, same
        The number of these questions, and the share of equal answers.
    """

    before: VersionKey
    after: VersionKey
    shared: int
    same: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {
            "before": self.before._asdict(), "after": self.after._asdict(), "shared": self.shared,
            "same": self.same.to_dict(),
        }  # fmt: skip


@dataclass
class _VersionAnswers:
    """The first answer of a version to each question."""

    times: list[int] = field(default_factory=list)
    values: dict[QuestionKey, int] = field(default_factory=dict)


def compare_versions(
    store: Store, machines: Collection[str], people: Collection[str], tool: str, *,
    resamples: int = 1_000, seed: int = 0,
) -> tuple[tuple[MachineVersion, ...], tuple[VersionChange, ...]]:  # fmt: skip
    """Return the versions of machines, the earliest first, and each two that have common questions.

    Parameters
    ----------
    store
        The store with the judgments.
    machines, people
        The ids of assessors.
    tool
        The tool of the tasks that count.
    """
    tasks = [s.task for s in store.session_states() if s.events and s.task.tool == tool]
    theirs = _answers_of(store, [task for task in tasks if task.assessor in people])
    versions: dict[VersionKey, _VersionAnswers] = {}
    for task in tasks:
        if task.assessor in machines:
            _collect(store, task, versions)
    ordered = sorted(versions.items(), key=lambda item: (min(item[1].times), item[0]))
    rows = tuple(_version(key, answers, theirs, resamples, seed) for key, answers in ordered)
    changes = [
        VersionChange(one, other, *_equal_share(
            [(key, value, [b.values[key]]) for key, value in a.values.items() if key in b.values],
            resamples, seed,
        ))
        for (one, a), (other, b) in combinations(ordered, 2)
    ]  # fmt: skip
    return rows, tuple(change for change in changes if change.shared)


def _collect(store: Store, task: Task, versions: dict[VersionKey, _VersionAnswers]) -> None:
    """Add a machine's judgments of a task to its versions."""
    for event in store.events(task.id):
        source = event.data.get("machine")
        if event.kind != "judgment" or not isinstance(source, Mapping):
            continue
        model, prompt = (str(source.get(name, "")) for name in ("model", "prompt"))
        answers = versions.setdefault(VersionKey(task.assessor, model, prompt), _VersionAnswers())
        answers.times.append(event.at)
        key, value = _event_answer(task, event.data)
        answers.values.setdefault(key, value)


def _event_answer(task: Task, data: Mapping[str, Any]) -> tuple[QuestionKey, int]:
    if "document" in data:
        return (task.query, (data["document"],)), int(data["grade"])
    return _pair_answer(task.query, Judgment(data["a"], data["b"], data["answer"]))


def _pair_answer(query: str, judgment: Judgment) -> tuple[QuestionKey, int]:
    """Return a question, and 1, 0 or -1: the smaller id is better, a tie, or worse; both bad is a tie."""
    ordered = judgment if judgment.a < judgment.b else judgment.flipped()
    code = ANSWER_CODES[ordered.answer]
    return (query, (ordered.a, ordered.b)), code if abs(code) <= 1 else 0


def _answers_of(store: Store, tasks: Iterable[Task]) -> dict[QuestionKey, list[int]]:
    """Return the answers to each question, the first one of each session."""
    answers: dict[QuestionKey, list[int]] = {}
    for task in tasks:
        for key, value in first_answers(store.session(task.id)).items():
            answers.setdefault(key, []).append(value)
    return answers


def first_answers(session: Session) -> dict[QuestionKey, int]:
    """Return the first answer of a session to each question, without repeats."""
    values: dict[QuestionKey, int] = {}
    for judgment in session.judgments:
        if isinstance(judgment, Graded):
            values.setdefault((session.task.query, (judgment.document,)), judgment.grade)
        else:
            key, value = _pair_answer(session.task.query, judgment)
            values.setdefault(key, value)
    return values


def _version(
    key: VersionKey, answers: _VersionAnswers, theirs: Mapping[QuestionKey, list[int]],
    resamples: int, seed: int,
) -> MachineVersion:  # fmt: skip
    rows = [(k, value, theirs[k]) for k, value in answers.values.items() if k in theirs]
    times = answers.times
    return MachineVersion(
        key, len(times), min(times), max(times), *_equal_share(rows, resamples, seed)
    )


def _equal_share(
    rows: Sequence[tuple[QuestionKey, int, list[int]]], resamples: int, seed: int
) -> tuple[int, Estimate]:
    """Return the number of answers, and the share of those equal to a value."""
    query = np.unique(np.array([key[0] for key, _, _ in rows], dtype=str), return_inverse=True)[1]
    totals = np.array([len(others) for _, _, others in rows], dtype=np.float64)
    hits = np.array([others.count(v) for _, v, others in rows], dtype=np.float64)
    share = estimate_share(query, hits, totals, resamples=resamples, seed=seed)
    return int(totals.sum()), share
