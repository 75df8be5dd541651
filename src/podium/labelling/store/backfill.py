"""The columns in numbers, from the events as they were told: what older stores lack."""

from __future__ import annotations

import json

import sqlalchemy as sa

from podium.errors import PodiumError, StoreError
from podium.labelling.events import JudgingEvent
from podium.labelling.session import Session
from podium.labelling.store.rows import session_row
from podium.labelling.tasks import task_of

_TASKS = "SELECT number, id, query, assessor, tool, documents, settings FROM tasks ORDER BY number"
_EVENTS = "SELECT place, id, kind, at, received, data FROM events WHERE task = :task ORDER BY place"
_UPDATE = """
UPDATE events SET first = :first, second = :second, answer = :answer, repeated = :repeated,
active_ms = :active_ms, flaws = :flaws WHERE task = :task AND place = :place
"""
_INSERT = """
INSERT INTO sessions (task, events, judged, remaining, active_ms, changed, result)
VALUES (:task, :events, :judged, :remaining, :active_ms, :changed, :result)
"""


def fill_numbers(connection: sa.Connection) -> None:
    """Replay every session; write what its events say in numbers, and where it stands."""
    for number, id_, query, assessor, tool, documents, settings in connection.execute(
        sa.text(_TASKS)
    ).all():
        task = task_of(tool, id_, query, assessor, json.loads(documents), json.loads(settings))
        session, entries, changed = Session(task), [], 0
        for place, event_id, kind, at, received, data in connection.execute(
            sa.text(_EVENTS), {"task": number}
        ).all():
            try:
                entry = session.advance(JudgingEvent(event_id, id_, kind, at, json.loads(data)))
            except PodiumError as error:
                raise StoreError(
                    f"event {event_id!r} of the store cannot be replayed: {error}"
                ) from error
            entries.append({**entry._asdict(), "task": number, "place": place})
            changed = received
        if entries:
            connection.execute(sa.text(_UPDATE), entries)
        connection.execute(sa.text(_INSERT), session_row(number, session, changed))
