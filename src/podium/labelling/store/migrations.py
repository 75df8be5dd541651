"""How the tables of a store came to be: numbered steps, each applied once and recorded.

A step is written in SQL that never changes again, so that an old file always takes the same way. A new
store takes it, too: there is no second description of the tables to keep in agreement.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from podium.errors import StoreError
from podium.labelling.store import backfill

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

# Statistics read a million events in one SELECT of numbers; JSON would have to be parsed for each.
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

# Time is counted between the judgment before and the event's own time: older columns say more.
_BOUNDED = (
    "ALTER TABLE members ADD COLUMN generation INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX events_comments ON events (received) WHERE kind = 'comment'",
    "DELETE FROM sessions",
)


@dataclass(frozen=True)
class Migration:
    """One step: statements, then what SQL cannot do."""

    what: str
    statements: tuple[str, ...]
    then: Callable[[sa.Connection], None] | None = None


MIGRATIONS: tuple[Migration, ...] = (
    Migration("queries, documents, members, tasks, events", _BASE),
    Migration("events in numbers, where sessions stand", _NUMBERS, backfill.fill_numbers),
    Migration("generations of links, bounded times", _BOUNDED, backfill.fill_numbers),
)
"""Step i leads to version i + 1."""

VERSION = len(MIGRATIONS)
"""The version of the tables that this Podium writes."""


def migrate(connection: sa.Connection, where: str) -> list[int]:
    """Bring the tables up to date within the transaction at hand; returns the versions gone through."""
    names = sa.inspect(connection).get_table_names()
    if "schema_versions" in names:
        version = int(
            connection.execute(sa.text("SELECT MAX(version) FROM schema_versions")).scalar() or 0
        )
    else:
        _check_empty(names, where)
        connection.execute(sa.text(_VERSIONS))
        version = 0
    if version > VERSION:
        raise StoreError(
            f"expected a store of version {VERSION} at most, got version {version} in {where}: a newer "
            "Podium wrote it; update this one (pip install -U podium-ltr)"
        )
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        for statement in step.statements:
            connection.execute(sa.text(statement))
        if step.then is not None:
            step.then(connection)
        connection.execute(
            sa.text("INSERT INTO schema_versions VALUES (:version, :what, :applied)"),
            {"version": number, "what": step.what, "applied": time.time_ns() // 1_000_000},
        )
    return list(range(version + 1, VERSION + 1))


def _check_empty(names: list[str], where: str) -> None:
    """Tables of somebody else stay untouched, and ours do not mix with them."""
    ours = {"queries", "documents", "members", "tasks", "events", "sessions"}
    if foreign := sorted(ours & set(names)):
        raise StoreError(
            f"expected an empty database or a store of Podium, got tables of something else in {where}: "
            f"{', '.join(foreign)}"
        )
