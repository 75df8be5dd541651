"""The contract of a rule: its slack is 0 exactly if its hard constraints hold."""

from __future__ import annotations

import dataclasses
from itertools import permutations
from typing import Any

from podium.errors import ConflictError, ContractError
from podium.postranking.binding import bind
from podium.postranking.list_input import read_list
from podium.postranking.postrank import postrank
from podium.postranking.rules.rule import BoundRule, Rule
from podium.testing.contract import Contract


def check_rule(rule: Rule, documents: list[Any]) -> None:
    """Check a rule on every order of a short list.

    Parameters
    ----------
    rule
        The rule, soft or hard; both forms are checked.
    documents
        At most seven ids, or records with an ``id`` and fields; the rule must name some of them.

    Examples
    --------
    >>> from podium.postranking import Together
    >>> check_rule(Together(["a", "e"]), list("abcdef"))
    """
    contract = Contract(type(rule).__name__)
    contract.require(
        bool(getattr(rule, "kind", "")), "kind must be the name of the rule in rule files"
    )
    contract.require(2 <= len(documents) <= 7, "expected 2 to 7 documents for the check")
    listing, _ = read_list(documents)
    bound_rules = bind(rule, listing)
    contract.require(
        any(bound_rule.rows for bound_rule in bound_rules),
        "the rule must name a document of the list",
    )
    for bound_rule in bound_rules:
        _check_slack(contract, bound_rule)
    _check_hard(contract, rule, documents)
    original = max(bound_rule.slack(range(1, bound_rule.n + 1)) for bound_rule in bound_rules)
    _check_soft(contract, rule, documents, original)


def _check_slack(contract: Contract, bound_rule: BoundRule) -> None:
    constraints = list(bound_rule.rule.constraints(bound_rule))
    for place in permutations(range(1, bound_rule.n + 1)):
        slack = bound_rule.slack(place)
        contract.require(slack >= 0, "slack must be 0 or more")
        is_met = all(constraint.is_met(place) for constraint in constraints)
        clause = f"slack must be 0 exactly if the constraints hold; at {place} it is {slack}"
        contract.require((slack == 0) == is_met, clause)


def _check_soft(contract: Contract, rule: Rule, documents: list[Any], original: int) -> None:
    light, heavy = (
        postrank(documents, [dataclasses.replace(rule, hard=False, weight=weight)]).rules[0].slack
        for weight in (0.1, 100.0)
    )
    clause = "a larger weight must not make a soft rule more violated"
    contract.require(heavy <= light, clause)
    clause = "a soft rule with a large weight must be less violated than in the original list"
    contract.require(heavy < original or original == 0, clause)


def _check_hard(contract: Contract, rule: Rule, documents: list[Any]) -> None:
    try:
        result = postrank(documents, [dataclasses.replace(rule, hard=True)])
    except ConflictError as error:
        raise ContractError(
            f"{contract.subject}: expected a list that allows it; {error}"
        ) from error
    contract.require(result.rules[0].satisfied, "a hard rule that can hold must hold")
