"""Lists, rules and settings that are wrong: a clear error, or a note; never a hang, never silence."""

import datetime
import time

import numpy as np
import pandas as pd
import pytest

from podium.errors import (
    DataError,
    LengthMismatchError,
    NonFiniteError,
    UnknownNameError,
    UsageError,
)
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
from podium.postranking.methods.preferences import Preferences
from podium.postranking.preparation import prepare
from podium.postranking.settings import Settings

ABC = ["a", "b", "c", "d", "e"]
DAY = datetime.date(2026, 11, 15)
HUGE = 10**5000  # which Python does not print


# --- lists ---


@pytest.mark.parametrize(
    ("docs", "error", "message"),
    [
        ("abc", UsageError, "got the text 'abc'"),
        (b"abc", UsageError, "got the text"),
        ({"a": 1.0}, UsageError, "got a dict, which has no order"),
        ({"a", "b"}, UsageError, "got a set, which has no order"),
        (pd.DataFrame({"id": ["a"]}), UsageError, r"got a DataFrame.*to_dict\('records'\)"),
        (3, UsageError, "expected a list of documents"),
        ([["a"], ["b"]], UsageError, r"as ids, or as records with an 'id', got \['a'\]"),
        (np.eye(2), UsageError, "as ids, or as records"),
        ([("a", 1), ("b", 2)], UsageError, r"got the tuple \('a', 1\)"),
        (["a", None], DataError, "an id for each document, got None at 2"),
        (["a", "b", "a"], DataError, "document 'a' is in the list twice"),
        ([{"id": "a"}, {"name": "b"}], DataError, "record with an 'id' for each document, .* at 2"),
        ([{"id": "a"}, "b"], DataError, "record with an 'id' for each document, got 'b' at 2"),
    ],
)
def test_what_is_no_list(docs, error, message):
    with pytest.raises(error, match=message):
        postrank(docs, [])


@pytest.mark.parametrize("docs", [[], np.array([])])
@pytest.mark.parametrize("base", ["uniform", "margin"])
def test_nothing_found_is_nothing_to_rank(docs, base):
    rules = [TopK("a", 9), AtLeast(Where("stock == 0"), 1, 3, hard=True), Hide("b", hard=True)]
    result = postrank(docs, rules, scores=[], base=base)
    assert result.order == result.moves == ()
    assert not any(outcome.acted for outcome in result.rules)
    assert [outcome.satisfied for outcome in result.rules] == [False, False, True]


def test_what_is_a_list():
    for docs in (ABC, tuple(ABC), np.array(ABC), pd.Series(ABC, index=range(5, 10)), iter(ABC)):
        assert list(postrank(docs, [TopK("e", 1, weight=100)])) == ["e", "a", "b", "c", "d"]
    assert list(postrank(pd.DataFrame({"id": ABC}).to_dict("records"), [])) == ABC


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        ([1.0, 2.0], LengthMismatchError, r"a score for each of 5 documents, got \(2,\)"),
        ([[1.0] * 5], LengthMismatchError, "a score for each"),
        ([5, 4, np.nan, 2, 1], NonFiniteError, "finite scores, got nan for 'c'"),
        ([5, 4, 3, -np.inf, 1], NonFiniteError, "finite scores, got -inf for 'd'"),
        (list("vwxyz"), UsageError, "numbers as scores"),
        ([[1], [1, 2], 3, 4, 5], UsageError, r"numbers as scores, got \[\[1\], "),
        ([10**400, 4, 3, 2, 1], NonFiniteError, r"finite scores, got \[1000.*\.\.\.$"),
        ([HUGE, 4, 3, 2, 1], NonFiniteError, "finite scores, got a list with very large numbers"),
    ],
)
def test_wrong_scores(scores, error, message):
    with pytest.raises(error, match=message):
        postrank(ABC, [], scores)


@pytest.mark.parametrize(
    ("docs", "fields", "message"),
    [
        ([["a"]], {"a": {}}, r"as ids, or as records with an 'id', got \['a'\]"),
        ([{"id": "a"}], {"a": {}}, "the fields of documents are given twice"),
        (["a"], 3, "a mapping of ids to fields, got int"),
        (["a"], {"a": HUGE}, "expected the fields of 'a' as a mapping, got a huge number"),
    ],
)
def test_wrong_fields_beside_a_list(docs, fields, message):
    with pytest.raises(UsageError, match=message):
        postrank(docs, [], fields=fields)


# What a field may not hold where a rule looks at it.
@pytest.mark.parametrize(
    "condition", ["t", "not t", "t == 1", "t != 1", "t < 3", "1 in t", "x == 1 or t"]
)
@pytest.mark.parametrize("value", [np.array([1, 2]), np.array([1]), np.array(1)], ids=repr)
def test_arrays_in_fields_are_told(condition, value):
    with pytest.raises(DataError, match=r"lists in the field 't', got the array array\("):
        postrank([{"id": 1, "t": value, "x": 2}], [Hide(Where(condition))])


@pytest.mark.parametrize(
    "value", [np.array([1, 2]), np.array([1]), {"x": 1}, [[1]], [np.array([1, 2])], pd.NA], ids=repr
)
def test_values_that_make_no_groups_are_told(value):
    with pytest.raises(DataError, match=r"text or numbers in the field 't', got .* for 1"):
        postrank([{"id": 1, "t": value}], [AtMost(Each("t"), 1, 1)])


def test_a_value_that_is_neither_true_nor_false_is_told():
    with pytest.raises(DataError, match="true or false, got <NA>"):
        postrank([{"id": 1, "t": pd.NA}], [Hide(Where("t"))])


# --- documents that are not there ---


def test_an_unknown_document():
    with pytest.raises(
        DataError, match=r"TopK\('z', 3\) names a document that is not in the list: 'z'"
    ):
        postrank(ABC, [TopK("z", 3)])
    reported = postrank(ABC, [TopK("z", 3)], missing="report")
    assert list(reported) == ABC
    assert reported.rules[0].note == "names nothing in the list; absent: 'z'"
    assert not reported.rules[0].acted


def test_ids_of_another_type_are_other_documents():
    with pytest.raises(DataError, match=r"not in the list: 1 \(but '1' is in it: ids of different"):
        postrank(["1", "2", "3"], [TopK(1, 1)])
    with pytest.raises(DataError, match=r"not in the list: '2' \(but 2 is in it"):
        postrank([1, 2, 3], [TopK("2", 1)])
    assert postrank([1, 2, 3], [TopK(np.int64(3), np.int64(1), weight=100)])[0] == 3


def test_a_rule_whose_documents_are_there_in_part_acts_on_those():
    found = postrank(ABC, [TopK(["z", "e"], 1, weight=100)], missing="report")
    assert found[0] == "e"
    assert found.rules[0].acted


# --- rules that cannot bite are told ---

RECORDS = [{"id": doc, "brand": "x"} for doc in ABC]


@pytest.mark.parametrize(
    ("rule", "note"),
    [
        (TopK("a", 5), "all 5 documents of the list are in the top 5"),
        (TopK("a", 99), "all 5 documents of the list are in the top 99"),
        (AtMost(["a", "b"], 2, 3), "no more than 2 of the group can be in the top 3"),
        (AtMost(ABC, 3, 3), "no more than 3 of the group can be in the top 3"),
        (AtLeast(["a", "b"], 2, 5), "all 5 documents of the list are in the top 5"),
        (Together("a"), "it names only one document of the list"),
        (Apart(["a"], 2), "it names only one document of the list"),
        (TopK("e", 1, weight=0), "its weight is 0"),
        (Hide("a", ends=datetime.date(2026, 11, 14)), "ended on 2026-11-14"),
        (Hide("a", starts=datetime.date(2026, 11, 16)), "starts on 2026-11-16"),
        (Hide("a", query="chess"), "is for the query 'chess'"),
        (Hide("a", pattern="*go*"), "is for queries like '*go*'"),
        (Hide(Where("brand == 'y'")), "names nothing in the list"),
    ],
)
def test_rules_that_change_nothing_are_told(rule, note):
    found = postrank(RECORDS, [rule], today=DAY, query="ludo")
    assert list(found) == ABC
    assert found.rules[0].note == note
    assert not found.rules[0].acted
    assert found.rules[0].satisfied


@pytest.mark.parametrize(
    "rule", [NotTopK("a", 9), Pin("a", 9), AtMost(ABC, 1, 9), AtLeast("a", 2, 3)]
)
def test_rules_that_can_never_hold_act_and_are_violated(rule):
    found = postrank(ABC, [rule])
    assert found.rules[0].acted
    assert not found.rules[0].satisfied
    assert found.rules[0].slack > 0


def test_rules_of_several_groups_act_where_one_bites():
    records = [{"id": d, "brand": b} for d, b in zip(ABC, "xxxyy", strict=True)]
    found = postrank(records, [AtMost(Each("brand"), 2, 3, weight=100)])
    assert found.rules[0].acted
    assert found.rules[0].satisfied


def test_everything_hidden():
    found = postrank(ABC, [Hide(ABC, hard=True)])
    assert list(found) == []
    assert [move.to for move in found.moves] == [None] * 5


# --- rules ---


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TopK("a", 0), r"k of 1 or more \(a whole number\) in TopK\('a', 0\), got 0"),
        (lambda: TopK("a", 2.0), "k of 1 or more"),
        (lambda: TopK("a", True), "k of 1 or more"),
        (lambda: TopK("a", "3"), "k of 1 or more"),
        (lambda: TopK("a", 2**31), "k of 1 or more"),
        (lambda: TopK("a", HUGE), r"k of 1 or more \(at most 2147483647\) in .*, got a huge number"),
        (lambda: TopK("a", -HUGE), "k of 1 or more .* got a huge number"),
        (lambda: Pin("a", HUGE), r"position of 1 or more .* in Pin\('a', a huge number\)"),
        (lambda: Apart(["a", "b"], HUGE), "gap of 1 or more .* got a huge number"),
        (lambda: AtMost("a", HUGE, 3), "m of 0 or more .* got a huge number"),
        (lambda: TopK("a", 3, weight=HUGE), r"a weight .* \(at most 1e\+09\) .* got a huge number"),
        (lambda: TopK("a", 3, weight=[HUGE]), "a number as weight .* got a tuple with very large numbers"),
        (lambda: TopK("a", 3, priority=HUGE), "priority .* got a huge number"),
        (lambda: TopK([HUGE, HUGE], 3), "each document once .* got a tuple with very large numbers"),
        (lambda: Before(HUGE, HUGE), "different documents .* got a huge number on both sides"),
        (lambda: Where(HUGE), "a condition as text, got a huge number"),
        (lambda: Each(HUGE), "the name of a field, got a huge number"),
        (lambda: NotTopK("a", -1), "k of 1 or more"),
        (lambda: Pin("a", 0), "position of 1 or more"),
        (lambda: Apart(["a", "b"], 0), "gap of 1 or more"),
        (lambda: AtMost("a", -1, 3), "m of 0 or more"),
        (lambda: AtLeast("a", 0, 3), "m of 1 or more"),
        (lambda: TopK("a", 3, weight=-1), "weight of 0 or more .* got -1"),
        (lambda: TopK("a", 3, weight=float("nan")), "weight of 0 or more .* got nan"),
        (lambda: TopK("a", 3, weight=float("inf")), "weight of 0 or more .* got inf"),
        (lambda: TopK("a", 3, weight="10"), "a number as weight"),
        (lambda: TopK("a", 3, weight=True), "a number as weight"),
        (lambda: TopK("a", 3, hard=1), "hard to be True or False"),
        (lambda: TopK("a", 3, name=None), "text as name"),
        (lambda: TopK("a", 3, query=3), "text as query"),
        (lambda: TopK("a", 3, query="x", pattern="y"), "a query or a pattern in .*, got both"),
        (lambda: TopK("a", 3, priority=1.5), "whole number as priority"),
        (lambda: TopK("a", 3, starts="2026-11-01"), "a datetime.date as starts in .*, got '2026-11-01'"),
        (lambda: TopK("a", 3, ends=datetime.datetime(2026, 11, 1, 12)), "a datetime.date as ends"),
        (lambda: TopK("a", 3, starts=DAY, ends=datetime.date(2026, 1, 1)), "an end after the start"),
        (lambda: TopK([], 3), "expected documents in"),
        (lambda: TopK(None, 3), "expected documents in"),
        (lambda: TopK(["a", "a"], 3), "each document once"),
        (lambda: TopK({"a": 1}, 3), "an id, ids, Where or Each as documents of a top-k rule"),
        (lambda: TopK([["a"]], 3), "an id, ids, Where or Each"),
        (lambda: TopK(Each("brand"), 3), "Each is for Together, Apart, AtMost, AtLeast"),
        (lambda: Before("a", ["b", "a"]), "different documents in .*, got 'a' on both sides"),
    ],
)  # fmt: skip
def test_rules_that_cannot_be(make, message):
    with pytest.raises(UsageError, match=message):
        make()


@pytest.mark.parametrize("rules", [TopK("a", 3), "rules.yaml", 3, ["top-k"], [TopK], [None]])
def test_what_are_no_rules(rules):
    with pytest.raises(UsageError, match=r"expected (a list of )?rules"):
        postrank(ABC, rules)


def test_a_soft_rule_between_overlapping_groups_does_not_compare_a_document_with_itself():
    records = [{"id": d, "x": at} for at, d in enumerate(ABC)]
    found = postrank(records, [Before(Where("x > 1"), Where("x < 4"))])
    assert found.converged
    assert sorted(found) == ABC
    # c and d are on both sides: 3 * 4 pairs less 2, and all of the rule's weight is on them.
    wishes = Preferences(5)
    wishes.before((2, 3, 4), (0, 1, 2, 3), 30.0)
    assert len(wishes.doc) == 3 * 4 - 2
    assert sum(wishes.weight) == pytest.approx(30.0 * (5 - 1))
    wishes.before((2,), (2,), 30.0)
    assert len(wishes.doc) == 3 * 4 - 2


# --- patterns ---


@pytest.mark.parametrize(
    ("pattern", "query", "holds"),
    [
        ("tv [55 inch]", "TV  [55 inch]", True),
        ("tv [55 inch]", "tv 5", False),
        ("[ab]", "a", False),
        ("[!a]*", "[!a] and more", True),
        ("[!a]*", "b and more", False),
        ("c++ (*) ^$|{1}\\d.", "c++ (17) ^$|{1}\\d.", True),
        ("c++ (*) ^$|{1}\\d.", "c++ (17) ^$|{1}\\dx", False),
        ("?et", "set", True),
        ("?et", "et", False),
        ("*]", "[x]", True),
    ],
)
def test_only_stars_and_question_marks_have_a_meaning(pattern, query, holds):
    found = postrank(ABC, [Hide("a", pattern=pattern, hard=True)], query=query)
    assert ("a" not in found) == holds


# --- settings ---


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"prior": -0.1}, UsageError, "prior of 0 to .*, got -0.1"),
        ({"prior": float("nan")}, UsageError, "prior of 0 to .*, got nan"),
        ({"prior": float("inf")}, UsageError, "prior of 0 to .*, got inf"),
        ({"prior": "0.1"}, UsageError, "prior of 0 to"),
        ({"prior": 10**400}, UsageError, "prior of .* got a huge number"),
        ({"prior": HUGE}, UsageError, "prior of .* got a huge number"),
        ({"limit": -HUGE}, UsageError, "limit of 1 step or more, got a huge number"),
        ({"base": "unifrom"}, UnknownNameError, "unknown base 'unifrom'; did you mean uniform"),
        ({"pairs": "all"}, UnknownNameError, "unknown pairs 'all'"),
        ({"scale": None}, UnknownNameError, "unknown scale"),
        ({"method": "bradley"}, UnknownNameError, "unknown method .* did you mean bradley-terry"),
        ({"method": 3}, UnknownNameError, "unknown method"),
        ({"missing": "ignore"}, UnknownNameError, "unknown missing"),
        ({"conflicts": "ignore"}, UnknownNameError, "unknown conflicts"),
        ({"limit": 0}, UsageError, "limit of 1 step or more"),
        ({"base": "margin"}, UsageError, "base='margin' needs the model's scores"),
        ({"query": 3}, UsageError, "the text of a query, got 3"),
        ({"today": "2026-11-15"}, UsageError, "expected today to be a datetime.date"),
    ],
)
def test_wrong_settings(settings, error, message):
    with pytest.raises(error, match=message):
        postrank(ABC, [TopK("e", 2)], **settings)


def test_a_time_is_taken_for_its_day():
    rule = TopK("e", 1, weight=100, ends=DAY)
    assert postrank(ABC, [rule], today=datetime.datetime(2026, 11, 15, 23))[0] == "e"
    assert postrank(ABC, [rule], today=datetime.datetime(2026, 11, 16, 1))[0] == "a"


# --- many rules ---


def test_ten_thousand_rules_on_one_list():
    docs = [f"d{at}" for at in range(100)]
    rng = np.random.default_rng(0)
    rules = [
        TopK(f"d{rng.integers(100)}", int(rng.integers(1, 50)), weight=0.01) for _ in range(10_000)
    ]
    started = time.process_time()
    prepared = prepare(docs, tuple(rules), None, Settings(), None, DAY)
    assert len(prepared.bound_rules) == 10_000
    found = postrank(docs, rules)
    assert time.process_time() - started < 30
    assert sorted(found) == sorted(docs)
    assert len(found.rules) == 10_000


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: AtMost(each="brand", m=2, k=5), r"as group, as in group=Each\('brand'\)$"),
        (lambda: Hide(where="stock == 0"), r"as in \w+=Where\('stock == 0'\)$"),
        (lambda: TopK(docs=["a"], k=1), r"TopK has no parameter 'docs'; .* as in \w+=\['a'\]$"),
    ],
)
def test_words_of_rule_files_say_how_python_writes_them(make, says):
    with pytest.raises(TypeError, match=says):
        make()
    # What the message says works.
    assert AtMost(group=Each("brand"), m=2, k=5) == AtMost(Each("brand"), 2, 5)
