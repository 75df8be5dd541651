"""JudgingService: hands out questions and stores events while assessors judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from starlette.concurrency import run_in_threadpool

from podium.apps.http.refusals import Refusal
from podium.apps.judging.document_html import document_view, reading_length
from podium.apps.judging.event_writer import EventWriter
from podium.apps.judging.highlighting import query_words
from podium.apps.judging.images import ImageFolder
from podium.apps.judging.question_tokens import QuestionTokens
from podium.apps.judging.refusals import not_yours
from podium.apps.judging.settings import JudgingSettings
from podium.errors import EventError, NotAskedError, ReusedIdError, WithdrawnTaskError
from podium.labelling.events import JudgingEvent
from podium.labelling.grading import Grades
from podium.labelling.judgments import JudgedTopK
from podium.labelling.pools import PoolQuery
from podium.labelling.screen_questions import ScreenQuestion, current_question
from podium.labelling.session import Session
from podium.labelling.store import EventBatch, Store
from podium.labelling.tasks import GradeTask, PreferenceTask, Task


@dataclass(frozen=True)
class StoredEvents:
    """The outcome of a request's events.

    Parameters
    ----------
    answer
        The JSON of the answer: the ids of the accepted events, and the state after them.
    refusal
        The answer if an event is refused, with the same JSON; None if all are accepted.
    """

    answer: dict[str, Any]
    refusal: Refusal | None


class JudgingService:
    """Asks questions and stores events.

    An event is in the store before its request is answered.
    """

    def __init__(
        self,
        store: Store,
        tokens: QuestionTokens,
        settings: JudgingSettings,
        images: ImageFolder | None = None,
    ) -> None:
        self.store = store
        self._tokens, self._settings = tokens, settings
        self._image_address = None if images is None else images.address
        self._writer = EventWriter(store, settings.busy_seconds)
        # Queries and tasks never change in the store, so they are cached.
        self.query = lru_cache(maxsize=256)(store.query)
        self.cached_document_view = lru_cache(maxsize=4096)(self._render_document)
        self._tasks: dict[str, Task] = {}

    def close(self) -> None:
        """Write the events that wait, then stop."""
        self._writer.close()

    def task(self, member: str, task_id: str) -> Task:
        """Return a task of an assessor; a task of somebody else is refused with 403."""
        task = self._tasks.get(task_id)
        if task is None:
            try:
                task = self._tasks[task_id] = self.store.session(task_id).task
            except EventError:
                raise not_yours() from None
        if task.assessor != member:
            raise not_yours()
        return task

    def open_task(self, member: str, task_id: str) -> Task:
        """Return a task as `task` does; also refuse a task that an admin took away."""
        task = self.task(member, task_id)
        if self.store.is_withdrawn(task_id):
            raise not_yours()
        return task

    def state(self, member: str, task_id: str) -> dict[str, Any]:
        """Return a task and the state of its session, as JSON."""
        task = self.open_task(member, task_id)
        guidelines = self.store.guidelines().version
        with self.store.locked_session(task_id) as session:
            record = self._session_record(session, guidelines)
            return {"task": self._task_record(task), **record}

    async def store_events(
        self, member: str, task_id: str, events: Sequence[JudgingEvent]
    ) -> StoredEvents:
        """Store events one after the other, up to the first that is refused."""
        if task_id in self._tasks:
            self.task(member, task_id)
        else:
            await run_in_threadpool(self.task, member, task_id)
        ids = [event.id for event in events]
        return await self._writer.run(
            task_id, ids, lambda batch: self._append_all(batch, task_id, events)
        )

    def _append_all(
        self, batch: EventBatch, task_id: str, events: Sequence[JudgingEvent]
    ) -> StoredEvents:
        accepted: list[str] = []
        failure: tuple[EventError, str] | None = None
        for event in events:
            try:
                self._append(batch, event)
            except WithdrawnTaskError:
                raise not_yours() from None
            except EventError as error:
                failure = error, event.id
                break
            accepted.append(event.id)
        state = self._session_record(batch.session(task_id), batch.guidelines)
        answer = {"accepted": tuple(accepted), **state}
        return StoredEvents(answer, _make_refusal(*failure, answer) if failure else None)

    def _append(self, batch: EventBatch, event: JudgingEvent) -> None:
        """Append an event after three checks of its question.

        The token proves that the server asked the question at some time; it also holds for an event that
        is sent again later. A new event must answer the question that is current, since the task may be
        open in two windows. Last, `Session` checks the documents in `batch.append`: programs write to the
        store without tokens.
        """
        session = batch.session(event.task_id)
        data = self._tokens.check_and_resolve(session.task, event.kind, event.data)
        # An event that was sent again is in the store already, and its question may be an old one.
        if not batch.has_event(event.id):
            self._check_current(session, event.kind, data)
        batch.append(replace(event, data=data))

    def _check_current(self, session: Session, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "undo" and "judgment" not in data:
            raise NotAskedError(
                "expected an undo that names a judgment, got none; load the page again"
            )
        if kind in ("judgment", "skip") and "question" in data:
            question = self._current_question(session)
            if question is None or data["question"] != self._tokens.sign(session.task, question):
                raise NotAskedError(
                    f"expected a {kind} of the current question, got one of another question"
                )

    def _current_question(self, session: Session) -> ScreenQuestion | None:
        return current_question(session, self._settings.repeats, self._settings.repeat_gap)

    # The JSON that a page gets.

    def _task_record(self, task: Task) -> dict[str, Any]:
        query = self.query(task.query)
        return {
            "kind": task.tool,
            "query": query.text or query.id,
            "description": query.description,
            "grades": list(task.grades) if isinstance(task, GradeTask) else None,
            "k": task.k if isinstance(task, PreferenceTask) else None,
        }

    def _session_record(self, session: Session, guidelines: int) -> dict[str, Any]:
        (judged, remaining), certainty = session.progress, session.certainty
        sure = {} if certainty is None else {"certainty": round(certainty, 3)}
        step, idle = self._step(session)
        return {
            "step": step,
            "progress": {"done": judged, "remaining": round(remaining, 1), **sure},
            "idle_seconds": idle,
            "paused": session.paused,
            "last": None if session.last is None else session.last.event,
            "events": session.n_events,
            "guidelines": guidelines,
        }

    def _step(self, session: Session) -> tuple[dict[str, Any], float]:
        """Return what is on screen, and after how many seconds the assessor counts as idle."""
        task = session.task
        question = self._current_question(session)
        if question is None:
            return self._result_record(session), self._settings.idle_after(0)
        views = [self.cached_document_view(task.query, document) for document in question.documents]
        idle = self._settings.idle_after(sum(map(reading_length, views)))
        token = self._tokens.sign(task, question)
        if len(views) == 1:
            return {"kind": "document", "question": token, "document": views[0]}, idle
        return {"kind": "question", "question": token, "left": views[0], "right": views[1]}, idle

    def _result_record(self, session: Session) -> dict[str, Any]:
        """Return the result of a finished session: levels best first, or documents with grades."""
        step, query = session.step, self.query(session.task.query)
        titles = {document.id: document.title for document in query.documents}
        record: dict[str, Any] = {"kind": "done"}
        if isinstance(step, JudgedTopK):
            levels = [[{"id": d, "title": titles[d]} for d in level] for level in step.levels]
            return record | {"levels": levels}
        assert isinstance(step, Grades)
        graded = [
            {"id": g.document, "title": titles[g.document], "grade": g.grade} for g in step.graded
        ]
        return record | {"graded": graded}

    def _render_document(self, query_id: str, document_id: str) -> dict[str, Any]:
        query: PoolQuery = self.query(query_id)
        document = next(d for d in query.documents if d.id == document_id)
        return document_view(document, query_words(query.text), self._image_address)


def _make_refusal(error: EventError, event_id: str, answer: Mapping[str, Any]) -> Refusal:
    """Return 409 for a conflict with the session, 400 for a malformed event."""
    codes = {ReusedIdError: (409, "reused_id"), NotAskedError: (409, "not_asked")}
    status, code = codes.get(type(error), (400, "bad_event"))
    return Refusal(status, code, str(error), refused=event_id, **answer)
