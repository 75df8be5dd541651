"""Differences and merges of rule sets, against a slow merge and on generated edits."""

import json

from hypothesis import given
from hypothesis import strategies as st

from podium.rule_history import merge_rules, rule_changes
from podium.rule_history.rule_changes import pair_rules

A, B, C, D = ({"rule": "hide", "docs": one} for one in "abcd")
TOP = {"rule": "top-k", "docs": "t", "k": 3}


def kinds(before, after):
    return [(change.kind, change.number) for change in rule_changes(before, after)]


def test_changes_name_what_was_added_removed_and_changed():
    assert kinds([A, TOP], [TOP, A]) == []  # only moved
    assert kinds([A, B], [B]) == [("removed", 0)]
    assert kinds([A], [C, A]) == [("added", 0)]
    (change,) = rule_changes([A, TOP], [A, {**TOP, "k": 5}])
    assert (change.kind, change.number, change.before, change.after) == (
        "changed",
        1,
        TOP,
        {**TOP, "k": 5},
    )
    assert change.record() == {
        "change": "changed",
        "number": 1,
        "before": TOP,
        "after": {**TOP, "k": 5},
    }


def test_a_named_rule_keeps_its_identity_whatever_else_changes():
    before = [{**A, "name": "sold out"}]
    after = [{"rule": "hide", "where": "stock == 0", "name": "sold out"}]
    assert kinds(before, after) == [("changed", 0)]


def test_equal_rules_are_paired_one_by_one():
    assert pair_rules([A, A], [A]) == [0, None]
    assert pair_rules([A], [A, A]) == [0]


def test_both_sides_are_kept_where_they_touch_different_rules():
    merged = merge_rules([A, B, TOP], [A, B, {**TOP, "k": 5}, C], [B, TOP, D])
    assert merged.rules == [B, {**TOP, "k": 5}, D, C]
    assert merged.conflicts == []


def test_equal_changes_of_both_sides_are_one():
    assert merge_rules([TOP], [{**TOP, "k": 5}, C], [{**TOP, "k": 5}, C]).rules == [
        {**TOP, "k": 5},
        C,
    ]
    assert merge_rules([A, B], [B], [B]).rules == [B]


def test_conflicts_are_listed_and_mine_is_used():
    mine, theirs = {**TOP, "k": 5}, {**TOP, "k": 7}
    merged = merge_rules([A, TOP], [A, mine], [A, theirs])
    assert merged.rules == [A, mine]
    (conflict,) = merged.conflicts
    assert (conflict.base, conflict.mine, conflict.theirs, conflict.number) == (
        TOP,
        mine,
        theirs,
        1,
    )
    (conflict,) = merge_rules([TOP], [], [theirs]).conflicts
    assert (conflict.mine, conflict.theirs, conflict.number) == (None, theirs, None)
    (conflict,) = merge_rules([TOP], [mine], []).conflicts
    assert (conflict.mine, conflict.theirs, conflict.number) == (mine, None, 0)


RULES = st.lists(st.sampled_from([A, B, C, D, TOP]), unique_by=lambda rule: rule["docs"])


def as_set(rules):
    return {json.dumps(rule, sort_keys=True) for rule in rules}


@given(RULES, RULES, RULES)
def test_a_merge_of_sets_is_that_of_mathematics(base, mine, theirs):
    """Rules that are only added and removed: nothing is lost, nothing comes back, nothing comes twice."""
    merged = merge_rules(base, mine, theirs)
    b, m, t = as_set(base), as_set(mine), as_set(theirs)
    assert as_set(merged.rules) == (m & t) | (m - b) | (t - b)
    assert len(merged.rules) == len(as_set(merged.rules))
    assert merged.conflicts == []


@given(RULES, RULES)
def test_a_merge_with_an_unchanged_side_is_the_other_side(base, other):
    assert merge_rules(base, other, base).rules == other
    assert as_set(merge_rules(base, base, other).rules) == as_set(other)
    assert rule_changes(other, other) == []
