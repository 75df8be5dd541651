"""The desk: hands out questions and takes in events; all that touches the store while people judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from starlette.concurrency import run_in_threadpool

from podium.apps.judging.documents import characters, shown
from podium.apps.judging.images import Images
from podium.apps.judging.marking import query_words
from podium.apps.judging.questions import Questions
from podium.apps.judging.refusals import Refusal, not_yours
from podium.apps.judging.settings import JudgingSettings
from podium.apps.judging.writer import Writer
from podium.errors import EventError, NotAskedError, ReusedIdError
from podium.labelling.events import JudgingEvent
from podium.labelling.grading import Grades
from podium.labelling.judgments import JudgedTopK
from podium.labelling.pools import PoolQuery
from podium.labelling.session import Session
from podium.labelling.store import EventBatch, Store
from podium.labelling.tasks import GradeTask, PreferenceTask, Task


@dataclass(frozen=True)
class Outcome:
    """What became of the events of a request: those accepted, and why the next one was not."""

    accepted: tuple[str, ...]
    refused: Refusal | None
    state: dict[str, Any]


class Desk:
    """Questions out, events in; an event is in the store before its request is answered."""

    def __init__(
        self,
        store: Store,
        questions: Questions,
        settings: JudgingSettings,
        images: Images | None = None,
    ) -> None:
        self.store = store
        self._questions, self._settings = questions, settings
        self._address = None if images is None else images.address
        self._writer = Writer(store, settings.busy_seconds)
        # Queries and tasks never change once they are in the store.
        self.query = lru_cache(maxsize=256)(store.query)
        self._document = lru_cache(maxsize=4096)(self._make_document)
        self._tasks: dict[str, Task] = {}

    def close(self) -> None:
        """Finish what is being written."""
        self._writer.close()

    def task(self, member: str, task_id: str) -> Task:
        """A task of an assessor; 403 for any other."""
        task = self._tasks.get(task_id)
        if task is None:
            try:
                task = self._tasks[task_id] = self.store.session(task_id).task
            except EventError:
                raise not_yours() from None
        if task.assessor != member:
            raise not_yours()
        return task

    def state(self, member: str, task_id: str) -> dict[str, Any]:
        """A task and where it stands."""
        task = self.task(member, task_id)
        with self.store.at_rest(task_id) as session:
            return {"task": self._told(task), **self._state(session)}

    async def take(self, member: str, task_id: str, events: Sequence[JudgingEvent]) -> Outcome:
        """Keep events one after the other, up to the first that cannot be."""
        if task_id in self._tasks:
            self.task(member, task_id)
        else:
            await run_in_threadpool(self.task, member, task_id)
        ids = [event.id for event in events]
        return await self._writer.run(
            task_id, ids, lambda batch: self._take(batch, task_id, events)
        )

    def _take(self, batch: EventBatch, task_id: str, events: Sequence[JudgingEvent]) -> Outcome:
        accepted: list[str] = []
        refused = None
        for event in events:
            try:
                self._keep(batch, event)
            except EventError as error:
                refused = _refused(error, event)
                break
            accepted.append(event.id)
        return Outcome(tuple(accepted), refused, self._state(batch.session(task_id)))

    def _keep(self, batch: EventBatch, event: JudgingEvent) -> None:
        session = batch.session(event.session)
        told = self._questions.translated(session.task, event.kind, event.data)
        # An event that was sent again is in the store already; a new one is of what is at hand.
        if not batch.knows(event.id):
            self._check_at_hand(session, event.kind, told)
        batch.append(replace(event, data=told))

    def _check_at_hand(self, session: Session, kind: str, told: Mapping[str, Any]) -> None:
        if kind == "undo" and "judgment" not in told:
            raise NotAskedError(
                "expected an undo that names a judgment, got none; load the page again"
            )
        if kind in ("judgment", "skip") and "question" in told:
            asked = self._questions.asked(session)
            if asked is None or told["question"] != self._questions.name(session.task, asked):
                raise NotAskedError(
                    f"expected a {kind} of the question at hand, got one of another"
                )

    # What a page is told.

    def _told(self, task: Task) -> dict[str, Any]:
        query = self.query(task.query)
        return {
            "kind": task.tool,
            "query": query.text or query.id,
            "description": query.description,
            "grades": list(task.grades) if isinstance(task, GradeTask) else None,
            "k": task.k if isinstance(task, PreferenceTask) else None,
        }

    def _state(self, session: Session) -> dict[str, Any]:
        judged, remaining = session.progress
        step, idle = self._step(session)
        return {
            "step": step,
            "progress": {"done": judged, "remaining": round(remaining, 1)},
            "idle_seconds": idle,
            "paused": session.paused,
            "last": None if session.last is None else session.last.event,
            "events": session.n_events,
        }

    def _step(self, session: Session) -> tuple[dict[str, Any], float]:
        """What is on screen, and after how long nobody seems to be there."""
        task = session.task
        asked = self._questions.asked(session)
        if asked is None:
            return self._done(session), self._settings.idle_after(0)
        told = [self._document(task.query, document) for document in asked.documents]
        idle = self._settings.idle_after(sum(map(characters, told)))
        name = self._questions.name(task, asked)
        if len(told) == 1:
            return {"kind": "document", "question": name, "document": told[0]}, idle
        return {"kind": "question", "question": name, "left": told[0], "right": told[1]}, idle

    def _done(self, session: Session) -> dict[str, Any]:
        """The finished truth: levels best first, or documents with their grades."""
        step, query = session.step, self.query(session.task.query)
        titles = {document.id: document.title for document in query.documents}
        told: dict[str, Any] = {"kind": "done"}
        if isinstance(step, JudgedTopK):
            levels = [[{"id": d, "title": titles[d]} for d in level] for level in step.levels]
            return told | {"levels": levels}
        assert isinstance(step, Grades)
        graded = [
            {"id": g.document, "title": titles[g.document], "grade": g.grade} for g in step.graded
        ]
        return told | {"graded": graded}

    def _make_document(self, query_id: str, document_id: str) -> dict[str, Any]:
        query: PoolQuery = self.query(query_id)
        document = next(d for d in query.documents if d.id == document_id)
        words = query_words(query.text)
        return shown(document, words, self._address)


def _refused(error: EventError, event: JudgingEvent) -> Refusal:
    """409 where the session went another way, 400 where an event is none."""
    codes = {ReusedIdError: (409, "reused_id"), NotAskedError: (409, "not_asked")}
    status, code = codes.get(type(error), (400, "bad_event"))
    return Refusal(status, code, str(error), refused=event.id)
