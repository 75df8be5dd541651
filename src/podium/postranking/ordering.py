"""Order a prepared list: soft rules give scores, hard rules restrict the places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.errors import UndecidedError
from podium.postranking.conflict_resolution import resolve_conflicts
from podium.postranking.conflicts import conflict_error
from podium.postranking.methods.problem import Solution, by_score
from podium.postranking.places.constraints import Constraint
from podium.postranking.places.placement import Placement, place
from podium.postranking.preparation import PreparedList
from podium.postranking.settings import Settings


class PlacedList(NamedTuple):
    """A list with its final order: its rules, its scores and the order.

    `order` has the documents shown, best first. `proved_optimal` says whether it is proved that no
    order within the hard rules has a lower sum of score times place.
    """

    prepared: PreparedList
    solution: Solution
    order: NDArray[np.int64]
    proved_optimal: bool


def solve(lists: Sequence[PreparedList], settings: Settings) -> list[Solution]:
    """Return the scores of the visible documents under the soft rules, for all lists at once."""
    return settings.method.solve([prepared.problem(settings) for prepared in lists])


def place_documents(prepared: PreparedList, solution: Solution, settings: Settings) -> PlacedList:
    """Order documents by score within the hard rules.

    If hard rules contradict each other, raise `ConflictError`. With ``conflicts="yield"``, make
    some of them soft, solve again and place the documents under the others.
    """
    _, constraints = prepared.constraints(prepared.hard_numbers)
    if not constraints:
        return PlacedList(prepared, solution, by_score(solution.scores), proved_optimal=True)
    may_yield = settings.conflicts == "yield"
    placement = _find_placement(solution, constraints, settings, may_give_up=may_yield)
    if placement is not None:
        return _placed_list(prepared, solution, placement)
    if not may_yield:
        raise conflict_error(prepared, settings)
    resolution = resolve_conflicts(prepared, settings)
    agreed = resolution.prepared
    (solution,) = solve([agreed], settings)
    _, constraints = agreed.constraints(agreed.hard_numbers)
    placement = _find_placement(solution, constraints, settings, may_give_up=True)
    # If the search gives up again, use the order that meets the rules, which was found before.
    return _placed_list(agreed, solution, placement or Placement(resolution.order, False))


def _placed_list(prepared: PreparedList, solution: Solution, placement: Placement) -> PlacedList:
    order = np.array(placement.order, dtype=np.int64)
    return PlacedList(prepared, solution, order, placement.proved_optimal)


def _find_placement(
    solution: Solution, constraints: Sequence[Constraint], settings: Settings, may_give_up: bool
) -> Placement | None:
    """Return an order that meets the constraints; None if there is none or the search gave up."""
    try:
        return place(solution.scores, constraints, settings.limit)
    except UndecidedError:
        if may_give_up:
            return None
        raise
