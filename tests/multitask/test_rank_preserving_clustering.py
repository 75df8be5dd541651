"""Rank-preserving clustering: the kernel, its twin, the definition move by move, and its bounds."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from podium import kernels
from podium.errors import DataError, EmptyDataError, NonFiniteError, UsageError
from podium.kernels import reference
from podium.multitask import equal_bands, rank_preserving_clusters
from tests.support.backends import backends

SIZES = st.lists(st.integers(0, 9), min_size=1, max_size=8)


def offsets_of(sizes):
    return np.cumsum([0, *sizes], dtype=np.int64)


def bands(sizes, k):
    return equal_bands(sizes, k) + offsets_of(sizes)[:-1, None]


@st.composite
def lists(draw, sizes=SIZES):
    """Objects with ties (whole numbers), without (normal), or far from the origin; offsets; bands."""
    sizes = draw(sizes)
    k, d = draw(st.integers(1, 6)), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(sum(sizes), d))
    kind = draw(st.sampled_from(["whole", "normal", "far"]))
    X = np.round(X) if kind == "whole" else X + 1e5 * (kind == "far")
    return X, offsets_of(sizes), bands(sizes, k)


def index_of(offsets, bounds):
    """The cluster of each row, counted."""
    edges = zip(offsets[:-1], bounds.tolist(), offsets[1:], strict=True)
    return np.array(
        [sum(b <= row for b in borders) for a, borders, z in edges for row in range(a, z)],
        dtype=int,
    )


def omega(X, index, k):
    """The objective (4) from scratch."""
    parts = [X[index == c] for c in range(k)]
    return sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts if len(part))


def neighbours(index, a, z):
    """(row, cluster of a neighbour) for the candidates (6) of list a..z-1, along the list."""
    for row in range(a, z):
        for other in (row - 1, row + 1):
            if a <= other < z and index[other] != index[row]:
                yield row, index[other]


# The twins


@given(lists(), st.integers(0, 30))
def test_twins(native, data, max_sweeps):
    got, other = (twin.rank_clusters(*data, max_sweeps) for twin in (native, reference))
    for one, two in zip(got, other, strict=True):
        assert (one.dtype, one.shape, one.tobytes()) == (two.dtype, two.shape, two.tobytes())


def test_twins_on_longer_lists(native):
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 60, 150)  # more than one block of lists
    degree = np.concatenate([np.sort(rng.integers(0, 4, n)) for n in sizes])
    X = rng.normal(size=(sizes.sum(), 46))
    X[:, 0] += 2 * degree
    got, other = (
        twin.rank_clusters(X, offsets_of(sizes), bands(sizes, 4), 1000)
        for twin in (native, reference)
    )
    assert all(a.tobytes() == b.tobytes() for a, b in zip(got, other, strict=True))
    assert got[4].sum() > 500


def test_any_number_of_threads(native):
    n, d = 900_000, 46  # long enough for threads
    X = np.random.default_rng(0).random((n, d))
    sizes = np.full(n // 100, 100)
    X[:, 0] += np.tile(np.linspace(2, 0, 100) ** 2, n // 100)
    task = X, offsets_of(sizes), bands(sizes, 5), 4
    with threadpool_limits(2):
        many = native.rank_clusters(*task)
    with threadpool_limits(1):
        one = native.rank_clusters(*task)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(many, one, strict=True))
    assert many[4][0] > 1000


# What the search promises


@settings(max_examples=50)
@given(lists())
def test_after_every_sweep(data):
    X, offsets, start = data
    k = start.shape[1] + 1
    *_, history, moves = kernels.rank_clusters(*data, 1000)
    assert moves[-1] == 0
    assert len(history) == len(moves) + 1
    for sweeps in range(len(moves) + 1):
        bounds, centres, counts, objective, _ = kernels.rank_clusters(*data, sweeps)
        index = index_of(offsets, bounds)
        for a, z in itertools.pairwise(offsets):
            assert (np.diff(index[a:z]) >= 0).all()
        assert objective.tolist() == history[: sweeps + 1].tolist()
        scale = max(np.abs(X).max(initial=1) ** 2 * 1e-13, 1e-9)
        assert objective[-1] == pytest.approx(omega(X, index, k), rel=1e-9, abs=scale)
        assert counts.tolist() == np.bincount(index, minlength=k).tolist()
        for c in np.flatnonzero(counts):
            np.testing.assert_allclose(centres[c], X[index == c].mean(axis=0), rtol=1e-9, atol=1e-9)
    assert (np.diff(history)[moves > 0] < 0).all()
    assert (moves <= len(offsets) - 1).all()


@settings(max_examples=50)
@given(lists(st.lists(st.integers(1, 12), min_size=1, max_size=1)))
def test_every_move_lowers_the_objective(data):
    """One list alone moves one object a sweep: its history is that of the moves."""
    *_, objective, moves = kernels.rank_clusters(*data, 1000)
    assert moves.tolist() == [1] * (len(moves) - 1) + [0]
    assert (np.diff(objective)[:-1] < 0).all()


def plain_search(X, offsets, start):
    """pLocalsearch with every cost as the difference of two objectives from scratch."""
    k, index = start.shape[1] + 1, index_of(offsets, start)
    sweeps = []
    while not sweeps or sweeps[-1] > 0:
        sweeps.append(0)
        for a, z in itertools.pairwise(offsets):
            now, best, choice = omega(X, index, k), -1e-9, None
            for row, to in neighbours(index, a, z):
                trial = index.copy()
                trial[row] = to
                if omega(X, trial, k) - now < best:
                    best, choice = omega(X, trial, k) - now, trial
            if choice is not None:
                index = choice
                sweeps[-1] += 1
    return index, sweeps


@pytest.mark.parametrize("seed", range(12))
def test_the_search_is_the_definition_move_by_move(seed):
    rng = np.random.default_rng(seed)
    sizes, k = rng.integers(1, 12, 7), int(rng.integers(2, 5))
    X = rng.normal(size=(sizes.sum(), 3))  # no two costs alike
    X[:, 0] += np.concatenate([np.sort(rng.integers(0, k, n)) for n in sizes])
    offsets, start = offsets_of(sizes), bands(sizes, k)
    bounds, *_, moves = kernels.rank_clusters(X, offsets, start, 1000)
    index, sweeps = plain_search(X, offsets, start)
    assert index_of(offsets, bounds).tolist() == index.tolist()
    assert moves.tolist() == sweeps


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 4), st.data())
def test_no_single_move_betters_the_end(sizes, k, draw):
    """Exactly, in fractions: objects are whole numbers, so that there are ties."""
    n = sum(sizes)
    values = draw.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    X, offsets = np.array(values, dtype=float)[:, None], offsets_of(sizes)
    bounds, *_, moves = kernels.rank_clusters(X, offsets, bands(sizes, k), 1000)
    assert moves[-1] == 0

    def exactly(index):
        total = Fraction(0)
        for c in set(index):
            own = [Fraction(v) for v, i in zip(values, index, strict=True) if i == c]
            total += sum((v - sum(own) / len(own)) ** 2 for v in own)
        return total

    index = index_of(offsets, bounds).tolist()
    for a, z in itertools.pairwise(offsets):
        for row, to in neighbours(index, a, z):
            assert exactly([*index[:row], to, *index[row + 1 :]]) >= exactly(index)


# Corners


@backends
def test_the_first_of_equal_moves_counts(backend):
    """-1 and 1 are as far from both centres: one more in the middle, by symmetry either way."""
    X = np.array([[-9.0], [-1.0], [0.0], [0.0], [1.0], [9.0]])
    task = X, np.array([0, 6]), np.array([[2, 4]])
    bounds, _, counts, objective, _ = backend.rank_clusters(*task, 1)
    assert bounds.tolist() == [[1, 4]]  # the row 1, not the row 4
    assert counts.tolist() == [1, 3, 2]
    assert objective.tolist() == pytest.approx([2 * 32.0, 32 + 2 / 3])


@backends
def test_an_object_alone_in_its_cluster_stays(backend):
    X = np.array(
        [[0.0], [5.0], [5.1]]
    )  # nearer to the others than anything: it would go if it could
    bounds, _, counts, _, moves = backend.rank_clusters(X, np.array([0, 3]), np.array([[1]]), 1000)
    assert (bounds.tolist(), counts.tolist(), moves.tolist()) == ([[1]], [1, 2], [0])
    twins = backend.rank_clusters(np.ones((2, 1)), np.array([0, 2]), np.array([[1]]), 1000)
    assert (twins[0].tolist(), twins[4].tolist()) == ([[1]], [0])


@backends
def test_a_cluster_that_a_list_has_not_is_passed_over(backend):
    """The second list has clusters 0 and 2; its object goes from one to the other, not between."""
    X = np.array([[0.0], [0.0], [5.0], [5.0], [9.0], [9.0], [0.0], [8.9], [9.0]])
    bounds, *_ = backend.rank_clusters(X, np.array([0, 6, 9]), np.array([[2, 4], [8, 8]]), 1000)
    assert bounds.tolist() == [[2, 4], [7, 7]]


@backends
def test_a_cluster_without_objects_has_a_centre_of_zeros(backend):
    bounds, centres, counts, objective, moves = backend.rank_clusters(
        np.array([[3.0], [5.0]]), np.array([0, 1, 2]), np.array([[1, 1], [2, 2]]), 10
    )
    assert bounds.tolist() == [[1, 1], [2, 2]]
    assert (centres.tolist(), counts.tolist()) == ([[4.0], [0.0], [0.0]], [2, 0, 0])
    assert (objective.tolist(), moves.tolist()) == ([2.0, 2.0], [0])


@backends
def test_objects_that_are_all_alike_do_not_move(backend):
    X = np.full((12, 5), 0.1)
    *_, objective, moves = backend.rank_clusters(X, np.array([0, 6, 12]), bands([6, 6], 3), 1000)
    assert moves.tolist() == [0]
    assert objective[-1] == pytest.approx(0, abs=1e-25)


# The library function


def planted(seed, sizes, k, shift=0.0):
    """Objects around the centre of their degree; each list has its own share of every degree."""
    rng = np.random.default_rng(seed)
    degree = np.concatenate([np.sort(rng.integers(0, k, n)) for n in sizes])
    X = rng.normal(scale=0.2, size=(len(degree), 6)) + shift
    X[:, 0] += 3 * degree
    return X, degree


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_degrees_that_lie_apart_are_found(shift):
    sizes = np.random.default_rng(0).integers(12, 30, 40)
    X, degree = planted(1, sizes, 3, shift)
    found = rank_preserving_clusters(X, offsets_of(sizes), 3)
    assert found.converged
    assert found.index.tolist() == degree.tolist()
    assert found.counts.tolist() == np.bincount(degree).tolist()
    assert found.objective[-1] == pytest.approx(omega(X, degree, 3), rel=1e-6)


class Weighted:
    """A diagonal metric."""

    def __init__(self, weights):
        self.weights = np.asarray(weights)

    def transform(self, X):
        return X * np.sqrt(self.weights)


def test_a_metric_changes_distances_and_centres_stay_in_the_coordinates_of_x():
    sizes = [20] * 10
    X, degree = planted(2, sizes, 3)
    X[:, 1] *= 100  # drowns the degrees
    metric = Weighted([1, 0, 1, 1, 1, 1])
    assert rank_preserving_clusters(X, offsets_of(sizes), 3).index.tolist() != degree.tolist()
    found = rank_preserving_clusters(X, offsets_of(sizes), 3, metric=metric)
    assert found.index.tolist() == degree.tolist()
    means = [X[degree == c].mean(axis=0) for c in range(3)]
    np.testing.assert_allclose(found.centres, means, rtol=1e-12)
    assert found.objective[-1] == pytest.approx(omega(metric.transform(X), degree, 3))


def test_one_cluster_is_all_objects():
    X, _ = planted(3, [5, 1, 4], 2)
    found = rank_preserving_clusters(X, [0, 5, 6, 10], 1)
    assert found.index.tolist() == [0] * 10
    np.testing.assert_allclose(found.centres, [X.mean(axis=0)])
    assert found.objective.tolist() == pytest.approx([omega(X, np.zeros(10), 1)] * 2)
    assert found.converged


def test_a_list_of_one_object_stays_in_the_first_cluster():
    X, _ = planted(4, [1, 8], 2)
    X[0] = X[-1]
    assert rank_preserving_clusters(X, [0, 1, 9], 2).index[0] == 0


def test_a_search_that_is_cut_short_says_so():
    sizes = [30] * 5
    X, _ = planted(5, sizes, 3)
    cut = rank_preserving_clusters(X, offsets_of(sizes), 3, max_sweeps=1)
    assert not cut.converged
    assert "1 sweeps, not converged" in repr(cut)
    assert (cut.max_sweeps, len(cut.moves), len(cut.objective)) == (1, 1, 2)


def test_single_precision_and_strided_input_is_taken():
    sizes = [12] * 6
    X, _ = planted(6, sizes, 3)
    X = X.astype(np.float32)
    wide = rank_preserving_clusters(X.astype(np.float64), offsets_of(sizes), 3)
    for other in (X, np.asfortranarray(X)):
        got = rank_preserving_clusters(other, offsets_of(sizes), 3)
        assert got.index.tolist() == wide.index.tolist()


@given(st.integers(0, 40), st.integers(1, 8))
def test_equal_bands_are_equal(n, k):
    sizes = np.diff([0, *equal_bands([n], k)[0], n])
    assert len(sizes) == k
    assert sizes.max() - sizes.min() <= 1
    bands = np.repeat(np.arange(k), sizes).tolist()
    for p, band in enumerate(bands):  # the band of the object's middle, one of the two on a border
        assert band in {k * (2 * p + 1) // (2 * n), (k * (2 * p + 1) - 1) // (2 * n)}


@given(st.integers(1, 40), st.integers(1, 12))
def test_bands_of_a_list_turned_round_are_turned_round(n, k):
    bands = np.searchsorted(equal_bands([n], k)[0], np.arange(n), side="right")
    turned = (k - 1 - bands)[::-1]
    middle = 2 * np.arange(n) + 1 == n  # with an even k it is between two bands: in the better one
    assert bands[~middle].tolist() == turned[~middle].tolist()
    assert (2 * bands[middle] == k - 1 - (k % 2 == 0)).all()


def test_short_lists_may_have_the_last_cluster():
    """Two objects of the degrees 2 and 0 beside long lists of 2, 1, 0."""
    X = np.array([2, 2, 1, 1, 0, 0] * 5 + [2, 0] * 20, dtype=float)[:, None]
    found = rank_preserving_clusters(X, [*range(0, 30, 6), *range(30, 71, 2)], 3)
    assert found.objective[-1] == 0
    assert found.index.tolist() == (2 - X[:, 0]).tolist()


def test_no_sweeps_are_equal_bands():
    X, offsets = np.random.default_rng(0).normal(size=(16, 2)), [0, 9, 16]
    found = rank_preserving_clusters(X, offsets, 3, max_sweeps=0)
    assert found.index.tolist() == index_of(offsets, bands([9, 7], 3)).tolist()
    assert (found.moves.tolist(), found.converged) == ([], True)
    assert found.objective.tolist() == pytest.approx([omega(X, found.index, 3)])
    assert repr(found).endswith("0 sweeps, equal bands)")
    assert rank_preserving_clusters(X, offsets, 3).moves[0] > 0


@given(data=lists(), draw=st.data())
def test_a_rest_stays_in_the_last_cluster_and_whole_lists_have_all(data, draw):
    X, offsets, borders = data
    sizes, k = np.diff(offsets), borders.shape[1] + 1
    depth = np.array([draw.draw(st.integers(0, int(n))) for n in sizes])
    if len(X) == 0 or (depth + (depth < sizes)).max() < k:
        return
    bands_then = rank_preserving_clusters(X, offsets, k, max_sweeps=0, depth=depth)
    found = rank_preserving_clusters(X, offsets, k, depth=depth)
    for a, n, own in zip(offsets.tolist(), sizes.tolist(), depth.tolist(), strict=False):
        index, start = (f.index[a : a + n].tolist() for f in (found, bands_then))
        few = k if own == n else k - 1
        want = [0] * own if k == 1 else index_of([0, own], equal_bands([own], few)).tolist()
        assert start == want + [k - 1] * (n - own)
        assert index[own:] == [k - 1] * (n - own)
        assert index == sorted(index)
        assert max(index[:own], default=0) < max(few, 1)
    assert found.counts.tolist() == np.bincount(found.index, minlength=k).tolist()
    assert (found.counts > 0).all()
    np.testing.assert_allclose(
        found.objective[-1], omega(X, found.index, k), rtol=1e-6, atol=1e-9 * (1 + (X**2).sum())
    )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_clusters": 0}, UsageError, "n_clusters to be a whole number of 1 or more, got 0"),
        ({"max_sweeps": -1}, UsageError, "max_sweeps to be a whole number of 0 or more, got -1"),
        ({"n_clusters": 2.5}, UsageError, "n_clusters to be a whole number of 1 or more, got 2.5"),
        (
            {"metric": "diagonal"},
            UsageError,
            r"expected a metric, such as learn_metric.*got 'diagonal'",
        ),
        (
            {"X": np.zeros((5, 0))},
            DataError,
            r"one column per feature, got an array of shape \(5, 0\)",
        ),
        ({"n_clusters": 4}, UsageError, "n_clusters must be at most 3, got 4"),
        (
            {"n_clusters": 4, "depth": [2, 2]},
            UsageError,
            "unordered rest, so n_clusters must be at most .*, got 4",
        ),
        ({"depth": [3]}, DataError, "expected 2 depths, one per list"),
        ({"depth": [3, 3]}, DataError, "from 0 to the length of its list"),
        ({"offsets": [0, 2, 4]}, DataError, "expected 4 rows of X.*got 5"),
        ({"offsets": [0, 3, 2, 5]}, DataError, "never falls"),
        ({"X": np.zeros(5)}, DataError, r"2 dimensions, .* got an array of shape \(5,\)"),
        (
            {"X": np.zeros((0, 2)), "offsets": [0]},
            EmptyDataError,
            "there are no objects to cluster",
        ),
        ({"X": [[1.0], [2.0], [np.nan], [3.0], [4.0]]}, NonFiniteError, "nan in row 2, column 0"),
        ({"X": [[1.0], [2.0], [-np.inf], [3.0], [4.0]]}, NonFiniteError, "-inf in row 2"),
        (
            {"X": [[1e200], [2.0], [0.0], [3.0], [4.0]]},
            NonFiniteError,
            "up to 1e.200.*squares are infinite",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:(overflow|invalid):RuntimeWarning")
def test_bad_input(change, error, message):
    right = {"X": np.arange(10.0).reshape(5, 2), "offsets": [0, 3, 5], "n_clusters": 2}
    with pytest.raises(error, match=message):
        rank_preserving_clusters(**{**right, **change})
