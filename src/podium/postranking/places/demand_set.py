"""The demand set of a list: constraints of hard rules as demands on the documents they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.postranking.places.constraints import (
    ApartConstraint,
    BeforeConstraint,
    Constraint,
    CountConstraint,
    ImpossibleConstraint,
    TogetherConstraint,
    WindowConstraint,
)
from podium.postranking.places.demands import (
    ApartDemand,
    BeforeDemand,
    CountDemand,
    Demand,
    ListScores,
    SymmetryDemand,
    TogetherDemand,
)
from podium.postranking.places.propagation import check_search_time
from podium.postranking.places.windows import NoRoom, Windows


@dataclass(frozen=True)
class DemandSet:
    """The demands of all constraints; document i has the rank `ranks[i]` in the list by score.

    Documents that no constraint names have no window and may stand anywhere.
    """

    ranks: list[int]
    demands: list[Demand]
    windows: Windows


def make_demand_set(
    constraints: Sequence[Constraint], rank: Sequence[int], scores: Sequence[float]
) -> DemandSet:
    """Return the demands of constraints on rows of these ranks; scores are best first.

    Raises `NoRoom` if a single constraint cannot be met, or `Before` demands form a cycle, and
    `UndecidedError` at the end of the time for searches.
    """
    n = len(scores)
    effective = [constraint for constraint in constraints if not _always_holds(constraint, n)]
    # Rules about every prefix have many constraints on the same rows.
    groups = {_rows(constraint) for constraint in effective}
    ranks = sorted({rank[row] for rows in groups for row in rows})
    number = {at: i for i, at in enumerate(ranks)}
    index = [number.get(at, -1) for at in rank]
    list_scores = ListScores(scores, ranks)
    windows = Windows([1] * len(ranks), [n] * len(ranks))
    by_key: dict[tuple[Any, ...], Demand] = {}
    members = {rows: tuple(sorted([index[row] for row in rows])) for rows in groups}
    for constraint in effective:
        check_search_time()
        if isinstance(constraint, WindowConstraint):
            windows.at_least(index[constraint.row], constraint.first)
            windows.at_most(index[constraint.row], constraint.last)
        else:
            key, demand = _make_demand(constraint, members, index, list_scores)
            by_key[key] = demand
    # Sorted keys make the result independent of the order of the rules, and of repeated rules.
    demands = [by_key[key] for key in sorted(by_key)]
    _check_no_circle([d for d in demands if isinstance(d, BeforeDemand)], len(ranks))
    _check_neighbours(
        [d.members for d in demands if isinstance(d, TogetherDemand) and len(d.members) == 2]
    )
    return DemandSet(ranks, demands + _symmetries(demands, windows), windows)


def _make_demand(
    constraint: Constraint,
    members_of: Mapping[tuple[int, ...], tuple[int, ...]],
    index: Sequence[int],
    scores: ListScores,
) -> tuple[tuple[Any, ...], Demand]:
    """Return the demand of a constraint, and a key by which demands are sorted.

    The search decides counts first, because they leave the most orders, and `Before` last.
    """
    members = members_of[_rows(constraint)]
    if isinstance(constraint, CountConstraint):
        k, least, most = constraint.k, constraint.least, constraint.most
        return (0, k, least, most, members), CountDemand(members, k, least, most)
    if isinstance(constraint, TogetherConstraint):
        return (1, members), TogetherDemand(members, scores)
    if isinstance(constraint, ApartConstraint):
        return (2, constraint.gap, members), ApartDemand(members, constraint.gap)
    if isinstance(constraint, BeforeConstraint):
        upper, lower = (
            tuple(sorted([index[row] for row in rows])) for rows in (constraint.a, constraint.b)
        )
        return (3, upper, lower), BeforeDemand(upper, lower, scores)
    raise NoRoom


def _rows(constraint: Constraint) -> tuple[int, ...]:
    if isinstance(constraint, WindowConstraint):
        return (constraint.row,)
    if isinstance(constraint, BeforeConstraint):
        return constraint.a + constraint.b
    return () if isinstance(constraint, ImpossibleConstraint) else constraint.rows


def _always_holds(constraint: Constraint, n: int) -> bool:
    """Whether every order meets the constraint."""
    if isinstance(constraint, WindowConstraint):
        return constraint.first <= 1 and constraint.last >= n
    if isinstance(constraint, CountConstraint):
        size, k = len(constraint.rows), constraint.k
        # Only n - k documents stand below the top k, so the rest of the group must be in it.
        fewest, most = max(size - max(n - k, 0), 0), min(size, k)
        return constraint.least <= fewest and constraint.most >= most
    return False


def _symmetries(demands: Sequence[Demand], windows: Windows) -> list[Demand]:
    """Return a demand for each group of documents with the same window and the same roles in all demands."""
    # Demands on the same documents, such as those on every prefix, give them the same role.
    step_of: dict[tuple[int, ...], int] = {}
    for demand in demands:
        check_search_time()
        sides = (
            (demand.upper, demand.lower) if isinstance(demand, BeforeDemand) else (demand.members,)
        )
        step = demand.step if isinstance(demand, ApartDemand) else 0
        for side in map(tuple, sides):
            step_of[side] = max(step_of.get(side, 0), step)
    roles: list[list[int]] = [[] for _ in windows.first]
    for role, members in enumerate(step_of):
        check_search_time()
        for i in members:
            roles[i].append(role)
    steps = list(step_of.values())
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, (first, last) in enumerate(zip(windows.first, windows.last, strict=True)):
        if roles[i]:
            groups.setdefault((first, last, *roles[i]), []).append(i)
    return [
        SymmetryDemand(group, max([steps[role] for role in key[2:]]))
        for key, group in groups.items()
        if len(group) > 1
    ]


def _check_no_circle(befores: Sequence[BeforeDemand], m: int) -> None:
    """Raise `NoRoom` if `Before` demands form a cycle.

    Kahn's algorithm: documents that wait for nothing are done, which may release others. Documents
    that are never done wait for each other.
    """
    if not befores:
        return
    demands_above: list[list[int]] = [
        [] for _ in range(m)
    ]  # demands whose upper part contains the document
    n_waits_for = [
        0
    ] * m  # demands with the document in the lower part whose upper part is not done
    for number, before in enumerate(befores):
        for i in before.upper:
            demands_above[i].append(number)
        for i in before.lower:
            n_waits_for[i] += 1
    n_missing = [len(before.upper) for before in befores]
    done = [i for i in range(m) if not n_waits_for[i]]
    for i in done:
        for number in demands_above[i]:
            n_missing[number] -= 1
            if not n_missing[number]:
                for j in befores[number].lower:
                    n_waits_for[j] -= 1
                    if not n_waits_for[j]:
                        done.append(j)
    if len(done) < m:
        raise NoRoom


def _check_neighbours(pairs: Sequence[Sequence[int]]) -> None:
    """Raise `NoRoom` if a document has three neighbours, or a chain of neighbours closes.

    Pairs of documents that stand side by side form chains; joining two chains joins their ends.
    """
    neighbours: dict[int, int] = {}
    end: dict[int, int] = {}  # for each end of a chain, the other end
    for a, b in pairs:
        for i in (a, b):
            neighbours[i] = neighbours.get(i, 0) + 1
            if neighbours[i] > 2:
                raise NoRoom
        far_a, far_b = end.get(a, a), end.get(b, b)
        if far_a == b:
            raise NoRoom
        end[far_a], end[far_b] = far_b, far_a
