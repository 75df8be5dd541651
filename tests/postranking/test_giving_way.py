"""Hard rules that give way: always a list, which rules give way, and what holds then."""

from dataclasses import replace

import numpy as np
import pytest

from podium.errors import UndecidedError
from podium.postranking import (
    Apart,
    AtLeast,
    AtMost,
    Before,
    Hide,
    NotTopK,
    Pin,
    Together,
    TopK,
    Where,
    postrank,
)
from podium.postranking.methods.mmr_xquad import MMR
from tests.support.hard_rules import AsGiven, any_rule, can_hold


def yielding(docs, rules, **settings):
    """The order and the numbers of the rules that gave way."""
    result = postrank(docs, rules, conflicts="yield", **settings)
    return list(result), [at for at, told in enumerate(result.rules) if told.yielded]


def test_a_pinned_product_that_sells_out_is_hidden():
    docs = [{"id": "a", "stock": 0}, {"id": "b", "stock": 2}, {"id": "c", "stock": 5}]
    rules = [Pin("a", 1, hard=True), Hide(Where("stock == 0"), hard=True)]
    assert yielding(docs, rules) == (["b", "c"], [0])
    assert yielding(docs, rules[::-1]) == (["b", "c"], [1])


def test_a_rule_that_gave_way_has_no_note_that_it_has_no_effect():
    # Every document is in the top 10 of 5, so that only the hide makes this rule matter.
    top, hide = TopK("a", 10, hard=True), Hide("a", hard=True, priority=1)
    outcome = postrank(list("abcde"), [top, hide], conflicts="yield").rules[0]
    assert (outcome.yielded, outcome.satisfied, outcome.acted) == (True, False, True)
    assert (outcome.note, outcome.yielded_to) == ("", (hide,))
    alone = postrank(list("abcde"), [top]).rules[0]
    assert (alone.satisfied, alone.acted) == (True, False)
    assert "top 10" in alone.note


@pytest.mark.parametrize(
    ("pin", "hide", "loser"),
    [
        ({}, {}, 0),
        ({"priority": 1}, {}, 1),
        ({}, {"priority": 1}, 0),
        ({"name": "a"}, {"name": "b"}, 0),  # a pin gives way to a hide whatever their names are
        ({"priority": -2}, {"priority": -1}, 0),
    ],
)
def test_a_pin_and_a_hide(pin, hide, loser):
    rules = [Pin("x", 1, hard=True, **pin), Hide("x", hard=True, **hide)]
    order, lost = yielding(list("axb"), rules)
    assert lost == [loser]
    assert ("x" in order) == (loser == 1)
    assert order[0] == ("x" if loser == 1 else "a")


def test_a_pin_gives_way_to_a_hide_that_makes_the_list_too_short():
    assert yielding(list("abc"), [Pin("a", 3, hard=True), Hide("b", hard=True)])[1] == [0]


@pytest.mark.parametrize("names", ["xy", "yx"])
def test_otherwise_the_rule_whose_id_sorts_last_gives_way(names):
    first, second = names
    for one, other in [
        (Pin("a", 1), Pin("b", 1)),
        (TopK("a", 1), NotTopK("a", 1)),
        (Pin("a", 1), TopK("b", 1)),
        (TopK("a", 2), Hide("a")),
        (Together(["a", "b"]), Apart(["a", "b"])),
        (Before("a", "b"), Before("b", "a")),
    ]:
        rules = [replace(one, hard=True, name=first), replace(other, hard=True, name=second)]
        assert yielding(list("abcd"), rules, method=AsGiven())[1] == [names.index("y")], rules


def test_without_names_rules_are_told_apart_by_what_they_say():
    rules = [Pin("b", 3, hard=True), Pin("a", 3, hard=True)]
    assert yielding(list("abcdef"), rules, method=AsGiven()) == (list("bcadef"), [0])


def test_a_rule_that_no_order_meets_gives_way():
    assert yielding(list("abc"), [Pin("a", 9, hard=True)], method=AsGiven()) == (list("abc"), [0])


def test_only_one_rule_of_a_conflict_gives_way():
    """Three documents in the top 2: the last by name gives way, though two have the least priority."""
    rules = [TopK(doc, 2, hard=True, priority=p) for doc, p in (("a", 1), ("b", 0), ("c", 0))]
    assert yielding(list("dabc"), rules, method=AsGiven())[1] == [2]


def test_a_rule_returns_where_the_hide_it_lost_to_loses():
    """The pin gives way to the hide, the hide to a rule of higher priority; then the pin can hold."""
    rules = [
        Pin("x", 2, hard=True, priority=2, name="a"),
        Hide("x", hard=True, priority=2, name="c"),
        TopK("x", 3, hard=True, priority=2, name="b"),
    ]
    assert yielding(list("abcx"), rules, method=AsGiven())[1] == [1]


@pytest.mark.parametrize("method", ["radical", "proportional", MMR("brand")])
def test_methods_that_take_no_such_soft_rules_answer(method):
    docs = [{"id": doc, "brand": doc} for doc in "abcd"]
    rules = [Pin("a", 1, hard=True), Hide("a", hard=True), Pin("b", 1, hard=True)]
    order, lost = yielding(docs, rules, method=method)
    assert (order[0], lost) == ("b", [0])


@pytest.mark.parametrize("chunk", range(4))
def test_random_rules_against_brute_force(chunk):
    """What holds, holds; nothing that gave way could have stayed; without hides the order is exact."""
    rng = np.random.default_rng(100 + chunk)
    conflicts = 0
    for _ in range(100):
        n = int(rng.integers(2, 6))
        rules = [
            replace(any_rule(rng, n), priority=int(rng.integers(2)), name=f"{number}")
            for number in rng.permutation(rng.integers(2, 8)).tolist()
        ]
        result = postrank(list(range(n)), rules, method=AsGiven(), conflicts="yield")
        kept = [told.rule for told in result.rules if not told.yielded]
        lost = [told.rule for told in result.rules if told.yielded]
        conflicts += bool(lost)
        assert can_hold(kept, n)
        assert all(told.satisfied for told in result.rules if not told.yielded)
        hidden = {rule.doc for rule in kept if isinstance(rule, Hide)}
        assert sorted(result) == [doc for doc in range(n) if doc not in hidden]
        assert all(not can_hold([*kept, rule], n) for rule in lost), (kept, lost)
        check_clashes(result, kept, n)
        if not any(isinstance(rule, Hide) for rule in rules):
            assert lost == losers_in_turn(rules, n)
    assert conflicts > 40


def check_clashes(result, kept, n):
    """A rule that gave way names kept rules that it cannot hold with; without any one of them it can."""
    for told in result.rules:
        others = told.yielded_to
        assert told.yielded or not others
        assert set(others) <= set(kept)
        if told.yielded:
            assert not can_hold([*others, told.rule], n)
            for left in others:
                fewer = [rule for rule in others if rule is not left]
                assert can_hold([*fewer, told.rule], n), (told.rule, others)


def test_each_of_two_clashes_names_its_own_rules():
    rules = [
        Pin("a", 1, hard=True, priority=1),
        Pin("b", 1, hard=True),
        Pin("c", 3, hard=True),
        Hide("c", hard=True),
    ]
    result = postrank(list("abcd"), rules, conflicts="yield")
    assert [told.yielded_to for told in result.rules] == [(), (rules[0],), (rules[3],), ()]


def losers_in_turn(rules, n):
    """The stated order, by brute force: each rule that cannot hold with the stronger ones kept."""
    kept = []
    for rule in sorted(rules, key=lambda rule: (-rule.priority, rule.name)):
        if can_hold([*kept, rule], n):
            kept.append(rule)
    return [rule for rule in rules if rule not in kept]


def test_random_pins_and_hides_against_brute_force():
    """Hides are kept but for pins of higher priority; then pins in the stated order."""
    rng = np.random.default_rng(5)
    conflicts = 0
    for _ in range(200):
        n = int(rng.integers(2, 6))
        rules = []
        for number in range(int(rng.integers(2, 7))):
            doc, both = int(rng.integers(n)), {"hard": True, "name": f"{number}"}
            priority = int(rng.integers(2))
            one = Pin(doc, int(rng.integers(1, n + 1)), **both, priority=priority)
            rules.append(one if rng.random() < 0.6 else Hide(doc, **both, priority=priority))
        lost = yielding(list(range(n)), rules, method=AsGiven())[1]
        kept = [rule for at, rule in enumerate(rules) if at not in lost]
        conflicts += bool(lost)
        for at in lost:
            stronger = [
                rule for rule in kept
                if rule.priority > rules[at].priority or (
                    rule.priority == rules[at].priority
                    and (isinstance(rule, Hide) or isinstance(rules[at], Pin))
                )
            ]  # fmt: skip
            assert not can_hold([*stronger, rules[at]], n), (rules, lost)
    assert conflicts > 100


def undecidable():
    """Rules that a search of few steps cannot decide: groups of which each is spread over the list."""
    rng = np.random.default_rng(0)
    rules = []
    for _ in range(30):
        group = rng.permutation(40)[:8].tolist()
        rules += [AtMost(group, 2, 12, hard=True), AtLeast(group, 2, 14, hard=True)]
        rules.append(Apart(group[:4], 3, hard=True))
    return rules


@pytest.mark.parametrize("limit", [1, 50, 2000])
def test_a_search_that_reaches_its_limit_answers_a_list(limit):
    rules = undecidable()
    with pytest.raises(UndecidedError):
        postrank(list(range(40)), rules, method=AsGiven(), limit=limit)
    result = postrank(list(range(40)), rules, method=AsGiven(), conflicts="yield", limit=limit)
    assert sorted(result) == list(range(40))
    assert all(told.satisfied for told in result.rules if not told.yielded)
    assert any(told.undecided for told in result.rules)
    assert all(told.yielded for told in result.rules if told.undecided)


def test_many_rules_for_one_place():
    """One stays: that of the label which sorts first."""
    rules = [Pin(doc, 1, hard=True) for doc in range(300)]
    order, lost = yielding(list(range(300)), rules, method=AsGiven())
    assert order[0] == 0
    assert lost == list(range(1, 300))
