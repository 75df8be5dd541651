"""SessionJudge: asks a machine the next questions of a session, and returns its answers as events."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, get_args

from podium.errors import UnknownNameError, UsageError
from podium.labelling.events import JudgingEvent
from podium.labelling.judgments import Answer, Judgment
from podium.labelling.machines.machine_client import MachineAnswer, MachineClient
from podium.labelling.machines.prompt_templates import QuestionKind
from podium.labelling.machines.question_prompts import MAX_SET_SIZE, QuestionPrompts
from podium.labelling.pools import PoolDocument, PoolQuery
from podium.labelling.screen_questions import ScreenQuestion, arrange_sides, current_question
from podium.labelling.session import Session
from podium.labelling.tasks import GradeTask, Tool

MachineQuestions = Literal["pairs", "sets", "grades"]
"""What a campaign asks."""

_LEFT_ANSWERS: dict[str, Answer] = {"A": ">", "B": "<", "tie": "~", "bad": "bad"}


@dataclass(frozen=True)
class AssessmentSettings:
    """How a machine judges.

    Parameters
    ----------
    ask
        Pairs, sets (the best of several documents; only for strategies that trust no single answer), or
        grades.
    both_orders
        Whether each pair is asked with both documents on the left. A strategy that trusts answers takes a
        contradiction as a tie; another one takes both answers.
    set_size
        How many documents a set has.
    repeats, repeat_gap
        The share of judgments that are asked again to measure self-consistency, sides swapped, and how
        many judgments lie between at least. Sets are not repeated.
    batch
        How many questions of one query are asked at the same time.
    threads
        How many calls are made at the same time. The number changes no judgment.
    """

    ask: MachineQuestions = "pairs"
    both_orders: bool = False
    set_size: int = 5
    repeats: float = 0.05
    repeat_gap: int = 5
    batch: int = 1
    threads: int = 4

    def __post_init__(self) -> None:
        if self.ask not in get_args(MachineQuestions):
            raise UnknownNameError("kind of questions", str(self.ask), get_args(MachineQuestions))
        if not 2 <= self.set_size <= MAX_SET_SIZE:
            raise UsageError(f"expected sets of 2 to {MAX_SET_SIZE} documents, got {self.set_size}")
        if not 0 <= self.repeats < 1 or min(self.batch, self.threads, self.repeat_gap) < 1:
            raise UsageError(
                "expected repeats from 0 to below 1, and a batch, threads and a gap of 1 or more, got "
                f"{self.repeats}, {self.batch}, {self.threads}, {self.repeat_gap}"
            )
        if self.both_orders and self.ask != "pairs":
            raise UsageError(f"only pairs have two orders, and the campaign asks {self.ask}")

    @property
    def tool(self) -> Tool:
        """The tool of the tasks."""
        return "grade" if self.ask == "grades" else "preference"

    @property
    def kind(self) -> QuestionKind:
        """The kind of a question, for templates."""
        kinds: dict[MachineQuestions, QuestionKind] = {
            "pairs": "pair", "sets": "set", "grades": "grade",
        }  # fmt: skip
        return kinds[self.ask]


@dataclass(frozen=True)
class SessionJudge:
    """Judges sessions with a machine, some questions at a time.

    Parameters
    ----------
    client, prompts, settings
        The machine, what it reads, and how it judges.
    """

    client: MachineClient
    prompts: QuestionPrompts
    settings: AssessmentSettings

    def judge(
        self, session: Session, query: PoolQuery, calls: ThreadPoolExecutor, most: int | None = None
    ) -> list[JudgingEvent]:
        """Return the events of the next answers; [] if none of the questions is answered.

        Parameters
        ----------
        session, query
            The session, which stays as it is, and the texts of its query.
        calls
            Where calls run.
        most
            The most questions of a batch; None for all.
        """
        if self.settings.ask == "sets":
            return self._judge_set(session, query)
        questions = self._questions(session)[:most]
        if isinstance(session.task, GradeTask):
            rows = [calls.submit(self._grade, session, query, q) for q in questions]
        else:
            rows = [calls.submit(self._compare, session, query, q) for q in questions]
        events = [data for row in rows for data in row.result()]
        return [self._event(session, i, data) for i, data in enumerate(events)]

    def _questions(self, session: Session) -> list[ScreenQuestion]:
        """Return the questions that are asked now: the current one, and more of a batch."""
        first = current_question(session, self.settings.repeats, self.settings.repeat_gap)
        assert first is not None
        if self.settings.batch == 1 or first.repeat or session.run is None:
            return [first]
        others = session.run.questions(self.settings.batch)[1:]
        sides = [arrange_sides(session, (question.a, question.b)) for question in others]
        return [first, *(ScreenQuestion(documents, first.judged) for documents in sides)]

    def _compare(
        self, session: Session, query: PoolQuery, question: ScreenQuestion
    ) -> list[dict[str, Any]]:
        """Return the judgments of a pair: one, or two if both orders are asked and count."""
        left, right = question.documents
        both, run = self.settings.both_orders, session.run
        merges = both and (question.repeat or (run is not None and run.trusts_answers))
        orders = [(left, right), (right, left)] if both else [(left, right)]
        rows: list[dict[str, Any]] = []
        for a, b in orders:
            repetition = _times_asked(session, (a, b), either_side=merges)
            prompt, schema = self.prompts.pair(query, _document(query, a), _document(query, b))
            answer = self.client.ask(prompt, schema, repetition)
            if answer.value is None:
                return rows if not merges else []
            row = {"a": a, "b": b, "left": a, "answer": _LEFT_ANSWERS[answer.value]}
            rows.append(row | question_mark(question) | self._machine_field([answer]))
        return rows if not merges else [_merge_orders(*rows)]

    def _grade(
        self, session: Session, query: PoolQuery, question: ScreenQuestion
    ) -> list[dict[str, Any]]:
        """Return the grade of a document, if there is one."""
        (document,), task = question.documents, session.task
        assert isinstance(task, GradeTask)
        prompt, schema = self.prompts.grade(query, _document(query, document), task.grades)
        answer = self.client.ask(prompt, schema, _times_asked(session, (document,)))
        if answer.value is None:
            return []
        row = {"document": document, "grade": task.grades.index(answer.value)}
        return [row | question_mark(question) | self._machine_field([answer])]

    def _judge_set(self, session: Session, query: PoolQuery) -> list[JudgingEvent]:
        """Return one judgment for each document that is not the best of the set."""
        assert session.run is not None
        documents = shuffle(session.run.best_of(self.settings.set_size), session)
        prompt, schema = self.prompts.best(query, [_document(query, d) for d in documents])
        answer = self.client.ask(prompt, schema, session.n_events)
        if answer.value is None:
            return []
        best = documents[int(answer.value) - 1]
        fields = self._machine_field([answer]) | {"set": list(documents)}
        rows = [{"a": best, "b": other, "answer": ">"} for other in documents if other != best]
        return [self._event(session, i, row | fields) for i, row in enumerate(rows)]

    def _machine_field(self, answers: Sequence[MachineAnswer]) -> dict[str, Any]:
        """Return what an event says about its machine: the model, the prompt, the keys in the cache."""
        template = self.prompts.template(self.settings.kind)
        return {
            "machine": {
                "model": answers[0].model,
                "prompt": template.label,
                "answers": [answer.key[:16] for answer in answers],
            }
        }

    def _event(self, session: Session, place: int, data: dict[str, Any]) -> JudgingEvent:
        text = json.dumps([session.task.id, session.n_events, place, data["machine"]["answers"]])
        event_id = f"machine-{hashlib.sha256(text.encode()).hexdigest()[:24]}"
        now = time.time_ns() // 1_000_000
        return JudgingEvent(event_id, session.task.id, "judgment", now, data)


def question_mark(question: ScreenQuestion) -> dict[str, Any]:
    """Return the field of an event that marks a repeated question."""
    return {"repeat": True} if question.repeat else {}


def shuffle(documents: Sequence[str], session: Session) -> tuple[str, ...]:
    """Return documents in an order that looks random, and depends on the session alone."""
    start = f"{session.task.id} {session.n_events} "
    return tuple(sorted(documents, key=lambda d: hashlib.sha256(f"{start}{d}".encode()).digest()))


def _merge_orders(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return one judgment of both orders: a contradiction is a tie.

    It has no left document: without the contradictions, the rest would show no bias for a side.
    """
    swapped = Judgment(other["a"], other["b"], other["answer"]).flipped().answer
    answers = [*one["machine"]["answers"], *other["machine"]["answers"]]
    answer = one["answer"] if one["answer"] == swapped else "~"
    merged = one | {"answer": answer, "machine": one["machine"] | {"answers": answers}}
    return {name: value for name, value in merged.items() if name != "left"}


def _times_asked(
    session: Session, documents: tuple[str, ...], either_side: bool = False
) -> int:  # fmt: skip
    """Return how often these documents were judged, with this one on the left, or with any."""
    judgments = [*session.judgments, *(timed.judgment for timed in session.repeats)]
    count = 0
    for judgment in judgments:
        if isinstance(judgment, Judgment):
            is_pair = {judgment.a, judgment.b} == set(documents)
            count += is_pair and (either_side or judgment.left == documents[0])
        else:
            count += judgment.document == documents[0]
    return count


def _document(query: PoolQuery, document: str) -> PoolDocument:
    return next(d for d in query.documents if d.id == document)
