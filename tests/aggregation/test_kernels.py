"""The kernels of votes: twins agree to the bit, and what they claim holds by brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from podium.kernels import reference

PLACE = st.sampled_from([1.0, 1.5, 2.0, 2.0, 3.0, 4.0, 5.5, 7.0, 1e300, np.nan, np.nan])
WEIGHT = st.floats(0, 1) | st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5, 1.0])
SORTS = ("local_kemenisation", "majority_quicksort", "kemeny_search")


SIZES = st.lists(st.integers(0, 9), max_size=5)


@st.composite
def votes(draw, sizes=SIZES):
    """Places by rankers of ragged queries, weights that add up to 1, and an order to start from."""
    sizes, m = draw(sizes), draw(st.integers(1, 19))
    n, offsets = sum(sizes), np.cumsum([0, *sizes], dtype=np.int64)
    places = np.array(draw(st.lists(PLACE, min_size=n * m, max_size=n * m)))
    weights = np.array(draw(st.lists(WEIGHT, min_size=m, max_size=m)))
    weights[0] += 0.5
    scores = np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)), dtype=np.float64)
    start = reference.order(scores, None, offsets)
    places = places.reshape(n, m).astype(np.float64)
    return places, weights / weights.sum(), start, offsets


def assert_same(a, b):
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert a.tobytes() == b.tobytes()


def vote(p, r):
    """1 for a document at place p over one at place r, -1 against it."""
    p, r = (np.inf if np.isnan(x) else x for x in (p, r))
    return int(p < r) - int(r < p)


def cost(places, weights, order):
    """The weight of the votes against an order."""
    pairs = itertools.combinations(order, 2)
    return sum(
        w for i, j in pairs for a, w in enumerate(weights) if vote(places[i, a], places[j, a]) < 0
    )


@given(votes(), st.booleans())
def test_majority_tables(native, data, listed_only):
    places, weights, _, offsets = data
    tables = native.majority_tables(places, weights, offsets, listed_only)
    assert_same(tables, reference.majority_tables(places, weights, offsets, listed_only))
    assert len(tables) == (np.diff(offsets) ** 2).sum()


def test_majority_tables_by_hand(native):
    places = np.array([[1.0, 2.0], [2.0, np.nan], [np.nan, np.nan]])
    weights, offsets = np.array([0.75, 0.25]), np.array([0, 3])
    for twin in (native, reference):
        table = twin.majority_tables(places, weights, offsets, False).reshape(3, 3)
        assert table.tolist() == [[0, 1, 1], [0, 0, 0.75], [0, 0, 0]]
        listed = twin.majority_tables(places, weights, offsets, True).reshape(3, 3)
        assert listed.tolist() == [[0, 0.75, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("name", SORTS)
@given(data=votes())
def test_sorts(native, name, data):
    order = getattr(native, name)(*data)
    assert_same(order, getattr(reference, name)(*data))
    for a, b in itertools.pairwise(data[3].tolist()):
        assert sorted(order[a:b].tolist()) == list(range(a, b))


@given(votes(sizes=st.just([8])))
def test_insertion_never_makes_it_worse_and_leaves_no_majority_against_neighbours(native, data):
    places, weights, start, _ = data
    order = native.local_kemenisation(*data)
    assert cost(places, weights, order) <= cost(places, weights, start) + 1e-12
    for above, below in itertools.pairwise(order.tolist()):
        lead = sum(w * vote(*places[[above, below], a]) for a, w in enumerate(weights))
        assert lead >= -2e-12


@given(votes(sizes=st.just([6])))
def test_search_ends_where_no_insertion_helps(native, data):
    places, weights, start, _ = data
    order = native.kemeny_search(*data).tolist()
    reached = cost(places, weights, order)
    assert reached <= cost(places, weights, start.tolist()) + 1e-12
    for document, place in itertools.product(order, range(6)):
        moved = [d for d in order if d != document]
        moved.insert(place, document)
        assert cost(places, weights, moved) >= reached - 3e-12


def test_rounding_of_weights_is_no_majority(native):
    weights = np.array([0.1, 0.2, 0.3])
    assert 0.1 + 0.2 > 0.3  # in the last bit
    for places in ([[1.0, 1.0, 2.0], [2.0, 2.0, 1.0]], [[2.0, 2.0, 1.0], [1.0, 1.0, 2.0]]):
        for name in SORTS:
            for start in ([0, 1], [1, 0]):
                args = np.array(places), weights, np.array(start), np.array([0, 2])
                assert getattr(native, name)(*args).tolist() == start
                assert getattr(reference, name)(*args).tolist() == start


def test_quicksort_ends_on_a_cycle(native):
    n = 301  # i beats the 150 that follow it, round the circle
    places = np.stack([(np.arange(n) * 1.0 + shift) % n + 1 for shift in range(n)], axis=1)
    args = places, np.full(n, 1 / n), np.arange(n), np.array([0, n])
    order = native.majority_quicksort(*args)
    assert sorted(order.tolist()) == list(range(n))
    assert_same(order, reference.majority_quicksort(*args))


@given(votes())
def test_disagreements(native, data):
    places, _, order, offsets = data
    counts = native.disagreements(places, order, offsets)
    assert_same(counts, reference.disagreements(places, order, offsets))


def test_disagreements_by_hand(native):
    places = np.array([[2.0, np.nan], [1.0, np.nan], [3.0, 1.0]])
    for twin in (native, reference):
        counts = twin.disagreements(places, np.array([0, 1, 2]), np.array([0, 0, 3]))
        assert counts.tolist() == [[[0, 0], [0, 0]], [[1, 0], [2, 1]]]


@given(st.integers(0, 7), st.randoms(use_true_random=False), st.sampled_from([4, 1000]))
@settings(max_examples=50)
def test_best_order(native, n, random, levels):
    table = np.array([[random.randrange(levels) / 8 for _ in range(n)] for _ in range(n)])
    table = table.reshape(n, n)
    order = native.best_order(table)
    assert_same(order, reference.best_order(table))

    def against(order):
        return sum(table[b, a] for a, b in itertools.combinations(order, 2))

    least = min(against(o) for o in itertools.permutations(range(n)))
    assert against(order.tolist()) == least


def test_threads_change_nothing(native):
    r = np.random.default_rng(0)
    n, q, m = 60, 600, 25
    places, weights = r.random((n * q, m)), r.dirichlet(np.ones(m))
    places[r.random(places.shape) < 0.5] = np.nan
    offsets = np.arange(q + 1) * n
    order = native.order(r.random(n * q), None, offsets)

    def output(threads):
        with threadpool_limits(threads):
            arrays = (
                native.majority_tables(places, weights, offsets, False),
                native.local_kemenisation(places, weights, order, offsets),
                native.majority_quicksort(places, weights, order, offsets),
                native.kemeny_search(places, weights, order, offsets),
                native.disagreements(places, order, offsets),
            )
        return [array.tobytes() for array in arrays]

    assert output(1) == output(2)
