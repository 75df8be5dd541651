"""Tasks, events and sessions as rows, and back."""

from __future__ import annotations

import json
from typing import Any

from podium.labelling.events import JudgingEvent, data_text
from podium.labelling.pools import PoolDocument, PoolQuery
from podium.labelling.session import Entry, Session
from podium.labelling.store.results import result_record
from podium.labelling.tasks import Task, task_of


def task_row(number: int, task: Task) -> dict[str, Any]:
    """A row of tasks."""
    return {
        "number": number,
        "id": task.id,
        "query": task.query,
        "assessor": task.assessor,
        "tool": task.tool,
        "documents": json.dumps(task.documents, separators=(",", ":")),
        "settings": data_text(task.settings),
    }


def read_task(row: Any) -> Task:
    """The task of a row."""
    return task_of(
        row.tool,
        row.id,
        row.query,
        row.assessor,
        json.loads(row.documents),
        json.loads(row.settings),
    )


def event_row(
    number: int, place: int, event: JudgingEvent, entry: Entry, received: int
) -> dict[str, Any]:
    """A row of events."""
    return {
        "task": number,
        "place": place,
        "id": event.id,
        "kind": event.kind,
        "at": event.at,
        "received": received,
        "data": data_text(event.data),
        **entry._asdict(),
    }


def read_event(row: Any, session: str) -> JudgingEvent:
    """The event of a row."""
    return JudgingEvent(row.id, session, row.kind, row.at, json.loads(row.data))


def session_row(number: int, session: Session, changed: int) -> dict[str, Any]:
    """A row of sessions: where a session stands."""
    progress, result = session.progress, result_record(session.step)
    return {
        "task": number,
        "events": session.n_events,
        "judged": progress.judged,
        "remaining": progress.remaining,
        "active_ms": session.active_ms,
        "changed": changed,
        "result": None if result is None else json.dumps(result, separators=(",", ":")),
    }


def query_row(place: int, query: PoolQuery) -> dict[str, Any]:
    """A row of queries."""
    return {
        "id": query.id,
        "place": place,
        "text": query.text,
        "description": query.description,
    }


def document_row(place: int, query: str, document: PoolDocument) -> dict[str, Any]:
    """A row of documents."""
    return {
        "query": query,
        "id": document.id,
        "place": place,
        "kind": document.kind,
        "title": document.title,
        "content": document.content,
        "score": document.score,
    }


def read_document_row(row: Any) -> PoolDocument:
    """The document of a row."""
    return PoolDocument(row.id, row.content, row.kind, row.title, row.score)
