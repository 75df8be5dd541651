"""Members of a store: assessors and admins, and the generation of their links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import sqlalchemy as sa

from podium.errors import UnknownNameError, UsageError
from podium.labelling.store import tables
from podium.labelling.store.tables import select_in

Role = Literal["assessor", "admin"]


@dataclass(frozen=True)
class StoreMember:
    """A member of a store: an assessor, or an admin.

    Parameters
    ----------
    id, name
        The id for programs, and the name for people.
    role
        ``"assessor"`` or ``"admin"``.
    generation
        How often the member's links were renewed; older links do not work. Adding a member again
        does not change it.
    disabled
        Whether the member cannot sign in. Adding a member again does not change this either.
    machine
        The model and the prompt of a machine assessor, as JSON; empty for people. Adding a member again
        does not change it.
    """

    id: str
    name: str = ""
    role: Role = "assessor"
    generation: int = 0
    disabled: bool = False
    machine: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not 0 < len(self.id) <= 200 or not self.id.isprintable():
            raise UsageError(
                "expected the id of a member to have 1 to 200 printable characters, got "
                f"{self.id!r:.60}"
            )
        if self.name and not self.name.isprintable():
            raise UsageError(f"expected a name in printable characters, got {self.name!r:.60}")
        if self.role not in get_args(Role):
            raise UnknownNameError("role", str(self.role), get_args(Role))

    @property
    def is_machine(self) -> bool:
        """Whether the member is a machine, which has no link."""
        return bool(self.machine)


def upsert_members(connection: sa.Connection, members: Iterable[StoreMember]) -> None:
    """Add members; existing members take the new name and role."""
    table = tables.members
    by_id = {member.id: member for member in members}
    rows = select_in(connection, sa.select(table.c.id), table.c.id, list(by_id))
    stored = {row.id for row in rows}
    for member in by_id.values():
        values = {"name": member.name, "role": member.role}
        if member.id in stored:
            connection.execute(sa.update(table).where(table.c.id == member.id).values(**values))
        else:
            connection.execute(
                sa.insert(table).values(id=member.id, machine=member.machine, **values)
            )


def renew_links(connection: sa.Connection, names: Sequence[str]) -> list[StoreMember]:
    """Increase the generation of members and return them; an unknown member raises."""
    table = tables.members
    stored = {row.id for row in connection.execute(sa.select(table.c.id))}
    if unknown := next((name for name in names if name not in stored), None):
        raise UnknownNameError("member", unknown, stored)
    for name in dict.fromkeys(names):
        increased = {"generation": table.c.generation + 1}
        connection.execute(sa.update(table).where(table.c.id == name).values(increased))
    rows = select_in(connection, sa.select(table).order_by(table.c.id), table.c.id, list(names))
    return [_member(row) for row in rows]


def read_members(connection: sa.Connection) -> list[StoreMember]:
    """Return all members, sorted by id."""
    rows = connection.execute(sa.select(tables.members).order_by(tables.members.c.id)).all()
    return [_member(row) for row in rows]


def _member(row: Any) -> StoreMember:
    return StoreMember(row.id, row.name, row.role, row.generation, bool(row.disabled), row.machine)
