"""Soft post-ranking: the pairs are the paper's, the result says what happened and why."""

import datetime
import itertools
import math
import random
import string
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from podium.errors import ConflictError, DataError
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
    postrank_batch,
)
from podium.postranking.binding import bind
from podium.postranking.listing import Listing
from podium.postranking.methods.preferences import Preferences
from podium.rankers import RankedList

# --- pairs ---


def pairs_of(preferences):
    """Every (i above j): its weight."""
    weights = {}
    for doc, lo, hi, weight in zip(
        preferences.doc, preferences.lo, preferences.hi, preferences.weight, strict=True
    ):
        for row in range(lo, hi):
            if row != doc:
                pair = (doc, row) if weight > 0 else (row, doc)
                weights[pair] = weights.get(pair, 0.0) + abs(weight)
    return weights


def ranks_without(n, rows):
    """rank -> row in the list without these rows, from 1."""
    return dict(enumerate((row for row in range(n) if row not in rows), start=1))


@given(st.integers(2, 9), st.data())
def test_top_k_pairs_are_those_of_the_paper_with_ranks_counted_without_the_document(n, data):
    row, k = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, n + 2))
    ranks = ranks_without(n, {row})
    promoted, demoted = Preferences(n, scale="pair"), Preferences(n, scale="pair")
    promoted.promote([row], k, 2.5)
    demoted.demote([row], k, 2.5)
    assert pairs_of(promoted) == {(row, j): 2.5 for rank, j in ranks.items() if rank >= k}
    assert pairs_of(demoted) == {(j, row): 2.5 for rank, j in ranks.items() if rank <= k}


@given(st.integers(2, 9), st.data())
def test_printed_pairs_are_those_of_the_paper_without_the_document_against_itself(n, data):
    row, k = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, n + 2))
    promoted, demoted = (Preferences(n, pairs="printed", scale="pair") for _ in range(2))
    promoted.promote([row], k, 1.0)
    demoted.demote([row], k, 1.0)
    place = {j: j + 1 for j in range(n) if j != row}
    assert pairs_of(promoted) == {(row, j): 1.0 for j in place if place[j] > k}
    assert pairs_of(demoted) == {(j, row): 1.0 for j in place if place[j] <= k}


@given(st.integers(3, 9), st.data())
def test_several_documents_are_counted_out_together_so_that_all_fit(n, data):
    rows = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n - 1, unique=True))
    k = data.draw(st.integers(len(rows), n))
    ranks = ranks_without(n, set(rows))
    promoted, demoted = Preferences(n, scale="pair"), Preferences(n, scale="pair")
    promoted.promote(rows, k, 1.0)
    demoted.demote(rows, k, 1.0)
    beaten = [j for rank, j in ranks.items() if rank > k - len(rows)]
    assert pairs_of(promoted) == {(i, j): 1.0 for i in rows for j in beaten}
    assert pairs_of(demoted) == {
        (j, i): 1.0 for i in rows for rank, j in ranks.items() if rank <= k
    }


@given(st.integers(3, 12), st.data())
def test_a_rule_weighs_rho_times_n_minus_1_for_each_document_however_many_pairs_it_has(n, data):
    row, k = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, n - 1))
    preferences = Preferences(n)
    preferences.promote([row], k, 3.0)
    assert math.isclose(sum(pairs_of(preferences).values()), 3.0 * (n - 1))


@given(st.integers(2, 9), st.data())
def test_a_pin_has_the_pairs_of_a_document_that_stands_there(n, data):
    row, position = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, n))
    preferences = Preferences(n)
    preferences.pin([row], position, 2.0)
    ranks = ranks_without(n, {row})
    above = {(j, row): 2.0 for rank, j in ranks.items() if rank < position}
    assert pairs_of(preferences) == above | {
        (row, j): 2.0 for r, j in ranks.items() if r >= position
    }


@pytest.mark.parametrize("position", [1, 2, 7, 20])
@pytest.mark.parametrize("row", [0, 6, 19])
def test_a_soft_pin_of_much_weight_gets_there(row, position):
    assert postrank(range(20), [Pin(row, position, weight=100)])[position - 1] == row


def test_a_spring_is_its_pairs():
    n, rows, rho = 6, (1, 3, 4), 2.0
    preferences = Preferences(n, scale="pair")
    preferences.spring(rows, rho)
    ((held, kappa),) = preferences.springs
    s = np.random.default_rng(0).normal(size=n)
    of = s[list(held)]
    pairs = sum(rho / 2 * (s[i] - s[j]) ** 2 for i, j in itertools.combinations(rows, 2))
    assert math.isclose(kappa / 2 * np.sum((of - of.mean()) ** 2), pairs)


# --- slack ---


@pytest.mark.parametrize(
    ("rule", "order", "slack"),
    [
        (TopK("d", 2), "abcd", 4 - 2),
        (TopK("d", 2), "adbc", 0),
        (TopK(["c", "d"], 1), "abcd", 4 - 1),
        (NotTopK("a", 3), "abcd", 3 + 1 - 1),
        (NotTopK("a", 3), "bcda", 0),
        (Pin("c", 1), "abcd", 3 - 1),
        (Pin("c", 4), "abcd", 4 - 3),
        (Before("d", "a"), "abcd", 4 - 1),
        (Before("a", "d"), "abcd", 0),
        (Before(["a", "d"], "c"), "abcd", 4 - 3),
        (Together(["a", "b", "d"]), "abcd", 1),
        (Apart(["a", "b"], 2), "abcd", 2),
        (Apart(["a", "d"], 2), "abcd", 0),
        (AtMost(["a", "b", "c"], 1, 2), "abcd", 2 - 1),
        (AtLeast(["c", "d"], 2, 3), "abcd", 2 - 1),
        (Hide("b"), "abcd", 4 - 2),
        (Hide(["c", "d"]), "abdc", 0),
    ],
)
def test_slack_counts_places_or_documents(rule, order, slack):
    docs = sorted(order)
    (bound,) = bind(rule, Listing.of(docs))
    assert bound.slack([order.index(doc) + 1 for doc in docs]) == slack


# --- postrank ---


@pytest.mark.parametrize("before", [0, 62, 63, 64, 130])
def test_reasons_of_many_rules(before):
    off = [TopK("f", 1, query="another")] * before
    up, down = TopK("f", 1, weight=100), NotTopK("a", 3, weight=100)
    because = {
        move.doc: move.because for move in postrank(list("abcdef"), [*off, up, down, *off]).moved
    }
    assert because["f"] == (up,)
    assert because["a"] == (down,)


def test_all_soft_rules_act_together_whatever_their_order():
    docs = list(string.ascii_lowercase)
    rules = [
        TopK("x", 3, weight=10),
        NotTopK("b", 10, weight=3),
        Pin("m", 5, weight=30),
        Before("z", "y", weight=4),
        Together(["c", "q"], weight=20),
        Apart(["d", "e"], 3, weight=10),
        AtMost(["f", "g", "h"], 1, 10, weight=10),
        AtLeast(["r", "s", "t"], 1, 6, weight=10),
        Hide("a", weight=30),
    ]
    first = postrank(docs, rules)
    assert sum(outcome.slack for outcome in first.rules) <= 1
    assert first.converged
    for seed in range(10):
        shuffled = random.Random(seed).sample(rules, len(rules))
        again = postrank(docs, shuffled)
        assert again.order == first.order
        assert again.scores == first.scores
        assert {o.rule: o for o in again.rules} == {o.rule: o for o in first.rules}


@pytest.mark.parametrize("base", ["uniform", "margin"])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 57])
def test_without_rules_nothing_moves(base, n):
    scores = np.sort(np.random.default_rng(n).normal(size=n))[::-1]
    result = postrank(range(n), [], scores=scores, base=base)
    assert list(result) == list(range(n))
    assert result.kendall == 0
    assert result.moved == ()
    assert np.all(np.diff(result.scores) < 0)


def test_scores_give_the_original_order_and_ties_stay_as_they_are():
    assert "".join(postrank(list("abcd"), [], scores=[1, 2, 2, 3])) == "dbca"


def test_the_result_tells_what_moved_and_why():
    rule = TopK("e", 2, weight=3, name="e up")
    other = NotTopK("f", 2)
    result = postrank(list("abcdef"), [rule, other])
    origin = {move.doc: move.origin for move in result.moves}
    assert origin == {doc: at for at, doc in enumerate("abcdef", start=1)}
    assert [move.doc for move in result.moves] == list(result.order)
    assert [move.to for move in result.moves] == [1, 2, 3, 4, 5, 6]
    moved = {move.doc: move for move in result.moved}
    assert moved["e"].to < moved["e"].origin
    assert all(move.because == (rule,) for move in result.moved)
    turned = sum(
        result.order.index(a) > result.order.index(b)
        for a, b in itertools.combinations("abcdef", 2)
    )
    assert result.kendall == turned > 0
    assert [outcome.satisfied for outcome in result.rules] == [True, True]


def because(docs, rules, **options):
    moved = postrank(docs, rules, **options).moved
    return {move.doc: tuple(rules.index(rule) for rule in move.because) for move in moved}


def test_a_document_that_moves_against_its_own_rule_has_others_for_reasons():
    rules = [TopK("b", 3, weight=0.1), TopK("f", 1, weight=100)]
    assert because(list("abcdef"), rules) == dict.fromkeys("abcdef", (1,))


def test_a_hard_rule_that_holds_already_moves_nothing():
    rules = [TopK("e", 1, hard=True), Before("b", "d", hard=True), TopK("a", 6, hard=True)]
    assert because(list("abcdef"), rules) == dict.fromkeys("abcde", (0,))


def test_what_soft_and_hard_rules_do_is_told_apart():
    rules = [TopK("f", 1, weight=100), Pin("a", 3, hard=True)]
    found = because(list("abcdef"), rules)
    # Soft: f a b c d e. Hard: f b a c d e.
    assert found == {"f": (0,), "a": (0, 1), "c": (0,), "d": (0,), "e": (0,)}


def test_a_hidden_document_is_explained_by_what_hides_it_alone():
    rules = [Hide(["b", "f"], hard=True), NotTopK("b", 5), Together(["b", "c"])]
    assert because(list("abcdef"), rules) == dict.fromkeys("bf", (0,))


def test_documents_that_close_up_behind_hidden_ones_are_not_moved():
    result = postrank(list("abcd"), [Hide("b", hard=True)])
    assert [move.doc for move in result.moved] == ["b"]
    assert [(move.doc, move.origin, move.to, move.because) for move in result.moves[:3]] == [
        ("a", 1, 1, ()), ("c", 3, 3 - 1, ()), ("d", 4, 4 - 1, ()),
    ]  # fmt: skip


def test_a_document_that_comes_back_to_its_place_among_the_shown_is_not_moved():
    # Without a: b c d. The soft rule takes d to the top, the pin takes it back to place 3.
    rules = [Hide("a", hard=True), TopK("d", 1, weight=100), Pin("d", 3, hard=True)]
    result = postrank(list("abcd"), rules)
    assert result.order == ("b", "c", "d")
    assert [(move.doc, move.because) for move in result.moved] == [("a", (rules[0],))]
    assert result.moves[2] == ("d", 4, 3, ())


@pytest.mark.parametrize("seed", range(20))
def test_hiding_documents_gives_the_others_the_reasons_they_have_without_them(seed):
    rng = np.random.default_rng(seed)
    docs = [f"d{at}" for at in range(12)]
    away = set(rng.choice(docs, 3, replace=False).tolist())
    shown = [doc for doc in docs if doc not in away]
    up, down, pinned = rng.choice(shown, 3, replace=False).tolist()
    rules = [TopK(up, 2, weight=5), NotTopK(down, 6, weight=5), Pin(pinned, 4, hard=True)]
    hiding = postrank(docs, [*rules, Hide(sorted(away), hard=True)])
    without = postrank(shown, rules)
    reasons = {move.doc: move.because for move in without.moved}
    assert reasons
    for move in hiding.moved:
        if move.doc not in away:
            assert move.because == reasons[move.doc] != ()
    # One that moved down by as many places as it closed up stands where it stood.
    where_they_were = {move.doc for move in hiding.moves if move.origin == move.to}
    assert {move.doc for move in hiding.moved} == away | reasons.keys() - where_they_were


def test_who_made_way_names_those_who_passed_it_not_those_it_passed():
    # c goes up because a goes to the end, and down because f comes: two down, one up, or as it is.
    rules = [NotTopK("a", 5, weight=100), TopK("f", 1, weight=100), TopK("e", 2, weight=100)]
    found = because(list("abcdef"), rules)
    order = postrank(list("abcdef"), rules).order
    assert set(order[:2]) == {"e", "f"}
    assert order[-1] == "a"
    assert found["c"] == found["d"] == (1, 2)  # a, which they passed, has rule 0


def test_a_rule_that_wants_a_hidden_document_up_does_not_hold():
    rules = [Hide("e", hard=True), TopK("e", 1, weight=100), Pin("e", 2), NotTopK("e", 3)]
    outcomes = postrank(list("abcdef"), rules).rules
    assert [outcome.satisfied for outcome in outcomes] == [True, False, False, True]
    assert [outcome.slack for outcome in outcomes] == [0, 6 - 1, 6 - 2, 0]


def test_a_rule_that_gave_way_to_a_hide_does_not_hold():
    rules = [TopK("d", 1, hard=True), Hide("d", hard=True, priority=1)]
    result = postrank(list("abcd"), rules, conflicts="yield")
    assert [(o.satisfied, o.yielded) for o in result.rules] == [(False, True), (True, False)]
    assert result.order == ("a", "b", "c")


def test_documents_that_are_not_in_the_list_are_named():
    result = postrank(list("abcdef"), [TopK(["e", "zz"], 2), NotTopK("zz", 1)], missing="report")
    assert [outcome.absent for outcome in result.rules] == [("zz",), ("zz",)]
    assert [outcome.satisfied for outcome in result.rules] == [False, True]
    assert [outcome.acted for outcome in result.rules] == [True, False]


def test_a_hard_rule_that_asks_for_what_is_not_there_cannot_hold():
    docs = [{"id": doc, "stock": 1} for doc in "abc"]
    rule = AtLeast(Where("stock == 0"), 1, 2, hard=True)
    with pytest.raises(ConflictError, match="no order of this list meets") as error:
        postrank(docs, [rule])
    assert error.value.rules == (rule,)
    (outcome,) = postrank(docs, [rule], missing="report").rules
    assert (outcome.satisfied, outcome.slack, outcome.acted) == (False, 1, False)


@pytest.mark.parametrize(("docs", "k"), [("ab", 3), ("abc", 1)])
def test_a_rule_without_enough_documents_is_judged_by_the_places_that_are_shown(docs, k):
    rules = [AtLeast("b", 2, k, hard=True), Hide("a", hard=True)]
    result = postrank(list(docs), rules, missing="report")
    assert result[0] == "b"
    assert result.rules[0].slack == 2 - 1  # two are asked for, b is one


def test_a_hidden_document_is_out_of_the_list_and_last_among_the_moves():
    rule = Hide("b", hard=True)
    result = postrank(list("abcd"), [rule, TopK("d", 1, weight=100)])
    assert sorted(result) == ["a", "c", "d"]
    assert result[0] == "d"
    assert result.moves[-1] == ("b", 2, None, (rule,))
    assert result.rules[0].satisfied
    # Everything else is as if it had never been there.
    assert result.scores == postrank(list("acd"), [TopK("d", 1, weight=100)]).scores


def test_a_soft_hide_goes_to_the_end():
    assert "".join(postrank(list("abcde"), [Hide("b", weight=100)])) == "acdeb"


def test_rules_are_for_queries_and_days():
    rules = [
        TopK("d", 1, weight=100, query="Chess  engine"),
        TopK("d", 1, weight=100, pattern="*engine*"),
        TopK("d", 1, weight=100, starts=datetime.date(2026, 1, 1), ends=datetime.date(2026, 1, 31)),
    ]

    def acting(query, day):
        result = postrank(list("abcd"), rules, query=query, today=datetime.date.fromisoformat(day))
        assert (result[0] == "d") == any(outcome.acted for outcome in result.rules)
        return [outcome.acted for outcome in result.rules]

    assert acting("chess engine", "2025-12-31") == [True, True, False]
    assert acting("Search ENGINES", "2026-01-01") == [False, True, True]
    assert acting("chess", "2026-01-31") == [False, False, True]
    assert acting(None, "2026-02-01") == [False, False, False]


def test_rules_select_by_field_and_for_each_value():
    docs = [
        {
            "id": i,
            "brand": "acme" if i < 4 else "bolt",
            "price": i,
            "tags": ["new"] if i == 6 else [],
        }
        for i in range(8)
    ]
    result = postrank(docs, [AtMost(Each("brand"), 2, 4, weight=100)])
    assert sum(doc < 4 for doc in result[:4]) == 2
    result = postrank(docs, [TopK(Where('brand == "bolt" and price > 6'), 1, weight=100)])
    assert result[0] == 7


@given(st.integers(2, 30), st.data())
def test_one_document_moves_monotonically_with_its_weight(n, data):
    row, k = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, n))
    weights = [0, 0.1, 0.3, 1, 3, 10, 30, 100]
    up = [postrank(range(n), [TopK(row, k, weight=w)]).order.index(row) for w in weights]
    down = [postrank(range(n), [NotTopK(row, k, weight=w)]).order.index(row) for w in weights]
    assert up == sorted(up, reverse=True)
    assert down == sorted(down)
    assert up[-1] < k
    assert down[-1] >= min(k, n - 1)


# --- without reasons ---


@pytest.mark.parametrize("hard", [False, True])
def test_without_reasons_the_list_is_the_same(hard):
    docs, scores = list("abcdef"), [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    rules = [TopK("e", 2, weight=30, hard=hard), Hide("b", hard=True), NotTopK("a", 2, weight=30)]
    explained = postrank(docs, rules, scores)
    bare = postrank(docs, rules, scores, explain=False)
    assert bare.moves == tuple(move._replace(because=()) for move in explained.moves)
    assert any(move.because for move in explained.moves)
    assert replace(bare, because=explained.because) == explained
    assert bare.hidden == explained.hidden == ("b",)
    assert [*bare] == [*explained]


def test_a_batch_without_reasons_has_the_same_lists():
    lists = {"q1": list("abc"), "q2": list("cab")}
    rules = [TopK("c", 1, weight=30), Hide("b", hard=True)]
    explained, bare = (postrank_batch(lists, rules, explain=explain) for explain in (True, False))
    assert explained.rules == bare.rules
    for qid, result in bare.items():
        assert replace(result, because=explained[qid].because) == explained[qid]
        assert not any(move.because for move in result.moves)
    assert any(move.because for move in explained["q1"].moves)


def test_reasons_pull_the_way_the_document_went():
    """Rule 1 gave way: it lifts h and so lowers f, which rule 0 lifts past all."""
    rules = [Pin("f", 1, hard=True, priority=5), Pin("h", 1, hard=True)]
    reasons = because(list("abcdefgh"), rules, conflicts="yield")
    assert (reasons["f"], reasons["h"]) == ((0,), (1,))
    assert reasons["g"] == (1,)  # h alone passed it


@pytest.mark.parametrize("seed", range(20))
def test_no_pin_is_the_reason_for_its_documents_move_away_from_it(seed):
    rng = np.random.default_rng(seed)
    docs = list("abcdefghij")
    rules = [
        Pin(doc, int(rng.integers(1, 11)), weight=float(rng.integers(1, 9)),
            hard=bool(rng.integers(2)), priority=at)
        for at, doc in enumerate(rng.choice(docs, 5, replace=False).tolist())
    ]  # fmt: skip
    moved = postrank(docs, rules, conflicts="yield").moved
    assert moved
    for move in moved:
        assert move.because
        own = [rule for rule in move.because if rule.doc == move.doc]
        step = move.to - move.origin
        assert all((rule.position - move.origin) * step > 0 for rule in own)


@pytest.mark.parametrize(
    ("stock", "says"),
    [
        (
            ["0", "0", "7"],
            "; stock is text in 3 documents, and the rule compares it with a number; "
            'write stock == "0" (its texts are "0", "7")',
        ),
        (
            ["no", None, None],
            "; stock is text in 1 document, and the rule compares it with a number; "
            'write stock == "no" (its texts are "no")',
        ),
        (["0", 3, 4], ""),
        ([2, 3, 4], ""),
    ],
)
def test_a_number_that_met_only_text_is_noted(stock, says):
    docs = [{"id": doc, "stock": own} for doc, own in zip("abc", stock, strict=True)]
    (outcome,) = postrank(docs, [Hide(Where("stock == 0"), hard=True)]).rules
    assert outcome.note == "names nothing in the list" + says


def test_the_summary_of_a_list_counts_in_english():
    def summary(*rules):
        return repr(postrank(["a", "b"], rules)).partition("], ")[2]

    light, heavy = TopK("b", 1, weight=1e-3), TopK("b", 1, weight=30)
    assert summary(light) == "0 of 1 rule holds, 0 pairs reversed)"
    assert summary(heavy) == "1 of 1 rule holds, 1 pair reversed)"
    assert summary(heavy, TopK("a", 1)) == "1 of 2 rules holds, 1 pair reversed)"
    assert summary(heavy, NotTopK("a", 1)) == "2 of 2 rules hold, 1 pair reversed)"


# --- lists of a ranker ---


def test_a_list_of_a_ranker_brings_its_scores():
    docs, scores = ("a", "b", "c"), np.array([5.0, 1.0, 0.9])
    ranked = RankedList("q1", np.arange(3), docs, scores)
    rules = [TopK("c", 1, weight=2)]
    for base in ("uniform", "margin"):
        want = postrank(docs, rules, scores, base=base)
        assert postrank(ranked, rules, base=base) == want
        assert postrank_batch({"q1": ranked}, rules, base=base)["q1"] == want
    # Other scores count more than those of the list.
    assert postrank(ranked, [], [1.0, 2.0, 3.0]).order == ("c", "b", "a")
    nameless = RankedList("q1", np.arange(3), None, scores)
    with pytest.raises(DataError, match=r"list of query 'q1' has no document ids.* with docid="):
        postrank(nameless, rules)
