"""What judgments imply, against all orders that agree with them."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import answer, weak_orders

from podium.errors import DataError, EmptyDataError, UsageError
from podium.labelling import JudgedTopK, Judgment, Knowledge

ORDERS = list(weak_orders("abcd"))
PAIRS = list(itertools.permutations("abcd", 2))


def known(*texts, documents="abcdef"):
    knowledge = Knowledge(documents)
    for text in texts:
        a, says, b = text.split()
        knowledge.add(Judgment(a, b, says))
    return knowledge


@given(st.sampled_from(ORDERS), st.lists(st.sampled_from(PAIRS), max_size=7))
def test_implied_is_what_all_orders_that_agree_have_in_common(levels, judged):
    knowledge = Knowledge("abcd")
    agree = ORDERS
    for a, b in judged:
        says = answer(levels, a, b)
        knowledge.add(Judgment(a, b, says))
        agree = [order for order in agree if answer(order, a, b) == says]
        for pair in PAIRS:
            possible = {answer(order, *pair) for order in agree}
            # With a > b and nothing else of c, c may stand anywhere: three answers, so none is implied.
            assert knowledge.implied(*pair) == (possible.pop() if len(possible) == 1 else None)
    for document in "abcd":
        tied = [d for d in "abcd" if d == document or knowledge.implied(d, document) == "~"]
        assert list(knowledge.tied(document)) == tied


@pytest.mark.parametrize("n", [30, 70])
def test_large_sets_against_a_plain_closure(n):
    rng = random.Random(n)
    documents = [str(i) for i in range(n)]
    levels = {d: rng.randrange(n) for d in documents}
    knowledge = Knowledge(documents)
    better, tied = set(), {(d, d) for d in documents}
    for _ in range(2 * n):
        a, b = rng.sample(documents, 2)
        says = answer(levels, a, b)
        knowledge.add(Judgment(a, b, says))
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
        assert knowledge.implied(a, b) == expected


def test_bad_documents_leave_with_all_that_are_no_better():
    knowledge = known("a > b", "b > c", "c ~ d", "b bad e")
    assert knowledge.gone == {"b", "c", "d", "e"}
    assert knowledge.implied("b", "d") == "bad"
    assert knowledge.implied("a", "d") == ">"
    assert knowledge.implied("e", "f") == "<"
    assert knowledge.implied("a", "f") is None


def test_what_is_known_stays_whatever_comes_later():
    knowledge = known("a > b", "b > c", "c > a", "a ~ c", "a < b")
    assert knowledge.implied("a", "b") == knowledge.implied("a", "c") == ">"
    knowledge = known("a bad b", "b > c")
    assert knowledge.implied("c", "b") == ">"


def test_bad_counts_also_against_what_is_known():
    assert known("a > b", "a bad c").gone == {"a", "b", "c"}


def test_errors_say_what_is_wrong():
    with pytest.raises(EmptyDataError, match="got none"):
        Knowledge([])
    with pytest.raises(DataError, match="each document once, got 'a' twice"):
        Knowledge(["a", "b", "a"])
    with pytest.raises(DataError, match="as text, got 3"):
        Knowledge(["a", 3])
    with pytest.raises(DataError, match=r"of the run \(6 documents\), got 'x'"):
        known("a > x")
    with pytest.raises(DataError, match="'a' twice"):
        known("a > a")
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
