"""Placement: the order of least sum_i s_i place_i that meets all constraints of hard rules.

The order by score is the cheapest of all. If it breaks a constraint, the constraints become demands on
windows of places (`demand_set`), and branch and bound searches for the cheapest order within them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium.postranking.methods.problem import SCORE_DIGITS, by_score
from podium.postranking.places.branch_and_bound import BranchAndBound, full_order
from podium.postranking.places.constraints import Constraint
from podium.postranking.places.demand_set import make_demand_set
from podium.postranking.places.windows import NoRoom
from podium.typing import Floats
from podium.work_budget import check_time

SEARCH_LIMIT = 1_000_000
"""The maximum number of steps of the search."""


@dataclass(frozen=True)
class Placement:
    """Rows best first that meet all constraints.

    `proved_optimal` says whether it is proved that no other such order has a lower sum_i s_i
    place_i (eq. 3).
    """

    order: list[int]
    proved_optimal: bool


def place(
    scores: Floats, constraints: Sequence[Constraint], limit: int = SEARCH_LIMIT
) -> Placement | None:
    """Return an order that meets the constraints; None if there is none.

    Raises `UndecidedError` if the search reaches its limit without an order and without a proof.

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
    # Scores are rounded as in `by_score`, so that they fall from rank to rank.
    sorted_scores = np.round(scores, SCORE_DIGITS)[rows]
    try:
        demands = make_demand_set(constraints, rank, sorted_scores.tolist())
    except NoRoom:
        return None
    search = BranchAndBound(sorted_scores, demands, limit)
    best = search.run()
    if best.place is None:
        return None
    order = [rows[at] for at in full_order(demands.ranks, best.place, len(rows))]
    if not meets(order, constraints):
        raise AssertionError(
            "the search returned an order that breaks a constraint; this is a bug in podium, "
            "please report it"
        )
    return Placement(order, best.cost <= best.lower_bound + search.tolerance)


def meets(order: Sequence[int], constraints: Sequence[Constraint]) -> bool:
    """Whether rows best first meet every constraint."""
    place = [0] * len(order)
    for at, row in enumerate(order, start=1):
        place[row] = at
    for constraint in constraints:
        check_time()
        if not constraint.is_met(place):
            return False
    return True
