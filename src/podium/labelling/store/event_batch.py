"""EventBatch: append events of several sessions in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import sqlalchemy as sa

from podium.errors import EventError, ReusedIdError, WithdrawnTaskError
from podium.labelling.events import JudgingEvent
from podium.labelling.session import Session
from podium.labelling.store import tables
from podium.labelling.store.admin_records import latest_guidelines
from podium.labelling.store.rows import event_row, read_event, session_row
from podium.labelling.store.session_cache import CachedSession, stored_counts


class AppendedEvent(NamedTuple):
    """The session after an event, and whether the event is new to the store."""

    session: Session
    new: bool


class EventBatch:
    """Events to append in one transaction, all of them or none.

    An invalid event raises and changes nothing; other events may follow.
    """

    def __init__(
        self,
        sessions: Mapping[str, CachedSession],
        stored: dict[str, JudgingEvent],
        withdrawn: set[int],
        guidelines: int,
    ) -> None:
        self._sessions, self._stored = sessions, stored
        self._withdrawn, self.guidelines = withdrawn, guidelines
        self._rows: list[dict[str, Any]] = []
        self._changed: dict[str, CachedSession] = {}
        self._received = time.time_ns() // 1_000_000

    def session(self, task_id: str) -> Session:
        """Return the session of a task after the events of the store and of this batch."""
        return self._sessions[task_id].session

    def has_event(self, event_id: str) -> bool:
        """Return whether the store or this batch has an event with this id."""
        return event_id in self._stored

    def append(self, event: JudgingEvent) -> AppendedEvent:
        """Add an event; see Store.append."""
        cached = self._sessions[event.task_id]
        stored = self._stored.get(event.id)
        if stored is not None:
            if stored.content != event.content:
                owner = (
                    "of this session" if stored.task_id == event.task_id else "of another session"
                )
                raise ReusedIdError(
                    f"the id {event.id!r} belongs to another {stored.kind} {owner}; expected "
                    "a new id"
                )
            return AppendedEvent(cached.session, new=False)
        if cached.number in self._withdrawn:
            raise WithdrawnTaskError(
                f"task {event.task_id!r:.60} was withdrawn from its assessor; expected an open task"
            )
        guidelines = self._guidelines_of(event)
        numbers = cached.session.apply_with_numbers(event)
        self._stored[event.id] = event
        self._changed[event.task_id] = cached
        self._rows.append(
            event_row(cached.number, cached.session.n_events, event, numbers, self._received)
            | {"guidelines": guidelines}
        )
        return AppendedEvent(cached.session, new=True)

    def _guidelines_of(self, event: JudgingEvent) -> int:
        """Return the version of the guidelines that an event names; by default the latest."""
        version = event.data.get("guidelines", self.guidelines)
        is_whole = isinstance(version, int) and not isinstance(version, bool)
        if not is_whole or not 0 <= version <= self.guidelines:
            raise EventError(
                f"expected a version of the guidelines from 0 to {self.guidelines} in event "
                f"{event.id!r}, got {version!r:.60}"
            )
        return int(version)

    def flush(self, connection: sa.Connection) -> None:
        """Write the events, and the new state of their sessions."""
        if not self._rows:
            return
        connection.execute(_INSERT_EVENT, self._rows)
        rows = [
            session_row(cached.number, cached.session, self._received)
            for cached in self._changed.values()
        ]
        connection.execute(
            _UPDATE_SESSION, [{f"new_{k}": v for k, v in row.items()} for row in rows]
        )

    def forget(self) -> None:
        """Drop the sessions in memory, which are ahead of the store; the next use replays the store."""
        for cached in self._changed.values():
            cached.forget()


@contextmanager
def open_batch(
    cached_sessions: Iterable[CachedSession], transaction: Any, event_ids: Sequence[str]
) -> Iterator[EventBatch]:
    """Open a batch for these sessions in a transaction; `event_ids` are the ids of its events."""
    sessions = {cached.session.task.id: cached for cached in cached_sessions}
    ordered = sorted(sessions.values(), key=lambda cached: cached.number)
    batch = None
    with ExitStack() as locks:
        for cached in ordered:  # all threads lock in the same order, which prevents deadlocks
            locks.enter_context(cached.lock)
        try:
            with transaction as connection:
                stored = stored_counts(
                    connection, [cached.number for cached in ordered], locking=True
                )
                for cached in ordered:
                    cached.catch_up(connection, stored[cached.number])
                batch = EventBatch(
                    sessions,
                    _stored_events(connection, event_ids),
                    _withdrawn_tasks(connection, stored),
                    latest_guidelines(connection),
                )
                yield batch
                batch.flush(connection)
        except BaseException:
            if batch is not None:
                batch.forget()
            raise


def _withdrawn_tasks(connection: sa.Connection, numbers: Iterable[int]) -> set[int]:
    """Return which of these tasks are withdrawn; read after their sessions are locked."""
    rows = connection.execute(_WITHDRAWN, {"numbers": list(numbers)})
    return {row.number for row in rows}


def _stored_events(connection: sa.Connection, ids: Sequence[str]) -> dict[str, JudgingEvent]:
    """Return the events of the store with these ids, in any session."""
    stored: dict[str, JudgingEvent] = {}
    for at in range(0, len(ids), tables.MAX_IDS_PER_STATEMENT):
        rows = connection.execute(
            _EVENTS_BY_ID, {"ids": list(ids[at : at + tables.MAX_IDS_PER_STATEMENT])}
        )
        stored |= {row.id: read_event(row, row.task_id) for row in rows}
    return stored


_EVENTS_BY_ID = (
    sa.select(
        tables.events.c.id,
        tables.tasks.c.id.label("task_id"),
        tables.events.c.kind,
        tables.events.c.at,
        tables.events.c.data,
    )
    .join_from(tables.events, tables.tasks)
    .where(tables.events.c.id.in_(sa.bindparam("ids", expanding=True)))
)
_WITHDRAWN = sa.select(tables.tasks.c.number).where(
    tables.tasks.c.number.in_(sa.bindparam("numbers", expanding=True)), tables.tasks.c.withdrawn > 0
)
_INSERT_EVENT = sa.insert(tables.events)
_UPDATE_SESSION = (
    sa.update(tables.sessions)
    .where(tables.sessions.c.task == sa.bindparam("new_task"))
    .values({c.name: sa.bindparam(f"new_{c.name}") for c in tables.sessions.c if c.name != "task"})
)
