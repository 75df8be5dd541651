"""Hard rules on whole lists: they always hold, whatever their number and order.

PODIUM_CASES says how many sets of rules are tried (a tenth of it with the reference kernels alone).
"""

import os
import time

import numpy as np
import pytest

from podium import kernels
from podium.errors import ConflictError, UndecidedError
from podium.postranking import (
    Apart,
    AtMost,
    Before,
    Hide,
    NotTopK,
    Pin,
    Together,
    TopK,
    postrank,
)
from podium.postranking.binding import bind
from podium.postranking.listing import Listing
from tests.support.hard_rules import AsGiven, rules_that_hold

CASES = int(os.environ.get("PODIUM_CASES", "2000")) // (1 if kernels.BACKEND == "native" else 10)
CHUNKS = 10
MANY_RULES = 10_000 if CASES >= 10_000 else 1_000


def assert_holds(rules, order):
    """Every rule by its own measure of slack, on the list as it came out."""
    place = [0] * len(order)
    for at, doc in enumerate(order, start=1):
        place[doc] = at
    listing = Listing.of(range(len(order)))
    for rule in rules:
        assert all(bound.slack(place) == 0 for bound in bind(rule, listing)), rule


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_rules_that_can_hold_do(chunk):
    rng = np.random.default_rng(chunk)
    undecided = 0
    for _ in range(CASES // CHUNKS):
        n = round(10 ** rng.uniform(0.5, 3))
        rules = rules_that_hold(rng, n, int(rng.integers(1, 11)))
        try:
            result = postrank(list(range(n)), rules, method=AsGiven())
        except UndecidedError:  # allowed, and never seen
            undecided += 1
            continue
        assert sorted(result) == list(range(n))
        assert not result.violated
        assert_holds(rules, result.order)
    assert undecided <= CASES // CHUNKS * 0.001


def test_the_order_of_rules_does_not_matter():
    rng = np.random.default_rng(11)
    for _ in range(100):
        n = int(rng.integers(5, 60))
        rules = rules_that_hold(rng, n, 6)
        mixed = [rules[k] for k in rng.permutation(6)]
        a, b = (postrank(list(range(n)), some, method=AsGiven()) for some in (rules, mixed))
        assert (a.order, a.proved_optimal) == (b.order, b.proved_optimal)


def test_soft_rules_shape_the_order_that_hard_rules_restrict():
    docs = list("abcdefgh")
    hard = [Pin("a", 4, hard=True), Before("d", "b", hard=True)]
    result = postrank(docs, [*hard, TopK("h", 1, weight=100)])
    assert not result.violated
    assert result[0] == "h"
    assert result[3] == "a"


def test_hidden_documents_make_room():
    rules = [Hide("b", hard=True), TopK("d", 2, hard=True), Hide("a", hard=True)]
    result = postrank(list("abcdef"), rules, method=AsGiven())
    assert "".join(result) == "cdef"
    assert not result.violated


def many(kind, rng, n):
    """Many rules of a kind on n documents."""
    two = (rng.choice(n, 2, replace=False).tolist() for _ in range(MANY_RULES))
    order = rng.permutation(n)
    if kind == "pins":
        return [Pin(int(doc), int(rng.integers(1, n + 1)), hard=True) for doc, _ in two]
    if kind == "same pins":
        places = range(1, n + 1)
        each = [Pin(int(d), p, hard=True) for d, p in zip(order, places, strict=True)]
        return each * (MANY_RULES // n)
    if kind == "top-k":
        return [TopK(doc, n // 2, hard=True) for doc, _ in two]
    if kind == "not-top-k":
        return [NotTopK(doc // 2, int(rng.integers(1, n // 2)), hard=True) for doc, _ in two]
    if kind == "before":
        return [Before(*sorted(pair, key=order.__getitem__), hard=True) for pair in two]
    if kind == "circles":
        return [Before(*pair, hard=True) for pair in two]
    if kind == "together":
        return [Together(pair, hard=True) for pair in two]
    if kind == "apart":
        return [Apart(pair, hard=True) for pair in two]
    return [AtMost(rng.choice(n, 9, replace=False).tolist(), 6, 50, hard=True) for _ in two]


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        ("pins", False), ("same pins", True), ("top-k", False), ("not-top-k", True),
        ("before", True), ("circles", False), ("together", False), ("apart", None), ("at-most", True),
    ],
)  # fmt: skip
def test_many_rules(kind, holds):
    n = 200
    rules = many(kind, np.random.default_rng(0), n)
    start = time.process_time()
    try:
        result = postrank(list(range(n)), rules, method=AsGiven())
    except ConflictError as error:
        assert holds is not True
        with pytest.raises(ConflictError):
            postrank(list(range(n)), error.rules, method=AsGiven())
    except UndecidedError:
        assert holds is None
    else:
        assert holds is not False
        assert_holds(rules, result.order)
    assert time.process_time() - start < 60


def test_many_conflicting_rules_of_different_priority_yield():
    rng = np.random.default_rng(1)
    rules = [
        Pin(int(doc), int(place), hard=True, priority=k)
        for k, (doc, place) in enumerate(
            zip(rng.integers(0, 40, 300), rng.integers(1, 41, 300), strict=True)
        )
    ]
    result = postrank(list(range(40)), rules, method=AsGiven(), conflicts="yield")
    kept = [outcome.rule for outcome in result.rules if not outcome.yielded]
    assert_holds(kept, result.order)
    assert rules[-1] in kept
