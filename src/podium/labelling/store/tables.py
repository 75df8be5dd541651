"""The tables of a store as they are now; ``migrations`` says how they came to be."""

from __future__ import annotations

import sqlalchemy as sa

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
    sa.Column("generation", sa.Integer, nullable=False, server_default="0"),  # of links that work
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
    sa.UniqueConstraint("assessor", "query", "tool"),
)

# The truth: rows are added to it and never changed.
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
    # What statistics need, in numbers; see podium.labelling.session.Entry.
    sa.Column("first", sa.Integer, nullable=False),
    sa.Column("second", sa.Integer, nullable=False),
    sa.Column("answer", sa.Integer, nullable=False),
    sa.Column("repeated", sa.Integer, nullable=False),
    sa.Column("active_ms", sa.BigInteger, nullable=False),
    sa.Column("flaws", sa.Integer, nullable=False),
)

# Where sessions stand: nothing that a replay of the events would not give, kept for fast reading.
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("task", sa.ForeignKey("tasks.number"), primary_key=True, autoincrement=False),
    sa.Column("events", sa.Integer, nullable=False),
    sa.Column("judged", sa.Integer, nullable=False),
    sa.Column("remaining", sa.Double, nullable=False),
    sa.Column("active_ms", sa.BigInteger, nullable=False),
    sa.Column(
        "changed", sa.BigInteger, nullable=False
    ),  # milliseconds since 1970, 0 before any event
    sa.Column("result", sa.Text),  # JSON, once the session is finished
)
