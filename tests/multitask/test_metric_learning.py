"""The metric learned from ranked lists: pairs, the optimum, its proof, and what it does not depend on."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from threadpoolctl import threadpool_limits

from podium.errors import (
    DataError,
    LengthMismatchError,
    NonFiniteError,
    UnknownNameError,
    UsageError,
)
from podium.multitask import DistanceMetric, learn_metric
from podium.multitask.metric_learning import far_pairs
from podium.multitask.metric_solver import (
    DiagonalFarDistance,
    FullFarDistance,
    maximise_far_distance,
)

kinds = pytest.mark.parametrize("kind", ["diagonal", "full"])


def lists(n_lists=6, n=12, d=3, noise=0.3, seed=0):
    """Objects along a curve, best first."""
    rng = np.random.default_rng(seed)
    t = np.tile(np.linspace(1, 0, n), n_lists)
    X = noise * rng.standard_normal((n_lists * n, d))
    X[:, 0] += 2 * t
    X[:, 1] += (t - 0.3) ** 2
    return X, np.arange(n_lists + 1) * n


def pairs_of(offsets, keep):
    """Pairs of places, list by list, whose distance is kept."""
    return np.array([
        (a, b)
        for first, end in itertools.pairwise(offsets)
        for a, b in itertools.combinations(range(first, end), 2)
        if keep(b - a)
    ]).reshape(-1, 2)  # fmt: skip


def apart(X, offsets, keep):
    better, worse = pairs_of(offsets, keep).T
    return X[better] - X[worse]


def distances(M, differences):
    M = np.diag(M) if np.ndim(M) == 1 else M
    return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", differences, M, differences), 0))


# --- pairs ---


@given(st.lists(st.integers(0, 14), min_size=1, max_size=6), st.integers(1, 8))
def test_far_pairs_are_all_pairs_far_apart(sizes, kappa_2):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    better, worse, total = far_pairs(offsets, kappa_2, 10**6, 0)
    wanted = pairs_of(offsets, lambda gap: gap >= kappa_2)
    assert total == len(wanted) == len(better)
    assert sorted(zip(better, worse, strict=True)) == sorted(map(tuple, wanted.tolist()))


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=30)
def test_drawn_pairs_are_different_far_pairs(seed, max_pairs):
    offsets = np.array([0, 9, 9, 12, 40])
    better, worse, total = far_pairs(offsets, 5, max_pairs, seed)
    every = set(map(tuple, pairs_of(offsets, lambda gap: gap >= 5).tolist()))
    drawn = set(zip(better.tolist(), worse.tolist(), strict=True))
    assert len(drawn) == max_pairs < total == len(every)
    assert drawn <= every


def test_every_far_pair_is_drawn_as_often():
    offsets = np.array([0, 8, 17])
    hits = np.zeros((17, 17))
    for seed in range(2000):
        better, worse, _ = far_pairs(offsets, 5, 4, seed)
        hits[better, worse] += 1
    found = hits[hits > 0]
    assert len(found) == 6 + 10
    np.testing.assert_allclose(found / 2000, 4 / 16, atol=0.05)


def test_pairs_of_a_very_long_list():
    """Numbers of pairs beyond what a square root of doubles tells exactly."""
    n = 300_000_000
    better, worse, total = far_pairs(np.array([0, n]), 5, 1000, 0)
    assert total == (n - 5) * (n - 4) // 2
    assert (better >= 0).all()
    assert (worse < n).all()
    assert (worse - better >= 5).all()
    assert np.abs(np.mean(worse - better) / n - 1 / 3) < 0.05


# --- the optimum ---


def least(X, offsets, kind):
    """The value of the problem by SciPy: M of a free factor, scaled to meet the constraint."""
    near, far = (apart(X, offsets, keep) for keep in (lambda g: g <= 2, lambda g: g >= 5))
    d = X.shape[1]

    def matrix(x):
        return x**2 if kind == "diagonal" else x.reshape(d, d) @ x.reshape(d, d).T

    def ratio(x):
        M = matrix(x)
        return np.log(np.mean(distances(M, near) ** 2)) - 2 * np.log(np.mean(distances(M, far)))

    rng = np.random.default_rng(0)
    starts = rng.standard_normal((4, d if kind == "diagonal" else d * d))
    options = {"maxiter": 2000, "gtol": 1e-9, "ftol": 1e-15}
    found = [minimize(ratio, x, method="L-BFGS-B", options=options) for x in starts]
    best = min(found, key=lambda one: one.fun)
    return np.exp(best.fun), matrix(best.x) / np.mean(distances(matrix(best.x), far)) ** 2


@kinds
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_scipys(kind, seed):
    X, offsets = lists(noise=[0.1, 0.3, 1.0, 3.0][seed], seed=seed)
    metric = learn_metric(X, offsets, kind=kind, tol=1e-9)
    value, M = least(X, offsets, kind)
    assert metric.converged
    np.testing.assert_allclose(metric.objective, value, rtol=1e-5)
    assert metric.objective <= value * (1 + 1e-8)
    np.testing.assert_allclose(metric.matrix, M, atol=5e-3 * M.max())


@kinds
def test_objective_and_constraint_are_what_they_say(kind):
    X, offsets = lists()
    metric = learn_metric(X, offsets, kind=kind)
    near, far = (apart(X, offsets, keep) for keep in (lambda g: g <= 2, lambda g: g >= 5))
    np.testing.assert_allclose(np.mean(distances(metric.matrix, far)), 1, rtol=1e-9)
    np.testing.assert_allclose(
        np.mean(distances(metric.matrix, near) ** 2), metric.objective, rtol=1e-9
    )
    assert (metric.n_near, metric.n_far, metric.n_sampled) == (len(near), len(far), len(far))


@kinds
@given(seed=st.integers(0, 2**32), tol=st.sampled_from([1e-1, 1e-2, 1e-4]))
@settings(max_examples=15, deadline=None)
def test_the_gap_is_proved(kind, seed, tol):
    X, offsets = lists(3, 10, 3, seed=seed)
    rough, fine = (learn_metric(X, offsets, kind=kind, tol=t) for t in (tol, 1e-8))
    assert fine.converged
    assert rough.objective - rough.gap <= fine.objective * (1 + 1e-9)
    assert fine.objective <= rough.objective * (1 + 1e-9)


def smallest_eigenvalue(metric):
    whole = np.diag(metric.matrix) if metric.kind == "diagonal" else metric.matrix
    return np.linalg.eigvalsh(whole)[0]


@kinds
@given(
    seed=st.integers(0, 2**32), d=st.integers(1, 7), size=st.integers(-3, 3),
    sizes=st.lists(st.integers(0, 15), min_size=1, max_size=5).map(lambda s: [*s, 8]),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_the_matrix_is_positive_semidefinite(kind, seed, d, size, sizes):
    X = 10.0**size * np.random.default_rng(seed).standard_normal((sum(sizes), d))
    metric = learn_metric(X, np.concatenate([[0], np.cumsum(sizes)]), kind=kind)
    # M is as large as the features are small: rounding is measured against it.
    rounding = 1e-10 * max(1.0, 1e-5 * np.abs(metric.matrix).max())
    assert smallest_eigenvalue(metric) >= -rounding
    assert np.isfinite(metric.matrix).all()
    if kind == "full":
        np.testing.assert_array_equal(metric.matrix, metric.matrix.T)


@kinds
@pytest.mark.parametrize("d", [3, 46])
def test_no_eigenvalue_of_standardised_features_is_below_zero(kind, d):
    metric = learn_metric(*lists(40, 30, d, noise=1.0), kind=kind)
    assert smallest_eigenvalue(metric) >= -1e-10


def test_a_full_metric_is_at_least_as_good():
    X, offsets = lists(noise=1.0)
    full, diagonal = (learn_metric(X, offsets, kind=kind) for kind in ("full", "diagonal"))
    assert full.objective < diagonal.objective


def test_one_feature_needs_no_search():
    X, offsets = lists(d=3)
    for kind in ("diagonal", "full"):
        metric = learn_metric(X[:, :1], offsets, kind=kind)
        far = apart(X[:, :1], offsets, lambda g: g >= 5)
        np.testing.assert_allclose(metric.matrix.ravel(), np.mean(np.abs(far)) ** -2)
        assert (metric.iterations, metric.converged) == (0, True)


@kinds
def test_too_few_iterations_are_marked(kind):
    X, offsets = lists(noise=3.0)
    metric = learn_metric(X, offsets, kind=kind, tol=1e-12, max_iter=1)
    assert not metric.converged
    assert metric.iterations == 1
    assert metric.gap > 0


@kinds
def test_the_gradient_of_the_mean_distance(kind):
    """dF/dB = G B."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((20, 3))
    spread = DiagonalFarDistance(Z**2) if kind == "diagonal" else FullFarDistance(Z)
    B = rng.standard_normal(3 if kind == "diagonal" else (3, 3))
    found = approx_fprime(B.ravel(), lambda x: spread.value(x.reshape(B.shape))[0], 1e-7)
    np.testing.assert_allclose(spread.product(spread.value(B)[1], B).ravel(), found, atol=1e-6)


@kinds
@given(seed=st.integers(0, 2**32), d=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_a_step_of_power_one_never_falls(kind, seed, d):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((15, d)) * 10 ** rng.uniform(-3, 3, d)
    spread = DiagonalFarDistance(Z**2) if kind == "diagonal" else FullFarDistance(Z)
    B = spread.start()
    value, G = spread.value(B)
    for _ in range(5):
        B = spread.step(B, G, 1.0)
        after, G = spread.value(B)
        assert after >= value * (1 - 1e-12)
        value = after


@kinds
def test_features_that_hardly_ever_differ_and_nearly_equal_ones(kind):
    """Where steps alone creep, and L-BFGS alone leaves what is nearly 0."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((3000, 12)) @ (np.eye(12) + 0.95 * np.ones((12, 12)))
    Z[:, 8:] *= rng.random((3000, 4)) < 0.01
    Z[0] = 0
    Z[0, 11] = 1e-3
    spread = DiagonalFarDistance(Z**2) if kind == "diagonal" else FullFarDistance(Z)
    found = maximise_far_distance(spread, 1e-7, 1000)
    assert found.gap <= 1e-7
    assert found.iterations < 500


# --- transform ---


@kinds
def test_transformed_objects_are_as_far_apart_as_the_metric_says(kind):
    X, offsets = lists()
    metric = learn_metric(X, offsets, kind=kind)
    Z = metric.transform(X)
    found = np.linalg.norm(Z[:-1] - Z[1:], axis=1)
    np.testing.assert_allclose(found, distances(metric.matrix, X[:-1] - X[1:]), atol=1e-9)
    with pytest.raises(
        DataError, match=r"expected 3 features, as the metric has, got shape \(2, 2\)"
    ):
        metric.transform(np.eye(2))


# --- invariance ---


def same_distances(metric, X, other, Y):
    one, two = metric.transform(X), other.transform(Y)
    gaps = [np.linalg.norm(Z[:-1] - Z[1:], axis=1) for Z in (one, two)]
    np.testing.assert_allclose(gaps[0], gaps[1], rtol=1e-6, atol=1e-6)


@kinds
def test_units_do_not_matter(kind):
    X, offsets = lists(noise=1.0)
    Y = X * [1e-6, 3.0, 1e5]
    one, two = (learn_metric(A, offsets, kind=kind, tol=1e-10) for A in (X, Y))
    same_distances(one, X, two, Y)
    np.testing.assert_allclose(one.objective, two.objective, rtol=1e-9)


def test_a_rotation_does_not_matter_to_a_full_metric():
    X, offsets = lists(noise=1.0)
    turn = np.random.default_rng(1).standard_normal((3, 3))
    one, two = (learn_metric(A, offsets, kind="full", tol=1e-10) for A in (X, X @ turn))
    same_distances(one, X, two, X @ turn)


@kinds
def test_where_a_list_lies_does_not_matter(kind):
    X, offsets = lists(noise=1.0)
    moved = X + np.repeat(np.random.default_rng(0).integers(-8, 8, (6, 3)), 12, axis=0)
    one, two = (learn_metric(A, offsets, kind=kind, tol=1e-10) for A in (X, moved))
    same_distances(one, X, two, X)


@kinds
def test_the_order_of_the_lists_and_lists_without_pairs_do_not_matter(kind):
    X, offsets = lists(noise=1.0)
    blocks = X.reshape(6, 12, 3)[::-1].reshape(-1, 3)
    short = np.concatenate([blocks[:24], [[9.0, 9.0, 9.0]], blocks[24:]])
    bounds = np.concatenate([offsets[:3], [24, 25], offsets[3:] + 1])
    one, two = learn_metric(X, offsets, kind=kind), learn_metric(short, bounds, kind=kind)
    np.testing.assert_allclose(one.matrix, two.matrix, rtol=1e-4, atol=1e-6 * one.matrix.max())
    assert one.n_near == two.n_near


@kinds
def test_rows_in_blocks_are_rows_in_one(kind, monkeypatch):
    X, offsets = lists()
    whole = learn_metric(X, offsets, kind=kind)
    monkeypatch.setattr("podium.multitask.metric_learning.ROWS_PER_BLOCK", 7)
    np.testing.assert_allclose(learn_metric(X, offsets, kind=kind).objective, whole.objective)


# --- constant and dependent features ---


@kinds
def test_features_that_say_nothing(kind):
    """The same everywhere, or the same throughout each list."""
    X, offsets = lists(noise=1.0)
    more = np.column_stack([X, np.full(len(X), 0.1), np.repeat(np.arange(6.0), 12)])
    metric, alone = (learn_metric(A, offsets, kind=kind) for A in (more, X))
    assert metric.converged
    np.testing.assert_array_equal(metric.matrix[3:], 0)
    np.testing.assert_allclose(metric.objective, alone.objective, rtol=1e-5)
    if kind == "full":
        np.testing.assert_array_equal(metric.matrix[:, 3:], 0)


def test_a_feature_twice_changes_no_distance():
    X, offsets = lists(noise=1.0)
    twice = np.column_stack([X, X[:, 0]])
    one, two = (learn_metric(A, offsets, kind="full", tol=1e-10) for A in (X, twice))
    same_distances(one, X, two, twice)


@pytest.mark.parametrize("size", [1e-3, 1e-5, 1e-7])
def test_what_two_features_differ_by_counts_however_small(size):
    """A full metric does not depend on the coordinates: here on (a, t) and (a, a + size t)."""
    rng = np.random.default_rng(1)
    a, t = rng.standard_normal(300), np.tile(np.linspace(1, 0, 15), 20)
    plain, skew = (
        learn_metric(np.column_stack([a, other]), np.arange(21) * 15, kind="full", tol=1e-8)
        for other in (t, a + size * t)
    )
    assert skew.n_dropped == 0
    np.testing.assert_allclose(skew.objective, plain.objective, rtol=1e-6)
    assert skew.gap < 1e-6 * skew.objective


def test_directions_that_are_rounding_are_dropped_and_told():
    X, offsets = lists(noise=1.0)
    third = np.column_stack([X, X[:, 0] / 3, np.full(len(X), 0.1)])
    assert learn_metric(third, offsets, kind="full").n_dropped == 2
    assert learn_metric(third, offsets).n_dropped == 1  # one feature says nothing
    assert (
        learn_metric(X, offsets).n_dropped == learn_metric(X, offsets, kind="full").n_dropped == 0
    )


# --- draws, bytes, threads ---


@kinds
def test_the_seed_draws_the_far_pairs(kind):
    X, offsets = lists(20, 40, 4, noise=1.0)
    one, same, other = (
        learn_metric(X, offsets, kind=kind, max_pairs=500, seed=s) for s in (0, 0, 1)
    )
    assert one.matrix.tobytes() == same.matrix.tobytes()
    assert one.matrix.tobytes() != other.matrix.tobytes()
    assert (one.n_sampled, one.n_far) == (500, 20 * 35 * 36 // 2)
    every = learn_metric(X, offsets, kind=kind)
    assert every.n_sampled == every.n_far
    np.testing.assert_allclose(one.objective, every.objective, rtol=0.2)


@pytest.mark.parametrize(
    ("kind", "shape", "pairs"),
    [("diagonal", (200, 40, 46), 20_000), ("full", (100, 40, 100), 4000)],
)
def test_the_number_of_threads_changes_no_bit(kind, shape, pairs):
    """So large that BLAS adds up in another order with two threads, where it may have them."""
    X, offsets = lists(*shape)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            metric = learn_metric(X, offsets, kind=kind, max_pairs=pairs, max_iter=3)
            found.append((metric.matrix.tobytes(), metric.transform(X).tobytes()))
    assert found[0] == found[1]


# --- bad input ---


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"kappa_1": 5}, UsageError, "1 <= kappa_1 < kappa_2.*got kappa_1 = 5, kappa_2 = 5"),
    ({"kappa_1": 6, "kappa_2": 3}, UsageError, "got kappa_1 = 6, kappa_2 = 3"),
    ({"kappa_1": 0}, UsageError, "kappa_1 to be a whole number of 1 or more, got 0"),
    ({"kappa_1": 1.5}, UsageError, "kappa_1 to be a whole number of 1 or more, got 1.5"),
    ({"kind": "diag"}, UnknownNameError, "kind of metric 'diag'; did you mean diagonal"),
    ({"max_pairs": 0}, UsageError, "max_pairs to be a whole number of 1 or more, got 0"),
    ({"kappa_2": 12}, DataError, r"longest list has 12 objects.*more than kappa_2 = 12; use metric=None"),
    ({"offsets": [0, 5]}, LengthMismatchError, "offsets from 0 to 72"),
    ({"offsets": [0, 40, 20, 72]}, DataError, "offsets must not fall"),
    ({"X": np.ones((72, 2))}, DataError, "no feature varies within a list.*use metric=None"),
    ({"X": np.zeros((72, 0))}, DataError, "no feature varies within a list"),
    ({"X": np.ones(72)}, DataError, r"a matrix of features, got an array of shape \(72,\)"),
    ({"X": np.full((72, 2), np.nan)}, NonFiniteError, "the features or their squares are not finite"),
    ({"X": np.arange(144.0).reshape(72, 2) * 1e200}, NonFiniteError, "scale the features"),
    ({"X": lists()[0] * 1e-160}, NonFiniteError, "differences .* are too small.*scale the features"),
], ids=lambda value: str(value)[:40])  # fmt: skip
@kinds
def test_what_cannot_be_learned(kind, options, error, message):
    X, offsets = lists()
    with pytest.raises(error, match=message):
        learn_metric(**{"X": X, "offsets": offsets, "kind": kind, **options})


@kinds
def test_no_list_at_all(kind):
    with pytest.raises(DataError, match="the longest list has 0 objects"):
        learn_metric(np.zeros((0, 2)), [0], kind=kind)


def test_a_metric_is_frozen():
    metric = learn_metric(*lists())
    assert isinstance(metric, DistanceMetric)
    with pytest.raises(AttributeError):
        metric.matrix = np.eye(3)


def test_a_metric_shows_what_it_is():
    rng = np.random.default_rng(0)
    found = learn_metric(rng.normal(size=(24, 50)), [0, 12, 24])
    assert repr(found).startswith("DistanceMetric(diagonal of 50 features, objective ")
    assert repr(found).endswith("iterations, converged)")
    assert len(repr(found)) < 150
