"""Pools and tasks in the database, which exist before anybody judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from podium.errors import DataError, EventError, UnknownNameError
from podium.labelling.events import JudgingEvent
from podium.labelling.pools import Pool, PoolQuery
from podium.labelling.session import Session
from podium.labelling.store import tables
from podium.labelling.store.rows import (
    document_row,
    query_row,
    read_document_row,
    read_task,
    session_row,
    task_row,
)
from podium.labelling.store.tables import select_in
from podium.labelling.tasks import Task


def read_pool(connection: sa.Connection, ids: Sequence[str] | None = None) -> list[PoolQuery]:
    """Return queries with their documents, in the pool's order; all, or those with these ids."""
    q, d = tables.queries, tables.documents
    select_queries, select_documents = (
        sa.select(q).order_by(q.c.place),
        sa.select(d).order_by(d.c.place),
    )
    if ids is None:
        rows = list(connection.execute(select_queries).all())
        documents = list(connection.execute(select_documents).all())
    else:
        rows = select_in(connection, select_queries, q.c.id, ids)
        documents = select_in(connection, select_documents, d.c.query, ids)
    by_query: dict[str, list[Any]] = {row.id: [] for row in rows}
    for document in documents:
        by_query[document.query].append(read_document_row(document))
    return [PoolQuery(r.id, r.text, r.description, tuple(by_query[r.id])) for r in rows]


def insert_pool(connection: sa.Connection, pool: Pool) -> int:
    """Add new queries and return their number; a query of the store must be the same."""
    stored = {query.id: query for query in read_pool(connection, [query.id for query in pool])}
    for query in pool:
        if query.id in stored and stored[query.id] != query:
            raise DataError(
                f"query {query.id!r} of the store has other text or documents, to which "
                "judgments may refer; give the new query another id"
            )
    new = [query for query in pool if query.id not in stored]
    if not new:
        return 0
    last = connection.execute(sa.select(sa.func.max(tables.queries.c.place))).scalar()
    first = 0 if last is None else last + 1
    rows = [query_row(place, query) for place, query in enumerate(new, start=first)]
    connection.execute(sa.insert(tables.queries), rows)
    for query in new:
        documents = [document_row(i, query.id, doc) for i, doc in enumerate(query.documents)]
        connection.execute(sa.insert(tables.documents), documents)
    return len(new)


def insert_tasks(connection: sa.Connection, tasks: Sequence[Task]) -> int:
    """Add new tasks and return their number; a task of the store must be the same."""
    by_id = {task.id: task for task in tasks}
    rows = select_in(connection, sa.select(tables.tasks), tables.tasks.c.id, list(by_id))
    stored = {row.id: read_task(row) for row in rows}
    for task in tasks:
        if stored.get(task.id, by_id[task.id]) != task:
            raise DataError(
                f"task {task.id!r} of the store has other settings, and assigned tasks do not "
                "change; make another task"
            )
    new = [task for task in by_id.values() if task.id not in stored]
    if not new:
        return 0
    _check_tasks(connection, new)
    last = connection.execute(sa.select(sa.func.max(tables.tasks.c.number))).scalar() or 0
    numbered = list(enumerate(new, start=last + 1))
    connection.execute(sa.insert(tables.tasks), [task_row(n, task) for n, task in numbered])
    session_rows = [session_row(n, Session(task), 0) for n, task in numbered]
    connection.execute(sa.insert(tables.sessions), session_rows)
    return len(new)


def _check_tasks(connection: sa.Connection, tasks: Sequence[Task]) -> None:
    """Check ids, assessors, queries and documents of tasks, and that no task occurs twice."""
    d, a, t = tables.documents, tables.members, tables.tasks
    queries = list({task.query for task in tasks})
    documents: dict[str, set[str]] = {}
    for row in select_in(connection, sa.select(d.c.query, d.c.id), d.c.query, queries):
        documents.setdefault(row.query, set()).add(row.id)
    assessors = list({task.assessor for task in tasks})
    stored_assessors = {
        row.id for row in select_in(connection, sa.select(a.c.id), a.c.id, assessors)
    }
    keys = sa.select(t.c.assessor, t.c.query, t.c.tool)
    taken_keys = {tuple(row) for row in select_in(connection, keys, t.c.query, queries)}
    for task in tasks:
        _check_task(task, documents, stored_assessors)
        key = (task.assessor, task.query, task.tool)
        if key in taken_keys:
            raise DataError(
                f"{task.assessor!r} has another task for query {task.query!r} with tool "
                f"{task.tool!r}; expected one task"
            )
        taken_keys.add(key)


def _check_task(task: Task, documents: Mapping[str, set[str]], assessors: set[str]) -> None:
    try:
        JudgingEvent("-", task.id, "pause", 0)
    except EventError as error:
        raise DataError(f"expected a task with an id that events can name: {error}") from None
    if task.assessor not in assessors:
        raise UnknownNameError("assessor", task.assessor, assessors, "add members first")
    if task.query not in documents:
        raise UnknownNameError("query", task.query, documents, "add the pool first")
    if strange := sorted(set(task.documents) - documents[task.query]):
        raise DataError(
            f"task {task.id!r} has document {strange[0]!r:.60}, which query {task.query!r} "
            "does not have"
        )
