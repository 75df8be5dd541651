"""Sessions in memory: replayed once, then moved on with the store, which is the truth."""

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


class LiveSession:
    """A session as far as it is known here; whoever uses it holds its lock."""

    def __init__(self, number: int, task: Task) -> None:
        self.number = number
        self.session = Session(task)
        self.lock = threading.Lock()

    def forget(self) -> None:
        """What is in memory may be wrong: the next use replays the store."""
        self.session = Session(self.session.task)

    def catch_up(self, connection: sa.Connection, stored: int) -> None:
        """Take in what other processes have appended, the store having so many events.

        The number of events says whether there is anything: a session in the store only ever grows.
        """
        task, applied = self.session.task, self.session.n_events
        if stored == applied:
            return
        if stored < applied:  # another database under the same name: a copy was put back
            self.forget()
            applied = 0
        rows = connection.execute(_EVENTS_AFTER, {"number": self.number, "known": applied}).all()
        for row in rows:
            try:
                self.session.apply(read_event(row, task.id))
            except PodiumError as error:
                self.forget()
                raise StoreError(
                    f"event {row.id!r} of the store cannot be replayed: {error}"
                ) from error


class LiveSessions:
    """The sessions used last."""

    def __init__(self, load: Callable[[str], LiveSession], most: int) -> None:
        self._load, self._most = load, most
        self._sessions: OrderedDict[str, LiveSession] = OrderedDict()
        self._lock = threading.Lock()

    def __getitem__(self, session: str) -> LiveSession:
        with self._lock:
            live = self._sessions.get(session)
            if live is not None:
                self._sessions.move_to_end(session)
                return live
        loaded = self._load(session)
        with self._lock:
            live = self._sessions.setdefault(session, loaded)
            while len(self._sessions) > self._most:
                self._sessions.popitem(last=False)
            return live


def stored_counts(
    connection: sa.Connection, numbers: Sequence[int], locking: bool = False
) -> dict[int, int]:
    """How many events the store has of each session; `locking` lets no one append until the end."""
    counts: dict[int, int] = {}
    for at in range(0, len(numbers), _AT_ONCE):
        some = {"numbers": list(numbers[at : at + _AT_ONCE])}
        rows = connection.execute(_COUNTS_LOCKED if locking else _COUNTS, some)
        counts |= {row.task: row.events for row in rows}
    return counts


# Made once: to put a statement together takes longer than to run it.
_AT_ONCE = 500
_EVENTS_AFTER = (
    sa.select(tables.events.c.id, tables.events.c.kind, tables.events.c.at, tables.events.c.data)
    .where(
        tables.events.c.task == sa.bindparam("number"),
        tables.events.c.place > sa.bindparam("known"),
    )
    .order_by(tables.events.c.place)
)
_COUNTS = (
    sa.select(tables.sessions.c.task, tables.sessions.c.events)
    .where(tables.sessions.c.task.in_(sa.bindparam("numbers", expanding=True)))
    .order_by(tables.sessions.c.task)
)
_COUNTS_LOCKED = _COUNTS.with_for_update()
