"""What rules did to a list, by their numbers: hard rules that gave way, moves and outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import (
    DegradedReason,
    MoveInfo,
    RuleInfo,
    UnappliedRule,
    YieldedRule,
)
from podium.apps.serving.error_answers import refusal_of
from podium.errors import ConflictError
from podium.postranking import PostRanking, Rule, RuleRequest
from podium.postranking.result import RuleOutcome
from podium.postranking.rule_strength import YIELD_TEXTS, StrengthOrder
from podium.postranking.settings import DEFAULT_CLASSES
from podium.work_budget import check_time

LEFT_OUT = "was left out"
"""The note of a rule of the service that is on and was not applied."""


class ActiveRules(NamedTuple):
    """The rules of a request or of the service, and the numbers of those that are on."""

    rules: tuple[Rule, ...]
    numbers: list[int]
    request: RuleRequest
    classes: tuple[str, ...] = DEFAULT_CLASSES
    are_served: bool = False
    """Whether they are the rules of the service, which never refuse a list."""
    failure: DegradedReason | None = None
    """Why the service did not find out which of its rules are on."""

    @property
    def active(self) -> tuple[Rule, ...]:
        """The rules that are on."""
        return tuple(map(self.rules.__getitem__, self.numbers))


@dataclass(frozen=True)
class RuledList:
    """A list after its rules: ids, best first, hidden ids, hard rules that gave way or lack fields.

    Moves and outcomes of rules are there if the request asks for an explanation.
    """

    ids: list[str]
    hidden: list[str]
    yielded: list[YieldedRule]
    unapplied_rules: list[UnappliedRule] = field(default_factory=list)
    inserted: list[str] = field(default_factory=list)
    moves: list[MoveInfo] | None = None
    rules: list[RuleInfo] | None = None
    reason: DegradedReason | None = None
    """Why rules of the service were left out."""

    @property
    def is_degraded(self) -> bool:
        """Whether a rule gave way or was left out."""
        return bool(self.yielded) or self.reason is not None


def yielded_rules(result: PostRanking, chosen: ActiveRules) -> list[YieldedRule]:
    """Return the hard rules that gave way, by their numbers, and the rules they gave way to."""
    outcomes = list(zip(chosen.numbers, result.rules, strict=True))
    if not any(outcome.yielded for _, outcome in outcomes):
        return []
    numbers = _numbers(chosen)
    return [
        YieldedRule(
            number=number,
            rule=outcome.rule.label,
            undecided=outcome.undecided,
            to=[numbers[id(rule)] for rule in outcome.yielded_to],
            why=_why_yielded(outcome, chosen.classes),
        )
        for number, outcome in outcomes
        if outcome.yielded
    ]


def _why_yielded(outcome: RuleOutcome, classes: tuple[str, ...]) -> str:
    """Return in words why a hard rule gave way, and not those with which it conflicts."""
    if outcome.undecided:
        return "the search for an order reached its limit"
    if not outcome.yielded_to:
        return "no order of the list meets it"
    weakest, reason = StrengthOrder(classes).find_weakest([outcome.rule, *outcome.yielded_to])
    return YIELD_TEXTS[reason] if weakest == 0 else "stronger rules left it no place"


def conflict_refusal(error: ConflictError, chosen: ActiveRules) -> Refusal:
    """Return 409 for hard rules that cannot hold together, with their numbers."""
    numbers = _numbers(chosen)
    refusal = refusal_of(error)
    refusal.details["numbers"] = [numbers[id(rule)] for rule in error.rules]
    return refusal


def _numbers(chosen: ActiveRules) -> dict[int, int]:
    """Return the numbers of rules by their identity: two rules may be equal."""
    return {id(chosen.rules[number]): number for number in chosen.numbers}


def moves_of(result: PostRanking, chosen: ActiveRules) -> list[MoveInfo]:
    """Return the documents that rules moved or hid, with these rules."""
    numbers = _numbers(chosen)
    return [
        MoveInfo(
            id=str(move.doc),
            origin=move.origin,
            to=move.to,
            because=[numbers[id(rule)] for rule in move.because],
        )
        for move in result.moved
    ]


def outcomes_of(result: PostRanking, chosen: ActiveRules) -> list[RuleInfo]:
    """Return the outcome of each rule; a rule that is off has the reason as its note."""
    active = dict(zip(chosen.numbers, result.rules, strict=True))
    outcomes = []
    for number, rule in enumerate(chosen.rules):
        outcome = active.get(number)
        if outcome is None:
            check_time()
            note = chosen.request.reason_off(rule) or LEFT_OUT
            outcomes.append(RuleInfo(rule=rule.label, satisfied=True, slack=0, note=note))
            continue
        outcomes.append(
            RuleInfo(
                rule=rule.label,
                satisfied=outcome.satisfied,
                slack=outcome.slack,
                note=outcome.note,
                yielded=outcome.yielded,
            )
        )
    return outcomes
