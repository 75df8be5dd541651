"""Hard rules that cannot hold together: minimal sets, errors that help, and rules that give way."""

from dataclasses import replace

import numpy as np
import pytest

from podium.errors import ConflictError, UndecidedError
from podium.postranking import (
    Apart,
    AtLeast,
    AtMost,
    Before,
    Each,
    Hide,
    NotTopK,
    Pin,
    Together,
    TopK,
    Where,
    postrank,
)
from podium.postranking.conflicts import minimal_conflict
from podium.postranking.rules.selectors import ids
from tests.support.hard_rules import AsGiven, any_rule, can_hold


def conflict(rules, n=6, **settings):
    """The rules that a ConflictError names."""
    with pytest.raises(ConflictError) as error:
        postrank(list(range(n)), rules, method=AsGiven(), **settings)
    return error.value


def test_minimal_conflict_is_minimal():
    rng = np.random.default_rng(0)
    for _ in range(300):
        size = int(rng.integers(2, 9))
        bad = [set(rng.permutation(size)[: rng.integers(1, 4)].tolist()) for _ in range(3)]

        def possible(numbers, bad=bad):
            return not any(part <= set(numbers) for part in bad)

        if possible(range(size)):
            continue
        for monotone in (False, True):
            part = minimal_conflict(range(size), possible, monotone)
            assert not possible(part)
            assert all(possible([k for k in part if k != one]) for one in part)


def test_minimal_conflict_needs_few_questions():
    asked = 0

    def possible(numbers):
        nonlocal asked
        asked += 1
        return not {4321, 7654} <= set(numbers)

    assert minimal_conflict(range(10_000), possible, monotone=True) == [4321, 7654]
    assert asked < 100


def test_what_is_undecided_on_the_way_is_proved_at_the_end_or_said():
    def unsure(numbers):
        if len(numbers) > 3:
            raise UndecidedError("too many")
        return not {1, 2} <= set(numbers)

    assert minimal_conflict([1, 2, 3], unsure) == [1, 2]

    def never_sure(numbers):
        if len(numbers) == 3:
            return False
        raise UndecidedError("who knows")

    with pytest.raises(UndecidedError):
        minimal_conflict([1, 2, 3], never_sure)


def test_rules_that_make_others_possible():
    """{1} is impossible and {1, 2} is not: each rule is left out once more."""

    def possible(numbers):
        return set(numbers) not in ({1}, {1, 3}, {1, 2, 3})

    part = minimal_conflict([1, 2, 3], possible)
    assert part == [1]


@pytest.mark.parametrize(
    "rule",
    [
        AtLeast([0, 1], 3, 5), NotTopK(0, 6), NotTopK(0, 9), Pin(0, 7), AtMost([0, 1], 1, 6),
        AtLeast([0, 1, 2], 3, 2), Apart([0, 1], 5), Apart([0, 1, 2], 2),
    ],
    ids=str,
)  # fmt: skip
def test_a_rule_that_is_impossible_alone(rule):
    hard = replace(rule, hard=True)
    others = [TopK(3, 2, hard=True), Pin(4, 4, hard=True)]
    error = conflict([others[0], hard, others[1]])
    assert error.rules == (hard,)
    assert "no order of this list meets the hard rule" in str(error)


@pytest.mark.parametrize(
    "rules",
    [
        [Pin(0, 1, hard=True), Pin(0, 2, hard=True)],
        [Pin(0, 1, hard=True), Pin(1, 1, hard=True)],
        [TopK(0, 2, hard=True), NotTopK(0, 2, hard=True)],
        [TopK(0, 2, hard=True), TopK(1, 2, hard=True), TopK(2, 2, hard=True)],
        [Before(0, 1, hard=True), Before(1, 2, hard=True), Before(2, 0, hard=True)],
        [Together([0, 1], hard=True), Apart([0, 1], hard=True)],
        [Together([0, 1, 2], hard=True), Pin(0, 1, hard=True), Pin(3, 2, hard=True)],
        [AtMost([0, 1, 2], 1, 3, hard=True), AtMost([3, 4, 5], 1, 3, hard=True)],
        [Hide(0, hard=True), TopK(0, 3, hard=True)],
        [Hide(0, hard=True), Pin(1, 6, hard=True)],
        [Hide(0, hard=True), AtLeast([0, 1], 2, 4, hard=True)],
    ],
    ids=str,
)
def test_conflicts_are_found_among_others(rules):
    others = [Before(4, 5, hard=True), TopK(4, 5, hard=True), NotTopK(5, 2, hard=True)]
    error = conflict([others[0], *rules, *others[1:]])
    assert set(error.rules) == set(rules)
    assert all(rule.label in str(error) for rule in rules)
    assert "remove one, make one soft" in str(error)
    assert "conflicts='yield'" in str(error)


def test_top_k_beyond_the_list_is_harmless():
    result = postrank(list("abc"), [TopK("c", 9, hard=True)], method=AsGiven())
    assert "".join(result) == "abc"


@pytest.mark.parametrize("chunk", range(4))
def test_random_rules_against_brute_force(chunk):
    """An order where there is one, and otherwise a set that is impossible, but not without any one."""
    rng = np.random.default_rng(chunk)
    impossible = 0
    for _ in range(150):
        n = int(rng.integers(2, 7))
        rules = [any_rule(rng, n) for _ in range(rng.integers(2, 9))]
        if can_hold(rules, n):
            result = postrank(list(range(n)), rules, method=AsGiven())
            assert not result.violated
            continue
        impossible += 1
        found = conflict(rules, n).rules
        assert not can_hold(found, n), rules
        for one in found:
            assert can_hold([rule for rule in found if rule is not one], n), (rules, found)
    assert impossible > 40


def test_random_rules_on_groups_longer_than_reports_print_them():
    rng = np.random.default_rng(7)
    n, longest, impossible = 7, 0, 0
    for _ in range(25):
        rules = [any_rule(rng, n, most=7) for _ in range(rng.integers(2, 6))]
        longest = max(longest, *(len(ids(s)) for rule in rules for s in rule.selectors))
        if can_hold(rules, n):
            assert not postrank(list(range(n)), rules, method=AsGiven()).violated
            continue
        impossible += 1
        found = conflict(rules, n).rules
        assert not can_hold(found, n), rules
        for one in found:
            assert can_hold([rule for rule in found if rule is not one], n), (rules, found)
    assert longest > 5
    assert 5 < impossible < 20


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (AtMost([*range(8)], 2, 3), AtMost([*range(5), 8, 9], 0, 3)),
        (Together([*range(7)]), Together([*range(5), 8, 9])),
        (Before(10, [*range(7)]), Before(10, [*range(5), 8, 9])),
    ],
    ids=str,
)
def test_rules_whose_texts_are_the_same_are_others(one, other):
    """Their first five documents are the same; the conflict is with the one that makes it."""
    one, other = (replace(rule, hard=True) for rule in (one, other))
    assert str(one).split("]")[0] == str(other).split("]")[0]
    against = {
        AtMost: AtLeast([8, 9], 1, 3, hard=True),
        Together: Apart([8, 9], 7, hard=True),
        Before: Before(8, 10, hard=True),
    }[type(one)]
    for rules in ([one, other, against], [other, against, one]):
        assert set(conflict(rules, 11).rules) == {other, against}
        ranked = [replace(rule, priority=int(rule is not other)) for rule in rules]
        result = postrank(list(range(11)), ranked, method=AsGiven(), conflicts="yield")
        yielded = [outcome.rule for outcome in result.rules if outcome.yielded]
        assert yielded == [replace(other, priority=0)]


def test_a_document_on_both_sides_is_never_before_itself():
    records = [{"id": at, "x": at} for at in range(5)]
    rule = Before(Where("x < 2"), Where("x > 0"), hard=True)
    with pytest.raises(
        ConflictError, match=r"no order of this list meets the hard rule Before\(x < 2, x > 0\)"
    ):
        postrank(records, [rule])
    soft = postrank(records, [replace(rule, hard=False)])
    assert soft.rules[0].slack == 1  # 0 before 1 before the others, and 1 is on both sides
    alone = postrank(records, [Before(Where("x == 3"), Where("x == 3"))])
    assert list(alone) == list(range(5))
    assert not alone.rules[0].satisfied


def test_the_least_priority_gives_way():
    rules = [
        Pin("a", 3, hard=True, priority=2), Pin("b", 3, hard=True, priority=1),
        TopK("f", 1, hard=True), NotTopK("f", 4, hard=True, priority=5),
    ]  # fmt: skip
    result = postrank(list("abcdef"), rules, method=AsGiven(), conflicts="yield")
    assert "".join(result) == "bcadef"
    assert [outcome.yielded for outcome in result.rules] == [False, True, True, False]
    assert [outcome.satisfied for outcome in result.rules] == [True, False, False, True]


@pytest.mark.parametrize("most", [4, 8])
def test_what_gives_way_does_not_depend_on_the_order_of_the_rules(most):
    rng = np.random.default_rng(3)
    yielded = 0
    for _ in range(60):
        n = int(rng.integers(most - 1, most + 4))
        rules = list({any_rule(rng, n, most) for _ in range(6)})
        ranks = rng.permutation(len(rules)).tolist()
        rules = [replace(rule, priority=p) for rule, p in zip(rules, ranks, strict=True)]
        outcomes = []
        for order in (range(len(rules)), rng.permutation(len(rules))):
            mixed = [rules[k] for k in order]
            result = postrank(list(range(n)), mixed, method=AsGiven(), conflicts="yield")
            lost = {outcome.rule for outcome in result.rules if outcome.yielded}
            outcomes.append((tuple(result), lost))
            yielded += bool(lost)
        assert outcomes[0] == outcomes[1]
    assert yielded > 20


def test_rules_on_long_groups_are_told_apart():
    rules = [TopK(tuple("abcdef"), 6, hard=True), TopK(tuple("abcdeg"), 6, hard=True)]
    for given in (rules, rules[::-1]):
        with pytest.raises(ConflictError) as error:
            postrank(list("abcdefghij"), given)
        assert set(error.value.rules) == set(rules)


def test_a_conflict_that_a_hidden_document_settles_is_none():
    rules = [
        Hide("c", hard=True, priority=5),
        Together(["a", "c", "d"], hard=True, priority=4),
        Pin("b", 3, hard=True, priority=3),
        Hide("e", hard=True, priority=2),
        TopK("e", 2, hard=True, priority=1),
    ]
    assert postrank(list("abcde"), rules[:3]).order == ("a", "d", "b", "e")
    with pytest.raises(ConflictError) as error:
        postrank(list("abcde"), rules)
    assert set(error.value.rules) == set(rules[3:])
    result = postrank(list("abcde"), rules, conflicts="yield")
    assert result.order == ("a", "d", "b")
    assert [outcome.yielded for outcome in result.rules] == [False] * 4 + [True]


def conflict_text(documents, *rules):
    with pytest.raises(ConflictError) as caught:
        postrank(documents, rules)
    return str(caught.value)


def test_a_conflict_of_counts_says_why_in_numbers():
    """Two brands of 3 documents each, one hidden: at most 1 of each leaves 2 documents for 4 places."""
    brands = [{"id": f"{brand}{at}", "brand": brand} for brand in "ab" for at in range(3)]
    most = AtMost(Each("brand"), 1, 4, hard=True)
    assert (
        "(the list has 2 values of brand, and at most 1 of each may be in the top 4: "
        "2 documents for 4 places; k: 2 would fit)" in conflict_text(brands, most)
    )
    postrank(brands, [AtMost(Each("brand"), 1, 2, hard=True)])  # and it does
    # With a document of no brand, 3 documents for 3 places fit, until it is hidden.
    most = AtMost(Each("brand"), 1, 3, hard=True)
    postrank([*brands, {"id": "other"}], [most])
    assert (
        "(the list has 2 values of brand after 1 document is hidden, and at most 1 of each may be in the "
        "top 3: 2 documents for 3 places; k: 2 would fit)"
        in conflict_text([*brands, {"id": "other"}], most, Hide("other", hard=True))
    )
    group = AtMost(("a0", "a1", "a2", "b0"), 1, 4, hard=True)
    assert (
        "(the list has 4 documents of the group and 2 others, and at most 1 of them may be in the top 4: "
        "3 documents for 4 places; k: 3 would fit)" in conflict_text(brands, group)
    )
    least = AtLeast(("a0", "a1"), 2, 3, hard=True)
    assert (
        "(a group has 1 document after 1 document is hidden, and the rule needs 2)"
        in conflict_text(brands, least, Hide("a0", hard=True))
    )


def test_a_conflict_that_counting_does_not_show_has_no_numbers():
    both = [{"id": at, "tags": ["x", "y"]} for at in "abc"]
    assert "values of tags" not in conflict_text(both, AtMost(Each("tags"), 1, 2, hard=True))
    pins = conflict_text(["a", "b"], Pin("a", 1, hard=True), Pin("b", 1, hard=True))
    assert "Pin('a', 1); Pin('b', 1); without any one of them" in pins
