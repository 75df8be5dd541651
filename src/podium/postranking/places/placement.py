"""Placement: the order of least sum_i s_i place_i that meets all constraints of hard rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium.postranking.methods.bradley_terry import by_score
from podium.postranking.methods.problem import SCORE_DIGITS, Floats
from podium.postranking.places.constraints import Constraint
from podium.postranking.places.demands import demands_of
from podium.postranking.places.search import Search, in_order
from podium.postranking.places.windows import NoRoom
from podium.postranking.work_budget import check_time

LIMIT = 1_000_000
"""Steps of the search before it gives up."""


@dataclass(frozen=True)
class Placement:
    """Rows best first that meet all constraints, and whether no other such order has a lower
    sum_i s_i place_i (eq. 3)."""

    order: list[int]
    proved_optimal: bool


def place(
    scores: Floats, constraints: Sequence[Constraint], limit: int = LIMIT
) -> Placement | None:
    """Return an order that meets the constraints; None if there is none.

    Raises `UndecidedError` where the search ends at its limit and knows neither.

    Examples
    --------
    >>> from podium.postranking.places.constraints import BeforeConstraint, WindowConstraint
    >>> place(np.array([3.0, 2.0, 1.0]), [WindowConstraint(2, 1, 2), BeforeConstraint((1,), (0,))])
    Placement(order=[1, 2, 0], proved_optimal=True)
    >>> place(np.array([3.0, 2.0, 1.0]), [WindowConstraint(2, 1, 1), BeforeConstraint((1,), (2,))])
    """
    check_time()
    rows = by_score(scores).tolist()
    if meets(rows, constraints):
        return Placement(rows, True)
    rank = [0] * len(rows)
    for at, row in enumerate(rows):
        rank[row] = at
    # Scores rounded as `by_score` compares them, so that they fall from rank to rank.
    falling = np.round(scores, SCORE_DIGITS)[rows]
    try:
        demands = demands_of(constraints, rank, falling.tolist())
    except NoRoom:
        return None
    search = Search(falling, demands, limit)
    best = search.run()
    if best.place is None:
        return None
    order = [rows[at] for at in in_order(demands.named, best.place, len(rows))]
    if not meets(order, constraints):
        raise AssertionError(
            "expected an order that meets the constraints; this is a bug of podium"
        )
    return Placement(order, best.cost <= best.bound + search.close)


def meets(order: Sequence[int], constraints: Sequence[Constraint]) -> bool:
    """Whether rows best first meet every constraint."""
    place = [0] * len(order)
    for at, row in enumerate(order, start=1):
        place[row] = at
    return all(constraint.is_met(place) for constraint in constraints)
