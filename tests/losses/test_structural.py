"""Most violated rankings are the most violated ones: brute force over all permutations."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium import kernels
from podium.data import RankingData, make_synthetic
from podium.errors import LengthMismatchError, UsageError
from podium.kernels import reference
from podium.losses import LOSSES, APHinge, FocusedLoss, OrderHinge, PairHinge
from tests.support.backends import BACKENDS, backends
from tests.support.case_counts import soak_cases


def offsets_of(*sizes):
    return np.cumsum([0, *sizes], dtype=np.int64)


def scores_of(rng, n):
    """Continuous, tied, clustered, far apart, or nearly equal scores."""
    kind = rng.integers(5)
    if kind == 0:
        return rng.normal(size=n)
    if kind == 1:
        return rng.integers(-1, 2, n).astype(float)
    if kind == 2:
        return np.zeros(n)
    if kind == 3:
        return 10 * rng.normal(size=n)
    return 0.2 * rng.integers(0, 4, n) + 1e-3 * rng.normal(size=n)


# The definitions, for many rankings at once: each a row of document numbers, best first.


def places(rankings):
    return np.argsort(rankings, axis=1)


def average_precision(rankings, relevant):
    found = relevant[rankings]
    precision = np.cumsum(found, axis=1) / np.arange(1, rankings.shape[1] + 1)
    return (found * precision).sum(axis=1) / relevant.sum()


def pair_map(rankings, pairs):
    """The mean over pairs (i, j) of x_i - x_j where i is above j and x_j - x_i where not."""
    out, place = np.zeros(rankings.shape), places(rankings)
    for i, j in pairs:
        z = np.where(place[:, i] < place[:, j], 1, -1)
        out[:, i] += z
        out[:, j] -= z
    return out / len(pairs)


def ap_map(rankings, relevant):
    pairs = list(itertools.product(np.flatnonzero(relevant), np.flatnonzero(~relevant)))
    return pair_map(rankings, pairs)


def order_map(rankings):
    return pair_map(rankings, list(itertools.combinations(range(rankings.shape[1]), 2)))


def dcg(rankings, labels, discount):
    return labels[rankings] @ discount[: rankings.shape[1]]


def mean_cut_ap(rankings, ideal):
    best = [np.isin(np.arange(len(ideal)), ideal[:c]) for c in range(1, len(ideal))]
    return np.mean([average_precision(rankings, relevant) for relevant in best], axis=0)


@functools.cache
def all_rankings(n):
    return np.array(list(itertools.permutations(range(n))))


def check(value, gradient, scores, delta, moved):
    """`delta` and `moved`, Delta and Psi - Psi(ideal) of every ranking, have this maximum."""
    small = 1e-12 * (1 + abs(scores).max())
    violation = delta + moved @ scores
    assert value == pytest.approx(violation.max(), abs=small)
    same = abs(moved - gradient).max(axis=1) < 1e-12  # the gradient is a maximiser's
    assert violation[same].max(initial=-np.inf) == pytest.approx(value, abs=small)
    rankings = all_rankings(len(scores))
    sorted_by_score = (rankings == np.argsort(-scores, kind="stable")).all(axis=1)
    assert value >= delta[sorted_by_score][0] - small  # an upper bound of the loss itself
    assert value >= -small


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_violated_ap_is_the_maximum_over_all_rankings(n):
    rng, rankings = np.random.default_rng(n), all_rankings(n)
    for n_relevant in range(1, n):
        relevant = np.isin(np.arange(n), rng.permutation(n)[:n_relevant])
        ideal = np.argsort(~relevant, kind="stable")[None]
        delta = 1 - average_precision(rankings, relevant)
        moved = ap_map(rankings, relevant) - ap_map(ideal, relevant)
        for backend, _ in itertools.product(BACKENDS, range(100)):
            scores = scores_of(rng, n)
            values, gradient = backend.violated_ap(scores, relevant, offsets_of(n))
            check(values[0], gradient, scores, delta, moved)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("depth", [3, 7])
@pytest.mark.parametrize("tied", [False, True])
def test_violated_order_is_the_maximum_over_all_rankings(n, depth, tied):
    rng, rankings = np.random.default_rng(n), all_rankings(n)
    discount = np.append(1 / np.log2(2 + np.arange(depth)), np.zeros(7))
    labels, member = rng.permutation(n) + 1.0, np.ones(n, dtype=bool)
    if tied and n > 2:
        labels = np.maximum(labels, 2.0)
    ideal = np.argsort(-labels, kind="stable")[None]
    delta = 1 - dcg(rankings, labels, discount) / dcg(ideal, labels, discount)
    moved = discount[places(rankings)] - discount[places(ideal)]
    for backend, _ in itertools.product(BACKENDS, range(150)):
        scores = scores_of(rng, n)
        found = backend.violated_order(scores, labels, member, offsets_of(n), discount[:depth])
        check(found[0][0], found[1], scores, delta, moved)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_violated_cuts_is_the_maximum_over_all_rankings(n):
    rng, rankings = np.random.default_rng(n), all_rankings(n)
    labels, member = rng.permutation(n) + 1.0, np.ones(n, dtype=bool)
    ideal = np.argsort(-labels)
    delta = 1 - mean_cut_ap(rankings, ideal)
    moved = order_map(rankings) - order_map(ideal[None])
    for backend in BACKENDS:
        for _ in range(30 if backend is reference else 500):
            scores = scores_of(rng, n)
            values, gradient = backend.violated_cuts(scores, labels, member, offsets_of(n))
            check(values[0], gradient, scores, delta, moved)


def test_the_pair_map_of_a_total_order_counts_places():
    rankings, k = all_rankings(4), 4
    expected = (k + 1 - 2 * (places(rankings) + 1)) / (k * (k - 1) / 2)
    np.testing.assert_allclose(order_map(rankings), expected, atol=1e-15)


# One query by hand.


@backends
def test_violated_ap_by_hand(backend):
    # One relevant document below one other: AP 1/2, and the pair counts twice.
    values, gradient = backend.violated_ap(
        np.array([0.25, 0.0]), np.array([False, True]), offsets_of(2)
    )
    assert values.tolist() == [1 / 2 + 2 * 0.25]
    assert gradient.tolist() == [2.0, -2.0]
    # Right by half of Delta / 2: the ideal and the other ranking are level.
    values, _ = backend.violated_ap(np.array([0.0, 0.25]), np.array([False, True]), offsets_of(2))
    assert values.tolist() == [0.0]


@backends
def test_queries_that_order_nothing_are_0(backend):
    offsets = offsets_of(0, 1, 2, 2)
    scores, labels = np.array([3.0, 1.0, 2.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    for values, gradient in (
        backend.violated_ap(scores, labels > 0, offsets),
        backend.violated_order(scores, labels, scores > 0, offsets, np.ones(3)),
        backend.violated_cuts(scores, labels, scores > 0, offsets),
    ):
        assert values.tolist() == [0.0] * 4
        assert gradient.tolist() == [0.0] * 5


@backends
def test_documents_outside_the_list_do_not_count(backend):
    member = np.array([True, False, True, False])
    scores, labels = np.array([0.5, 9.0, 1.0, -9.0]), np.array([2.0, 7.0, 1.0, 0.0])
    discount = np.array([1.0, 0.5])
    for name, rest in (("violated_order", (discount,)), ("violated_cuts", ())):
        run = getattr(backend, name)
        values, gradient = run(scores, labels, member, offsets_of(4), *rest)
        inside = run(scores[member], labels[member], member[member], offsets_of(2), *rest)
        assert values.tolist() == inside[0].tolist()
        assert gradient[member].tolist() == inside[1].tolist()
        assert gradient[~member].tolist() == [0.0, 0.0]
        assert values[0] > 0


# The native kernels against their twins on ragged data; equal maxima may be reached by two rankings.

SCORES = st.floats(-100, 100) | st.sampled_from([-0.0, 0.0, 1.0, 0.5, 1e12, -1e12, 5e-324])


@st.composite
def ragged(draw, most=8):
    sizes = draw(st.lists(st.integers(0, most), max_size=5))
    n = sum(sizes)
    scores = draw(st.lists(SCORES, min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    member = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return (
        np.array(scores, dtype=float),
        np.array(labels, dtype=float),
        np.array(member, dtype=bool),
        offsets_of(*sizes),
    )


def assert_close(one, other, scores):
    scale = 1 + abs(scores).max(initial=0)
    assert [v.dtype for v in one] == [v.dtype for v in other]
    assert [v.shape for v in one] == [v.shape for v in other]
    np.testing.assert_allclose(one[0], other[0], rtol=0, atol=1e-12 * scale)


@settings(max_examples=soak_cases(300))
@given(ragged(most=20))
def test_violated_ap_twins(native, data):
    scores, labels, _, offsets = data
    a, b = (m.violated_ap(scores, labels >= 2, offsets) for m in (native, reference))
    assert_close(a, b, scores)


@settings(max_examples=soak_cases(300))
@given(ragged(most=20), st.integers(0, 20))
def test_violated_order_twins(native, data, depth):
    scores, labels, member, offsets = data
    discount = 1 / np.log2(2.0 + np.arange(depth))
    a, b = (
        m.violated_order(scores, labels, member, offsets, discount) for m in (native, reference)
    )
    assert_close(a, b, scores)


@settings(max_examples=100)
@given(ragged(most=6))
def test_violated_cuts_twins(native, data):
    scores, labels, member, offsets = data
    a, b = (m.violated_cuts(scores, labels, member, offsets) for m in (native, reference))
    assert_close(a, b, scores)


def test_twins_on_long_queries(native):
    rng = np.random.default_rng(0)
    n = 400
    scores, labels = rng.normal(size=n), rng.integers(0, 3, n).astype(float)
    a, b = (m.violated_ap(scores, labels > 0, offsets_of(n)) for m in (native, reference))
    assert_close(a, b, scores)
    np.testing.assert_allclose(a[1], b[1], rtol=0, atol=1e-12)
    labels = np.where(np.arange(n) % 40 == 0, n - np.arange(n), 0.0)  # ten members
    a, b = (m.violated_cuts(scores, labels, labels > 0, offsets_of(n)) for m in (native, reference))
    assert_close(a, b, scores)
    np.testing.assert_allclose(a[1], b[1], rtol=0, atol=1e-12)


def test_one_query_of_many_documents_is_quick_and_right():
    rng = np.random.default_rng(1)
    n = 20_000
    scores, relevant = 1e-5 * rng.normal(size=n), rng.random(n) < 0.3
    values, gradient = kernels.violated_ap(scores, relevant, offsets_of(n))
    # The value is the gradient's ranking's: places from how often each was passed.
    R, N = relevant.sum(), (~relevant).sum()
    above = np.sort(np.rint(-gradient[relevant] * R * N / 2))
    loss = np.mean(above / (np.arange(1, R + 1) + above))
    assert values[0] == pytest.approx(loss + gradient @ scores, rel=1e-10)
    assert values[0] > 0.5


# The losses.

DATA = make_synthetic(n_queries=12, seed=1)


def order_hinge(reading="dcg", k=10):
    """The loss on the top k of the truth, as FocusedSVM has it (in units of its value at 0)."""
    return FocusedLoss(list=OrderHinge(reading), pair=PairHinge(power=1), k=k, beta=1.0)


BOUND = [
    pytest.param(APHinge(), id="ap"),
    pytest.param(APHinge(rel=2), id="ap2"),
    pytest.param(order_hinge("dcg", k=5), id="dcg"),
    pytest.param(order_hinge("cuts", k=4), id="cuts"),
]


@pytest.mark.parametrize("loss", BOUND)
def test_the_gradient_is_a_subgradient(loss):
    bound, rng = loss.bind(DATA, seed=3), np.random.default_rng(0)
    for size in (0.01, 0.1, 1.0, 10.0):
        s = size * rng.normal(size=len(DATA))
        values, gradient = bound(s)
        assert (values >= 0).all()
        assert (values > 0).any()
        for step in (1e-3, 0.1, 1.0, 30.0):
            other = s + step * size * rng.normal(size=len(s))
            below = values + DATA.groups.reduce(np.add, gradient * (other - s))
            assert (bound(other)[0] >= below - 1e-10 * (1 + step * size)).all()


@pytest.mark.parametrize("loss", BOUND)
def test_the_gradient_is_the_slope(loss):
    bound, rng = loss.bind(DATA, seed=3), np.random.default_rng(5)
    s, along = 0.1 * rng.normal(size=len(DATA)), rng.normal(size=len(DATA))
    h = 1e-7  # piecewise linear: exact unless a kink is near
    slope = (bound(s + h * along)[0] - bound(s - h * along)[0]) / (2 * h)
    expected = DATA.groups.reduce(np.add, bound(s)[1] * along)
    np.testing.assert_allclose(slope, expected, atol=1e-6)


@pytest.mark.parametrize("loss", BOUND)
def test_adding_a_constant_to_a_query_changes_nothing(loss):
    bound, s = loss.bind(DATA), np.random.default_rng(2).normal(size=len(DATA))
    moved = s + DATA.groups.spread(np.linspace(-64, 64, len(DATA.groups)))
    np.testing.assert_allclose(bound(moved)[0], bound(s)[0], atol=1e-11)


@pytest.mark.parametrize("loss", BOUND)
def test_large_scores_in_the_right_order_have_no_loss(loss):
    data = RankingData.from_arrays(np.zeros((6, 1)), [3, 2, 1, 0, 0, 0], qid=[7] * 6, topk=3)
    values, gradient = loss.bind(data)(np.array([30.0, 20.0, 10.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(values, 0, atol=1e-12)
    assert not gradient.any()


def test_active_queries():
    data = RankingData.from_arrays(
        np.arange(7.0)[:, None], [1, 1, 0, 2, 0, 0, 1], qid=list("aabbccd")
    )
    assert APHinge().bind(data).active.tolist() == [False, True, False, False]
    assert APHinge(rel=3).bind(data).active.tolist() == [False] * 4
    for reading in ("dcg", "cuts"):
        bound = order_hinge(reading, k=2).bind(data)
        assert bound.active.tolist() == [False, True, False, False]
        assert (bound(np.arange(7.0))[0] > 0).tolist() == [False, False, False, False]
        assert (bound(-np.arange(7.0))[0] > 0).tolist() == [False, True, False, False]


def test_the_order_of_a_longer_truth_is_cut_at_k():
    y = [4, 3, 2, 1, 0]
    longer = RankingData.from_arrays(np.zeros((5, 1)), y, qid=[1] * 5, topk=4)
    cut = RankingData.from_arrays(np.zeros((5, 1)), [2, 1, 0, 0, 0], qid=[1] * 5, topk=2)
    s = np.array([0.1, 0.4, 0.2, 0.0, 5.0])
    for reading in ("dcg", "cuts"):
        one, other = (order_hinge(reading, k=2).bind(d)(s) for d in (longer, cut))
        assert one[0].tolist() == other[0].tolist()
        assert one[1].tolist() == other[1].tolist()
        assert one[0][0] > 0


def test_graded_labels_are_drawn_by_the_seed():
    s = np.random.default_rng(0).normal(size=len(DATA))
    values = [order_hinge(k=5).bind(DATA, seed=seed)(s)[0].tolist() for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]


def test_wrong_requests_are_refused():
    many = RankingData.from_arrays(np.zeros((14, 1)), np.arange(14), qid=[1] * 14)
    with pytest.raises(UsageError, match=r"takes at most 12 top documents per query.* got 13"):
        order_hinge("cuts", k=13).bind(many)
    assert order_hinge("dcg", k=13).bind(many)(np.zeros(14))[0][0] > 0
    with pytest.raises(UsageError, match="expected reading 'dcg' or 'cuts', got 'ap'"):
        OrderHinge("ap")
    with pytest.raises(UsageError, match="k to be a whole number of 1 or more, got 0"):
        order_hinge(k=0)
    with pytest.raises(LengthMismatchError, match="expected 14 scores"):
        APHinge().bind(many)(np.zeros(3))
    with pytest.raises(UsageError, match="curvature"):
        APHinge().bind(many).curvature(np.zeros(14))
    assert {"svm-map", "svm-order"} <= set(LOSSES)
