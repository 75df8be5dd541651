"""Make the result of a placed list: the outcome of each rule, and the rules that moved each document."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from podium.postranking.methods.problem import Solution, by_score
from podium.postranking.move_reasons import MoveReasons
from podium.postranking.ordering import PlacedList
from podium.postranking.preparation import PreparedList
from podium.postranking.result import PostRanking, RuleOutcome
from podium.postranking.rules.rule import Rule
from podium.postranking.rules.rule_kinds import Hide
from podium.postranking.settings import Settings
from podium.typing import Document
from podium.work_budget import check_time


def make_post_ranking(
    placed: PlacedList, settings: Settings, *, explain: bool = True
) -> PostRanking:
    """Return the result of a placed list: its order, its moves and the outcome of each rule.

    Without `explain`, moves do not name the rules behind them; finding these takes the most time.
    """
    check_time()
    prepared, solution, order, proved_optimal = placed
    n_shown = len(order)
    n_listed = len(prepared.listing.docs) - prepared.n_inserted
    hidden_rows = prepared.hidden_rows
    if prepared.n_inserted:  # a document that a rule inserted and another one hides was never there
        hidden_rows = hidden_rows[hidden_rows < n_listed]
    rows = np.concatenate([prepared.shown_rows[order], hidden_rows])
    place = prepared.places(order)
    docs = tuple(map(prepared.listing.docs.__getitem__, rows.tolist()))
    return PostRanking(
        order=docs[:n_shown],
        scores=tuple(solution.scores[order].tolist()),
        rules=tuple(_rule_outcomes(prepared, place)),
        hidden=docs[n_shown:],
        origins=tuple((rows + 1).tolist()),
        because=_reasons_by_row(prepared, solution, place, rows) if explain else (),
        method=settings.method.name,
        value=float(solution.value),
        iterations=int(solution.iterations),
        gradient_norm=float(solution.gradient_norm),
        converged=bool(solution.converged),
        proved_optimal=proved_optimal,
        inserted=_inserted_docs(docs, rows, n_listed) if prepared.n_inserted else (),
    )


def _inserted_docs(
    docs: tuple[Document, ...], rows: NDArray[np.int64], n_listed: int
) -> tuple[Document, ...]:
    return tuple(doc for doc, row in zip(docs, rows.tolist(), strict=True) if row >= n_listed)


def _reasons_by_row(
    prepared: PreparedList, solution: Solution, place: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[tuple[Rule, ...], ...]:
    """Return the rules that moved each row; for an inserted row, first those that inserted it."""
    because = _move_reasons(prepared, solution, place).rules_of(rows)
    if not prepared.n_inserted:
        return because
    n_listed = len(prepared.listing.docs) - prepared.n_inserted
    inserting: dict[int, list[Rule]] = {}
    for _, bound_rule in prepared.bound_rules:
        if bound_rule.rule.inserts:
            for row in bound_rule.rows:
                inserting.setdefault(row, []).append(bound_rule.rule)
    return tuple(
        tuple(dict.fromkeys([*inserting.get(row, ()), *own])) if row >= n_listed else own
        for row, own in zip(rows.tolist(), because, strict=True)
    )


def _move_reasons(
    prepared: PreparedList, solution: Solution, place: NDArray[np.int64]
) -> MoveReasons:
    """Find why each document moved, stage by stage.

    First, hard rules hide documents, and the others close the gaps. Then soft rules give scores,
    which give an order. Then hard rules change places.
    """
    reasons = MoveReasons(len(place), prepared.rules)
    before = start = np.arange(1, len(place) + 1)
    if not prepared.hard_rules:
        reasons.add_stage(prepared.soft_rules, start, place)
        return reasons
    if len(prepared.hidden_rows):
        before = prepared.places(np.arange(len(prepared.shown_rows)))
        hides = [pair for pair in prepared.hard_rules if isinstance(pair[1].rule, Hide)]
        reasons.add_stage(hides, start, before)
    scored = prepared.places(by_score(solution.scores))
    reasons.add_stage(prepared.soft_rules, before, scored)
    scored_places = scored[prepared.shown_rows].tolist()
    # Only hard rules that the order by score breaks moved anything.
    broken = {
        number
        for number, bound_rule in prepared.rules_on_shown
        if prepared.is_hard(number) and bound_rule.slack(scored_places)
    }
    reasons.add_stage([pair for pair in prepared.hard_rules if pair[0] in broken], scored, place)
    return reasons


def _rule_outcomes(prepared: PreparedList, place: NDArray[np.int64]) -> Iterator[RuleOutcome]:
    """Yield the outcome of each rule if row i stands at place[i]; hidden rows come last."""
    places = place[prepared.shown_rows].tolist()
    slack, absent = [0] * len(prepared.rules), {}
    for number, bound_rule in chain(prepared.rules_on_shown, prepared.unmatched_on_shown):
        slack[number] = max(slack[number], bound_rule.slack(places))
        if bound_rule.absent:
            absent[number] = bound_rule.absent
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
