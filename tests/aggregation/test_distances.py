"""Distances between rankings: against loops over pairs, published examples, and as metrics."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from podium import kernels
from podium.aggregation import Rankings, distance_to, footrule, kendall
from podium.data import Groups
from podium.errors import DataError, LengthMismatchError, NonFiniteError, UsageError

IDS = "abcdefg"
PENALTY = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@st.composite
def rankings(draw, full=False):
    """Some documents in an order with ties."""
    documents = draw(st.permutations(IDS))
    if not full:
        documents = documents[: draw(st.integers(1, len(IDS)))]
    levels: list[list[str]] = [[documents[0]]]
    for document in documents[1:]:
        if not full and draw(st.booleans()) and draw(st.booleans()):
            levels[-1].append(document)
        else:
            levels.append([document])
    return levels


def positions(ranking):
    """document -> number of its level."""
    return {d: i for i, level in enumerate(ranking) for d in level}


def fagin_cases(a, b, i, j, p):
    """What a pair counts, case by case as Fagin, Kumar and Sivakumar list them, ties added."""
    a, b = positions(a), positions(b)
    in_a, in_b = (i in a) + (j in a), (i in b) + (j in b)
    if in_a == in_b == 2:  # case 1, with ties
        x, y = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
        return 1.0 if x * y < 0 else p if x != y else 0.0
    if in_a + in_b == 3:  # case 2: both in one list, one of them in the other
        one, other = (a, b) if in_a == 2 else (b, a)
        listed, missing = (i, j) if i in other else (j, i)
        return 1.0 if one[missing] < one[listed] else p if one[missing] == one[listed] else 0.0
    if in_a == in_b == 1:  # case 3: each in one list only
        return 1.0
    one = a if in_a == 2 else b  # case 4: both in one list, none in the other
    return 0.0 if one[i] == one[j] else p


def loop(a, b, p, weights=None):
    documents = sorted(set(positions(a)) | set(positions(b)))
    return sum(
        fagin_cases(a, b, i, j, p) * (1 if weights is None else weights[i] * weights[j])
        for i, j in itertools.combinations(documents, 2)
    )


@given(rankings(), rankings(), PENALTY)
def test_kendall_is_the_sum_of_fagins_cases(a, b, p):
    assert kendall(a, b, p) == pytest.approx(loop(a, b, p))
    assert kendall(b, a, p) == kendall(a, b, p)


@given(rankings(), rankings(), PENALTY, st.lists(st.integers(0, 5), min_size=7, max_size=7))
def test_kendall_with_weights(a, b, p, values):
    weights = dict(zip(IDS, values, strict=True))
    assert kendall(a, b, p, weights) == pytest.approx(loop(a, b, p, weights))
    assert kendall(a, b, p, dict.fromkeys(IDS, 1)) == pytest.approx(kendall(a, b, p))


@given(rankings(full=True), rankings(full=True))
def test_kendall_of_full_lists_is_scipys(a, b):
    n = len(IDS)
    x, y = ([positions(r)[d] for d in IDS] for r in (a, b))
    tau = kendalltau(x, y).statistic
    assert kendall(a, b) == pytest.approx((1 - tau) / 2 * n * (n - 1) / 2)


def place_of(ranking, document, documents):
    """The mean place, behind all that are listed where it is not."""
    own = positions(ranking)
    key = own.get(document, np.inf)
    others = [own.get(d, np.inf) for d in documents if d != document]
    return 1 + sum(k < key for k in others) + sum(k == key for k in others) / 2


@given(rankings(), rankings(), st.lists(st.integers(0, 5), min_size=7, max_size=7))
def test_footrule_is_the_sum_over_documents(a, b, values):
    weights = dict(zip(IDS, values, strict=True))
    documents = set(positions(a)) | set(positions(b))
    plain = sum(abs(place_of(a, d, documents) - place_of(b, d, documents)) for d in documents)
    assert footrule(a, b) == pytest.approx(plain)

    def weight_above(ranking, document):
        own = positions(ranking)
        key = own.get(document, np.inf)
        keys = {d: own.get(d, np.inf) for d in documents if d != document}
        return sum(weights[d] * ((k < key) + (k == key) / 2) for d, k in keys.items())

    weighted = sum(weights[d] * abs(weight_above(a, d) - weight_above(b, d)) for d in documents)
    assert footrule(a, b, weights) == pytest.approx(weighted)


@given(rankings(full=True), rankings(full=True), rankings(full=True))
def test_metrics_on_full_rankings(a, b, c):
    weights = {d: 1.0 + i for i, d in enumerate(IDS)}
    for distance in (
        kendall,
        footrule,
        lambda x, y: kendall(x, y, weights=weights),
        lambda x, y: footrule(x, y, weights=weights),
        lambda x, y: footrule(x, y, swaps=[6, 5, 4, 3, 2, 1]),
    ):
        assert distance(a, a) == 0
        assert (distance(a, b) == 0) == (a == b)
        assert distance(a, b) == pytest.approx(distance(b, a))
        assert distance(a, c) <= distance(a, b) + distance(b, c) + 1e-9


@given(rankings(), rankings())
def test_footrule_is_between_once_and_twice_kendall(a, b):
    """Diaconis and Graham; with ties and partial lists Fagin et al., Comparing partial rankings."""
    assert kendall(a, b) <= footrule(a, b) + 1e-9
    assert footrule(a, b) <= 2 * kendall(a, b) + 1e-9


def test_fagins_location_parameter():
    # Two lists of k = 3 with one document in common: b and c at 2, 3 against 4, and so are x and y.
    assert footrule([*"abc"], [*"axy"], location=4) == (2 + 1) + (2 + 1)
    assert footrule([*"abc"], [*"axy"]) == 2 * ((4.5 - 2) + (4.5 - 3))


@given(
    rankings(full=True), rankings(full=True), st.lists(st.integers(0, 4), min_size=6, max_size=6)
)
def test_costs_of_swaps(a, b, swaps):
    """Kumar and Vassilvitskii's position weights, pair by pair."""
    above = np.concatenate([[0.0], np.cumsum(swaps)])
    x, y = positions(a), positions(b)
    moved = {d: above[x[d]] - above[y[d]] for d in IDS}
    mean = {d: 1.0 if x[d] == y[d] else moved[d] / (x[d] - y[d]) for d in IDS}
    expected = sum(
        mean[i] * mean[j]
        for i, j in itertools.combinations(IDS, 2)
        if (x[i] - x[j]) * (y[i] - y[j]) < 0
    )
    assert kendall(a, b, swaps=swaps) == pytest.approx(expected)
    assert footrule(a, b, swaps=swaps) == pytest.approx(sum(map(abs, moved.values())))
    ones = [1] * 6
    assert kendall(a, b, swaps=ones) == pytest.approx(kendall(a, b))
    assert footrule(a, b, swaps=ones) == pytest.approx(footrule(a, b))


def test_scores_are_rankings_too():
    assert kendall({"a": 3.0, "b": 1.0, "c": 1.0}, ["a", ["c", "b"]]) == 0
    assert footrule({"a": 3.0, "b": 1.0}, ["b", "a"]) == 2


def test_long_lists_are_no_trouble():
    n = 20_000 if kernels.BACKEND == "native" else 200
    order = np.random.default_rng(0).permutation(n).tolist()
    assert kendall(range(n), order[::-1]) == n * (n - 1) / 2 - kendall(range(n), order)


@given(st.lists(rankings(), min_size=1, max_size=4), rankings(full=True), PENALTY)
def test_the_distance_to_rankings_is_the_mean_of_kendalls(lists, order, p):
    weights = np.arange(1.0, len(lists) + 1)
    scores = [-positions(order)[d] for d in IDS]
    ours = distance_to(Rankings.of(lists, IDS), scores, weights, p)
    means = sum(w * kendall(order, r, p) for w, r in zip(weights, lists, strict=True))
    assert ours.tolist() == pytest.approx([means / weights.sum()])


def test_distance_to_takes_queries_and_checks_its_input():
    groups = Groups.from_sizes([2, 0, 1])
    given_ = Rankings.from_scores(groups, [[2.0, np.nan], [1.0, np.nan], [1.0, 1.0]])
    assert distance_to(given_, [0, 1, 0], weights=[3, 1]).tolist() == [0.75 + 0.25 / 2, 0, 0]
    with pytest.raises(LengthMismatchError, match="expected 3 scores"):
        distance_to(given_, [1, 2])
    with pytest.raises(NonFiniteError, match="NaN in row 2"):
        distance_to(given_, [1, 2, np.nan])


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (UsageError, "p from 0 to 1, got 2", lambda: kendall("ab", "ab", p=2)),
        (UsageError, "got 'ab'", lambda: kendall("ab", ["a"])),
        (UsageError, "got nan", lambda: kendall(["a"], ["a"], p=np.nan)),
        (DataError, "ranking 2 has 'a' twice", lambda: kendall(["a"], ["a", "a"])),
        (DataError, "ranking 1 is empty", lambda: footrule([], ["a"])),
        (DataError, "document 'b' has no weight", lambda: kendall(["a"], ["b"], weights={"a": 1})),
        (DataError, "got -1 for 'a'", lambda: footrule(["a"], ["a"], weights={"a": -1})),
        (DataError, "got nan for 'a'", lambda: footrule(["a"], ["a"], weights={"a": np.nan})),
        (
            UsageError,
            "swaps= needs two rankings of the same documents without ties",
            lambda: kendall(["a"], ["b"], swaps=[1]),
        ),
        (
            UsageError,
            "swaps= needs two rankings of the same documents",
            lambda: footrule([["a", "b"]], ["a", "b"], swaps=[1]),
        ),
        (UsageError, "expected 1 costs", lambda: kendall(["a", "b"], ["b", "a"], swaps=[1, 2])),
        (UsageError, "costs of 0 or more", lambda: kendall(["a", "b"], ["b", "a"], swaps=[-1])),
        (UsageError, "exclude each other", lambda: footrule(["a"], ["a"], swaps=[], location=2)),
    ],
)
def test_bad_input_says_what_is_wrong(error, message, call):
    with pytest.raises(error, match=message):
        call()
