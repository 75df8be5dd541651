"""Assignments: which assessor judges which query with which tool, as a CSV file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterable
from typing import NamedTuple

from podium.data.atomic_files import atomic_writer
from podium.errors import DataError, EmptyDataError, MalformedLineError
from podium.labelling.pool_files import read_records
from podium.labelling.tasks import TOOLS, Tool
from podium.typing import Path_


class Assignment(NamedTuple):
    """One query for one assessor with one tool."""

    assessor: str
    query: str
    tool: Tool = "preference"


def read_assignments(
    path: Path_, *, queries: Collection[str] | None = None, assessors: Collection[str] | None = None
) -> list[Assignment]:
    """Read assignments from CSV (or TSV, JSONL) with columns assessor, query and tool.

    Without a column ``tool``, all assignments are for preferences. Errors name the line: a query or
    assessor that is not in `queries` or `assessors`, a repeated line, or an assessor who gets a
    query with both tools.
    """
    name = os.fspath(path)
    plan: list[Assignment] = []
    tool_of: dict[tuple[str, str], str] = {}
    for line, record in read_records(name):
        assessor, query = (str(record.get(key) or "").strip() for key in ("assessor", "query"))
        tool = str(record.get("tool") or "preference").strip()
        problem = ""
        if not assessor or not query:
            problem = "the assessor or the query is missing"
        elif tool not in TOOLS:
            problem = f"expected tool preference or grade, got {tool!r:.60}"
        elif queries is not None and query not in queries:
            problem = f"the pool has no query {query!r:.60}"
        elif assessors is not None and assessor not in assessors:
            problem = f"unknown assessor {assessor!r:.60}"
        else:
            plan.append(Assignment(assessor, query, tool))
            problem = _clash(plan[-1], tool_of)
        if problem:
            raise MalformedLineError(problem, path=name, line=line)
    if not plan:
        raise EmptyDataError("there are no assignments; expected at least one", path=name)
    return plan


def write_assignments(plan: Iterable[Assignment], path: Path_) -> None:
    """Write assignments as CSV; they read back equal."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(Assignment._fields)
    rows.writerows(plan)
    with atomic_writer(path) as write:
        write(text.getvalue().encode())


def check_assignments(plan: Iterable[Assignment]) -> None:
    """Raise if an assessor has a query twice, or with both tools."""
    tool_of: dict[tuple[str, str], str] = {}
    for assignment in plan:
        if problem := _clash(assignment, tool_of):
            raise DataError(problem)


def _clash(assignment: Assignment, tool_of: dict[tuple[str, str], str]) -> str:
    """Add an assignment to `tool_of`; return the problem with it, or ""."""
    assessor, query, tool = assignment
    before = tool_of.setdefault((assessor, query), "")
    tool_of[assessor, query] = tool
    if not before:
        return ""
    repetition = "twice" if before == tool else "with both tools"
    return f"expected each query once for an assessor, got {query!r:.60} {repetition} for {assessor!r:.60}"
