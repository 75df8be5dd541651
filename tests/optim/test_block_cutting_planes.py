"""Cutting planes in blocks, the ascent and the interior point method behind them."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from podium.errors import DivergedError
from podium.kernels import reference
from podium.optim import BlockPlanes, BlockProblem, block_cutting_planes
from podium.optim import block_cutting_planes as solve
from podium.optim.block_cutting_planes import FIRST_PLANES_PER_BLOCK, MAX_IDLE_PASSES
from podium.optim.interior_point import interior_point

module = __import__("podium.optim.block_cutting_planes", fromlist=["MAX_ASCENT_SWEEPS"])


def hinges(rng, n=60, d=5, scale=1.0):
    """A linear SVM: each row a block with its own hinge."""
    X, y = rng.normal(size=(n, d)), np.sign(rng.normal(size=n))
    X[:, 0] += y

    def loss(s, known):
        return np.maximum(0, 1 - y * s), np.where(y * s < 1, -y, 0.0)

    return X, y, BlockProblem(X, np.arange(n + 1), loss, np.full(n, scale))


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 100.0])
def test_a_linear_svm_as_scikit_learn_has_it(C):
    X, y, problem = hinges(np.random.default_rng(0), scale=C)
    found = block_cutting_planes(problem, eps=1e-9)
    peer = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-10, max_iter=10**7).fit(X, y)
    w = peer.coef_[0]
    value = w @ w / 2 + C * np.maximum(0, 1 - y * (X @ w)).sum()
    assert found.converged
    assert found.value <= value + 1e-8 * C * len(X)
    assert found.value - found.gap <= value + 1e-12


@pytest.mark.parametrize("sweeps", [1, 10**6], ids=["interior point", "ascent"])
def test_both_ways_to_solve_the_master_problem_agree(monkeypatch, sweeps):
    monkeypatch.setattr(module, "MAX_ASCENT_SWEEPS", sweeps)
    X, y, problem = hinges(np.random.default_rng(1), scale=0.5)
    found = block_cutting_planes(problem, eps=1e-8)

    def f(w):
        return w @ w / 2 + 0.5 * np.maximum(0, 1 - y * (X @ w)).sum()

    other = scipy.optimize.minimize(f, found.x, method="Nelder-Mead", options={"xatol": 1e-10})
    assert found.converged
    assert found.value == pytest.approx(f(found.x), rel=1e-12)
    assert f(other.x) >= found.value - found.gap - 1e-12


def test_the_gap_is_proved_and_told():
    *_, problem = hinges(np.random.default_rng(2), scale=1.0)
    exact = block_cutting_planes(problem, eps=1e-10).value
    for eps in (1e-1, 1e-2, 1e-4):
        found = block_cutting_planes(problem, eps=eps)
        assert found.converged
        assert found.gap <= eps * problem.totals.sum()
        assert found.value - found.gap <= exact <= found.value


def test_too_few_passes_are_told():
    *_, problem = hinges(np.random.default_rng(3), scale=10.0)
    found = block_cutting_planes(problem, eps=1e-9, max_iter=2)
    assert not found.converged
    assert "1e-09 was requested" in found.reason


def test_zero_is_no_answer():
    """At a small scale the first step's gain is below eps, and still it is taken."""
    *_, problem = hinges(np.random.default_rng(4), scale=1e-6)
    found = block_cutting_planes(problem, eps=1e-2)
    assert found.converged
    assert found.x.any()
    assert found.value < problem(np.zeros(5))


def test_a_problem_whose_optimum_is_zero_is_not_called_converged():
    X = np.array([[1.0], [-1.0]])

    def loss(s, known):  # |s| + 1
        return np.abs(s) + 1, np.where(s < 0, -1.0, 1.0)

    found = block_cutting_planes(BlockProblem(X, np.arange(3), loss, np.ones(2)), eps=1e-3)
    assert not found.converged
    assert "w = 0 was not bettered" in found.reason
    assert abs(found.x[0]) < 0.1


def test_planes_of_one_problem_start_the_next():
    *_, first = hinges(np.random.default_rng(5), scale=1.0)
    planes = BlockPlanes(first.totals, 5)
    cold = block_cutting_planes(first, planes, eps=1e-4)
    warm = block_cutting_planes(first, planes, eps=1e-4)
    assert warm.converged
    assert warm.iterations < cold.iterations
    assert warm.value == pytest.approx(block_cutting_planes(first, eps=1e-8).value, rel=1e-3)


def test_tilted_planes_belong_to_the_shifted_losses():
    """max(0, 1 - y s + c.w) has the planes of max(0, 1 - y s) with c added, but for the plane 0."""
    X, _y, problem = hinges(np.random.default_rng(6), scale=1.0)
    planes = BlockPlanes(problem.totals, 5)
    block_cutting_planes(problem, planes, eps=1e-3)
    taken = np.arange(planes.offsets.shape[1]) < planes.used[:, None]
    before, shift = planes.slopes.copy(), np.random.default_rng(7).normal(size=(len(X), 5))
    planes.tilt(shift, planes.offsets)
    change = planes.slopes - before
    assert not change[:, 0].any()
    assert not change[~taken].any()
    expected = planes.offsets[:, 1:, None] * shift[:, None, :] * taken[:, 1:, None]
    np.testing.assert_allclose(change[:, 1:], expected)


def test_idle_planes_are_written_over_and_others_kept():
    planes = BlockPlanes(np.ones(2), 1)
    for k in range(FIRST_PLANES_PER_BLOCK - 1):
        planes.add(np.full(2, float(k)), np.ones((2, 1)), np.arange(2))
    planes.weights[0] = [0.5, 0, 0, 0.5, 0, 0, 0, 0]
    planes.idle[0, 3], planes.idle[1, 5] = MAX_IDLE_PASSES + 1, MAX_IDLE_PASSES + 2
    planes.add(np.full(2, 9.0), np.ones((2, 1)), np.arange(2))
    assert planes.offsets[0, 3] == planes.offsets[1, 5] == 9.0
    assert planes.weights[0].tolist() == [1.0] + [0.0] * 7  # the idle plane's share is the zero's
    assert planes.offsets.shape[1] == FIRST_PLANES_PER_BLOCK
    planes.add(np.full(2, 10.0), np.ones((2, 1)), np.arange(2))
    assert planes.offsets.shape[1] == 2 * FIRST_PLANES_PER_BLOCK
    assert planes.offsets[:, FIRST_PLANES_PER_BLOCK].tolist() == [10.0, 10.0]


def test_no_number():
    problem = BlockProblem(
        np.ones((1, 1)), np.array([0, 1]), lambda s, known: (s * np.nan, s), np.ones(1)
    )
    with pytest.raises(DivergedError, match="became nan"):
        block_cutting_planes(problem)


# The master problem: blocks of planes.


def drawn(rng, n_blocks, d, places=6):
    used = rng.integers(1, places + 1, n_blocks)
    slopes, offsets = rng.normal(size=(n_blocks, places, d)), rng.normal(size=(n_blocks, places))
    taken = np.arange(places) < used[:, None]
    slopes[~taken], offsets[~taken] = 0, 0
    weights = np.where(taken, rng.random((n_blocks, places)), 0.0)
    totals = rng.random(n_blocks) + 0.1
    weights *= (totals / weights.sum(axis=1))[:, None]
    w = -np.einsum("ik,ikj->j", weights, slopes)
    return slopes, offsets, used.astype(np.int64), weights, w, totals, taken


def gap_of(slopes, offsets, taken, totals, weights):
    w = -np.einsum("ik,ikj->j", weights, slopes)
    heights = np.where(taken, offsets + slopes @ w, -np.inf).max(axis=1)
    primal, dual = w @ w / 2 + totals @ heights, (weights * offsets).sum() - w @ w / 2
    return primal - dual


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(1, 20), st.integers(0, 10**6))
def test_block_ascent_twins(native, n_blocks, d, seed):
    slopes, offsets, used, weights, w, totals, _ = drawn(np.random.default_rng(seed), n_blocks, d)
    start = slopes, offsets, used, weights, w
    # A step that is not cut short leaves two planes equal but for rounding, which then chooses: so
    # the twins are compared after one step a block, and at the optimum, where w is one.
    one = native.block_ascent(*start, 1, 1, 0.0)
    two = reference.block_ascent(*start, 1, 1, 0.0)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    (a, u, _), (b, v, _) = (k.block_ascent(*start, 400, 2, 1e-9) for k in (native, reference))
    np.testing.assert_allclose(u, v, atol=1e-2)
    for weights, w in ((a, u), (b, v)):
        np.testing.assert_allclose(weights.sum(axis=1), totals)
        np.testing.assert_allclose(w, -np.einsum("ik,ikj->j", weights, slopes), atol=1e-9)


def test_block_ascent_rises_to_the_optimum():
    slopes, offsets, used, weights, w, totals, taken = drawn(np.random.default_rng(0), 5, 3)
    last = np.inf
    for _ in range(40):
        weights, w, _gap = reference.block_ascent(slopes, offsets, used, weights, w, 25, 2, 0.0)
        assert (weights >= 0).all()
        here = gap_of(slopes, offsets, taken, totals, weights)
        assert here <= max(last, 1e-12)
        last = here
    assert last < 1e-6


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(1, 20), st.integers(0, 10**6), st.floats(-3, 5))
def test_interior_point_to_the_gap_asked(n_blocks, d, seed, exponent):
    slopes, offsets, used, weights, _, totals, taken = drawn(
        np.random.default_rng(seed), n_blocks, d
    )
    totals, weights = totals * 10.0**exponent, weights * 10.0**exponent
    starts, enough = np.concatenate([[0], np.cumsum(used)[:-1]]), 1e-6 * totals.sum()
    found = np.zeros_like(weights)
    found[taken], w = interior_point(
        slopes[taken], offsets[taken], starts, totals, weights[taken], enough
    )
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), totals)
    heights = np.where(taken, offsets + slopes @ w, -np.inf).max(axis=1)
    dual = -np.einsum("ik,ikj->j", found, slopes)
    bound = (found * offsets).sum() - dual @ dual / 2
    assert w @ w / 2 + totals @ heights - bound <= 1.01 * enough


def test_the_same_bytes_again():
    *_, problem = hinges(np.random.default_rng(8), scale=3.0)
    assert solve(problem).x.tobytes() == solve(problem).x.tobytes()


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6, 1e7])
def test_features_of_any_size(size):
    """The interior point's own w is the next point: -sum a g is too rough where slopes are large."""
    X, y, _ = hinges(np.random.default_rng(9), n=80, d=6)

    def loss(s, known):
        return np.maximum(0, 1 - y * s), np.where(y * s < 1, -y, 0.0)

    C = 1e3 / size if size < 1 else 1e3
    problem = BlockProblem(X * size, np.arange(81), loss, np.full(80, C))
    found = block_cutting_planes(problem, eps=1e-4, max_iter=200)
    assert found.converged, found.reason
