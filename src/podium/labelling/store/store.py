"""Store: pools, members, tasks, and an append-only log of events."""

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
from podium.labelling.guidelines import Guidelines
from podium.labelling.judgments import JudgedTopK
from podium.labelling.pools import Pool, PoolQuery
from podium.labelling.session import Session
from podium.labelling.settlements import Settlement
from podium.labelling.store import tables
from podium.labelling.store.admin_records import (
    AuditEntry,
    read_audit_log,
    read_settlements,
    read_stored_guidelines,
)
from podium.labelling.store.database import BUSY_SECONDS, Database
from podium.labelling.store.event_batch import AppendedEvent, EventBatch, open_batch
from podium.labelling.store.judgment_log import JudgmentLog, read_judgment_log
from podium.labelling.store.members import StoreMember, read_members, renew_links, upsert_members
from podium.labelling.store.migrations import migrate
from podium.labelling.store.pools_and_tasks import insert_pool, insert_tasks, read_pool
from podium.labelling.store.rows import read_event, read_result, read_task
from podium.labelling.store.session_cache import CachedSession, SessionCache, stored_counts
from podium.labelling.tasks import Task

__all__ = ["AppendedEvent", "EventBatch", "StoreMember", "SessionState", "Store"]

MAX_CACHED_SESSIONS = 2_000
"""The default number of sessions in memory."""


@dataclass(frozen=True)
class SessionState:
    """The state of a session after its last event."""

    task: Task
    events: int
    judged: int
    remaining: float
    active_ms: int
    changed: int
    result: JudgedTopK | Grades | None
    priority: int = 0

    @property
    def finished(self) -> bool:
        """Whether all questions are answered."""
        return self.result is not None


class Store:
    """A store of judgments in a database: an SQLite file, or PostgreSQL.

    Events are only added, each once. Clients send an event again if the answer was lost; this
    changes nothing. Any number of threads and processes may use one database.

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
    >>> data = {"a": "x", "b": "y", "answer": "<", "segments": [[0, 1500]]}
    >>> event = JudgingEvent("e1", "s1", "judgment", 1_700_000_000_000, data)
    >>> store.append(event).session.step
    JudgedTopK(levels=(('y',),), k=1, judged=1)
    >>> store.append(event).new
    False
    >>> store.judgments().active_ms.tolist()
    [1500]
    >>> store.close()
    """

    def __init__(self, database: Database, max_sessions: int = MAX_CACHED_SESSIONS) -> None:
        self.database = database
        self._sessions = SessionCache(self._load, max_sessions)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        *,
        timeout: float = BUSY_SECONDS,
        durable: bool = False,
        max_sessions: int = MAX_CACHED_SESSIONS,
    ) -> Store:
        """Open a store; create or migrate its tables if needed.

        Parameters
        ----------
        url
            A file name, ``sqlite:///FILE``, or ``postgresql://USER:PASSWORD@HOST/NAME``.
        timeout
            Seconds to wait for other writers.
        durable
            Whether SQLite waits for the disk at every event, which costs some milliseconds per
            event. If not, nothing is lost when programs are killed, but a power failure may lose
            the last events. PostgreSQL follows the settings of its server.
        max_sessions
            The maximum number of sessions in memory.
        """
        database = Database(url, timeout, durable)
        try:
            with database.writing("the layout of the store", exclusive=True) as connection:
                migrate(connection, database.location, database.back_up)
        except BaseException:
            database.close()
            raise
        return cls(database, max_sessions)

    def close(self) -> None:
        """Close all connections; all appended events are in the database already."""
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

    # Pools, members and tasks.

    def add_pool(self, pool: Pool) -> int:
        """Add a pool's queries and documents; return how many queries are new.

        A query of the store must be the same in the pool, because judgments refer to it.
        """
        with self.database.writing("the pool", exclusive=True) as connection:
            return insert_pool(connection, pool)

    def add_members(self, members: Iterable[StoreMember]) -> None:
        """Add assessors and admins; existing members take the new name and role."""
        with self.database.writing("the members", exclusive=True) as connection:
            upsert_members(connection, members)

    def renew_links(self, members: Iterable[str]) -> list[StoreMember]:
        """Invalidate all links and cookies of these members; they need new links.

        Returns the members, with the generation of the new links.
        """
        with self.database.writing("the members", exclusive=True) as connection:
            return renew_links(connection, list(members))

    def add_tasks(self, tasks: Iterable[Task]) -> int:
        """Add tasks for assessors and queries of the store; return how many are new."""
        with self.database.writing("the tasks", exclusive=True) as connection:
            return insert_tasks(connection, list(tasks))

    def pool(self) -> Pool:
        """Return all queries with their documents."""
        with self.database.reading() as connection:
            return Pool(tuple(read_pool(connection)))

    def query(self, query: str) -> PoolQuery:
        """Return a query with its documents."""
        with self.database.reading() as connection:
            queries = read_pool(connection, [query])
            if not queries:
                ids = connection.execute(sa.select(tables.queries.c.id)).scalars().all()
                raise UnknownNameError("query", query, ids)
        return queries[0]

    def query_texts(self) -> dict[str, str]:
        """Return the text of every query by its id, in the pool's order; documents are not read."""
        table = tables.queries
        with self.database.reading() as connection:
            rows = connection.execute(sa.select(table.c.id, table.c.text).order_by(table.c.place))
            return {row.id: row.text for row in rows}

    def members(self) -> list[StoreMember]:
        """Return all assessors and admins, sorted by id."""
        with self.database.reading() as connection:
            return read_members(connection)

    def session_states(
        self, assessor: str | None = None, query: str | None = None
    ) -> list[SessionState]:
        """Return the state of all sessions, or those of an assessor or a query, in order of their tasks.

        Sessions of an assessor are sorted by priority, the highest first. Withdrawn tasks are left
        out.
        """
        t = tables.tasks
        order = (t.c.number,) if assessor is None else (t.c.priority.desc(), t.c.number)
        select = _SESSION_STATES.where(t.c.withdrawn == 0).order_by(*order)
        if assessor is not None:
            select = select.where(t.c.assessor == assessor)
        if query is not None:
            select = select.where(t.c.query == query)
        with self.database.reading() as connection:
            rows = connection.execute(select).all()
        return [_session_state(row) for row in rows]

    # Events and sessions.

    def append(self, event: JudgingEvent) -> AppendedEvent:
        """Add an event to its session; a repeated event is added only once.

        One transaction checks the event and stores it: of two judgments of one question, from two
        windows, only one is stored. When this returns, the event is in the store.

        Raises
        ------
        EventError
            The event does not fit: its session or its documents are unknown.
        NotAskedError
            The event judges something that was not asked.
        ReusedIdError
            Another event has the same id.
        StoreError
            The event was not stored: the disk is full, the database is locked or out of reach. Sending it
            again is always safe.
        """
        try:
            return self._append(event)
        except StoreError as error:
            # Two processes used one id for two sessions; the second one now sees the first event.
            if isinstance(error.__cause__, exc.IntegrityError):
                return self._append(event)
            raise

    def _append(self, event: JudgingEvent) -> AppendedEvent:
        with self.batch([event.task_id], [event.id], f"{event.kind} {event.id!r}") as batch:
            return batch.append(event)

    @contextmanager
    def batch(
        self, task_ids: Iterable[str], event_ids: Sequence[str], what: str = "what was sent"
    ) -> Iterator[EventBatch]:
        """Open one transaction for events of several sessions.

        The events are in the store when the block ends. If it ends with an error, or the store cannot
        write (StoreError), none of them is.

        Parameters
        ----------
        task_ids
            The ids of the tasks that are judged in these sessions; an unknown id raises EventError.
        event_ids
            The ids of the events.
        what
            What the batch writes, for error messages.
        """
        cached_sessions = [self._sessions[task_id] for task_id in dict.fromkeys(task_ids)]
        with open_batch(cached_sessions, self.database.writing(what), event_ids) as batch:
            yield batch

    @contextmanager
    def locked_session(self, task_id: str) -> Iterator[Session]:
        """Return the session of a task that no other thread changes until the block ends."""
        cached = self._sessions[task_id]
        with cached.lock:
            with self.database.reading() as connection:
                cached.catch_up(
                    connection, stored_counts(connection, [cached.number])[cached.number]
                )
            yield cached.session

    def session(self, task_id: str) -> Session:
        """Return the session of a task after all its events; events appended later change it."""
        with self.locked_session(task_id) as current:
            return current

    def events(self, task_id: str) -> list[JudgingEvent]:
        """Return all events of a task's session, in order."""
        cached = self._sessions[task_id]
        e = tables.events
        with self.database.reading() as connection:
            select = sa.select(e).where(e.c.task == cached.number).order_by(e.c.place)
            return [read_event(row, task_id) for row in connection.execute(select)]

    def comments(self, latest: int | None = None) -> list[JudgingEvent]:
        """Return all comments in the order of their arrival, or only the latest ones."""
        e, t = tables.events, tables.tasks
        select = (
            sa.select(e.c.id, t.c.id.label("task_id"), e.c.kind, e.c.at, e.c.data)
            .join_from(e, t)
            .where(
                e.c.kind == sa.literal_column("'comment'")
            )  # exactly as in the index, so that it is used
            .order_by(e.c.received.desc(), e.c.task.desc(), e.c.place.desc())
            .limit(latest)
        )
        with self.database.reading() as connection:
            return [read_event(row, row.task_id) for row in connection.execute(select)][::-1]

    def judgments(self, details: bool = False) -> JudgmentLog:
        """Return all judgments in columns of numbers, for statistics; `details` adds times and guidelines."""
        select = sa.select(tables.tasks).order_by(tables.tasks.c.number)
        with self.database.reading() as connection:
            rows = connection.execute(select).all()
            numbers = np.array([row.number for row in rows], dtype=np.int64)
            tasks = tuple(read_task(row) for row in rows)
            withdrawn = frozenset(row.id for row in rows if row.withdrawn)
            members = read_members(connection)
            machines = frozenset(member.id for member in members if member.is_machine)
            return read_judgment_log(connection, tasks, numbers, withdrawn, machines, details)

    def results(self) -> dict[str, JudgedTopK | Grades]:
        """Return the results of finished sessions by the id of their task, in order of the tasks."""
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

    # Decisions of admins; `StoreAdmin` changes them.

    def is_withdrawn(self, task_id: str) -> bool:
        """Return whether an admin took a task away from its assessor."""
        select = sa.select(tables.tasks.c.withdrawn).where(tables.tasks.c.id == task_id)
        with self.database.reading() as connection:
            return bool(connection.execute(select).scalar())

    def guidelines(self, version: int | None = None) -> Guidelines:
        """Return the latest guidelines, or those of a version; empty ones if there are none."""
        with self.database.reading() as connection:
            return read_stored_guidelines(connection, version)

    def settlements(self) -> list[Settlement]:
        """Return the settlements that count: the latest of each pair and of each document."""
        with self.database.reading() as connection:
            return read_settlements(connection)

    def audit_log(self, latest: int | None = None) -> list[AuditEntry]:
        """Return the actions of admins, the latest first: all entries, or a maximum number."""
        with self.database.reading() as connection:
            return read_audit_log(connection, latest)

    def _load(self, task_id: str) -> CachedSession:
        with self.database.reading() as connection:
            row = connection.execute(
                sa.select(tables.tasks).where(tables.tasks.c.id == task_id)
            ).one_or_none()
        if row is None:
            raise EventError(f"the store has no task {task_id!r:.60}")
        return CachedSession(row.number, read_task(row))


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
        row.priority,
    )
