"""Radical, Moderate, Conservative, Proportional: targets by hand, places against brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import kernels
from podium.errors import UnknownNameError, UsageError
from podium.postranking import (
    METHODS,
    Before,
    Conservative,
    Moderate,
    NotTopK,
    Pin,
    Proportional,
    Radical,
    TopK,
    postrank,
)
from podium.postranking.methods.baselines import fill_places

BASELINES = {c.name: c for c in (Radical, Moderate, Conservative, Proportional)}
DOCS = "abcdefghij"
LETTERS = list(DOCS)


def ordered(rules, method, docs=DOCS, **more):
    return "".join(postrank(list(docs), rules, method=method, **more))


def test_they_are_methods_by_name():
    assert {name: METHODS[name] for name in BASELINES} == BASELINES


@pytest.mark.parametrize(
    ("name", "up", "down"),
    [
        ("radical", "habcdefgij", "acdefghijb"),
        # Top 5: ceil(5/2) = 3. Not top 4: 4 + ceil((10 - 4)/2) = 7.
        ("moderate", "abhcdefgij", "acdefgbhij"),
        ("conservative", "abcdhefgij", "acdebfghij"),
        # h is 8th: ceil(5 * 8/10) = 4. b is 2nd: ceil(4 + 2 (1 - 4/10)) = ceil(5.2) = 6.
        ("proportional", "abchdefgij", "acdefbghij"),
    ],
)
def test_targets_by_hand(name, up, down):
    assert ordered([TopK("h", 5)], name) == up
    assert ordered([NotTopK("b", 4)], name) == down


@given(st.integers(1, 60), st.data())
def test_proportional_is_the_printed_formula(n, data):
    place, k = data.draw(st.integers(1, n)), data.draw(st.integers(1, n))
    proportional = Proportional()
    assert proportional.promotion_target(place, k, n) == math.ceil(k * Fraction(place, n))
    assert proportional.demotion_target(place, k, n) == math.ceil(k + place * (1 - Fraction(k, n)))


@given(st.integers(1, 40), st.data())
def test_targets_meet_the_rule(n, data):
    place, k = data.draw(st.integers(1, n)), data.draw(st.integers(1, n))
    for baseline in BASELINES.values():
        assert 1 <= baseline().promotion_target(place, k, n) <= k
        if k < n:
            assert k < baseline().demotion_target(place, k, n) <= n


@pytest.mark.parametrize("name", BASELINES)
def test_as_printed_a_document_moves_though_its_rule_holds(name):
    always, violated = BASELINES[name](), BASELINES[name](when="violated")
    rules = [TopK("b", 5), NotTopK("i", 3)]
    assert ordered(rules, violated) == DOCS
    moved = {
        "radical": "bacdefghji",
        # b to 3; i to 3 + ceil(7/2) = 7.
        "moderate": "acbdefighj",
        "conservative": "acdibefghj",
        # b: ceil(5 * 2/10) = 1. i: ceil(3 + 9 * 0.7) = 10.
        "proportional": "bacdefghji",
    }
    assert ordered(rules, always) == moved[name]


def test_only_violated_rules_move_their_documents():
    rules = [TopK("h", 3), NotTopK("j", 5)]
    assert ordered(rules, Conservative(when="violated")) == "abhcdefgij"
    assert ordered(rules, Conservative()) == "abhcdjefgi"


def test_several_documents_of_one_rule_stand_around_the_place():
    assert ordered([TopK(("h", "j"), 3)], "radical") == "hjabcdefgi"
    assert ordered([NotTopK(("a", "c"), 3)], "radical") == "bdefghijac"
    # Both want place 3: one takes it, the nearest free ones are 2 and 4, of which 2 is higher.
    assert ordered([TopK(("h", "j"), 3)], "conservative") == "ahjbcdefgi"


def test_a_document_under_several_rules_goes_to_their_mean():
    # Radical wants h at 1 and at 10: 11/2 = 5.5, and halves go down.
    assert ordered([TopK("h", 3), NotTopK("h", 5)], "radical") == "abcdehfgij"


@given(st.data())
def test_the_order_of_the_rules_does_not_matter(data):
    rule = st.builds(
        lambda kind, doc, k: kind(doc, k),
        st.sampled_from([TopK, NotTopK]),
        st.sampled_from(DOCS),
        st.integers(1, 12),
    )
    rules = data.draw(st.lists(rule, max_size=8))
    other = data.draw(st.permutations(rules))
    for name, when in itertools.product(BASELINES, ("always", "violated")):
        method = BASELINES[name](when=when)
        result = ordered(rules, method)
        assert result == ordered(other, method)
        assert sorted(result) == sorted(DOCS)
        named = {rule.doc for rule in rules}
        assert [d for d in result if d not in named] == [d for d in DOCS if d not in named]


@given(
    st.integers(1, 7).flatmap(
        lambda n: st.tuples(
            st.just(n), st.dictionaries(st.integers(0, n - 1), st.integers(1, n), max_size=n)
        )
    )
)
def test_places_are_as_near_as_any_and_overtake_nobody(case):
    n, targets = case
    order = fill_places(targets, n)
    assert sorted(order) == list(range(n))
    place = {row: at for at, row in enumerate(order, start=1)}
    others = [row for row in order if row not in targets]
    assert others == sorted(others)
    for a, b in itertools.permutations(targets, 2):
        if (targets[a], a) < (targets[b], b):
            assert place[a] < place[b]
    if len(set(targets.values())) == len(targets):
        assert all(place[row] == target for row, target in targets.items())
    # One document wanting a taken place is moved by one at most for each that wants it too.
    moved = sum(abs(place[row] - target) for row, target in targets.items())
    movers = sorted(targets)
    best = min(
        sum(abs(slot - targets[row]) for slot, row in zip(slots, movers, strict=True))
        for slots in itertools.permutations(range(1, n + 1), len(movers))
    )
    assert best <= moved <= best + len(movers)


def test_a_k_beyond_the_list_is_its_end():
    for name in BASELINES:
        assert ordered([NotTopK("b", 99)], name)[-1] == "b"
        assert ordered([TopK("b", 99)], name) == DOCS  # it cannot bite
    assert Conservative().promotion_target(2, 10, 10) == 10
    assert ordered([TopK("a", 1), NotTopK("a", 1)], "moderate", docs="a") == "a"


def test_scores_give_the_order():
    result = postrank(LETTERS, [TopK("h", 3)], method="radical")
    assert result.scores == tuple(float(s) for s in range(10, 0, -1))
    assert (result.method, result.converged, result.kendall) == ("radical", True, 7)
    with_scores = postrank(list("abc"), [TopK("a", 1)], scores=[1.0, 3.0, 2.0], method="radical")
    assert "".join(with_scores) == "abc"
    assert np.isnan(result.value)


def test_no_weight_no_rule_and_no_rule_no_move():
    for name in BASELINES:
        assert ordered([TopK("h", 3, weight=0)], name) == DOCS
        assert ordered([], name) == DOCS


@pytest.mark.parametrize("rule", [Pin("b", 3), Before("c", "a")])
@pytest.mark.parametrize("name", BASELINES)
def test_other_soft_rules_are_refused(name, rule):
    with pytest.raises(UsageError, match=f"{name} takes only TopK and NotTopK as soft rules"):
        postrank(LETTERS, [rule], method=name)


def test_a_wrong_time_to_move_is_refused():
    with pytest.raises(UnknownNameError, match="always, violated"):
        Radical(when="sometimes")


def test_ten_thousand_rules_on_one_list_come_back():
    n = 10_000 if kernels.BACKEND == "native" else 2_000  # minutes of NumPy
    docs = list(range(n))
    result = postrank(docs, [NotTopK(tuple(docs[: n // 2]), 10)], method="radical")
    assert list(result) == docs[n // 2 :] + docs[: n // 2]
