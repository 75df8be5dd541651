"""Conditions on fields: what they mean, and that nothing else is ever read into them."""

import itertools
import operator
import pickle
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from podium.errors import (
    DataError,
    DeadlineError,
    UnknownNameError,
    UsageError,
    WorkLimitError,
)
from podium.postranking import AtMost, Each, Hide, TopK, Where, postrank
from podium.postranking.listing import Listing
from podium.postranking.rules.field_conditions import (
    MAX_CONDITION_DEPTH,
    MAX_CONDITION_LENGTH,
    read_condition,
)
from podium.work_budget import bounded_steps, bounded_time

DOC = {
    "brand": "acme", "price": 12, "stock": 0, "tags": ["chess", "go"], "title": "Chess set",
    "sold-out": False, "rate": 4.5, "gone": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('brand == "acme"', True),
        ("brand == 'Acme'", False),
        ('brand != "acme"', False),
        ("price < 20", True),
        ("price <= 12 and price >= 12", True),
        ("10 < price < 12.5", True),
        ("10 < price < 12", False),
        ("20 > price", True),
        ("price > stock", True),
        ("rate == 4.5", True),
        ("price == 12.0", True),
        ("price > -1", True),
        ("price in [1, 12]", True),
        ("price not in (1, 12)", False),
        ('"chess" in tags', True),
        ('"ches" in tags', False),
        ('"ludo" not in tags', True),
        ('tags == "go"', True),
        ('tags != "go"', False),
        ('tags in ["go", "ludo"]', True),
        ('tags == ["chess", "go"]', True),
        ('"set" in title', True),
        ("12 in price", True),
        ("not stock", True),
        ("`sold-out` == False", True),
        ("not `sold-out`", True),
        ("gone == None", True),
        ("price < 'x'", False),
        ("price == 'x'", False),
        ('price < 5 or brand == "acme"', True),
        ('not (price < 5 or brand == "acme")', False),
        ("price\n  < 20", True),
        ("brand == '`acme`'", False),
    ],
)
def test_what_a_condition_means(condition, expected):
    assert Where(condition).meets(DOC) is expected


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">=", "in", "not in"])
def test_a_field_that_is_not_there_meets_no_comparison(op):
    assert not Where(f"missing {op} 3").meets(DOC)
    assert not Where(f"3 {op} missing").meets(DOC)
    assert not Where(f"missing {op} price").meets(DOC)
    assert not Where(f"missing {op} 3").meets({"missing": float("nan")})
    assert Where(f"not missing {op} 3").meets(DOC)


OPERATORS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(sorted(OPERATORS)), st.integers(-3, 3)),
        min_size=1, max_size=4,
    ),
    st.lists(st.sampled_from(["and", "or"]), min_size=3, max_size=3),
    st.lists(st.booleans(), min_size=4, max_size=4),
)  # fmt: skip
def test_conditions_agree_with_python(parts, words, negated):
    texts = [
        f"{'not ' * no}{name} {op} {value}"
        for (name, op, value), no in zip(parts, negated, strict=False)
    ]
    joined = [texts[0]]
    for word, text in zip(words, texts[1:], strict=False):
        joined += [word, text]
    condition = Where(" ".join(joined))
    assert set(condition.names) == {name for name, _, _ in parts}
    for a, b, c in itertools.product((-1, 0, 2), repeat=3):
        fields = {"a": a, "b": b, "c": c}
        assert condition.meets(fields) is eval(" ".join(joined), {}, fields)


HOSTILE = [
    "", " ", "x.y == 1", "f(x)", "__import__('os').system('true')", "x == b'a'", "x == 1j", "x == ...",
    "f'{x}' == 'a'", "[y for y in x]", "lambda: x", "(x := 1)", "x is None", "x\0 == 1", "x == 10 ** 10",
    "1 == 1", "True", "x == [y]", "x == [[1]]", "x == {1}", "x if y else z", "x ==", "a b", "x; y",
    "x == -'a'", "`a", "await x", "*x", "x[0]", "\ud800 == 1", "x + 1 > 2", "x == 'a", "x) == (",
    "(" * 900, "-" * 1900 + "1", "not " * (MAX_CONDITION_DEPTH + 1) + "x",
    "x" * (MAX_CONDITION_LENGTH + 1), "x and " * 400,
    "[" * 1900, "~" * 1900 + "x", "x = 3", "import os", "x == " + "(" * 80 + "1" + ")" * 80 + " +",
]  # fmt: skip


@pytest.mark.parametrize("condition", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_condition_is_refused_at_once(condition):
    started = time.process_time()
    with pytest.raises(UsageError, match="expected"):
        Where(condition)
    assert time.process_time() - started < 5


@given(st.text(alphabet="ab =<>!`'\"()[],.1-notandori\\\n", max_size=60))
def test_any_text_is_a_condition_or_a_usage_error(text):
    try:
        condition = Where(text)
    except UsageError:
        return
    assert condition.names
    assert condition.meets({}) in (True, False)


def test_conditions_are_values():
    assert Where("x == 1") == Where("x == 1")
    assert hash(TopK(Where("x == 1"), 3)) == hash(TopK(Where("x == 1"), 3))
    assert pickle.loads(pickle.dumps(TopK(Where("x == 1"), 3))) == TopK(Where("x == 1"), 3)
    assert str(TopK(Where('brand == "a"'), 3)) == """TopK(brand == "a", 3)"""
    assert str(AtMost(Each("brand"), 2, 5)) == "AtMost(each brand, 2, 5)"
    for wrong in (3, None, ["x"]):
        with pytest.raises(UsageError, match="condition as text"):
            Where(wrong)
    with pytest.raises(UsageError, match="name of a field"):
        Each("")


def docs(**columns):
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True), id=f"d{at}") for at, row in enumerate(rows)]


def test_rules_act_on_the_documents_a_condition_chooses():
    listed = docs(brand=["acme", "other", "acme", "other", "other"])
    found = postrank(listed, [Hide(Where('brand == "acme"'), hard=True)])
    assert found.order == ("d1", "d3", "d4")
    soft = postrank(listed, [TopK(Where('brand == "other"'), 3, weight=100)])
    assert set(soft.order[:3]) == {"d1", "d3", "d4"}


def test_each_value_is_a_group_of_its_own():
    listed = docs(brand=["a", "a", "a", "b", "c", "c", "c", None])
    found = postrank(listed, [AtMost(Each("brand"), 1, 3, weight=100)])
    assert set(found.order[:3]) == {"d0", "d3", "d4"}
    assert found.rules[0].satisfied


def test_a_document_with_several_values_is_in_several_groups():
    listed = Listing.of(list("abcd"), [{"f": ["x", "y", "x"]}, {"f": "y"}, {"f": None}, {}])
    assert listed.select(Each("f")) == [(0,), (0, 1)]
    with pytest.raises(DataError, match=r"text or numbers in the field 'f', got \{\} for 'a'"):
        Listing.of(["a"], [{"f": {}}]).select(Each("f"))


def test_fields_may_stand_beside_the_ids():
    fields = {"a": {"price": 3}, "c": {"price": 9}}
    found = postrank(["a", "b", "c"], [Hide(Where("price > 5"), hard=True)], fields=fields)
    assert found.order == ("a", "b")
    with pytest.raises(UsageError, match="the fields of documents are given twice"):
        postrank([{"id": "a"}], [], fields=fields)
    with pytest.raises(UsageError, match="mapping of ids to fields"):
        postrank(["a"], [], fields=[{"id": "a"}])
    with pytest.raises(UsageError, match="expected the fields of 'a' as a mapping"):
        postrank(["a"], [], fields={"a": 3})


def test_an_unknown_field_is_named_with_its_neighbours():
    listed = docs(brand=["a", "b"])
    with pytest.raises(UnknownNameError, match="unknown field 'brnad'; did you mean brand"):
        postrank(listed, [TopK(Where('brnad == "a"'), 1)])
    with pytest.raises(UnknownNameError, match="unknown field 'colour'"):
        postrank(listed, [AtMost(Each("colour"), 1, 1)])
    with pytest.raises(
        UsageError, match="a rule uses the field 'brand', but the documents are ids"
    ):
        postrank(["a"], [TopK(Where('brand == "a"'), 1)])
    reported = postrank(listed, [TopK(Where('brnad == "a"'), 1)], missing="report")
    assert "unknown field 'brnad'" in reported.rules[0].note


# --- values in lists ---


def is_in(a, b):
    """What `in` means, one value at a time."""
    if isinstance(a, list | tuple):
        return any(is_in(x, b) for x in a)
    if isinstance(b, list | tuple):
        return any(is_equal(a, x) for x in b)
    return a in b if isinstance(a, str) and isinstance(b, str) else is_equal(a, b)


def is_equal(a, b):
    if isinstance(b, list | tuple):
        return any(is_equal(a, x) for x in b)
    return bool(a == b)


VALUES = [0, 0.0, False, 1, 1.0, True, -1, 2**70, 0.5, float("nan"), float("inf"), None, "", "a",
          "A", "ab", "1", {}, {"a": 1}, {"a": 1.0}, {"a": [1]}]  # fmt: skip


def any_values(rng, depth=0):
    """A list of values, some of them lists."""
    if depth < 3 and rng.random() < 0.3:
        return [any_values(rng, depth + 1) for _ in range(rng.integers(0, 3))]
    return VALUES[rng.integers(len(VALUES))]


def test_one_list_in_another_is_what_it_is_one_by_one():
    """1 equals 1.0 and True, NaN equals nothing, text is not folded, mappings are compared as such."""
    rng = np.random.default_rng(0)
    inside = 0
    both, neither = read_condition("a in b"), read_condition("a not in b")
    for _ in range(4000):
        a, b = (
            [any_values(rng) for _ in range(rng.integers(0, 4))] if rng.random() < 0.8 else
            VALUES[rng.integers(len(VALUES))] for _ in range(2)
        )  # fmt: skip
        if a != a or b != b:  # a field that is NaN is no field
            continue
        fields = {"a": a, "b": b}
        assert both.meets(fields) == is_in(a, b) == (not neither.meets(fields)), fields
        inside += is_in(a, b)
    assert 500 < inside < 3500


def test_one_list_in_another_takes_work_of_their_lengths():
    n = 20_000
    fields = {"a": list(range(n)), "b": list(range(n, 2 * n))}
    with bounded_steps(10 * n):  # one by one it would be n * n
        assert not read_condition("a in b").meets(fields)
        assert not read_condition("a == b").meets(fields)
        assert read_condition("a not in b").meets(fields)


def test_work_and_time_end():
    docs = [{"id": at, "a": at} for at in range(100)]
    rules = [TopK(Where("a == 1 or a == 2"), 3)]
    with bounded_steps(100), pytest.raises(WorkLimitError, match="more than the allowed 100 steps"):
        postrank(docs, rules)
    with bounded_time(-1.0), pytest.raises(DeadlineError):
        postrank(docs, rules)
    assert len(postrank(docs, rules)) == 100


def test_lists_in_lists_may_be_deep():
    deep, other = 1, 2
    for _ in range(100_000):
        deep, other = [deep], [other]
    assert read_condition("a == 1").meets({"a": deep})
    assert read_condition("a in b").meets({"a": deep, "b": [1.0]})
    with pytest.raises(DataError, match="too many nested lists"):
        read_condition("a == b").meets({"a": deep, "b": other})


@pytest.mark.parametrize(
    ("condition", "matching"),
    [("in_stock == false", ["b"]), ("in_stock == true", ["a"]), ("in_stock != true", ["b"])],
)
def test_true_and_false_are_written_as_in_yaml(condition, matching):
    docs = [{"id": "a", "in_stock": True}, {"id": "b", "in_stock": False}]
    hidden = podium.postrank(docs, [podium.Hide(podium.Where(condition), hard=True)]).hidden
    assert list(hidden) == matching
