"""The small quadratic programme and the cutting planes that need it, against other solvers."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from podium import kernels
from podium.data import make_synthetic
from podium.errors import DivergedError, PodiumError, UsageError
from podium.kernels import reference
from podium.losses import APHinge, FocusedLoss, OrderHinge
from podium.optim import BlockLosses, LinearProblem, cutting_planes
from podium.optim.cutting_planes import MAX_IDLE_ITERATIONS
from tests.support.backends import backends
from tests.support.case_counts import soak_cases

# simplex_qp


def qp_value(H, b, a):
    return a @ H @ a / 2 - b @ a


def assert_optimal(H, b, total, a, tolerance=1e-10):
    """KKT: feasible, and the gradient smallest and equal where a > 0."""
    assert (a >= 0).all()
    assert a.sum() == pytest.approx(total, rel=1e-12)
    gradient = H @ a - b
    scale = abs(H).max() * total + abs(b).max()  # of what the gradient may be summed from
    excess = a @ (gradient - gradient.min()) / total
    assert excess <= tolerance * scale
    assert (gradient[a > 1e-9 * total] - gradient.min()).max() <= 1e3 * tolerance * scale


def smallest_over_supports(H, b, total):
    """The minimum over all supports: each face's stationary point, where it is feasible."""
    n, best = len(b), np.inf
    for m in range(1, n + 1):
        for support in map(list, itertools.combinations(range(n), m)):
            K = np.block([[H[np.ix_(support, support)], np.ones((m, 1))], [np.ones(m), 0]])
            x = np.linalg.lstsq(K, np.append(b[support], total), rcond=None)[0][:m]
            if (x >= -1e-12).all() and abs(x.sum() - total) < 1e-9 * total:
                a = np.zeros(n)
                a[support] = np.maximum(x, 0)
                best = min(best, qp_value(H, b, a * total / a.sum()))
    return best


@backends
@pytest.mark.parametrize("n", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("rank", [1, 2, 6])
def test_simplex_qp_is_the_minimum_over_all_supports(backend, n, rank):
    rng = np.random.default_rng(10 * n + rank)
    for _ in range(20):
        A, b, total = rng.normal(size=(n, rank)), rng.normal(size=n), rng.uniform(0.1, 10)
        a = backend.simplex_qp(A @ A.T, b, total, rng.random(n) * rng.integers(0, 2, n))
        assert_optimal(A @ A.T, b, total, a)
        least = smallest_over_supports(A @ A.T, b, total)
        assert qp_value(A @ A.T, b, a) == pytest.approx(least, rel=1e-9, abs=1e-9)


@backends
def test_simplex_qp_agrees_with_slsqp(backend):
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(12, 5)), rng.normal(size=12)
    H = A @ A.T
    other = scipy.optimize.minimize(
        lambda a: qp_value(H, b, a), np.full(12, 1 / 12), jac=lambda a: H @ a - b,
        method="SLSQP", bounds=[(0, None)] * 12, tol=1e-14,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": lambda a: np.ones(12)},
    )  # fmt: skip
    a = backend.simplex_qp(H, b, 1.0, np.zeros(12))
    assert qp_value(H, b, a) == pytest.approx(other.fun, abs=1e-9)


@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize(("n", "rank"), [(60, 5), (200, 46), (400, 136), (300, 400)])
def test_simplex_qp_is_optimal_on_many_near_parallel_planes(n, rank, spread):
    n = n if kernels.BACKEND == "native" else min(n, 60)
    rng = np.random.default_rng(n)
    A = rng.normal(size=rank) + spread * rng.normal(size=(n, rank))
    b = A @ rng.normal(size=rank) + spread**2 * rng.random(n)
    cold = kernels.simplex_qp(A @ A.T, b, 1.0, np.zeros(n))
    assert_optimal(A @ A.T, b, 1.0, cold)
    warm = kernels.simplex_qp(A @ A.T, b, 1.0, np.full(n, 1.0))
    assert_optimal(A @ A.T, b, 1.0, warm)
    assert qp_value(A @ A.T, b, warm) == pytest.approx(qp_value(A @ A.T, b, cold), rel=1e-9)


@settings(max_examples=soak_cases(200))
@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(-3, 3), min_size=2 * n, max_size=2 * n),
            st.lists(st.integers(-3, 3) | st.floats(-1e6, 1e6), min_size=n, max_size=n),
            st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0]), min_size=n, max_size=n),
        )
    ),
    st.sampled_from([1.0, 1e-6, 1e6]),
)
def test_simplex_qp_twins(native, drawn, total):
    rows, b, start = (np.array(v, dtype=float) for v in drawn)
    A = rows.reshape(len(b), 2)  # equal planes, zero planes, dependent planes
    H = A @ A.T
    for backend in (native, reference):
        assert_optimal(H, b, total, backend.simplex_qp(H, b, total, start))
    one, other = (qp_value(H, b, m.simplex_qp(H, b, total, start)) for m in (native, reference))
    assert one == pytest.approx(other, rel=1e-9, abs=1e-9 * total * (1 + abs(b).max()))


@backends
def test_simplex_qp_of_nothing_and_of_one(backend):
    assert backend.simplex_qp(np.zeros((0, 0)), np.zeros(0), 1.0, np.zeros(0)).tolist() == []
    assert backend.simplex_qp(np.zeros((1, 1)), np.zeros(1), 3.0, np.zeros(1)).tolist() == [3.0]
    # without curvature the largest b takes all, however small the difference
    H, b = np.zeros((2, 2)), np.array([-4e-17, 0.0])
    assert backend.simplex_qp(H, b, 1.0, np.array([1.0, 0.0])).tolist() == [0.0, 1.0]
    # min a1^2/2 - 0.5 a1 with a0 taking up the rest
    H, b = np.diag([0.0, 1.0]), np.array([0.0, 0.5])
    assert backend.simplex_qp(H, b, 1.0, np.zeros(2)) == pytest.approx([0.5, 0.5])


# cutting_planes


def hinge(y):
    def loss(scores):
        miss = y * scores < 1
        return float((1 - y * scores)[miss].sum()), -y * miss

    return loss


def classes(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)


def objective(problem, w):
    return problem.l2 / 2 * w @ w + problem.loss(problem.X @ w)[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0, 10.0])
def test_hinge_against_linear_svc(C):
    X, y = classes(80, 4, seed=1)
    problem = LinearProblem(X, hinge(y), l2=1 / C)
    svc = LinearSVC(loss="hinge", C=C, tol=1e-10, max_iter=2_000_000, fit_intercept=False).fit(X, y)
    other = objective(problem, svc.coef_[0])
    found = cutting_planes(problem, eps=1e-8)
    assert found.converged
    assert found.value == pytest.approx(other, rel=1e-6)
    assert found.value <= other * (1 + 1e-8)
    assert found.value - found.gap <= other
    assert found.value == pytest.approx(objective(problem, found.x), rel=1e-13)
    np.testing.assert_allclose(found.x, svc.coef_[0], atol=1e-3 * abs(found.x).max())


def pair_hinge(y, offsets):
    pairs = [
        (i, j)
        for first, last in itertools.pairwise(offsets.tolist())
        for i, j in itertools.permutations(range(first, last), 2)
        if y[i] > y[j]
    ]
    return np.array(pairs).T


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_pair_hinge_against_its_dual(C):
    rng = np.random.default_rng(3)
    X, y, offsets = rng.normal(size=(20, 3)), rng.integers(0, 3, 20), np.array([0, 7, 14, 20])
    i, j = pair_hinge(y, offsets)
    D = X[i] - X[j]

    def loss(scores):
        miss = scores[i] - scores[j] < 1
        gradient = np.bincount(j[miss], minlength=20) - np.bincount(i[miss], minlength=20)
        return float((1 - scores[i] + scores[j])[miss].sum()), gradient.astype(float)

    # max sum a - C-scaled |D'a|^2 / 2 over 0 <= a <= 1, w = C D'a
    dual = scipy.optimize.minimize(
        lambda a: C * (D.T @ a) @ (D.T @ a) / 2 - a.sum(), np.full(len(i), 0.5),
        jac=lambda a: C * D @ (D.T @ a) - 1, method="L-BFGS-B", bounds=[(0, 1)] * len(i),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000, "maxfun": 100_000},
    )  # fmt: skip
    found = cutting_planes(LinearProblem(X, loss, l2=1 / C), eps=1e-8)
    assert found.converged
    assert found.value == pytest.approx(-dual.fun, rel=1e-6)
    assert found.value - found.gap <= -dual.fun * (1 + 1e-6)
    assert found.value >= -dual.fun * (1 - 1e-12)


DATA = make_synthetic(n_queries=12, seed=2)


def ranking_problem(loss, l2):
    bound = loss.bind(DATA)

    def total(scores):
        values, gradient = bound(scores)
        return float(values.sum()), gradient

    return LinearProblem(np.asarray(DATA.X, dtype=np.float64), total, l2)


@pytest.mark.parametrize(
    "loss",
    [
        APHinge(),
        FocusedLoss(list=OrderHinge("dcg"), k=5, beta=1.0),
        FocusedLoss(list=OrderHinge("cuts"), k=4, beta=1.0),
    ],
)
@pytest.mark.parametrize("l2", [10.0, 0.1, 1e-3])
def test_the_certificate_is_true_and_the_minimum_is_one(loss, l2):
    problem = ranking_problem(loss, l2)
    rough = cutting_planes(problem, eps=0.05)
    exact = cutting_planes(problem, eps=1e-7, max_iter=3000)
    assert rough.converged
    assert exact.converged
    assert exact.gap <= 1e-7 * exact.value * (1 + 1e-6)
    assert rough.value - rough.gap <= exact.value <= rough.value * (1 + 1e-8)
    assert exact.value <= objective(problem, np.zeros(len(exact.x)))
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        other = exact.x + size * rng.normal(size=len(exact.x))
        assert objective(problem, other) >= exact.value - exact.gap


def test_a_start_near_the_minimum_saves_iterations():
    problem = ranking_problem(APHinge(), 0.01)
    cold = cutting_planes(problem, eps=1e-4)
    warm = cutting_planes(problem, cold.x, eps=1e-4)
    assert warm.converged
    assert warm.value <= cold.value
    assert warm.iterations <= cold.iterations


def test_a_loss_that_is_0_at_0_ends_at_once():
    found = cutting_planes(LinearProblem(np.eye(2), lambda s: (0.0, np.zeros(2))))
    assert (found.converged, found.value, found.gap, found.iterations) == (True, 0.0, 0.0, 1)
    assert found.x.tolist() == [0.0, 0.0]


def test_a_loss_below_0_needs_no_plane_0():
    # |w - 2| - 5 + w^2 / 2: minimum at 1
    problem = LinearProblem(np.eye(1), lambda s: (abs(s[0] - 2) - 5, np.sign(s - 2)))
    found = cutting_planes(problem, eps=1e-10, nonnegative=False)
    assert found.x == pytest.approx([1.0])
    assert found.value == pytest.approx(1 / 2 + 1 - 5)
    assert found.converged


def test_every_iteration_is_told_and_never_worse():
    told = []
    X, y = classes(60, 5, seed=2)
    found = cutting_planes(
        LinearProblem(X, hinge(y), l2=0.1), eps=1e-6, callback=lambda i, w, v: told.append((i, v))
    )
    assert [i for i, _ in told] == list(range(1, found.iterations + 1))
    values = [v for _, v in told]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(found.value, rel=1e-12)


def hinge_blocks(y, offsets):
    """The hinge of each row, summed over blocks."""

    def evaluate(scores):
        missing = np.maximum(0, 1 - y * scores)
        return np.add.reduceat(missing, offsets[:-1]), -y * (missing > 0)

    return BlockLosses(offsets, evaluate)


@pytest.mark.parametrize("l2", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("offsets", [[0, 200], [0, 7, 100, 200], list(range(201))])
def test_planes_of_blocks_reach_the_same_minimum(l2, offsets):
    X, y = classes(200, 8, seed=7)
    problem, blocks = LinearProblem(X, hinge(y), l2=l2), hinge_blocks(y, np.array(offsets))
    one = cutting_planes(problem, eps=1e-7)
    many = cutting_planes(problem, eps=1e-7, blocks=blocks)
    assert many.converged
    assert many.gap <= 1e-7 * many.value
    assert many.value == pytest.approx(one.value, rel=2e-7)
    assert many.value - many.gap <= one.value  # the bound is one


def test_planes_of_blocks_take_fewer_passes():
    X, y = classes(2000, 20, seed=8)
    problem = LinearProblem(X, hinge(y), l2=0.1)
    blocks = hinge_blocks(y, np.arange(0, 2001, 20))
    one, many = (cutting_planes(problem, eps=1e-5, blocks=b) for b in (None, blocks))
    assert 2 * many.iterations < one.iterations


def test_planes_of_blocks_of_chosen_rows():
    X, y = classes(120, 5, seed=9)
    rows = np.random.default_rng(0).permutation(120)
    offsets = np.arange(0, 121, 10)
    copy, chosen = (
        cutting_planes(LinearProblem(features, hinge(y[rows]), rows=r), eps=1e-6,
                       blocks=hinge_blocks(y[rows], offsets))
        for features, r in ((X[rows], None), (X, rows))
    )  # fmt: skip
    assert copy.x.tobytes() == chosen.x.tobytes()


def test_weights_of_zero_do_not_read_the_features(monkeypatch):
    monkeypatch.setattr(kernels, "matvec", None)
    for rows, n in ((None, 3), (np.array([2, 0]), 2)):
        problem = LinearProblem(np.ones((3, 2)), hinge(np.ones(n)), rows=rows)
        assert problem.scores(np.zeros(2)).tolist() == [0.0] * n


def test_not_converging_is_marked():
    X, y = classes(100, 10, seed=3)
    cut_short = cutting_planes(LinearProblem(X, hinge(y), l2=0.01), eps=1e-9, max_iter=3)
    assert (cut_short.converged, cut_short.iterations) == (False, 3)
    assert "after 3 iterations, above eps=1e-09" in cut_short.reason
    exact = cutting_planes(LinearProblem(X, hinge(y), l2=0.01), eps=1e-9)
    assert exact.converged
    assert exact.reason.endswith("within eps=1e-09")
    assert cut_short.value - cut_short.gap <= exact.value < cut_short.value


def test_idle_planes_are_forgotten(monkeypatch):
    sizes = []
    real = kernels.simplex_qp
    monkeypatch.setattr(kernels, "simplex_qp", lambda H, *a: sizes.append(len(H)) or real(H, *a))
    X, y = classes(300, 20, seed=4)
    found = cutting_planes(LinearProblem(X, hinge(y), l2=1e-3), eps=1e-8)
    assert found.converged
    assert found.iterations > 2 * MAX_IDLE_ITERATIONS
    assert max(sizes) < 2 * MAX_IDLE_ITERATIONS + 3 * X.shape[1]
    assert max(sizes) < 2 * found.iterations


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_is_refused(bad):
    X, y = classes(50, 3, seed=5)
    calls = []

    def loss(scores):
        calls.append(1)
        value, gradient = hinge(y)(scores)
        return (bad if len(calls) > 4 else value), gradient

    with pytest.raises(DivergedError, match=rf"became {bad} at iteration \d+ of cutting planes"):
        cutting_planes(LinearProblem(X, loss, l2=0.01), eps=1e-9)
    with pytest.raises(DivergedError, match="the gradient became nan at iteration 0"):
        cutting_planes(LinearProblem(X, lambda s: (1.0, np.full(50, np.nan))))
    assert issubclass(DivergedError, PodiumError)
    assert issubclass(DivergedError, ArithmeticError)


def test_an_interrupt_passes_through():
    X, y = classes(50, 3, seed=6)

    def stop(iteration, w, value):
        if iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cutting_planes(LinearProblem(X, hinge(y), l2=0.01), eps=1e-9, callback=stop)


def test_l2_must_be_positive():
    with pytest.raises(UsageError, match=r"expected l2 above 0 for cutting planes, got 0\.0"):
        cutting_planes(LinearProblem(np.eye(1), lambda s: (0.0, s), l2=0.0))
