"""Who judges which query with which tool: designs, or a CSV file."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from podium.data.checks import check_seed
from podium.data.files import Path_, atomic_writer
from podium.errors import (
    DataError,
    EmptyDataError,
    MalformedLineError,
    UnknownNameError,
    UsageError,
)
from podium.labelling.pool_files import read_records
from podium.labelling.tasks import TOOLS, Tool


class Assignment(NamedTuple):
    """One query for one assessor with one tool."""

    assessor: str
    query: str
    tool: Tool = "preference"


def crossover_design(
    queries: Sequence[str], assessors: Sequence[str], *, rounds: int = 1, seed: int = 0
) -> list[Assignment]:
    """The paper's design: both tools for every assessor, no query in both of them for anyone.

    With a fold of queries Q_0, ..., Q_{A-1} for each of the A assessors, in round r the assessor U_i
    judges Q_{i+2r} with T1 (preferences) and Q_{i+2r+1} with T2 (grades), counted around the circle. So
    every query is judged `rounds` times with each tool, each time by another assessor; agreement needs
    two rounds. *Top-k Learning to Rank* (Niu et al., SIGIR 2012), section 4.1.1.

    Parameters
    ----------
    queries, assessors
        Ids; as many queries as assessors at least.
    rounds
        How often the design is laid out, at most half the number of assessors.
    seed
        Decides the folds.

    Examples
    --------
    >>> plan = crossover_design([f"q{i}" for i in range(50)], ["u1", "u2", "u3", "u4", "u5"])
    >>> len(plan), sum(a.tool == "grade" for a in plan if a.assessor == "u5")
    (100, 10)
    """
    _check_ids(queries, "queries")
    _check_ids(assessors, "assessors")
    n = len(assessors)
    if rounds < 1:
        raise UsageError(f"expected 1 round or more, got {rounds}")
    if 2 * rounds > n:
        raise UsageError(
            f"expected at least {2 * rounds} assessors for {rounds} round{'s'[: rounds - 1]}, got {n}: "
            "nobody may meet a query with both tools; name more assessors or take fewer rounds"
        )
    if len(queries) < n:
        raise UsageError(
            f"expected at least as many queries as assessors ({n}), so that everybody uses both tools, "
            f"got {len(queries)}"
        )
    order = _random(seed).permutation(len(queries)).tolist()
    folds = [[queries[j] for j in sorted(order[i::n])] for i in range(n)]
    return [
        Assignment(assessor, query, tool)
        for i, assessor in enumerate(assessors)
        for r in range(rounds)
        for tool, fold in zip(TOOLS, (i + 2 * r, i + 2 * r + 1), strict=True)
        for query in folds[fold % n]
    ]


def overlap_design(
    queries: Sequence[str],
    assessors: Sequence[str],
    m: int = 2,
    *,
    tools: Sequence[Tool] = ("preference",),
    seed: int = 0,
) -> list[Assignment]:
    """m assessors for every query with every tool, the work spread evenly.

    Assessors have equally many queries, give or take one; who meets whom varies as much as it can; nobody
    meets a query twice.

    Parameters
    ----------
    queries, assessors
        Ids.
    m
        How many assessors judge a query with each tool.
    tools
        ``"preference"``, ``"grade"`` or both.
    seed
        Decides between equals.

    Examples
    --------
    >>> plan = overlap_design(["q1", "q2", "q3"], ["ann", "bob", "cat"], 2)
    >>> len(plan), len({a.assessor for a in plan if a.query == "q1"})
    (6, 2)
    """
    _check_ids(queries, "queries")
    _check_ids(assessors, "assessors")
    for tool in tools:
        if tool not in TOOLS:
            raise UnknownNameError("tool", tool, TOOLS)
    if not tools or len(set(tools)) < len(tools):
        raise UsageError(f"expected each tool once, got {list(tools)}")
    if m < 1 or m * len(tools) > len(assessors):
        most = len(assessors) // len(tools)
        raise UsageError(
            f"expected an overlap m of {'1 assessor' if most == 1 else f'1 to {most} assessors'} a query, "
            f"got {m}: {len(assessors)} assessor{'s'[: len(assessors) - 1]} with {len(tools)} "
            f"tool{'s'[: len(tools) - 1]}"
        )
    random = _random(seed)
    load: Counter[str] = Counter()
    met: Counter[tuple[str, str]] = Counter()
    used: Counter[tuple[str, str]] = Counter()
    plan: dict[str, list[Assignment]] = {}
    for j in random.permutation(len(queries)).tolist():
        chosen: list[str] = []
        luck = dict(zip(assessors, random.permutation(len(assessors)).tolist(), strict=True))
        while len(chosen) < m * len(tools):
            chosen.append(
                min(
                    (a for a in assessors if a not in chosen),
                    key=lambda a: (load[a], sum(met[a, c] for c in chosen), luck[a]),
                )
            )
        load.update(chosen)
        met.update(p for a, b in combinations(chosen, 2) for p in ((a, b), (b, a)))
        # With two tools, who has had less of the first one has it now.
        chosen.sort(key=lambda a: used[a, tools[0]] - used[a, tools[-1]])
        of_query = [Assignment(a, queries[j], tools[i // m]) for i, a in enumerate(chosen)]
        used.update((a.assessor, a.tool) for a in of_query)
        plan[queries[j]] = sorted(of_query)
    return [assignment for query in queries for assignment in plan[query]]


def read_assignments(
    path: Path_, *, queries: Collection[str] | None = None, assessors: Collection[str] | None = None
) -> list[Assignment]:
    """Read assignments from CSV (or TSV, JSONL) with columns assessor, query and tool.

    Without a column ``tool`` all are for preferences. A query or assessor outside those given, a line
    twice, or somebody who meets a query with both tools, is an error with its line.
    """
    name = os.fspath(path)
    plan: list[Assignment] = []
    tool_of: dict[tuple[str, str], str] = {}
    for line, record in read_records(name):
        assessor, query = (str(record.get(key) or "").strip() for key in ("assessor", "query"))
        tool = str(record.get("tool") or "preference").strip()
        problem = ""
        if not assessor or not query:
            problem = "expected an assessor and a query, got none"
        elif tool not in TOOLS:
            problem = f"expected tool preference or grade, got {tool!r:.60}"
        elif queries is not None and query not in queries:
            problem = f"expected a query of the pool, got {query!r:.60}"
        elif assessors is not None and assessor not in assessors:
            problem = f"expected a known assessor, got {assessor!r:.60}"
        else:
            plan.append(Assignment(assessor, query, tool))
            problem = _clash(plan[-1], tool_of)
        if problem:
            raise MalformedLineError(problem, path=name, line=line)
    if not plan:
        raise EmptyDataError("expected at least one assignment, got none", path=name)
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
    """Raise where somebody has a query twice, or with both tools."""
    tool_of: dict[tuple[str, str], str] = {}
    for assignment in plan:
        if problem := _clash(assignment, tool_of):
            raise DataError(problem)


def _clash(assignment: Assignment, tool_of: dict[tuple[str, str], str]) -> str:
    """What is wrong with an assignment after those before it, which it joins."""
    assessor, query, tool = assignment
    before = tool_of.setdefault((assessor, query), "")
    tool_of[assessor, query] = tool
    if not before:
        return ""
    how = "twice" if before == tool else "with both tools"
    return f"expected each query once for an assessor, got {query!r:.60} {how} for {assessor!r:.60}"


def _check_ids(ids: Sequence[str], what: str) -> None:
    if not ids:
        raise UsageError(f"expected {what}, got none")
    if len(set(ids)) < len(ids):
        twice = next(i for i, n in Counter(ids).items() if n > 1)
        raise UsageError(f"expected each of the {what} once, got {twice!r:.60} twice")


def _random(seed: int) -> np.random.Generator:
    check_seed(seed)
    return np.random.default_rng(seed)
