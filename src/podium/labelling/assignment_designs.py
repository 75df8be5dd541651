"""Crossover and overlap designs: which assessor judges which query with which tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from podium.data.argument_checks import check_seed
from podium.errors import UnknownNameError, UsageError
from podium.labelling.assignments import Assignment
from podium.labelling.tasks import TOOLS, Tool


def crossover_design(
    queries: Sequence[str], assessors: Sequence[str], *, rounds: int = 1, seed: int = 0
) -> list[Assignment]:
    """Return the crossover design of the paper: every assessor uses both tools, on different queries.

    With a fold of queries Q_0, ..., Q_{A-1} for each of the A assessors, in round r the assessor U_i
    judges Q_{i+2r} with T1 (preferences) and Q_{i+2r+1} with T2 (grades), modulo A. So every
    query is judged `rounds` times with each tool, each time by another assessor. Agreement needs two
    rounds. *Top-k Learning to Rank* (Niu et al., SIGIR 2012), section 4.1.1.

    Parameters
    ----------
    queries, assessors
        Ids; at least as many queries as assessors.
    rounds
        How often the design is repeated, at most half the number of assessors.
    seed
        The seed of the folds.

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
            f"expected {2 * rounds} assessors or more for {rounds} round{'s'[: rounds - 1]}, got {n}: "
            "nobody may judge a query with both tools; name more assessors or use fewer rounds"
        )
    if len(queries) < n:
        raise UsageError(
            f"expected at least as many queries as assessors ({n}), so that every assessor "
            f"uses both tools, got {len(queries)}"
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
    """Return a design with m assessors per query and tool, and equal work for all.

    The numbers of queries per assessor differ by at most one. Pairs of assessors who share queries
    vary as much as possible. Nobody gets a query twice.

    Parameters
    ----------
    queries, assessors
        Ids.
    m
        How many assessors judge each query with each tool.
    tools
        ``"preference"``, ``"grade"`` or both.
    seed
        The seed that breaks ties.

    Examples
    --------
    >>> plan = overlap_design(["q1", "q2", "q3"], ["ann", "bob", "cat"], 2)
    >>> len(plan), len({a.assessor for a in plan if a.query == "q1"})
    (6, 2)
    """
    _check_ids(queries, "queries")
    _check_ids(assessors, "assessors")
    _check_overlap(m, tools, len(assessors))
    random = _random(seed)
    n_queries: Counter[str] = Counter()
    shared_queries: Counter[tuple[str, str]] = Counter()
    tool_counts: Counter[tuple[str, str]] = Counter()
    plan: dict[str, list[Assignment]] = {}
    for j in random.permutation(len(queries)).tolist():
        chosen: list[str] = []
        tie_break = dict(zip(assessors, random.permutation(len(assessors)).tolist(), strict=True))
        while len(chosen) < m * len(tools):
            chosen.append(
                min(
                    (a for a in assessors if a not in chosen),
                    key=lambda a: (
                        n_queries[a],
                        sum(shared_queries[a, c] for c in chosen),
                        tie_break[a],
                    ),
                )
            )
        n_queries.update(chosen)
        shared_queries.update(p for a, b in combinations(chosen, 2) for p in ((a, b), (b, a)))
        # With two tools, the assessors who used the first one less get it now.
        chosen.sort(key=lambda a: tool_counts[a, tools[0]] - tool_counts[a, tools[-1]])
        assignments = [Assignment(a, queries[j], tools[i // m]) for i, a in enumerate(chosen)]
        tool_counts.update((a.assessor, a.tool) for a in assignments)
        plan[queries[j]] = sorted(assignments)
    return [assignment for query in queries for assignment in plan[query]]


def _check_overlap(m: int, tools: Sequence[Tool], n_assessors: int) -> None:
    for tool in tools:
        if tool not in TOOLS:
            raise UnknownNameError("tool", tool, TOOLS)
    if not tools or len(set(tools)) < len(tools):
        raise UsageError(f"expected each tool once, got {list(tools)}")
    if m < 1 or m * len(tools) > n_assessors:
        most = n_assessors // len(tools)
        raise UsageError(
            f"expected an overlap m of {'1 assessor' if most == 1 else f'1 to {most} assessors'} per query, "
            f"got {m}: {n_assessors} assessor{'s'[: n_assessors - 1]} with {len(tools)} "
            f"tool{'s'[: len(tools) - 1]}"
        ).advise(
            python="name more assessors, or give a smaller m",
            command_line=f"name {m * len(tools)} or more with --assessors, or --overlap {most}",
        )


def _check_ids(ids: Sequence[str], plural: str) -> None:
    if not ids:
        raise UsageError(f"expected {plural}, got none")
    if len(set(ids)) < len(ids):
        twice = next(i for i, n in Counter(ids).items() if n > 1)
        raise UsageError(f"expected each of the {plural} once, got {twice!r:.60} twice")


def _random(seed: int) -> np.random.Generator:
    check_seed(seed)
    return np.random.default_rng(seed)
