"""The tables of a store in the current version; ``migrations`` creates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

MAX_IDS_PER_STATEMENT = 500
"""The maximum number of ids in one IN (...), because databases limit the number of variables."""

metadata = sa.MetaData()

schema_versions = sa.Table(
    "schema_versions",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("applied", sa.BigInteger, nullable=False),  # milliseconds since 1970
)

queries = sa.Table(
    "queries",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
)

documents = sa.Table(
    "documents",
    metadata,
    sa.Column("query", sa.ForeignKey("queries.id"), primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("score", sa.Double),
)

members = sa.Table(
    "members",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False, server_default="0"),  # of valid links
    sa.Column("disabled", sa.Integer, nullable=False, server_default="0"),
    # JSON: the model and the prompt of a machine assessor; empty for people.
    sa.Column("machine", sa.Text, nullable=False, server_default=""),
)

tasks = sa.Table(
    "tasks",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("query", sa.ForeignKey("queries.id"), nullable=False),
    sa.Column("assessor", sa.ForeignKey("members.id"), nullable=False),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("documents", sa.Text, nullable=False),  # JSON: ids in the task's order
    sa.Column("settings", sa.Text, nullable=False),  # JSON
    sa.Column("priority", sa.Integer, nullable=False, server_default="0"),  # larger comes first
    sa.Column("withdrawn", sa.Integer, nullable=False, server_default="0"),
    sa.UniqueConstraint("assessor", "query", "tool"),
)

# The event log: rows are only added.
events = sa.Table(
    "events",
    metadata,
    sa.Column("task", sa.ForeignKey("tasks.number"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True),  # 1, 2, ... within the session
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("received", sa.BigInteger, nullable=False),
    sa.Column("data", sa.Text, nullable=False),  # JSON
    # The event in numbers, for statistics; see podium.labelling.session.EventNumbers.
    sa.Column("first", sa.Integer, nullable=False),
    sa.Column("second", sa.Integer, nullable=False),
    sa.Column("answer", sa.Integer, nullable=False),
    sa.Column("repeated", sa.Integer, nullable=False),
    sa.Column("active_ms", sa.BigInteger, nullable=False),
    sa.Column("flaws", sa.Integer, nullable=False),
    # The version of the guidelines that the assessor saw; 0 for none.
    sa.Column("guidelines", sa.Integer, nullable=False, server_default="0"),
)

# The state of sessions, stored for fast reading; a replay of the events gives the same state.
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("task", sa.ForeignKey("tasks.number"), primary_key=True, autoincrement=False),
    sa.Column("events", sa.Integer, nullable=False),
    sa.Column("judged", sa.Integer, nullable=False),
    sa.Column("remaining", sa.Double, nullable=False),
    sa.Column("active_ms", sa.BigInteger, nullable=False),
    # Milliseconds since 1970, 0 before the first event.
    sa.Column("changed", sa.BigInteger, nullable=False),
    sa.Column("result", sa.Text),  # JSON, once the session is finished
)

# Guidelines, settlements and the audit log: rows are only added.
guidelines = sa.Table(
    "guidelines",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("text", sa.Text, nullable=False),  # Markdown
    sa.Column("grades", sa.Text, nullable=False),  # JSON: description by grade
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),  # milliseconds since 1970
)

settlements = sa.Table(
    "settlements",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("query", sa.ForeignKey("queries.id"), nullable=False),
    sa.Column("documents", sa.Text, nullable=False),  # JSON: two ids in order, or one
    sa.Column("answer", sa.Text),  # of a pair
    sa.Column("grade", sa.Integer),  # of a document
    sa.Column("admin", sa.ForeignKey("members.id"), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
)

audit_log = sa.Table(
    "audit_log",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("before", sa.Text),  # JSON
    sa.Column("after", sa.Text),  # JSON
)


def select_in(
    connection: sa.Connection, select: sa.Select[Any], column: sa.Column[Any], values: Sequence[str]
) -> list[sa.Row[Any]]:
    """Return the rows whose column is one of the values; there may be any number of values."""
    rows: list[sa.Row[Any]] = []
    for at in range(0, len(values), MAX_IDS_PER_STATEMENT):
        rows += connection.execute(
            select.where(column.in_(values[at : at + MAX_IDS_PER_STATEMENT]))
        ).all()
    return rows
