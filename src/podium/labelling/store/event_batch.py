"""Events of any number of sessions in one transaction: what many assessors send is kept at once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import sqlalchemy as sa

from podium.errors import ReusedIdError
from podium.labelling.events import JudgingEvent
from podium.labelling.session import Session
from podium.labelling.store import tables
from podium.labelling.store.live_sessions import LiveSession, stored_counts
from podium.labelling.store.rows import event_row, read_event, session_row

_AT_ONCE = 500  # ids in one IN (...): databases have a limit of variables


class Appended(NamedTuple):
    """The session with the event in it, and whether the event is new to the store."""

    session: Session
    new: bool


class EventBatch:
    """A transaction that appends events; they are in the store when it ends, all of them or none.

    An event that is refused changes nothing, and others may follow.
    """

    def __init__(
        self, sessions: Mapping[str, LiveSession], stored: dict[str, JudgingEvent]
    ) -> None:
        self._sessions, self._stored = sessions, stored
        self._rows: list[dict[str, Any]] = []
        self._changed: dict[str, LiveSession] = {}
        self._received = time.time_ns() // 1_000_000

    def session(self, session: str) -> Session:
        """A session as it stands, the events of this batch included."""
        return self._sessions[session].session

    def knows(self, event: str) -> bool:
        """Whether the store, or this batch, has an event of this id."""
        return event in self._stored

    def append(self, event: JudgingEvent) -> Appended:
        """Add an event; see Store.append."""
        live = self._sessions[event.session]
        stored = self._stored.get(event.id)
        if stored is not None:
            if stored.content != event.content:
                whose = (
                    "of this session" if stored.session == event.session else "of another session"
                )
                raise ReusedIdError(
                    f"expected a new id, got {event.id!r}, which stands for another {stored.kind} {whose}"
                )
            return Appended(live.session, new=False)
        entry = live.session.advance(event)
        self._stored[event.id] = event
        self._changed[event.session] = live
        self._rows.append(
            event_row(live.number, live.session.n_events, event, entry, self._received)
        )
        return Appended(live.session, new=True)

    def flush(self, connection: sa.Connection) -> None:
        """Write the rows."""
        if not self._rows:
            return
        connection.execute(_INSERT_EVENT, self._rows)
        rows = [
            session_row(live.number, live.session, self._received)
            for live in self._changed.values()
        ]
        connection.execute(
            _UPDATE_SESSION, [{f"new_{k}": v for k, v in row.items()} for row in rows]
        )

    def forget(self) -> None:
        """The sessions in memory are ahead of the store: the next use replays it."""
        for live in self._changed.values():
            live.forget()


@contextmanager
def writing_batch(
    lives: Iterable[LiveSession], connect: Any, ids: Sequence[str]
) -> Iterator[EventBatch]:
    """A batch of these sessions, `ids` being those of the events; `connect` opens a transaction."""
    sessions = {live.session.task.id: live for live in lives}
    ordered = sorted(sessions.values(), key=lambda live: live.number)
    batch = None
    with ExitStack() as locks:
        for live in ordered:  # everybody in the same order, so that nobody waits in a circle
            locks.enter_context(live.lock)
        try:
            with connect as connection:
                stored = stored_counts(connection, [live.number for live in ordered], locking=True)
                for live in ordered:
                    live.catch_up(connection, stored[live.number])
                batch = EventBatch(sessions, _stored_events(connection, ids))
                yield batch
                batch.flush(connection)
        except BaseException:
            if batch is not None:
                batch.forget()
            raise


def _stored_events(connection: sa.Connection, ids: Sequence[str]) -> dict[str, JudgingEvent]:
    """The events that the store has of these ids, in whatever session."""
    stored: dict[str, JudgingEvent] = {}
    for at in range(0, len(ids), _AT_ONCE):
        rows = connection.execute(_EVENTS_BY_ID, {"ids": list(ids[at : at + _AT_ONCE])})
        stored |= {row.id: read_event(row, row.session) for row in rows}
    return stored


_EVENTS_BY_ID = (
    sa.select(
        tables.events.c.id,
        tables.tasks.c.id.label("session"),
        tables.events.c.kind,
        tables.events.c.at,
        tables.events.c.data,
    )
    .join_from(tables.events, tables.tasks)
    .where(tables.events.c.id.in_(sa.bindparam("ids", expanding=True)))
)
_INSERT_EVENT = sa.insert(tables.events)
_UPDATE_SESSION = (
    sa.update(tables.sessions)
    .where(tables.sessions.c.task == sa.bindparam("new_task"))
    .values({c.name: sa.bindparam(f"new_{c.name}") for c in tables.sessions.c if c.name != "task"})
)
