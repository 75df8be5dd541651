"""Minimisers against closed forms and SciPy; rankers against reference solvers."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from podium import kernels
from podium.data import RankingData, draw_truth, make_synthetic, split
from podium.errors import DivergedError, NotConvergedWarning, UsageError
from podium.losses import LOSSES, QueryLoss
from podium.optim import Adam, LinearProblem, Patience, SmallGradient, lbfgs, newton_cg
from podium.optim.linear_problem import HESSIAN_COLUMNS
from podium.rankers import MLP, LambdaMART, ListNet, RankNet, RankSVM, Regression
from podium.rankers.mlp import Network
from podium.rankers.training_objective import TrainingObjective
from tests.support.small_rankers import CHEAP, arrays, cheap, small

RNG = np.random.default_rng(0)
A = RNG.standard_normal((40, 6))
B = A @ np.arange(6.0) + 0.1 * RNG.standard_normal(40)


def least_squares(l2=0.5):
    return LinearProblem(
        A, lambda s: (0.5 * float(np.sum((s - B) ** 2)), s - B), l2, lambda s, d: d
    )  # fmt: skip


def squared_hinge(C=3.0):
    y = np.where(B > 0, 1.0, -1.0)

    def loss(s):
        miss = np.maximum(0, 1 - y * s)
        return C * float(np.sum(miss**2)), -2 * C * y * miss

    return LinearProblem(A, loss, 1.0, lambda s, d: 2 * C * (y * s < 1) * d)


def with_products(problem):
    """Many directions in one go, which makes Newton steps exact."""

    def products(s, directions):
        return np.stack([problem.product(s, column) for column in directions.T], axis=1)

    return replace(problem, products=products)


def ridge(l2=0.5):
    return np.linalg.solve(A.T @ A + l2 * np.eye(6), A.T @ B)


MINIMISERS = {
    "lbfgs": lambda problem, start=None, **o: lbfgs(
        problem,
        np.zeros(6) if start is None else start,
        steepest=float(np.abs(problem(np.zeros(6))[1]).max()),
        **o,
    ),
    "newton_cg": lambda problem, start=None, **o: newton_cg(
        problem, np.zeros(6) if start is None else start, **o
    ),
    "exact newton": lambda problem, start=None, **o: newton_cg(
        with_products(problem), np.zeros(6) if start is None else start, **o
    ),
}
both = pytest.mark.parametrize("minimise", MINIMISERS.values(), ids=MINIMISERS)


# --- minimisers ---


@both
def test_ridge_regression_in_closed_form(minimise):
    found = minimise(least_squares(), tol=1e-12)
    np.testing.assert_allclose(found.x, ridge(), atol=1e-8)
    assert found.converged
    assert abs(found.value - least_squares()(ridge())[0]) < 1e-9 * found.value


@both
def test_squared_hinge_against_scipy(minimise):
    problem = squared_hinge()
    want = scipy.optimize.minimize(problem, np.zeros(6), jac=True, options={"gtol": 1e-10})
    found = minimise(problem, tol=1e-9)
    assert abs(found.value - want.fun) <= 1e-9 * want.fun
    np.testing.assert_allclose(found.x, want.x, atol=1e-5)


@both
def test_a_warm_start_at_the_optimum_is_done_at_once(minimise):
    first = minimise(squared_hinge(), tol=1e-8)
    second = minimise(squared_hinge(), first.x, tol=1e-6)
    assert second.converged
    assert second.iterations <= 1
    np.testing.assert_allclose(second.x, first.x, atol=1e-5)


@both
def test_each_iteration_is_told_and_the_value_falls(minimise):
    told = []
    start = np.ones(6)
    found = minimise(
        squared_hinge(), start, tol=1e-8, callback=lambda i, x, value: told.append((i, x, value))
    )
    assert [i for i, _, _ in told] == list(range(1, found.iterations + 1))
    values = [value for _, _, value in told]
    assert values == sorted(values, reverse=True)
    for _, x, value in told:
        assert abs(squared_hinge()(x)[0] - value) <= 1e-12 * value
    np.testing.assert_array_equal(start, np.ones(6))


@both
def test_too_few_iterations_are_marked(minimise):
    found = minimise(squared_hinge(), tol=1e-12, max_iter=1)
    assert not found.converged
    assert found.iterations == 1
    assert "gradient" in found.reason


@both
def test_no_number_is_an_error(minimise):
    problem = LinearProblem(
        A, lambda s: (float("nan") if s.any() else 1.0, np.ones(40)), 1.0, lambda s, d: d
    )
    with pytest.raises(DivergedError, match=r"the objective became nan at iteration \d"):
        minimise(problem)


@both
def test_nothing_to_do(minimise):
    flat = LinearProblem(A, lambda s: (0.0, np.zeros(40)), 1.0, lambda s, d: 0 * d)
    found = minimise(flat)
    assert found.converged
    assert found.x.tolist() == [0.0] * 6


def test_newton_needs_a_hessian():
    with pytest.raises(UsageError, match="Hessian product"):
        newton_cg(LinearProblem(A, lambda s: (0.0, s)), np.zeros(6))


def test_newton_is_exact_on_a_quadratic_in_a_few_steps():
    assert newton_cg(least_squares(), np.zeros(6), tol=1e-10).iterations <= 6


def test_exact_steps_are_newton_steps():
    found = newton_cg(with_products(least_squares()), np.zeros(6), tol=1e-10)
    assert found.iterations == 2  # conjugate gradients have 6 // 5 steps, then one step is all
    np.testing.assert_allclose(found.x, ridge(), atol=1e-12)


def test_the_hessian_is_made_in_blocks_of_columns():
    X = RNG.standard_normal((30, 2 * HESSIAN_COLUMNS + 3)).astype(np.float32)
    weight = RNG.random(30)
    problem = LinearProblem(
        X, lambda s: (0.0, s), 0.5, lambda s, d: weight * d, lambda s, d: weight[:, None] * d
    )
    wide = X.astype(np.float64)
    want = wide.T @ (weight[:, None] * wide) + 0.5 * np.eye(X.shape[1])
    np.testing.assert_allclose(problem.hessian(np.zeros(30)), want, atol=1e-12)


@pytest.mark.parametrize("bad", [-1.0, np.nan], ids=["indefinite", "no number"])
def test_conjugate_gradients_take_over_where_the_hessian_is_spoilt(bad):
    problem = replace(least_squares(), products=lambda s, d: bad * 1e6 * d)
    np.testing.assert_allclose(newton_cg(problem, np.zeros(6), tol=1e-12).x, ridge(), atol=1e-8)


@pytest.mark.parametrize("name", ["hinge", "ranknet", "listmle"])
def test_products_of_a_loss_are_its_product_column_by_column(name):
    data = make_synthetic(n_queries=8, seed=1)
    objective = TrainingObjective.from_loss(LOSSES[name](), data)
    scores, directions = RNG.standard_normal(len(data)), data.X[:, :11]
    each = [objective.product(scores, np.ascontiguousarray(column)) for column in directions.T]
    np.testing.assert_allclose(
        objective.products(scores, directions), np.transpose(each), atol=1e-12
    )


def test_adam_takes_the_steps_of_the_paper():
    x = np.array([1.0, -2.0])
    adam = Adam([x], learning_rate=0.1)
    gradients = [np.array([0.5, -1.0]), np.array([-2.0, 3.0])]
    m, v, want = np.zeros(2), np.zeros(2), x.copy()
    for t, g in enumerate(gradients, start=1):
        adam.step([g])
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.999**t)
        want -= 0.1 * m_hat / (np.sqrt(v_hat) + 1e-8)
        np.testing.assert_allclose(x, want, rtol=1e-6)


def test_adam_finds_a_minimum():
    x, y = np.array([4.0]), np.array([[1.0, -3.0]])
    adam = Adam([x, y], learning_rate=0.05)
    for _ in range(2000):
        adam.step([2 * (x - 1), 2 * (y + 2)])
    np.testing.assert_allclose(x, 1, atol=1e-3)
    np.testing.assert_allclose(y, -2, atol=1e-3)


def test_stopping_rules():
    assert [SmallGradient(0.1, first=2.0)(g) for g in (0.3, 0.2, 0.0)] == [False, True, True]
    assert SmallGradient(0.1, first=0.0)(0.0)
    stop = Patience(3)
    values = [0.1, 0.2, 0.2, 0.1, 0.3, 0.3, 0.2, 0.1]
    assert [stop(v) for v in values] == [False] * 7 + [True]
    assert stop.best == 0.3


# --- NaN at the level of rankers ---


class Broken(QueryLoss):
    """A loss of one's own that is no number once scores have moved."""

    name = "broken"

    def query(self, scores, labels):
        return (float("nan") if scores.any() else 1.0), labels - labels.mean()


@pytest.mark.parametrize(("ranker", "settings"), [
    (RankNet(l2=0.25), "l2=0.25"),
    (ListNet(scorer=MLP(hidden=(3,), epochs=3)), "scorer=MLP"),
    (LambdaMART(loss=Broken(), min_leaf=1, threads=1), "learning_rate=0.05"),
], ids=["linear", "mlp", "trees"])  # fmt: skip
def test_no_number_names_ranker_iteration_and_settings(ranker, settings, monkeypatch):
    if not isinstance(ranker, LambdaMART):
        monkeypatch.setattr(type(ranker), "loss", lambda self: Broken())
    with pytest.raises(DivergedError) as error:
        ranker.fit(small(6))
    message = str(error.value)
    assert message.startswith(f"{ranker.name}: the objective became nan at iteration ")
    assert settings in message
    assert not hasattr(ranker, "model_")


@pytest.mark.parametrize("name", ["ranksvm", "svm-map", "focused-svm"])
def test_no_number_in_a_support_vector_machine(name, monkeypatch):
    ranker = cheap(name, C=0.125)
    monkeypatch.setattr(
        TrainingObjective, "__call__", lambda self, s: (float("nan"), np.ones(len(s)))
    )
    with pytest.raises(DivergedError, match=rf"^{name}: .*iteration \d.*C=0\.125"):
        ranker.fit(small(6))


def test_overflow_is_told_as_divergence_without_warnings():
    data = small(6)
    huge = data.with_features(data.X * 1e200)
    for name in ("ranksvm", "ranknet", "listnet"):
        with pytest.raises(DivergedError, match=rf"^{name}: the .* became (inf|nan) at iteration"):
            cheap(name).fit(huge)


# --- networks ---


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("hidden", [(), (4,), (5, 3)])
def test_backward_by_finite_differences(activation, hidden):
    data = small(3, seed=4)
    mlp = MLP(hidden=hidden, activation=activation)
    network = Network.draw(data, mlp, np.random.default_rng(1))
    for bias in network.biases:  # away from the corners of relu
        bias += 0.1 * np.arange(1, len(bias) + 1)
    objective = TrainingObjective.from_loss(ListNet().loss(), data)

    def value():
        return objective(network.predict(data.X))[0]

    layers = network.layers(data.X)
    gradients = network.backward(layers, objective(layers[-1][:, 0])[1])
    for parameter, gradient in zip(network.parameters(), gradients, strict=True):
        assert parameter.shape == gradient.shape
        for at in np.ndindex(parameter.shape):
            kept, h = parameter[at], 1e-6
            parameter[at] = kept + h
            above = value()
            parameter[at] = kept - h
            slope = (above - value()) / (2 * h)
            parameter[at] = kept
            assert abs(slope - gradient[at]) <= 1e-6 + 1e-5 * abs(slope)


def test_a_network_without_hidden_layers_is_linear():
    data = small(20, seed=5)
    ranker = ListNet(scorer=MLP(hidden=(), epochs=100, patience=100, learning_rate=0.05), l2=0.01)
    ranker.fit(data, valid=data)
    X = data.X
    np.testing.assert_allclose(
        ranker.predict(X[:1] + X[1:2]) + ranker.predict(np.zeros((1, 4))),
        ranker.predict(X[:1]) + ranker.predict(X[1:2]),
        atol=1e-9,
    )
    linear = ListNet(l2=0.01).fit(data, valid=data)
    assert abs(ranker.score(data) - linear.score(data)) < 0.05


# --- regression ---


def test_regression_is_ridge():
    data = make_synthetic(n_queries=30, n_features=7, seed=2)
    n = len(data)
    found = Regression(l2=0.3).fit(data).model_.weights
    X, y = data.X - data.X.mean(axis=0), data.y - data.y.mean()
    formula = np.linalg.solve(X.T @ X / n + 0.3 * np.eye(7), X.T @ y / n)
    np.testing.assert_allclose(found, formula, rtol=1e-10)
    theirs = Ridge(alpha=0.3 * n, tol=1e-12).fit(data.X, data.y)
    np.testing.assert_allclose(found, theirs.coef_, rtol=1e-8)


def test_regression_weighs_queries_as_ridge_weighs_rows():
    data = small(10, seed=2)
    weight = np.arange(1.0, 11.0)
    rows = np.repeat(weight, data.groups.sizes)
    X, y, qid = arrays(data)
    found = Regression(l2=0.1).fit(X, y, qid=qid, sample_weight=weight).model_.weights
    theirs = Ridge(alpha=0.1 * rows.sum(), tol=1e-12).fit(X, y, sample_weight=rows)
    np.testing.assert_allclose(found, theirs.coef_, rtol=1e-8)


def test_regression_without_a_penalty_takes_copied_features():
    data = small(10, seed=2)
    twice = data.with_features(np.hstack([data.X, data.X]))
    one, two = Regression(l2=0.0).fit(data), Regression(l2=0.0).fit(twice)
    np.testing.assert_allclose(one.predict(data), two.predict(twice), atol=1e-9)


# --- RankSVM against solvers that see every pair ---


def pairs(data):
    """x_u - x_v for every pair y_u > y_v of a query."""
    found = [
        data.X[u] - data.X[v]
        for rows in data.groups.slices()
        for u in range(rows.start, rows.stop)
        for v in range(rows.start, rows.stop)
        if data.y[u] > data.y[v]
    ]
    return np.array(found)


def objective_of(w, D, C, power):
    return 0.5 * w @ w + C * np.sum(np.maximum(0, 1 - D @ w) ** power)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
def test_ranksvm_against_liblinear_on_pairs(power, C):
    data = small(8, seed=7)
    D = pairs(data)
    found = RankSVM(C=C, power=power, tol=1e-9, eps=1e-9).fit(data)
    w = found.model_.weights
    value = objective_of(w, D, C, power)
    assert abs(found.certificate_.value - value) <= 1e-9 * value
    # Pairs turned around every other time: LinearSVC wants two classes.
    sign = np.where(np.arange(len(D)) % 2, 1, -1)
    svc = LinearSVC(
        C=C, loss="hinge" if power == 1 else "squared_hinge", dual=True, fit_intercept=False,
        tol=1e-10, max_iter=2_000_000, random_state=0,
    )  # fmt: skip
    theirs = objective_of(svc.fit(D * sign[:, None], sign).coef_[0], D, C, power)
    assert abs(value - theirs) <= 1e-6 * theirs
    if power == 1:
        assert found.certificate_.gap <= 1e-9 * value
        assert value - theirs <= found.certificate_.gap + 1e-9 * theirs


def test_ranksvm_hinge_against_its_dual_programme():
    """max sum a - 1/2 |D'a|^2 with 0 <= a <= C, by projected quasi-Newton."""
    data, C = small(4, seed=8), 0.3
    D = pairs(data)
    K = D @ D.T
    dual = scipy.optimize.minimize(
        lambda a: (0.5 * a @ K @ a - a.sum(), K @ a - 1), np.zeros(len(D)), jac=True,
        bounds=[(0, C)] * len(D), options={"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    found = RankSVM(C=C, power=1, eps=1e-8).fit(data)
    assert abs(found.certificate_.value + dual.fun) <= 1e-6 * found.certificate_.value


# --- LambdaMART ---

TREES = {**CHEAP["lambdamart"], "trees": 20}


def test_monotone_constraints_hold():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    y = np.digitize(np.sin(3 * X[:, 0]) - X[:, 1] + X[:, 2], [0.0, 1.0])
    data = RankingData.from_arrays(X, y, qid=np.arange(600) // 20, feature_names=list("abc"))
    grid = np.linspace(-3, 3, 50)

    def curve(ranker, j):
        points = np.repeat(rng.standard_normal((5, 3)), 50, axis=0)
        points[:, j] = np.tile(grid, 5)
        return np.diff(ranker.predict(points).reshape(5, 50), axis=1)

    few = {**TREES, "trees": 8}
    free = LambdaMART(**few).fit(data)
    assert (curve(free, 0) < 0).any()
    for monotone in ([1, -1, 0], {"a": 1, "b": -1}):
        for loss in ("lambdarank", "listnet"):
            bound = LambdaMART(**few, monotone=monotone, loss=loss).fit(data)
            assert (curve(bound, 0) >= 0).all()
            assert (curve(bound, 1) <= 0).all()


def test_truncation_changes_what_is_learned():
    data = make_synthetic(n_queries=40, n_docs=40, n_features=4, truth="nonlinear", seed=0)
    one, ten = (LambdaMART(**TREES, loss="lambdarank", k=k).fit(data) for k in (1, 30))
    assert not np.array_equal(one.predict(data), ten.predict(data))
    assert min(one.score(data), ten.score(data)) > 0.5


@pytest.mark.parametrize("loss", ["lambdarank", "xendcg", *sorted(set(LOSSES) - {"lambdarank"})])
def test_any_loss_drives_trees(loss):
    data = small(30, seed=1)
    data = draw_truth(data, 3) if loss == "svm-order" else data
    ranker = LambdaMART(**TREES, loss=loss).fit(data, valid=data)
    assert ranker.score(data) > Regression().fit(data).score(data) - 0.15
    assert np.isfinite(ranker.history_.objective).all()


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_our_losses_have_an_objective_that_falls(loss):
    data = small(30, seed=1)
    instance = LOSSES[loss]()
    history = LambdaMART(**TREES, loss=instance).fit(data, valid=data).history_
    assert min(history.objective[1:]) < history.objective[0]


class Margin(QueryLoss):
    """Softmax cross entropy, in one's own hands; no curvature."""

    name = "margin"

    def query(self, scores, labels):
        p = np.exp(scores - scores.max())
        p, t = p / p.sum(), labels / labels.sum()
        return float(-(t * np.log(p)).sum()), p - t


def test_a_loss_of_ones_own_drives_trees():
    data = small(30, seed=1)
    ranker = LambdaMART(**TREES, loss=Margin()).fit(data, valid=data)
    assert ranker.history_.objective[-1] < ranker.history_.objective[0]
    assert ranker.score(data) > 0.75


def test_early_stopping_keeps_the_best_round():
    train, valid = split(make_synthetic(n_queries=40, n_features=5, noise=2.0, seed=3), [0.5, 0.5])
    ranker = LambdaMART(**{**TREES, "trees": 60}, patience=5).fit(train, valid=valid)
    history = ranker.history_
    assert history.best == 1 + int(np.argmax(history.valid))
    assert len(history) == min(60, history.best + 5)
    assert ranker.model_.booster.num_trees() == history.best


def test_more_grades_than_lightgbm_has_gains_for():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = np.clip(np.round(20 + 8 * X[:, 0]), 0, 60)
    assert len(np.unique(y)) > 31
    data = RankingData.from_arrays(X, y, qid=np.arange(300) // 50)
    for loss in ("lambdarank", "xendcg", "listnet"):
        ranker = LambdaMART(**TREES, loss=loss).fit(data, valid=data)
        assert np.corrcoef(ranker.predict(data), y)[0, 1] > 0.4


@pytest.mark.skipif(kernels.BACKEND == "reference", reason="the reference looks at every pair")
def test_lists_over_10000_documents():
    rng = np.random.default_rng(0)
    n = 12_000
    X = rng.standard_normal((n, 2))
    data = RankingData.from_arrays(X, np.digitize(X[:, 0], [1.0, 2.0]), qid=np.zeros(n, int))
    few = {**TREES, "trees": 2}
    for loss in (None, "lambdarank", "listnet"):
        ranker = LambdaMART(**few, loss=loss).fit(data)
        assert ranker.loss_ == (loss or "lambdarank")
        assert np.corrcoef(ranker.predict(data), X[:, 0])[0, 1] > 0.3
    with pytest.raises(
        UsageError, match=r"xendcg takes at most 10,000 documents per query, got 12,000"
    ):
        LambdaMART(**few, loss="xendcg").fit(data)


def test_labels_with_fractions():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    data = RankingData.from_arrays(X, np.exp(X[:, 0] / 2), qid=np.arange(200) // 20)
    ranker = LambdaMART(**TREES).fit(data, valid=data)
    assert np.corrcoef(ranker.predict(data), X[:, 0])[0, 1] > 0.5
    with pytest.raises(UsageError, match="the loss xendcg takes whole labels only"):
        LambdaMART(**TREES, loss="xendcg").fit(data)


def test_the_default_loss_is_xendcg_where_it_takes_the_data():
    """The same bytes as with the loss by name; what xendcg refuses, lambdarank still fits."""
    data = small(3)
    half, large = (data.with_labels(y) for y in (data.y / 2, data.y + 30))
    cases = {"xendcg": [data], "lambdarank": [half, large]}
    for loss, problems in cases.items():
        for problem in problems:
            ranker = LambdaMART(**TREES).fit(problem)
            assert ranker.loss_ == loss
            named = LambdaMART(**TREES, loss=loss).fit(problem)
            assert np.array_equal(ranker.predict(problem), named.predict(problem))


def test_trees_that_split_nothing_say_why():
    data = small(3)
    with pytest.raises(ValueError, match=r"each leaf needs 1000 documents \(min_leaf\)"):
        LambdaMART(**{**TREES, "min_leaf": 1000}).fit(data)


def test_max_iter_is_a_warning_in_cutting_planes_too():
    with pytest.warns(NotConvergedWarning, match="svm-map"):
        cheap("svm-map", max_iter=1, C=10.0).fit(small(20))
