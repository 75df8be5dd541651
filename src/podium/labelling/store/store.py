"""The store: pools, members and tasks, and the events that are only ever added to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import sqlalchemy as sa
from sqlalchemy import exc

from podium.errors import EventError, StoreError, UnknownNameError
from podium.labelling.events import JudgingEvent
from podium.labelling.grading import Grades
from podium.labelling.judgments import JudgedTopK
from podium.labelling.pools import Pool, PoolQuery
from podium.labelling.session import Session
from podium.labelling.store import tables
from podium.labelling.store.contents import (
    StoreMember,
    insert_pool,
    insert_tasks,
    read_pool,
    renew_links,
    upsert_members,
)
from podium.labelling.store.database import BUSY_SECONDS, Database
from podium.labelling.store.event_batch import Appended, EventBatch, writing_batch
from podium.labelling.store.judgment_log import JudgmentLog, judgment_log
from podium.labelling.store.live_sessions import LiveSession, LiveSessions, stored_counts
from podium.labelling.store.migrations import migrate
from podium.labelling.store.results import read_result
from podium.labelling.store.rows import read_event, read_task
from podium.labelling.tasks import Task

__all__ = ["Appended", "EventBatch", "StoreMember", "SessionState", "Store"]

LIVE_SESSIONS = 2_000
"""Sessions kept in memory."""


@dataclass(frozen=True)
class SessionState:
    """Where a session stands: as a replay would find it."""

    task: Task
    events: int
    judged: int
    remaining: float
    active_ms: int
    changed: int
    result: JudgedTopK | Grades | None

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.result is not None


class Store:
    """Judgments in a database, by its URL: a file of SQLite, or PostgreSQL.

    Events are only ever added, each once: an event that comes again, as clients send it when an answer got
    lost, changes nothing. Any number of threads and processes may use one database.

    Examples
    --------
    >>> import tempfile
    >>> from podium.labelling.pools import PoolDocument, PoolQuery
    >>> from podium.labelling.tasks import PreferenceTask
    >>> store = Store.open(tempfile.mkdtemp() + "/judgments.db")
    >>> documents = (PoolDocument("x", "Miles"), PoolDocument("y", "Duke"))
    >>> store.add_pool(Pool((PoolQuery("q1", "jazz", documents=documents),)))
    1
    >>> store.add_members([StoreMember("ann")])
    >>> store.add_tasks([PreferenceTask("s1", "q1", "ann", ("x", "y"), k=1)])
    1
    >>> store.session("s1").step
    Question(a='x', b='y')
    >>> told = {"a": "x", "b": "y", "answer": "<", "segments": [[0, 1500]]}
    >>> event = JudgingEvent("e1", "s1", "judgment", 1_700_000_000_000, told)
    >>> store.append(event).session.step
    JudgedTopK(levels=(('y',),), k=1, judged=1)
    >>> store.append(event).new
    False
    >>> store.judgments().active_ms.tolist()
    [1500]
    >>> store.close()
    """

    def __init__(self, database: Database, live_sessions: int = LIVE_SESSIONS) -> None:
        self.database = database
        self._live = LiveSessions(self._load, live_sessions)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        *,
        timeout: float = BUSY_SECONDS,
        durable: bool = False,
        live_sessions: int = LIVE_SESSIONS,
    ) -> Store:
        """Open a store, making or migrating its tables where that is needed.

        Parameters
        ----------
        url
            A file name, ``sqlite:///FILE``, or ``postgresql://USER:PASSWORD@HOST/NAME``.
        timeout
            Seconds to wait for others who write.
        durable
            Whether SQLite waits for the disk at every event. Without it nothing is lost when programs are
            killed, but the last events may be when the power fails; it costs some milliseconds an event.
            PostgreSQL does what its server is set to.
        live_sessions
            How many sessions are kept in memory.
        """
        database = Database(url, timeout, durable)
        try:
            with database.writing("the layout of the store", alone=True) as connection:
                migrate(connection, database.where)
        except BaseException:
            database.close()
            raise
        return cls(database, live_sessions)

    def close(self) -> None:
        """Close all connections; what is appended is in the database already."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # What is judged, and by whom.

    def add_pool(self, pool: Pool) -> int:
        """Add a pool's queries and documents; returns how many queries are new.

        A query that is there already must be the same: judgments refer to it.
        """
        with self.database.writing("the pool", alone=True) as connection:
            return insert_pool(connection, pool)

    def add_members(self, members: Iterable[StoreMember]) -> None:
        """Add assessors and admins; those who are there already take the new name and role."""
        with self.database.writing("the members", alone=True) as connection:
            upsert_members(connection, members)

    def renew_links(self, members: Iterable[str]) -> list[StoreMember]:
        """Make the links and cookies of these members void: only links made from now on let them in.

        Returns the members, with the generation that new links are to name.
        """
        with self.database.writing("the members", alone=True) as connection:
            return renew_links(connection, list(members))

    def add_tasks(self, tasks: Iterable[Task]) -> int:
        """Add tasks for assessors and queries that are there; returns how many are new."""
        with self.database.writing("the tasks", alone=True) as connection:
            return insert_tasks(connection, list(tasks))

    def pool(self) -> Pool:
        """All queries with their documents."""
        with self.database.reading() as connection:
            return Pool(tuple(read_pool(connection)))

    def query(self, query: str) -> PoolQuery:
        """A query with its documents."""
        with self.database.reading() as connection:
            queries = read_pool(connection, [query])
            if not queries:
                ids = connection.execute(sa.select(tables.queries.c.id)).scalars().all()
                raise UnknownNameError("query", query, ids)
        return queries[0]

    def query_texts(self) -> dict[str, str]:
        """The text of every query by its id, in the pool's order; no documents are read."""
        table = tables.queries
        with self.database.reading() as connection:
            rows = connection.execute(sa.select(table.c.id, table.c.text).order_by(table.c.place))
            return {row.id: row.text for row in rows}

    def members(self) -> list[StoreMember]:
        """All assessors and admins, by id."""
        table = tables.members
        with self.database.reading() as connection:
            rows = connection.execute(sa.select(table).order_by(table.c.id)).all()
        return [StoreMember(row.id, row.name, row.role, row.generation) for row in rows]

    def session_states(
        self, assessor: str | None = None, query: str | None = None
    ) -> list[SessionState]:
        """Where the sessions stand: all, or those of an assessor, of a query, or both; in order of making."""
        t = tables.tasks
        select = _SESSION_STATES.order_by(t.c.number)
        if assessor is not None:
            select = select.where(t.c.assessor == assessor)
        if query is not None:
            select = select.where(t.c.query == query)
        with self.database.reading() as connection:
            rows = connection.execute(select).all()
        return [_session_state(row) for row in rows]

    # What happened.

    def append(self, event: JudgingEvent) -> Appended:
        """Add an event to its session, once however often it comes.

        Checking it against the session and keeping it are one transaction: of two judgments of one
        question, from two windows, only one is kept. Where this returns, the event is in the store.

        Raises
        ------
        EventError
            The event does not fit: its session is unknown, or its documents are.
        NotAskedError
            It judges what was not asked.
        ReusedIdError
            Its id stands for another event.
        StoreError
            The event was not kept: the disk is full, the database locked or out of reach. To send it again
            is always safe.
        """
        try:
            return self._append(event)
        except StoreError as error:
            # Two processes with one id for two sessions: whoever comes second now finds the first.
            if isinstance(error.__cause__, exc.IntegrityError):
                return self._append(event)
            raise

    def _append(self, event: JudgingEvent) -> Appended:
        with self.batch([event.session], [event.id], f"{event.kind} {event.id!r}") as batch:
            return batch.append(event)

    @contextmanager
    def batch(
        self, sessions: Iterable[str], ids: Sequence[str], what: str = "what was sent"
    ) -> Iterator[EventBatch]:
        """One transaction for events of several sessions, as many assessors send them at once.

        The events are in the store when the block ends. Where it ends in an error, or the store cannot
        keep them (StoreError), none is.

        Parameters
        ----------
        sessions
            All that the batch may use; one that the store has not raises EventError.
        ids
            Of the events.
        what
            Was not kept, says the error.
        """
        lives = [self._live[session] for session in dict.fromkeys(sessions)]
        with writing_batch(lives, self.database.writing(what), ids) as batch:
            yield batch

    @contextmanager
    def at_rest(self, session: str) -> Iterator[Session]:
        """A session that no thread moves on until the block ends."""
        live = self._live[session]
        with live.lock:
            with self.database.reading() as connection:
                live.catch_up(connection, stored_counts(connection, [live.number])[live.number])
            yield live.session

    def session(self, session: str) -> Session:
        """The session as its events make it; what is appended later moves it on."""
        with self.at_rest(session) as at_rest:
            return at_rest

    def events(self, session: str) -> list[JudgingEvent]:
        """All events of a session, in order."""
        live = self._live[session]
        e = tables.events
        with self.database.reading() as connection:
            select = sa.select(e).where(e.c.task == live.number).order_by(e.c.place)
            return [read_event(row, session) for row in connection.execute(select)]

    def comments(self, latest: int | None = None) -> list[JudgingEvent]:
        """All comments in the order in which they came, or so many of the latest."""
        e, t = tables.events, tables.tasks
        select = (
            sa.select(e.c.id, t.c.id.label("session"), e.c.kind, e.c.at, e.c.data)
            .join_from(e, t)
            .where(e.c.kind == sa.literal_column("'comment'"))  # as the index says it
            .order_by(e.c.received.desc(), e.c.task.desc(), e.c.place.desc())
            .limit(latest)
        )
        with self.database.reading() as connection:
            return [read_event(row, row.session) for row in connection.execute(select)][::-1]

    def judgments(self) -> JudgmentLog:
        """All judgments in columns of numbers, for statistics."""
        select = sa.select(tables.tasks).order_by(tables.tasks.c.number)
        with self.database.reading() as connection:
            rows = connection.execute(select).all()
            numbers = np.array([row.number for row in rows], dtype=np.int64)
            return judgment_log(connection, tuple(read_task(row) for row in rows), numbers)

    def results(self) -> dict[str, JudgedTopK | Grades]:
        """What the finished sessions came to, by the id of their task, in order of making."""
        t, s = tables.tasks, tables.sessions
        select = (
            sa.select(t.c.id, s.c.result)
            .join_from(t, s)
            .where(s.c.result.is_not(None))
            .order_by(t.c.number)
        )
        with self.database.reading() as connection:
            rows = connection.execute(select).all()
        return {row.id: read_result(json.loads(row.result)) for row in rows}

    def _load(self, session: str) -> LiveSession:
        with self.database.reading() as connection:
            row = connection.execute(
                sa.select(tables.tasks).where(tables.tasks.c.id == session)
            ).one_or_none()
        if row is None:
            raise EventError(f"expected a session of the store, got {session!r:.60}")
        return LiveSession(row.number, read_task(row))


_SESSION_STATES = sa.select(
    tables.tasks, *(c for c in tables.sessions.c if c.name != "task")
).join_from(tables.tasks, tables.sessions)


def _session_state(row: Any) -> SessionState:
    return SessionState(
        read_task(row),
        row.events,
        row.judged,
        row.remaining,
        row.active_ms,
        row.changed,
        None if row.result is None else read_result(json.loads(row.result)),
    )
