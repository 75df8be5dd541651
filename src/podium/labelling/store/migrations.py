"""Migrations of a store's tables: numbered steps, each applied once and recorded.

The SQL of a step never changes, so that every old file is migrated in the same way. A new store
takes the same steps, so there is no second description of the tables.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from podium.errors import PodiumError, StoreError
from podium.labelling.events import JudgingEvent
from podium.labelling.session import Session
from podium.labelling.store.rows import session_row
from podium.labelling.tasks import make_task

_VERSIONS = """
CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, what TEXT NOT NULL, applied BIGINT NOT NULL)
"""

_BASE = (
    """
    CREATE TABLE queries (
        id TEXT PRIMARY KEY NOT NULL, place INTEGER NOT NULL, text TEXT NOT NULL,
        description TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE documents (
        query TEXT NOT NULL REFERENCES queries (id), id TEXT NOT NULL, place INTEGER NOT NULL,
        kind TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, score DOUBLE PRECISION,
        PRIMARY KEY (query, id)
    )
    """,
    "CREATE TABLE members (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL)",
    """
    CREATE TABLE tasks (
        number INTEGER PRIMARY KEY NOT NULL, id TEXT NOT NULL UNIQUE,
        query TEXT NOT NULL REFERENCES queries (id), assessor TEXT NOT NULL REFERENCES members (id),
        tool TEXT NOT NULL, documents TEXT NOT NULL, settings TEXT NOT NULL,
        UNIQUE (assessor, query, tool)
    )
    """,
    """
    CREATE TABLE events (
        task INTEGER NOT NULL REFERENCES tasks (number), place INTEGER NOT NULL,
        id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, at BIGINT NOT NULL, received BIGINT NOT NULL,
        data TEXT NOT NULL, PRIMARY KEY (task, place)
    )
    """,
)

# Statistics read a million events in one SELECT of numbers, without parsing the JSON of each event.
_NUMBERS = (
    "ALTER TABLE events ADD COLUMN first INTEGER NOT NULL DEFAULT -1",
    "ALTER TABLE events ADD COLUMN second INTEGER NOT NULL DEFAULT -1",
    "ALTER TABLE events ADD COLUMN answer INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE events ADD COLUMN repeated INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE events ADD COLUMN active_ms BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE events ADD COLUMN flaws INTEGER NOT NULL DEFAULT 0",
    """
    CREATE TABLE sessions (
        task INTEGER PRIMARY KEY NOT NULL REFERENCES tasks (number), events INTEGER NOT NULL,
        judged INTEGER NOT NULL, remaining DOUBLE PRECISION NOT NULL, active_ms BIGINT NOT NULL,
        changed BIGINT NOT NULL, result TEXT
    )
    """,
)

# Active time is now limited by the last judgment and the event's own time; older columns are too large.
_BOUNDED = (
    "ALTER TABLE members ADD COLUMN generation INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX events_comments ON events (received) WHERE kind = 'comment'",
    "DELETE FROM sessions",
)

# Changes by admins: every change is a new row, and the audit log names the admin.
_ADMINISTRATION = (
    "ALTER TABLE members ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE tasks ADD COLUMN priority INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE tasks ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE events ADD COLUMN guidelines INTEGER NOT NULL DEFAULT 0",
    """
    CREATE TABLE guidelines (
        version INTEGER PRIMARY KEY NOT NULL, text TEXT NOT NULL, grades TEXT NOT NULL,
        author TEXT NOT NULL, created BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE settlements (
        number INTEGER PRIMARY KEY NOT NULL, query TEXT NOT NULL REFERENCES queries (id),
        documents TEXT NOT NULL, answer TEXT, grade INTEGER,
        admin TEXT NOT NULL REFERENCES members (id), at BIGINT NOT NULL, note TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE audit_log (
        number INTEGER PRIMARY KEY NOT NULL, at BIGINT NOT NULL, who TEXT NOT NULL,
        action TEXT NOT NULL, subject TEXT NOT NULL, before TEXT, after TEXT
    )
    """,
)

# Machines are assessors too, and their judgments are marked.
_MACHINES = ("ALTER TABLE members ADD COLUMN machine TEXT NOT NULL DEFAULT ''",)
_SQLITE_GUARD = """
CREATE TRIGGER audit_log_{change} BEFORE {change} ON audit_log
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
"""
_POSTGRESQL_GUARD = (
    """
    CREATE FUNCTION podium_refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$
    """,
    """
    CREATE TRIGGER audit_log_change BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION podium_refuse_audit_change()
    """,
)


def guard_audit_log(connection: sa.Connection) -> None:
    """Let the database itself refuse to change or delete a row of the audit log."""
    statements = _POSTGRESQL_GUARD
    if connection.dialect.name == "sqlite":
        update, delete = (_SQLITE_GUARD.format(change=change) for change in ("UPDATE", "DELETE"))
        statements = (update, delete)
    for statement in statements:
        connection.exec_driver_sql(statement)


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
    """Replay every session; write its events in numbers, and its state."""
    for number, id_, query, assessor, tool, documents, settings in connection.execute(
        sa.text(_TASKS)
    ).all():
        task = make_task(tool, id_, query, assessor, json.loads(documents), json.loads(settings))
        session, rows, changed = Session(task), [], 0
        for place, event_id, kind, at, received, data in connection.execute(
            sa.text(_EVENTS), {"task": number}
        ).all():
            try:
                numbers = session.apply_with_numbers(
                    JudgingEvent(event_id, id_, kind, at, json.loads(data))
                )
            except PodiumError as error:
                raise StoreError(
                    f"event {event_id!r} of the store cannot be replayed: {error}"
                ) from error
            rows.append({**numbers._asdict(), "task": number, "place": place})
            changed = received
        if rows:
            connection.execute(sa.text(_UPDATE), rows)
        connection.execute(sa.text(_INSERT), session_row(number, session, changed))


@dataclass(frozen=True)
class Migration:
    """One step: SQL statements, then a function for work that SQL cannot do."""

    what: str
    statements: tuple[str, ...]
    fill: Callable[[sa.Connection], None] | None = None


MIGRATIONS: tuple[Migration, ...] = (
    Migration("queries, documents, members, tasks, events", _BASE),
    Migration("events in numbers, where sessions stand", _NUMBERS, fill_numbers),
    Migration("generations of links, bounded times", _BOUNDED, fill_numbers),
    Migration("guidelines, settlements, audit log", _ADMINISTRATION, guard_audit_log),
    Migration("machine assessors", _MACHINES),
)
"""Step i leads to version i + 1."""

VERSION = len(MIGRATIONS)
"""The version of the tables that this Podium writes."""


def migrate(
    connection: sa.Connection, location: str, back_up: Callable[[int], object] | None = None
) -> list[int]:
    """Bring the tables up to date in the current transaction; return the versions applied.

    `back_up` is called with the version of an older store, before anything changes.
    """
    names = sa.inspect(connection).get_table_names()
    if "schema_versions" in names:
        version = int(
            connection.execute(sa.text("SELECT MAX(version) FROM schema_versions")).scalar() or 0
        )
    else:
        _check_empty(names, location)
        connection.execute(sa.text(_VERSIONS))
        version = 0
    if version > VERSION:
        raise StoreError(
            f"{location} has version {version}, written by a newer podium; this podium reads "
            f"up to version {VERSION}; update it (pip install -U podium-ltr)"
        )
    if 0 < version < VERSION and back_up is not None:
        back_up(version)
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        for statement in step.statements:
            connection.execute(sa.text(statement))
        if step.fill is not None:
            step.fill(connection)
        connection.execute(
            sa.text("INSERT INTO schema_versions VALUES (:version, :what, :applied)"),
            {"version": number, "what": step.what, "applied": time.time_ns() // 1_000_000},
        )
    return list(range(version + 1, VERSION + 1))


def _check_empty(names: list[str], location: str) -> None:
    """Raise if the database has tables of other programs."""
    ours = {"queries", "documents", "members", "tasks", "events", "sessions", "guidelines"}
    ours |= {"settlements", "audit_log"}
    if foreign := sorted(ours & set(names)):
        raise StoreError(
            f"{location} has tables of another program ({', '.join(foreign)}); expected an "
            "empty database or a podium store"
        )
