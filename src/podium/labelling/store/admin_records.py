"""Guidelines, settlements and the audit log in the database: rows are only ever added."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from podium.errors import UnknownNameError
from podium.labelling.events import data_text
from podium.labelling.guidelines import Guidelines
from podium.labelling.settlements import Settlement
from podium.labelling.store import tables


@dataclass(frozen=True)
class AuditEntry:
    """One action of an admin.

    Parameters
    ----------
    number
        1, 2, ... in the order of the actions.
    at, who
        When, in milliseconds since 1970, and the id of the admin.
    action, subject
        The action, such as ``"disable assessor"``, and its subject.
    before, after
        The values that changed, or None.
    """

    number: int
    at: int
    who: str
    action: str
    subject: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


def now_ms() -> int:
    """Return the milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def write_audit_entry(
    connection: sa.Connection,
    who: str,
    action: str,
    subject: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Add an entry in the transaction of the change itself, so that both are stored or neither."""
    table = tables.audit_log
    connection.execute(
        sa.insert(table).values(
            number=_next_number(connection, table.c.number),
            at=now_ms(),
            who=who,
            action=action,
            subject=subject,
            before=None if before is None else data_text(before),
            after=None if after is None else data_text(after),
        )
    )


def read_audit_log(connection: sa.Connection, latest: int | None = None) -> list[AuditEntry]:
    """Return the latest entries first."""
    select = sa.select(tables.audit_log).order_by(tables.audit_log.c.number.desc()).limit(latest)
    return [
        AuditEntry(
            row.number,
            row.at,
            row.who,
            row.action,
            row.subject,
            None if row.before is None else json.loads(row.before),
            None if row.after is None else json.loads(row.after),
        )
        for row in connection.execute(select)
    ]


def latest_guidelines(connection: sa.Connection) -> int:
    """Return the version of the latest guidelines; 0 if there are none."""
    return int(connection.execute(_LATEST_GUIDELINES).scalar() or 0)


def read_stored_guidelines(connection: sa.Connection, version: int | None = None) -> Guidelines:
    """Return the guidelines of a version, or the latest; empty ones if there are none."""
    latest = latest_guidelines(connection)
    wanted_version = latest if version is None else version
    if wanted_version == 0:
        return Guidelines()
    table = tables.guidelines
    row = connection.execute(
        sa.select(table).where(table.c.version == wanted_version)
    ).one_or_none()
    if row is None:
        versions = [str(number) for number in range(latest + 1)]
        raise UnknownNameError("version of the guidelines", str(version), versions)
    return Guidelines(row.text, json.loads(row.grades), row.version, row.author, row.created)


def insert_guidelines(connection: sa.Connection, guidelines: Guidelines, author: str) -> Guidelines:
    """Add guidelines as the next version, and return them."""
    version = latest_guidelines(connection) + 1
    stored = Guidelines(guidelines.text, dict(guidelines.grades), version, author, now_ms())
    connection.execute(
        sa.insert(tables.guidelines).values(
            version=version,
            text=stored.text,
            grades=json.dumps(dict(stored.grades)),  # in the order of the grades
            author=author,
            created=stored.created,
        )
    )
    return stored


def read_settlements(connection: sa.Connection) -> list[Settlement]:
    """Return the latest settlement of each pair and of each document."""
    table = tables.settlements
    latest: dict[Any, Settlement] = {}
    for row in connection.execute(sa.select(table).order_by(table.c.number)):
        documents = tuple(json.loads(row.documents))
        settlement = Settlement(
            row.query, documents, row.answer, row.grade, row.admin, row.at, row.note
        )
        latest[settlement.key] = settlement
    return list(latest.values())


def insert_settlement(connection: sa.Connection, settlement: Settlement) -> None:
    """Add a settlement; earlier settlements of the same documents stay in the table."""
    table = tables.settlements
    connection.execute(
        sa.insert(table).values(
            number=_next_number(connection, table.c.number),
            query=settlement.query,
            documents=json.dumps(settlement.documents),
            answer=settlement.answer,
            grade=settlement.grade,
            admin=settlement.admin,
            at=settlement.at,
            note=settlement.note,
        )
    )


def _next_number(connection: sa.Connection, column: sa.Column[Any]) -> int:
    """Return the next number of a table; transactions that call this exclude each other."""
    return int(connection.execute(sa.select(sa.func.max(column))).scalar() or 0) + 1


_LATEST_GUIDELINES = sa.select(sa.func.max(tables.guidelines.c.version))
