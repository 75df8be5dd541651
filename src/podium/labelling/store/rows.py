"""Rows of the tables, and the tasks, events, sessions, documents and results that they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from podium.labelling.events import JudgingEvent, data_text
from podium.labelling.grading import Graded, Grades
from podium.labelling.judgments import JudgedTopK
from podium.labelling.pools import PoolDocument, PoolQuery
from podium.labelling.session import EventNumbers, Session
from podium.labelling.tasks import Task, make_task


def task_row(number: int, task: Task) -> dict[str, Any]:
    """Return the row of a task."""
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
    """Return the task of a row."""
    return make_task(
        row.tool,
        row.id,
        row.query,
        row.assessor,
        json.loads(row.documents),
        json.loads(row.settings),
    )


def event_row(
    number: int, place: int, event: JudgingEvent, numbers: EventNumbers, received: int
) -> dict[str, Any]:
    """Return the row of an event."""
    return {
        "task": number,
        "place": place,
        "id": event.id,
        "kind": event.kind,
        "at": event.at,
        "received": received,
        "data": data_text(event.data),
        **numbers._asdict(),
    }


def read_event(row: Any, task_id: str) -> JudgingEvent:
    """Return the event of a row."""
    return JudgingEvent(row.id, task_id, row.kind, row.at, json.loads(row.data))


def session_row(number: int, session: Session, changed: int) -> dict[str, Any]:
    """Return the row of a session: its state after the last event."""
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
    """Return the row of a query."""
    return {
        "id": query.id,
        "place": place,
        "text": query.text,
        "description": query.description,
    }


def document_row(place: int, query: str, document: PoolDocument) -> dict[str, Any]:
    """Return the row of a document."""
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
    """Return the document of a row."""
    return PoolDocument(row.id, row.content, row.kind, row.title, row.score)


def result_record(step: object) -> dict[str, Any] | None:
    """Return the result of a finished session as JSON; None for a question.

    Examples
    --------
    >>> result_record(Grades((Graded("x", 1),), ("Bad", "Good")))
    {'graded': [['x', 1]], 'names': ['Bad', 'Good']}
    """
    if isinstance(step, JudgedTopK):
        return {
            "levels": [list(level) for level in step.levels],
            "k": step.k,
            "judged": step.judged,
        }
    if isinstance(step, Grades):
        return {"graded": [[g.document, g.grade] for g in step.graded], "names": list(step.names)}
    return None


def read_result(record: Mapping[str, Any]) -> JudgedTopK | Grades:
    """Return the result of a record that `result_record` made."""
    if "levels" in record:
        levels = tuple(tuple(level) for level in record["levels"])
        return JudgedTopK(levels, record["k"], record["judged"])
    return Grades(tuple(Graded(*graded) for graded in record["graded"]), tuple(record["names"]))
