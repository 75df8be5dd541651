"""StoreAdmin: changes of a store by an admin. Every change has an entry in the audit log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from podium.errors import ChangeConflictError, UnknownNameError, UsageError
from podium.labelling.guidelines import Guidelines
from podium.labelling.settlements import Settlement, check_settlement
from podium.labelling.store import tables
from podium.labelling.store.admin_records import (
    insert_guidelines,
    insert_settlement,
    latest_guidelines,
    now_ms,
    read_settlements,
    read_stored_guidelines,
    write_audit_entry,
)
from podium.labelling.store.members import (
    StoreMember,
    read_members,
    renew_links,
    upsert_members,
)
from podium.labelling.store.pools_and_tasks import insert_tasks
from podium.labelling.store.rows import read_task
from podium.labelling.tasks import GradeTask, Task, Tool

if TYPE_CHECKING:
    from podium.labelling.store.store import Store

PRIORITIES = {"low": -1, "normal": 0, "high": 1}
"""Priorities of tasks; an assessor's list begins with the highest."""


class StoreAdmin:
    """Changes a store in the name of an admin.

    Nothing is overwritten: judgments stay, and each change is in the audit log, with who made it and
    the values before and after.

    Parameters
    ----------
    store
        The store to change.
    who
        The id of the admin, for the audit log.

    Examples
    --------
    >>> import tempfile
    >>> from podium.labelling.store import Store
    >>> store = Store.open(tempfile.mkdtemp() + "/judgments.db")
    >>> StoreAdmin(store, "boss").add_assessor("ann").disabled
    False
    >>> StoreAdmin(store, "boss").disable_assessor("ann").disabled
    True
    >>> [(entry.who, entry.action, entry.subject) for entry in store.audit_log()]
    [('boss', 'disable assessor', 'ann'), ('boss', 'add assessor', 'ann')]
    >>> store.close()
    """

    def __init__(self, store: Store, who: str) -> None:
        self._store, self.who = store, who

    # Assessors.

    def add_assessor(self, assessor: str, name: str = "") -> StoreMember:
        """Add an assessor; a member of this id must not exist."""
        member = StoreMember(assessor, name)
        with self._changing("the assessor") as connection:
            if any(other.id == assessor for other in read_members(connection)):
                raise ChangeConflictError(
                    f"the store already has a member {assessor!r:.60}; choose another name"
                )
            upsert_members(connection, [member])
            self._audit(connection, "add assessor", assessor, after={"name": name})
        return member

    def disable_assessor(self, assessor: str) -> StoreMember:
        """Stop an assessor from signing in; the judgments and tasks stay."""
        return self._set_disabled(assessor, disabled=True)

    def enable_assessor(self, assessor: str) -> StoreMember:
        """Let a disabled assessor sign in again, with a new link; old links stay invalid."""
        return self._set_disabled(assessor, disabled=False)

    def renew_link(self, assessor: str) -> StoreMember:
        """Invalidate all links of an assessor; return the member with the generation of a new link."""
        with self._changing("the link") as connection:
            before = _assessor(connection, assessor)
            (member,) = renew_links(connection, [assessor])
            self._audit(
                connection, "renew link", assessor,
                {"generation": before.generation}, {"generation": member.generation},
            )  # fmt: skip
        return member

    def _set_disabled(self, assessor: str, disabled: bool) -> StoreMember:
        with self._changing("the assessor") as connection:
            before = _assessor(connection, assessor)
            if before.disabled == disabled:
                state = "disabled" if disabled else "enabled"
                raise ChangeConflictError(f"assessor {assessor!r:.60} is {state} already")
            table = tables.members
            connection.execute(
                sa.update(table).where(table.c.id == assessor).values(disabled=int(disabled))
            )
            (member,) = renew_links(connection, [assessor])
            action = "disable assessor" if disabled else "enable assessor"
            self._audit(
                connection, action, assessor, {"disabled": before.disabled}, {"disabled": disabled}
            )
        return member

    # Tasks.

    def assign(self, query: str, assessor: str, tool: Tool) -> str:
        """Give a query to another assessor, with the settings of its first task; return the task's id."""
        with self._changing("the task") as connection:
            return self._assign(connection, query, assessor, tool)

    def assign_all(self, assessor: str, tool: Tool) -> list[str]:
        """Give an assessor all other queries that have a task with this tool.

        It is one transaction: after an error the assessor has none of them.
        """
        t = tables.tasks
        select = sa.select(t).where(t.c.tool == tool, t.c.withdrawn == 0).order_by(t.c.number)
        with self._changing("the tasks") as connection:
            rows = connection.execute(select).all()
            own = {row.query for row in rows if row.assessor == assessor}
            queries = dict.fromkeys(row.query for row in rows if row.query not in own)
            if not queries:
                raise ChangeConflictError(f"assessor {assessor!r:.60} has all queries already")
            return [self._assign(connection, query, assessor, tool) for query in queries]

    def _assign(self, connection: sa.Connection, query: str, assessor: str, tool: Tool) -> str:
        """Give a query to an assessor in an open transaction."""
        t = tables.tasks
        select = sa.select(t).where(t.c.query == query, t.c.tool == tool).order_by(t.c.number)
        row = connection.execute(select).first()
        if row is None:
            raise ChangeConflictError(f"query {query!r:.60} has no task with tool {tool!r}")
        task_id = self._give(connection, read_task(row), assessor, row.priority)
        after = {"query": query, "assessor": assessor, "tool": tool}
        self._audit(connection, "assign task", task_id, after=after)
        return task_id

    def reassign(self, task: str, assessor: str) -> str:
        """Take an unfinished task from its assessor and give the query to another one.

        The other assessor begins a new task, whose id is returned. The judgments of the old task
        stay in the store. If a task goes back to an earlier assessor, it continues where it
        stopped.
        """
        with self._changing("the task") as connection:
            row = _open_task(connection, task)
            if row.assessor == assessor:
                raise ChangeConflictError(
                    f"assessor {assessor!r:.60} has the task already; choose another assessor"
                )
            connection.execute(
                sa.update(tables.tasks).where(tables.tasks.c.id == task).values(withdrawn=1)
            )
            task_id = self._give(connection, read_task(row), assessor, row.priority)
            before = {"assessor": row.assessor, "task": task}
            after = {"assessor": assessor, "task": task_id}
            self._audit(connection, "reassign task", row.query, before, after)
        return task_id

    def set_priority(
        self, priority: str, *, query: str | None = None, task: str | None = None
    ) -> int:
        """Set the priority of a task, or of all tasks of a query; return the number of tasks."""
        if priority not in PRIORITIES:
            raise UnknownNameError("priority", priority, PRIORITIES)
        if (query is None) == (task is None):
            raise UsageError("expected either a query or a task")
        t = tables.tasks
        condition = t.c.query == query if task is None else t.c.id == task
        with self._changing("the priority") as connection:
            rows = connection.execute(sa.select(t).where(condition).order_by(t.c.number)).all()
            if not rows:
                raise ChangeConflictError(f"the store has no query or task {query or task!r:.60}")
            value = PRIORITIES[priority]
            connection.execute(sa.update(t).where(condition).values(priority=value))
            names = {number: name for name, number in PRIORITIES.items()}
            before = {
                f"{row.assessor}, {row.tool}": names.get(row.priority, row.priority) for row in rows
            }
            self._audit(
                connection,
                "set priority",
                query or task or "",
                before,
                dict.fromkeys(before, priority),
            )
        return len(rows)

    def _give(self, connection: sa.Connection, task: Task, assessor: str, priority: int) -> str:
        """Add a task like this one for an assessor, or restore the withdrawn one."""
        if _assessor(connection, assessor).disabled:
            raise ChangeConflictError(
                f"assessor {assessor!r:.60} is disabled; enable the assessor first"
            )
        t = tables.tasks
        is_same = (t.c.assessor == assessor) & (t.c.query == task.query) & (t.c.tool == task.tool)
        row = connection.execute(sa.select(t).where(is_same)).one_or_none()
        if row is not None and not row.withdrawn:
            raise ChangeConflictError(f"assessor {assessor!r:.60} has this query already")
        task_id = _task_id(assessor, task) if row is None else str(row.id)
        if row is None:
            insert_tasks(connection, [replace(task, id=task_id, assessor=assessor)])
        values = {"withdrawn": 0, "priority": priority}
        connection.execute(sa.update(t).where(t.c.id == task_id).values(**values))
        return task_id

    # Guidelines, settlements, exports.

    def save_guidelines(self, guidelines: Guidelines, base: int | None = None) -> Guidelines:
        """Add a version of the guidelines and return it; if nothing changed, return the latest.

        Parameters
        ----------
        guidelines
            The new text and grades.
        base
            The version that was edited; if there is a newer one, nothing is saved.
        """
        with self._changing("the guidelines") as connection:
            latest = read_stored_guidelines(connection)
            if base is not None and base != latest.version:
                raise ChangeConflictError(
                    f"somebody saved version {latest.version} of the guidelines while version "
                    f"{base} was edited; load the page again"
                )
            if latest.has_content_of(guidelines):
                return latest
            saved = insert_guidelines(connection, guidelines, self.who)
            self._audit(
                connection, "save guidelines", f"version {saved.version}",
                {"version": latest.version}, {"version": saved.version},
            )  # fmt: skip
        return saved

    def import_guidelines(self, guidelines: Guidelines) -> Guidelines:
        """Add guidelines from a file, unless some version equals them; return the latest version.

        So a server that restarts with an old file does not undo later edits.
        """
        with self._store.database.reading() as connection:
            versions = range(1, latest_guidelines(connection) + 1)
            earlier = [read_stored_guidelines(connection, version) for version in versions]
        if any(version.has_content_of(guidelines) for version in earlier):
            return earlier[-1]
        return self.save_guidelines(guidelines)

    def settle(self, settlement: Settlement) -> Settlement:
        """Record a decision about a pair or a grade, for exports; return it with its admin and time."""
        decided = replace(settlement, admin=self.who, at=now_ms())
        with self._changing("the settlement") as connection:
            _check_documents(connection, decided)
            others = read_settlements(connection)
            check_settlement(decided, others)
            earlier = next((other for other in others if other.key == decided.key), None)
            insert_settlement(connection, decided)
            subject = f"{decided.query}: {', '.join(decided.documents)}"
            before = None if earlier is None else _decision(earlier)
            self._audit(connection, "settle", subject, before, _decision(decided))
        return decided

    def note_export(self, facts: Mapping[str, Any]) -> None:
        """Note in the audit log that an export was downloaded."""
        with self._changing("the audit log") as connection:
            self._audit(connection, "download export", str(facts.get("what", "")), after=facts)

    @contextmanager
    def _changing(self, what: str) -> Iterator[sa.Connection]:
        with self._store.database.writing(what, exclusive=True) as connection:
            yield connection

    def _audit(
        self,
        connection: sa.Connection,
        action: str,
        subject: str,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> None:
        write_audit_entry(connection, self.who, action, subject, before, after)


def _assessor(connection: sa.Connection, assessor: str) -> StoreMember:
    assessors = {m.id: m for m in read_members(connection) if m.role == "assessor"}
    if assessor not in assessors:
        raise UnknownNameError("assessor", assessor, assessors)
    return assessors[assessor]


def _open_task(connection: sa.Connection, task: str) -> Any:
    """Return the row of a task that can be withdrawn; its session stays locked during the change."""
    t, s = tables.tasks, tables.sessions
    row = connection.execute(sa.select(t).where(t.c.id == task)).one_or_none()
    if row is None or row.withdrawn:
        raise ChangeConflictError(f"task {task!r:.60} is not open")
    select = sa.select(s.c.result).where(s.c.task == row.number).with_for_update()
    if connection.execute(select).scalar() is not None:
        raise ChangeConflictError(f"task {task!r:.60} is finished; assign the query instead")
    return row


def _task_id(assessor: str, task: Task) -> str:
    """Return the id of a new task: the same for the same assessor, query and tool, as in `make_tasks`."""
    key: Sequence[str] = [assessor, task.query, task.tool]
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:20]


def _check_documents(connection: sa.Connection, settlement: Settlement) -> None:
    """Raise if the query, a document or the grade of a settlement does not exist."""
    t = tables.tasks
    tool = "grade" if settlement.answer is None else "preference"
    select = sa.select(t).where(t.c.query == settlement.query, t.c.tool == tool)
    tasks = [read_task(row) for row in connection.execute(select)]
    documents = {document for task in tasks for document in task.documents}
    if strange := [d for d in settlement.documents if d not in documents]:
        raise ChangeConflictError(
            f"query {settlement.query!r:.60} has no judged document {strange[0]!r:.60}"
        )
    n_grades = max((len(task.grades) for task in tasks if isinstance(task, GradeTask)), default=0)
    if settlement.grade is not None and not 0 <= settlement.grade < n_grades:
        raise UsageError(f"expected a grade from 0 to {n_grades - 1}, got {settlement.grade}")


def _decision(settlement: Settlement) -> dict[str, Any]:
    value = settlement.grade if settlement.answer is None else settlement.answer
    return {"decision": value, "documents": list(settlement.documents), "note": settlement.note}
