"""What judgments imply, against all orders that agree with them."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import DataError, EmptyDataError, UsageError
from podium.labelling import ImpliedPreferences, JudgedTopK, Judgment
from tests.support.true_assessors import answer, weak_orders

ORDERS = list(weak_orders("abcd"))
PAIRS = list(itertools.permutations("abcd", 2))


def preferences_after(*texts, documents="abcdef"):
    implied = ImpliedPreferences(documents)
    for text in texts:
        a, says, b = text.split()
        implied.add(Judgment(a, b, says))
    return implied


@given(st.sampled_from(ORDERS), st.lists(st.sampled_from(PAIRS), max_size=7))
def test_implied_is_what_all_orders_that_agree_have_in_common(levels, judged):
    implied = ImpliedPreferences("abcd")
    agree = ORDERS
    for a, b in judged:
        says = answer(levels, a, b)
        implied.add(Judgment(a, b, says))
        agree = [order for order in agree if answer(order, a, b) == says]
        for pair in PAIRS:
            possible = {answer(order, *pair) for order in agree}
            # With a > b and nothing else of c, c may stand anywhere: three answers, so none is implied.
            assert implied.answer(*pair) == (possible.pop() if len(possible) == 1 else None)
    for document in "abcd":
        tied = [d for d in "abcd" if d == document or implied.answer(d, document) == "~"]
        assert list(implied.tied_documents(document)) == tied


@pytest.mark.parametrize("n", [30, 70])
def test_large_sets_against_a_plain_closure(n):
    rng = random.Random(n)
    documents = [str(i) for i in range(n)]
    levels = {d: rng.randrange(n) for d in documents}
    implied = ImpliedPreferences(documents)
    better, tied = set(), {(d, d) for d in documents}
    for _ in range(2 * n):
        a, b = rng.sample(documents, 2)
        says = answer(levels, a, b)
        implied.add(Judgment(a, b, says))
        if says == "~":
            tied |= {(a, b), (b, a)}
        else:
            better.add((a, b) if says == ">" else (b, a))
    weak = better | tied
    for via, a, b in itertools.product(documents, repeat=3):
        if (a, via) in weak and (via, b) in weak:
            weak.add((a, b))
            if (a, via) in better or (via, b) in better:
                better.add((a, b))
    for a, b in itertools.permutations(documents, 2):
        expected = ">" if (a, b) in better else "<" if (b, a) in better else None
        if expected is None and (a, b) in weak:
            expected = "~"
        assert implied.answer(a, b) == expected


def test_bad_documents_leave_with_all_that_are_no_better():
    implied = preferences_after("a > b", "b > c", "c ~ d", "b bad e")
    assert implied.rejected_documents == {"b", "c", "d", "e"}
    assert implied.answer("b", "d") == "bad"
    assert implied.answer("a", "d") == ">"
    assert implied.answer("e", "f") == "<"
    assert implied.answer("a", "f") is None


def test_what_is_known_stays_whatever_comes_later():
    implied = preferences_after("a > b", "b > c", "c > a", "a ~ c", "a < b")
    assert implied.answer("a", "b") == implied.answer("a", "c") == ">"
    implied = preferences_after("a bad b", "b > c")
    assert implied.answer("c", "b") == ">"


def test_bad_counts_also_against_what_is_known():
    assert preferences_after("a > b", "a bad c").rejected_documents == {"a", "b", "c"}


def test_errors_say_what_is_wrong():
    with pytest.raises(EmptyDataError, match="got none"):
        ImpliedPreferences([])
    with pytest.raises(DataError, match="each document once, got 'a' twice"):
        ImpliedPreferences(["a", "b", "a"])
    with pytest.raises(DataError, match="as text, got 3"):
        ImpliedPreferences(["a", 3])
    with pytest.raises(DataError, match=r"of the run \(6 documents\), got 'x'"):
        preferences_after("a > x")
    with pytest.raises(DataError, match="'a' twice"):
        preferences_after("a > a")
    with pytest.raises(UsageError, match="got '='"):
        Judgment("a", "b", "=")


def test_a_judgment_flips():
    assert [Judgment("a", "b", says).flipped().answer for says in (">", "~", "<", "bad")] == [
        "<", "~", ">", "bad",
    ]  # fmt: skip
    assert Judgment("a", "b", ">").flipped() == Judgment("b", "a", "<")


def test_labels_count_the_strictly_better():
    top = JudgedTopK((("b",), ("a", "d"), ("c", "e")), k=4, judged=9)
    assert top.order == ("b", "a", "d", "c", "e")
    assert top.labels("abcdef") == {"a": 4 - 1, "b": 4, "c": 4 - 3, "d": 4 - 1, "e": 4 - 3, "f": 0}
