"""Merge of two changed copies of a rule set, rule by rule (a three-way merge)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from podium.rule_history.rule_changes import RuleRecord, canonical, pair_rules


@dataclass(frozen=True)
class MergeConflict:
    """A rule that both sides changed in different ways; None: that side removed it.

    `number` is the place of the rule in the merged set; None if the merged set lacks it.
    """

    base: RuleRecord
    mine: RuleRecord | None
    theirs: RuleRecord | None
    number: int | None


@dataclass(frozen=True)
class MergedRules:
    """The rules of both sides; where they conflict, the rules are mine."""

    rules: list[RuleRecord]
    conflicts: list[MergeConflict]


def merge_rules(
    base: Sequence[RuleRecord], mine: Sequence[RuleRecord], theirs: Sequence[RuleRecord]
) -> MergedRules:
    """Merge my changes of a rule set with those of somebody else; nothing is lost.

    A rule that one side changed or removed is taken from that side. If both did, and differently, the
    rule of my side is used and the conflict is listed. New rules of both sides are added, equal ones once.

    Examples
    --------
    >>> base = [{"rule": "hide", "docs": "a"}, {"rule": "hide", "docs": "b"}]
    >>> mine = [*base, {"rule": "hide", "docs": "c"}]
    >>> merged = merge_rules(base, mine, base[1:])
    >>> [rule["docs"] for rule in merged.rules], merged.conflicts
    (['b', 'c'], [])
    """
    my_partners, their_partners = pair_rules(base, mine), pair_rules(base, theirs)
    in_base = {own: number for number, own in enumerate(my_partners) if own is not None}
    rules: list[RuleRecord] = []
    conflicts: list[MergeConflict] = []
    place: dict[int, int] = {}
    for number, rule in enumerate(mine):
        origin = in_base.get(number)
        if origin is None:
            rules.append(rule)
            continue
        other = their_partners[origin]
        their_rule = None if other is None else theirs[other]
        rule_left, is_conflict = _choose(base[origin], rule, their_rule)
        if rule_left is not None:
            place[origin] = len(rules)
            rules.append(rule_left)
        if is_conflict:
            conflicts.append(MergeConflict(base[origin], rule, their_rule, place.get(origin)))
    conflicts += _removed_conflicts(base, my_partners, their_partners, theirs)
    _add_new(rules, mine, theirs, their_partners, place)
    return MergedRules(rules, conflicts)


def _choose(
    base: RuleRecord, mine: RuleRecord, theirs: RuleRecord | None
) -> tuple[RuleRecord | None, bool]:
    """Return the rule of two sides to keep, and whether the sides conflict."""
    if theirs is not None and canonical(mine) == canonical(theirs):
        return mine, False
    if canonical(mine) == canonical(base):
        return theirs, False
    if theirs is not None and canonical(theirs) == canonical(base):
        return mine, False
    return mine, True


def _removed_conflicts(
    base: Sequence[RuleRecord], my_partners: Sequence[int | None],
    their_partners: Sequence[int | None], theirs: Sequence[RuleRecord],
) -> list[MergeConflict]:  # fmt: skip
    """Return the rules that I removed and the other side changed."""
    pairs = zip(base, my_partners, their_partners, strict=True)
    return [
        MergeConflict(rule, None, theirs[other], None)
        for rule, own, other in pairs
        if own is None and other is not None and canonical(theirs[other]) != canonical(rule)
    ]


def _add_new(
    rules: list[RuleRecord], mine: Sequence[RuleRecord], theirs: Sequence[RuleRecord],
    their_partners: Sequence[int | None], place: dict[int, int],
) -> None:  # fmt: skip
    """Insert the new rules of the other side after the rules that they follow there."""
    origin = {other: number for number, other in enumerate(their_partners) if other is not None}
    own = {canonical(rule) for rule in mine}
    after, shift = 0, 0
    for number, rule in enumerate(theirs):
        if number in origin:
            last = place.get(origin[number])
            after = after if last is None else last + 1 + shift
        elif canonical(rule) not in own:
            rules.insert(after, rule)
            after, shift = after + 1, shift + 1
