"""Why hard rules contradict each other on a list, in numbers: too few documents are left for a rule."""

from __future__ import annotations

from collections.abc import Sequence

from podium.postranking.preparation import PreparedList
from podium.postranking.rules.rule import BoundRule
from podium.postranking.rules.rule_kinds import AtLeast, AtMost, Hide
from podium.postranking.rules.selectors import Each


def conflict_reason(prepared: PreparedList, numbers: Sequence[int]) -> str:
    """Return why a minimal conflict has no order, if counting its documents shows it; else empty.

    It counts one rule `AtMost` or `AtLeast`, alone or with rules that hide documents.
    """
    hides = [number for number in numbers if isinstance(prepared.rules[number], Hide)]
    others = [number for number in numbers if number not in hides]
    if len(others) != 1:
        return ""
    rule, rows = prepared.rules[others[0]], prepared.visible_rows(hides)
    bound_rules = [bound for number, bound in prepared.rules_on(rows) if number == others[0]]
    n_hidden = len(prepared.listing.docs) - len(rows)
    if isinstance(rule, AtMost):
        return _too_few_allowed(rule, bound_rules, len(rows), n_hidden)
    if isinstance(rule, AtLeast):
        return _too_few_left(rule, bound_rules, n_hidden)
    return ""


def _too_few_allowed(
    rule: AtMost, bound_rules: Sequence[BoundRule], n_shown: int, n_hidden: int
) -> str:
    """Return how many documents may stand in the top k, if these are too few to fill it.

    Of groups without common documents, min(size, m) each may, and all documents of no group.
    """
    sizes = [len(bound.rows) for bound in bound_rules if bound.rows]
    if len({row for bound in bound_rules for row in bound.rows}) < sum(sizes):
        return ""  # a document of two groups counts twice
    n_others = n_shown - sum(sizes)
    allowed = sum(min(size, rule.m) for size in sizes) + n_others
    if allowed >= min(rule.k, n_shown):
        return ""
    groups = (
        f"{len(sizes)} {'value' if len(sizes) == 1 else 'values'} of {rule.group.field}"
        if isinstance(rule.group, Each)
        else f"{sizes[0]} documents of the group"
    )
    limit = (
        f"at most {rule.m} of each" if isinstance(rule.group, Each) else f"at most {rule.m} of them"
    )
    others = f" and {n_others} others" if n_others else ""
    remedy = f"; k: {allowed} would fit" if allowed else ""
    return (
        f"the list has {groups}{others}{_after_hiding(n_hidden)}, and {limit} may be in the top {rule.k}: "
        f"{allowed} documents for {min(rule.k, n_shown)} places{remedy}"
    )


def _too_few_left(rule: AtLeast, bound_rules: Sequence[BoundRule], n_hidden: int) -> str:
    """Return how many documents of a group are left, if the rule needs more."""
    fewest = min((len(bound.rows) for bound in bound_rules), default=rule.m)
    if fewest >= rule.m:
        return ""
    return (
        f"a group has {fewest} {'document' if fewest == 1 else 'documents'}{_after_hiding(n_hidden)}, "
        f"and the rule needs {rule.m}"
    )


def _after_hiding(n_hidden: int) -> str:
    if not n_hidden:
        return ""
    return f" after {n_hidden} {'document is' if n_hidden == 1 else 'documents are'} hidden"
