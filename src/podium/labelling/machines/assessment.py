"""Assessment: a machine judges the tasks of a store as its assessor, and may be interrupted anywhere."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from podium.errors import UnknownNameError, UsageError
from podium.labelling.events import JudgingEvent
from podium.labelling.judgments import Answer, Judgment
from podium.labelling.machines.call_budget import BudgetSpentError, Spending
from podium.labelling.machines.machine_client import MachineAnswer, MachineClient
from podium.labelling.machines.prompt_templates import QuestionKind
from podium.labelling.machines.question_prompts import MAX_SET_SIZE, QuestionPrompts
from podium.labelling.pools import PoolDocument, PoolQuery
from podium.labelling.screen_questions import ScreenQuestion, arrange_sides, current_question
from podium.labelling.session import Session
from podium.labelling.tasks import GradeTask, Task, Tool

if TYPE_CHECKING:
    from podium.labelling.store import Store

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
class AssessmentSummary:
    """What a run did.

    Parameters
    ----------
    tasks, finished
        The tasks of the assessor, and how many of them are finished now.
    judgments
        New judgments in the store.
    questions
        Questions of this run: from the cache, answered, and unanswered; failed calls by problem.
    calls
        Calls of the whole campaign by outcome. ``"lost"`` were on their way when a run was killed.
    spent
        What the whole campaign took.
    stopped
        Why the run ended before all tasks were finished; "" if no cap was reached.
    """

    tasks: int
    finished: int
    judgments: int
    questions: dict[str, int]
    calls: dict[str, int]
    spent: Spending
    stopped: str = ""


@dataclass
class _Progress:
    """The state that all threads share."""

    judgments: int = 0
    stopped: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)


class MachineAssessor:
    """Judges tasks of a store with a machine.

    Parameters
    ----------
    store
        The store with the tasks.
    client, prompts, settings
        The machine, what it reads, and how it judges.
    """

    def __init__(
        self,
        store: Store,
        client: MachineClient,
        prompts: QuestionPrompts,
        settings: AssessmentSettings,
    ) -> None:
        self.store, self.client, self.prompts, self.settings = store, client, prompts, settings
        self._query = lru_cache(maxsize=256)(store.query)
        self._progress = _Progress()

    def assess(
        self, assessor: str, progress: Callable[[int, int], object] | None = None
    ) -> AssessmentSummary:
        """Judge all open tasks of an assessor, as far as caps allow.

        Parameters
        ----------
        assessor
            The id of the machine in the store.
        progress
            Takes the number of finished tasks and of all tasks.

        Raises
        ------
        EndpointError
            The endpoint does not answer as it should. All answers so far are in the store.
        """
        self._progress = _Progress()
        states = self.store.session_states(assessor)
        tasks = [s.task for s in states if not s.finished and s.task.tool == self.settings.tool]
        report = progress or (lambda done, total: None)
        done = sum(state.finished for state in states)
        report(done, len(states))
        with (
            ThreadPoolExecutor(self.settings.threads) as calls,
            ThreadPoolExecutor(self.settings.threads) as workers,
        ):
            futures = [workers.submit(self._work_on, task, calls) for task in tasks]
            try:
                for future in as_completed(futures):
                    done += future.result()
                    report(done, len(states))
            except BaseException:
                self._progress.stopped = "interrupted"
                for future in futures:
                    future.cancel()
                raise
        client = self.client
        return AssessmentSummary(
            len(states), done, self._progress.judgments, dict(sorted(client.counts.items())),
            client.cache.outcomes(client.campaign), client.cache.spending(client.campaign),
            self._progress.stopped,
        )  # fmt: skip

    def _work_on(self, task: Task, calls: ThreadPoolExecutor) -> bool:
        """Judge a task to its end, or until a question stays unanswered; return whether it is finished."""
        try:
            while (
                not self._progress.stopped and not (session := self.store.session(task.id)).finished
            ):
                events = self._judge(session, calls)
                if not events:
                    return False
                with self.store.batch([task.id], [event.id for event in events]) as batch:
                    new = sum(batch.append(event).new for event in events)
                with self._progress.lock:
                    self._progress.judgments += new
        except BudgetSpentError as error:
            self._progress.stopped = str(error)
            return False
        except BaseException:
            self._progress.stopped = "interrupted"
            raise
        return self.store.session(task.id).finished

    def _judge(self, session: Session, calls: ThreadPoolExecutor) -> list[JudgingEvent]:
        """Return the events of the next answers; [] if none of the questions is answered."""
        query = self._query(session.task.query)
        if self.settings.ask == "sets":
            return self._judge_set(session, query)
        questions = self._questions(session)
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
    """Return one judgment of both orders: a contradiction is a tie."""
    swapped = Judgment(other["a"], other["b"], other["answer"]).flipped().answer
    answers = [*one["machine"]["answers"], *other["machine"]["answers"]]
    answer = one["answer"] if one["answer"] == swapped else "~"
    return one | {"answer": answer, "machine": one["machine"] | {"answers": answers}}


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
