"""SessionCache: sessions in memory, replayed once and then updated from the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from podium.errors import PodiumError, StoreError
from podium.labelling.session import Session
from podium.labelling.store import tables
from podium.labelling.store.rows import read_event
from podium.labelling.tasks import Task


class CachedSession:
    """A session in memory, which may be behind the store; hold its lock while you use it."""

    def __init__(self, number: int, task: Task) -> None:
        self.number = number
        self.session = Session(task)
        self.lock = threading.Lock()

    def forget(self) -> None:
        """Drop the session in memory; the next use replays the store."""
        self.session = Session(self.session.task)

    def catch_up(self, connection: sa.Connection, stored: int) -> None:
        """Apply the events that other processes appended; the store has `stored` events.

        Comparing the numbers of events is enough, because a session in the store only grows.
        """
        task, applied = self.session.task, self.session.n_events
        if stored == applied:
            return
        if stored < applied:  # the database was restored from an older copy
            self.forget()
            applied = 0
        rows = connection.execute(
            _EVENTS_AFTER, {"number": self.number, "last_place": applied}
        ).all()
        for row in rows:
            try:
                self.session.apply(read_event(row, task.id))
            except PodiumError as error:
                self.forget()
                raise StoreError(
                    f"event {row.id!r} of the store cannot be replayed: {error}"
                ) from error


class SessionCache:
    """The sessions that were used last, by the id of their task."""

    def __init__(self, load: Callable[[str], CachedSession], max_sessions: int) -> None:
        self._load, self._max_sessions = load, max_sessions
        self._sessions: OrderedDict[str, CachedSession] = OrderedDict()
        self._lock = threading.Lock()

    def __getitem__(self, task_id: str) -> CachedSession:
        with self._lock:
            cached = self._sessions.get(task_id)
            if cached is not None:
                self._sessions.move_to_end(task_id)
                return cached
        loaded = self._load(task_id)
        with self._lock:
            cached = self._sessions.setdefault(task_id, loaded)
            while len(self._sessions) > self._max_sessions:
                self._sessions.popitem(last=False)
            return cached


def stored_counts(
    connection: sa.Connection, numbers: Sequence[int], locking: bool = False
) -> dict[int, int]:
    """Return the number of events of each session; `locking` prevents appending until the end."""
    counts: dict[int, int] = {}
    for at in range(0, len(numbers), tables.MAX_IDS_PER_STATEMENT):
        chunk = {"numbers": list(numbers[at : at + tables.MAX_IDS_PER_STATEMENT])}
        rows = connection.execute(_COUNTS_LOCKED if locking else _COUNTS, chunk)
        counts |= {row.task: row.events for row in rows}
    return counts


# Statements are built once, because building one takes longer than running it.
_EVENTS_AFTER = (
    sa.select(tables.events.c.id, tables.events.c.kind, tables.events.c.at, tables.events.c.data)
    .where(
        tables.events.c.task == sa.bindparam("number"),
        tables.events.c.place > sa.bindparam("last_place"),
    )
    .order_by(tables.events.c.place)
)
_COUNTS = (
    sa.select(tables.sessions.c.task, tables.sessions.c.events)
    .where(tables.sessions.c.task.in_(sa.bindparam("numbers", expanding=True)))
    .order_by(tables.sessions.c.task)
)
_COUNTS_LOCKED = _COUNTS.with_for_update()
