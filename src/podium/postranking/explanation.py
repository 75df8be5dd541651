"""Explain an order: what became of each rule, where each document went, and because of which rules."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.postranking.methods.bradley_terry import by_score
from podium.postranking.methods.problem import Solution
from podium.postranking.ordering import PlacedList
from podium.postranking.preparation import PreparedList
from podium.postranking.reasons import MoveReasons
from podium.postranking.result import Move, PostRanking, RuleOutcome
from podium.postranking.rules.kinds import Hide
from podium.postranking.rules.rule import Rule
from podium.postranking.settings import Settings
from podium.postranking.work_budget import check_time

# A document's move without a call of a Python function for each.
_move = partial(tuple.__new__, Move)


def explain_list(placed: PlacedList, settings: Settings, *, reasons: bool = True) -> PostRanking:
    """Return a placed list with its moves and the outcome of each rule.

    Without `reasons`, moves do not say because of which rules: to find out takes the longest.
    """
    check_time()
    prepared, solution, placement = placed
    order = np.array(placement.order, dtype=np.int64)
    shown, hidden = prepared.shown_rows[order], prepared.hidden_rows
    rows = np.concatenate([shown, hidden])
    place = prepared.places(order)
    because: Iterator[tuple[Rule, ...]] = repeat((), len(rows))
    if reasons:
        moved = place != np.arange(1, len(place) + 1)
        because = _move_reasons(prepared, solution, place).rules_of(rows, moved)
    docs = [*map(prepared.listing.docs.__getitem__, rows.tolist())]
    places = [*range(1, len(shown) + 1), *[None] * len(hidden)]
    return PostRanking(
        order=tuple(docs[: len(shown)]),
        scores=tuple(solution.scores[order].tolist()),
        rules=tuple(_rule_outcomes(prepared, place)),
        moves=tuple(map(_move, zip(docs, (rows + 1).tolist(), places, because, strict=True))),
        kendall=inversions(shown),
        method=settings.method.name,
        value=float(solution.value),
        iterations=int(solution.iterations),
        gradient_norm=float(solution.gradient_norm),
        converged=bool(solution.converged),
        proved_optimal=placement.proved_optimal,
    )


def _move_reasons(
    prepared: PreparedList, solution: Solution, place: NDArray[np.int64]
) -> MoveReasons:
    """Why each document moved: hidden ones made room, soft rules gave scores, hard ones places."""
    reasons = MoveReasons(len(place), prepared.rules)
    before = start = np.arange(1, len(place) + 1)
    if not prepared.hard_acting:
        reasons.add_stage(prepared.soft_acting, start, place)
        return reasons
    if len(prepared.hidden_rows):
        before = prepared.places(np.arange(len(prepared.shown_rows)))
        hides = [one for one in prepared.hard_acting if isinstance(one[1].rule, Hide)]
        reasons.add_stage(hides, start, before)
    scored = prepared.places(by_score(solution.scores))
    reasons.add_stage(prepared.soft_acting, before, scored)
    scored_places = scored[prepared.shown_rows].tolist()
    # Only hard rules that the scores alone would break moved anything.
    broken = {
        number
        for number, bound in prepared.rules_on(prepared.shown_rows)
        if prepared.is_hard(number) and bound.slack(scored_places)
    }
    reasons.add_stage([one for one in prepared.hard_acting if one[0] in broken], scored, place)
    return reasons


def _rule_outcomes(prepared: PreparedList, place: NDArray[np.int64]) -> Iterator[RuleOutcome]:
    """What became of each rule if every row is at this place, hidden ones behind the rest."""
    places = place[prepared.shown_rows].tolist()
    slack, absent = [0] * len(prepared.rules), {}
    for number, bound in chain(prepared.rules_on(prepared.shown_rows), prepared.idle):
        slack[number] = max(slack[number], bound.slack(places))
        if bound.absent:
            absent[number] = bound.absent
    for number, rule in enumerate(prepared.rules):
        yield RuleOutcome(
            rule,
            satisfied=slack[number] == 0,
            slack=slack[number],
            note=prepared.notes.get(number, ""),
            yielded=number in prepared.yielded,
            absent=absent.get(number, ()),
            undecided=number in prepared.undecided,
            yielded_to=tuple(
                prepared.rules[other] for other in prepared.yielded_to.get(number, ())
            ),
        )


def inversions(order: NDArray[np.int64]) -> int:
    """Return how many pairs of rows stand the other way round."""
    n = len(order)
    places = order.astype(np.float64).reshape(n, 1)
    return int(kernels.disagreements(places, np.arange(n), np.array([0, n]))[0, 0, 0])
