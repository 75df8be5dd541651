"""Constraints as demands on the documents they name, which are few, numbered by score."""

from __future__ import annotations

from collections.abc import Sequence
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
from podium.postranking.places.windows import (
    ApartDemand,
    BeforeDemand,
    CountDemand,
    Demand,
    NoRoom,
    SymmetryDemand,
    TogetherDemand,
    Windows,
    Worth,
)


@dataclass(frozen=True)
class Demands:
    """What constraints ask of the documents they name, `named[i]` by rank; the rest stand anywhere."""

    named: list[int]
    demands: list[Demand]
    windows: Windows


def demands_of(
    constraints: Sequence[Constraint], rank: Sequence[int], scores: Sequence[float]
) -> Demands:
    """The demands of constraints on rows of these ranks; scores are best first.

    Raises `NoRoom` if a constraint alone cannot be met, or `Before` demands go round in a circle.
    """
    n = len(scores)
    binding = [constraint for constraint in constraints if not _is_idle(constraint, n)]
    number = {at: i for i, at in enumerate(sorted({rank[r] for c in binding for r in _rows(c)}))}
    index = [number.get(at, -1) for at in rank]
    named = list(number)
    worth = Worth(scores, named)
    windows = Windows([1] * len(named), [n] * len(named))
    kinds: tuple[dict[Any, Demand], ...] = ({}, {}, {}, {})

    def numbers(rows: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted([index[row] for row in rows]))

    for c in binding:
        if isinstance(c, WindowConstraint):
            windows.at_least(index[c.row], c.first)
            windows.at_most(index[c.row], c.last)
        elif isinstance(c, CountConstraint):
            rows = numbers(c.rows)
            kinds[0][c.k, c.least, c.most, rows] = CountDemand(rows, c.k, c.least, c.most)
        elif isinstance(c, TogetherConstraint):
            rows = numbers(c.rows)
            kinds[1][rows] = TogetherDemand(rows, worth)
        elif isinstance(c, ApartConstraint):
            rows = numbers(c.rows)
            kinds[2][c.gap, rows] = ApartDemand(rows, c.gap)
        elif isinstance(c, BeforeConstraint):
            above, below = numbers(c.a), numbers(c.b)
            kinds[3][above, below] = BeforeDemand(above, below, worth)
        else:
            raise NoRoom
    # Counts leave the most orders to choose from and are decided first, `Before` the fewest; the
    # order in which constraints were given does not matter, nor does one given twice.
    demands = [kind[key] for kind in kinds for key in sorted(kind)]
    _check_no_circle([d for d in demands if isinstance(d, BeforeDemand)], len(named))
    _check_neighbours(
        [d.rows for d in demands if isinstance(d, TogetherDemand) and len(d.rows) == 2]
    )
    return Demands(named, demands + _symmetries(demands, windows), windows)


def _rows(constraint: Constraint) -> tuple[int, ...]:
    if isinstance(constraint, WindowConstraint):
        return (constraint.row,)
    if isinstance(constraint, BeforeConstraint):
        return constraint.a + constraint.b
    return () if isinstance(constraint, ImpossibleConstraint) else constraint.rows


def _is_idle(constraint: Constraint, n: int) -> bool:
    """Whether every order meets it."""
    if isinstance(constraint, WindowConstraint):
        return constraint.first <= 1 and constraint.last >= n
    if isinstance(constraint, CountConstraint):
        size, k = len(constraint.rows), constraint.k
        fewest, most = max(size - max(n - k, 0), 0), min(size, k)
        return constraint.least <= fewest and constraint.most >= most
    return False


def _symmetries(demands: Sequence[Demand], windows: Windows) -> list[Demand]:
    """Groups of documents with one window that the same demands name in the same role."""
    roles: list[list[int]] = [[] for _ in windows.first]
    for number, demand in enumerate(demands):
        for at, i in enumerate(demand.rows):
            below = isinstance(demand, BeforeDemand) and at >= len(demand.above)
            roles[i].append(2 * number + below)
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, (first, last) in enumerate(zip(windows.first, windows.last, strict=True)):
        if roles[i]:
            groups.setdefault((first, last, *roles[i]), []).append(i)
    return [
        SymmetryDemand(group, _step([demands[role // 2] for role in key[2:]]))
        for key, group in groups.items()
        if len(group) > 1
    ]


def _step(demands: Sequence[Demand]) -> int:
    return max([demand.step for demand in demands if isinstance(demand, ApartDemand)], default=0)


def _check_no_circle(befores: Sequence[BeforeDemand], m: int) -> None:
    """Raise `NoRoom` if documents stand before each other in a circle (Kahn's algorithm)."""
    if not befores:
        return
    opened: list[list[int]] = [[] for _ in range(m)]
    waits = [0] * m  # for how many `Before` demands a document waits
    for number, before in enumerate(befores):
        for i in before.above:
            opened[i].append(number)
        for i in before.below:
            waits[i] += 1
    missing = [len(before.above) for before in befores]
    ready = [i for i in range(m) if not waits[i]]
    for i in ready:
        for number in opened[i]:
            missing[number] -= 1
            if not missing[number]:
                for j in befores[number].below:
                    waits[j] -= 1
                    if not waits[j]:
                        ready.append(j)
    if len(ready) < m:
        raise NoRoom


def _check_neighbours(pairs: Sequence[Sequence[int]]) -> None:
    """Pairs side by side are chains: nobody has three neighbours, and no chain closes."""
    neighbours: dict[int, int] = {}
    end: dict[int, int] = {}  # of the chain that a document ends, its other end
    for a, b in pairs:
        for i in (a, b):
            neighbours[i] = neighbours.get(i, 0) + 1
            if neighbours[i] > 2:
                raise NoRoom
        far_a, far_b = end.get(a, a), end.get(b, b)
        if far_a == b:
            raise NoRoom
        end[far_a], end[far_b] = far_b, far_a
