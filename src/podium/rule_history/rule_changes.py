"""Differences between two versions of a rule set: rules that were added, removed or changed."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

RuleRecord = Mapping[str, Any]
"""A rule as a mapping of a rule file."""
TARGETS = ("docs", "where", "each", "first", "second")
"""Keys that say which documents a rule is about."""


@dataclass(frozen=True)
class RuleChange:
    """One rule that differs between two versions.

    Parameters
    ----------
    before, after
        The rule in both versions; None if a version lacks it.
    number
        Its place in the second version, or in the first one if it was removed, from 0.
    """

    before: RuleRecord | None
    after: RuleRecord | None
    number: int

    @property
    def kind(self) -> Literal["added", "removed", "changed"]:
        """What became of the rule."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    def record(self) -> dict[str, Any]:
        """Return the change as JSON, as the audit log has it."""
        sides = {"before": self.before, "after": self.after}
        own = {name: dict(rule) for name, rule in sides.items() if rule is not None}
        return {"change": self.kind, "number": self.number, **own}


def rule_changes(before: Sequence[RuleRecord], after: Sequence[RuleRecord]) -> list[RuleChange]:
    """Return the rules that differ between two versions; a rule that only moved does not differ.

    Examples
    --------
    >>> old = [{"rule": "hide", "docs": "a"}, {"rule": "top-k", "docs": "b", "k": 3}]
    >>> new = [{"rule": "top-k", "docs": "b", "k": 5}, {"rule": "hide", "docs": "a"}]
    >>> [(change.kind, change.after) for change in rule_changes(old, new)]
    [('changed', {'rule': 'top-k', 'docs': 'b', 'k': 5})]
    """
    partners = pair_rules(before, after)
    paired = {partner for partner in partners if partner is not None}
    changes = [
        RuleChange(before[number], None, number)
        for number, partner in enumerate(partners)
        if partner is None
    ]
    origin = {partner: number for number, partner in enumerate(partners) if partner is not None}
    for number, rule in enumerate(after):
        if number not in paired:
            changes.append(RuleChange(None, rule, number))
        elif canonical(before[origin[number]]) != canonical(rule):
            changes.append(RuleChange(before[origin[number]], rule, number))
    return changes


def pair_rules(before: Sequence[RuleRecord], after: Sequence[RuleRecord]) -> list[int | None]:
    """Return for each rule of a version its number in another version; None if it is not there.

    Equal rules are pairs, wherever they moved. Of the others, rules with the same name are pairs, then
    those of one kind that are about the same documents and queries, then those about the same documents.
    """
    partners: list[int | None] = [None] * len(before)
    is_free = [True] * len(after)
    for key in (canonical, _name, _subject, _kind):
        waiting: dict[Any, deque[int]] = defaultdict(deque)
        for number, rule in enumerate(after):
            if is_free[number] and (own := key(rule)) is not None:
                waiting[own].append(number)
        for number, rule in enumerate(before):
            if partners[number] is None and (own := key(rule)) is not None and waiting.get(own):
                partner = waiting[own].popleft()
                partners[number], is_free[partner] = partner, False
    return partners


def canonical(rule: RuleRecord) -> str:
    """Return a text that is equal for equal rules."""
    return json.dumps(rule, sort_keys=True, default=str)


def _name(rule: RuleRecord) -> Any:
    return rule.get("name") or None


def _subject(rule: RuleRecord) -> Any:
    """Return what a rule is about: its kind, its documents and its query."""
    about = {name: rule.get(name) for name in (*TARGETS, "query", "pattern", "when")}
    return canonical({"rule": rule.get("rule"), **about})


def _kind(rule: RuleRecord) -> Any:
    """Return the kind of a rule and its documents, for any query."""
    about = {name: rule.get(name) for name in TARGETS}
    return canonical({"rule": rule.get("rule"), **about})
