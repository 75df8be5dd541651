"""Ordinal regression: thresholds in order, gradients, probabilities, and the ranker."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from sklearn.linear_model import LogisticRegression

from podium.data import RankingData, make_opposed
from podium.errors import (
    DataError,
    LengthMismatchError,
    ModelFileError,
    NonFiniteError,
    SlowWarning,
    UnknownNameError,
    UsageError,
)
from podium.rankers import Ordinal, OrdinalFit, fit_ordinal, tune
from podium.rankers.ordinal import OrdinalModel
from podium.rankers.ordinal_fit import OrdinalProblem
from podium.rankers.ordinal_thresholds import (
    LOSSES,
    degree_of,
    degree_probabilities,
    free_parameters,
    ordered_thresholds,
)
from podium.registry import load
from tests.support.small_rankers import small

both = pytest.mark.parametrize("loss", list(LOSSES))
DATA = small()


def problem(n=60, d=3, n_degrees=4, seed=0):
    """Degrees that a noisy linear score makes; every one occurs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    score = X @ rng.standard_normal(d) + 0.7 * rng.standard_normal(n)
    order = np.argsort(np.argsort(score))
    return X, order * n_degrees // n


# --- the losses ---


def plain_loss(loss, scores, thresholds, degrees):
    """Row by row, as the formulas are written."""
    ends = [-np.inf, *thresholds, np.inf]

    def sigma(z):
        return 1 / (1 + np.exp(-z))

    total = 0.0
    for s, y in zip(scores, degrees, strict=True):
        if loss == "all-threshold":
            total += sum(
                np.log1p(np.exp(t - s if y > k else s - t)) for k, t in enumerate(thresholds)
            )
        else:
            total -= np.log(sigma(ends[y + 1] - s) - sigma(ends[y] - s))
    return total


@both
@pytest.mark.parametrize("n_degrees", [2, 3, 7])
def test_losses_are_their_formulas(loss, n_degrees):
    rng = np.random.default_rng(1)
    scores, degrees = rng.standard_normal(30), rng.integers(0, n_degrees, 30)
    thresholds = np.sort(rng.standard_normal(n_degrees - 1))
    value, _, _ = LOSSES[loss](scores, thresholds, degrees, np.ones(30))
    np.testing.assert_allclose(value, plain_loss(loss, scores, thresholds, degrees), rtol=1e-12)


@both
@given(seed=st.integers(0, 2**32), n_degrees=st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_gradients_of_scores_and_thresholds(loss, seed, n_degrees):
    rng = np.random.default_rng(seed)
    scores, degrees = 2 * rng.standard_normal(12), rng.integers(0, n_degrees, 12)
    thresholds = np.cumsum(0.2 + rng.random(n_degrees - 1)) - 1
    weight = rng.random(12)
    _, of_scores, of_thresholds = LOSSES[loss](scores, thresholds, degrees, weight)

    def value(x):
        return LOSSES[loss](*np.split(x, [12]), degrees, weight)[0]

    found = approx_fprime(np.concatenate([scores, thresholds]), value, 1e-7)
    np.testing.assert_allclose(np.concatenate([of_scores, of_thresholds]), found, atol=1e-5)


@both
@pytest.mark.parametrize("n_degrees", [2, 3, 6])
def test_gradient_of_the_whole_objective(loss, n_degrees):
    X, degrees = problem(n_degrees=n_degrees)
    rng = np.random.default_rng(2)
    f = OrdinalProblem(
        X, degrees, rng.dirichlet(np.ones(60)), 0.3, loss, *(0.5 + rng.random((2, 3)))
    )
    x = rng.standard_normal(3 + n_degrees - 1)
    found = approx_fprime(x, lambda x: f(x)[0], 1e-7)
    np.testing.assert_allclose(f(x)[1], found, atol=1e-6)


@both
def test_rows_in_blocks_are_rows_in_one(loss, monkeypatch):
    rng = np.random.default_rng(0)
    given = rng.standard_normal(50), np.array([-1.0, 0.0, 2.0]), rng.integers(0, 4, 50), np.ones(50)
    whole = LOSSES[loss](*given)
    monkeypatch.setattr("podium.rankers.ordinal_thresholds.BLOCK_PAIRS", 7)
    for one, other in zip(LOSSES[loss](*given), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@both
def test_large_scores_do_not_overflow(loss):
    """Where a row is on the wrong side, the loss is the distance."""
    scores, thresholds = np.array([-1e300, 1e300, 0.0]), np.array([-1.0, 1.0])
    with np.errstate(all="raise", under="ignore"):
        value, of_scores, of_thresholds = LOSSES[loss](
            scores, thresholds, np.array([2, 0, 1]), np.ones(3)
        )
        probabilities = degree_probabilities(scores, thresholds)
    pulls = 2 if loss == "all-threshold" else 1
    np.testing.assert_allclose(value, pulls * 2e300)
    np.testing.assert_allclose(of_scores, [-pulls, pulls, 0], atol=1e-12)
    assert np.isfinite(of_thresholds).all()
    np.testing.assert_array_equal(probabilities[:2], [[1, 0, 0], [0, 0, 1]])


# --- thresholds ---


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=8))
def test_thresholds_are_ordered_by_construction(free):
    found = ordered_thresholds(np.array(free))
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
    assert found[0] == free[0]


@given(st.lists(st.floats(1e-3, 50), min_size=1, max_size=8))
def test_free_numbers_of_thresholds_and_back(gaps):
    thresholds = np.cumsum(gaps) - 3
    np.testing.assert_allclose(
        ordered_thresholds(free_parameters(thresholds)), thresholds, rtol=1e-9, atol=1e-9
    )


@both
def test_the_start_is_the_optimum_without_features(loss):
    _, degrees = problem(n_degrees=5, n=33)
    fit = fit_ordinal(np.zeros((33, 2)), degrees, loss=loss)
    counts = np.cumsum(np.bincount(degrees))[:-1]
    np.testing.assert_allclose(fit.thresholds, np.log(counts / (33 - counts)), atol=1e-9)
    np.testing.assert_array_equal(fit.w, 0)
    assert fit.converged
    shares = np.bincount(degrees) / 33
    np.testing.assert_allclose(fit.probabilities(np.zeros((1, 2)))[0], shares, atol=1e-9)


# --- degrees ---


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5),
    st.lists(st.floats(-60, 60), min_size=1, max_size=6),
)
def test_probabilities_add_up_to_one(scores, thresholds):
    found = degree_probabilities(np.array(scores), np.sort(thresholds))
    assert found.shape == (len(scores), len(thresholds) + 1)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_probabilities_keep_their_digits_in_the_tails():
    low, high = degree_probabilities(np.array([-40.0, 40.0]), np.array([-1.0, 1.0]))
    np.testing.assert_allclose(low[1:], [np.exp(-39) - np.exp(-41), np.exp(-41)], rtol=1e-9)
    np.testing.assert_allclose(low, high[::-1], rtol=1e-12)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=5), st.sampled_from(list(LOSSES)))
def test_a_degree_never_falls_as_the_score_rises(thresholds, loss):
    found = degree_of(np.linspace(-20, 20, 401), np.sort(thresholds), loss)
    assert (np.diff(found) >= 0).all()
    assert (found[0], found[-1]) == (0, len(thresholds))


# --- the fit ---


@both
@pytest.mark.parametrize("l2", [1e-3, 1.0])
def test_two_degrees_are_logistic_regression(loss, l2):
    X, degrees = problem(200, 4, 2)
    fit = fit_ordinal(X + 5, degrees, l2=l2, loss=loss, tol=1e-10)
    other = LogisticRegression(C=1 / (200 * l2), tol=1e-12, max_iter=10_000).fit(X + 5, degrees)
    np.testing.assert_allclose(fit.w, other.coef_[0], atol=1e-6)
    np.testing.assert_allclose(-fit.thresholds, other.intercept_, atol=1e-5)
    np.testing.assert_allclose(fit.probabilities(X), other.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(fit.degree(X + 5), other.predict(X + 5))


@both
def test_the_optimum_is_that_of_another_optimiser(loss):
    X, degrees = problem(50, 2, 3)
    fit = fit_ordinal(X, degrees, l2=0.1, loss=loss, tol=1e-10)

    def objective(x):
        w, (first, second) = np.split(x, [2])
        if second <= first:
            return np.inf
        return plain_loss(loss, X @ w, [first, second], degrees) / 50 + 0.05 * w @ w

    found = minimize(
        objective, [0, 0, -1, 1], method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000, "maxfev": 8000},
    )  # fmt: skip
    np.testing.assert_allclose(np.concatenate([fit.w, fit.thresholds]), found.x, atol=1e-5)
    np.testing.assert_allclose(fit.minimum.value, found.fun, rtol=1e-9)


@both
def test_far_from_zero_the_same_fit(loss):
    X, degrees = problem()
    one = fit_ordinal(X, degrees, loss=loss, tol=1e-9)
    far = fit_ordinal(X + 1000, degrees, loss=loss, tol=1e-9)
    np.testing.assert_allclose(far.w, one.w, atol=1e-6)
    np.testing.assert_allclose(far.thresholds, one.thresholds + 1000 * one.w.sum(), atol=1e-2)
    np.testing.assert_allclose(far.probabilities(X + 1000), one.probabilities(X), atol=1e-6)


@both
def test_weights_are_rows_repeated(loss):
    X, degrees = problem()
    times = np.arange(60) % 3
    one = fit_ordinal(X, degrees, weight=times, loss=loss, tol=1e-9)
    two = fit_ordinal(np.repeat(X, times, axis=0), np.repeat(degrees, times), loss=loss, tol=1e-9)
    np.testing.assert_allclose(one.w, two.w, atol=1e-6)
    np.testing.assert_allclose(one.thresholds, two.thresholds, atol=1e-6)


@both
def test_many_degrees(loss):
    X, degrees = problem(400, 3, 100)
    fit = fit_ordinal(X, degrees, loss=loss)
    assert fit.converged
    assert fit.n_degrees == 100
    assert (np.diff(fit.thresholds) > 0).all()
    assert np.corrcoef(fit.degree(X), degrees)[0, 1] > 0.8
    np.testing.assert_allclose(fit.probabilities(X).sum(axis=1), 1, rtol=1e-12)


@both
def test_a_degree_nobody_has(loss):
    X, degrees = problem(n_degrees=3)
    full = fit_ordinal(X, degrees, loss=loss)
    spread = fit_ordinal(X, np.array([1, 3, 4])[degrees], 6, loss=loss)
    np.testing.assert_array_equal(spread.w, full.w)
    first, second = full.thresholds
    np.testing.assert_array_equal(spread.thresholds, [-np.inf, first, first, second, np.inf])
    found = spread.probabilities(X)
    np.testing.assert_array_equal(found[:, [0, 2, 5]], 0)
    np.testing.assert_array_equal(found[:, [1, 3, 4]], full.probabilities(X))
    np.testing.assert_array_equal(spread.degree(X), np.array([1, 3, 4])[full.degree(X)])


@both
def test_separable_degrees_and_large_features(loss):
    X = np.arange(12.0)[:, None] * 1e6
    fit = fit_ordinal(X, np.arange(12) // 4, loss=loss, l2=0.0)
    np.testing.assert_array_equal(fit.degree(X), np.arange(12) // 4)
    assert np.isfinite(fit.thresholds).all()


@both
def test_constant_features_have_no_weight(loss):
    X, degrees = problem()
    alone = fit_ordinal(X, degrees, loss=loss, tol=1e-9)
    fit = fit_ordinal(np.hstack([X, np.full((60, 1), 7.0)]), degrees, loss=loss, tol=1e-9)
    np.testing.assert_allclose(fit.w, [*alone.w, 0], atol=1e-6)
    only = fit_ordinal(np.full((60, 2), 7.3), degrees, loss=loss)
    assert only.converged
    np.testing.assert_allclose(only.w, 0, atol=1e-9)


def test_too_few_iterations_are_marked():
    X, degrees = problem()
    fit = fit_ordinal(X, degrees, max_iter=1)
    assert not fit.converged
    assert "gradient" in fit.minimum.reason
    assert fit_ordinal(X, degrees, start=fit_ordinal(X, degrees)).minimum.iterations == 0


@both
def test_a_warm_start_ends_where_a_cold_one_does(loss):
    X, degrees = problem()
    start = fit_ordinal(X, degrees, loss=loss, l2=1.0)
    warm = fit_ordinal(X, degrees, loss=loss, l2=0.01, start=start, tol=1e-9)
    cold = fit_ordinal(X, degrees, loss=loss, l2=0.01, tol=1e-9)
    np.testing.assert_allclose(warm.w, cold.w, atol=1e-6)
    np.testing.assert_allclose(warm.thresholds, cold.thresholds, atol=1e-6)


def test_a_fit_can_be_put_together_from_its_numbers():
    X, degrees = problem()
    fit = fit_ordinal(X, degrees, loss="proportional-odds")
    again = OrdinalFit(fit.w, fit.thresholds, fit.loss)
    np.testing.assert_array_equal(again.probabilities(X), fit.probabilities(X))
    assert again.converged


@pytest.mark.parametrize(("degrees", "options", "error", "message"), [
    ([1, 1, 1], {}, DataError, "at least two degrees, got degree 1 only"),
    ([0, 1, 1], {"weight": [0, 1, 1]}, DataError, "got degree 1 only"),
    ([0, 1, 1], {"weight": [0, 0, 0]}, DataError, "got no row"),
    ([0, 1, 1], {"weight": [0, -1, 1]}, DataError, "3 weights of 0 or more"),
    ([0, 1, 2], {"n_degrees": 2}, UsageError, "degrees below n_degrees = 2, got 2"),
    ([0, 1], {}, LengthMismatchError, r"expected 3 degrees, one per row, got an array of shape \(2,\)"),
    ([0, 1.5, 2], {}, DataError, r"whole numbers from 0 as degrees, got 1\.5 in row 1"),
    ([0, -1, 2], {}, DataError, "got -1 in row 1"),
    ([0, np.nan, 2], {}, DataError, "whole numbers from 0"),
    ([0, 1, 2], {"loss": "all-thresholds"}, UnknownNameError, "did you mean all-threshold"),
], ids=str)  # fmt: skip
def test_what_cannot_be_fitted(degrees, options, error, message):
    with pytest.raises(error, match=message):
        fit_ordinal(np.eye(3), degrees, **options)


@pytest.mark.parametrize(("options", "message"), [
    ({"l2": -1}, "l2 to be a finite number of 0 or more, got -1"),
    ({"tol": np.nan}, "tol to be a finite number of 0 or more, got nan"),
    ({"max_iter": 0}, "max_iter of 1 or more, got 0"),
], ids=str)  # fmt: skip
def test_settings_that_cannot_be(options, message):
    with pytest.raises(UsageError, match=message):
        fit_ordinal(np.arange(4.0)[:, None], [0, 1, 0, 1], **options)


def test_features_that_are_no_numbers():
    with pytest.raises(NonFiniteError, match="features for ordinal regression must be finite"):
        fit_ordinal([[0.0], [np.nan]], [0, 1])
    with pytest.raises(DataError, match=r"a matrix of features, got an array of shape \(2,\)"):
        fit_ordinal([0.0, 1.0], [0, 1])


# --- the ranker ---


@both
def test_the_ranker_is_the_fit(loss):
    ranker = Ordinal(loss=loss, l2=0.01, tol=1e-9).fit(DATA)
    labels, degrees = np.unique(DATA.y, return_inverse=True)
    fit = fit_ordinal(DATA.X, degrees, loss=loss, l2=0.01, tol=1e-9)
    np.testing.assert_allclose(ranker.coef_, fit.w, atol=1e-6)
    np.testing.assert_allclose(ranker.thresholds_, fit.thresholds, atol=1e-6)
    np.testing.assert_array_equal(ranker.degrees_, labels)
    np.testing.assert_allclose(ranker.predict(DATA), DATA.X @ ranker.coef_, atol=1e-12)
    np.testing.assert_array_equal(ranker.predict_degree(DATA), labels[fit.degree(DATA.X)])
    np.testing.assert_allclose(ranker.predict_proba(DATA.X), fit.probabilities(DATA.X), atol=1e-6)
    assert ranker.converged_
    assert ranker.certificate_.converged


def test_degrees_are_the_labels_seen():
    data = RankingData.from_arrays(DATA.X, 2.5 * DATA.y + 0.5, qid=DATA.groups.codes)
    ranker = Ordinal().fit(data)
    assert ranker.degrees_.tolist() == [0.5, 3.0, 5.5]
    assert set(ranker.predict_degree(data)) <= {0.5, 3.0, 5.5}
    np.testing.assert_allclose(ranker.coef_, Ordinal().fit(DATA).coef_, atol=1e-5)


@both
def test_everything_is_in_the_file(loss, tmp_path):
    ranker = Ordinal(loss=loss).fit(DATA)
    ranker.save(tmp_path / "ordinal.podium")
    again = load(tmp_path / "ordinal.podium")
    assert again.predict_degree(DATA).tobytes() == ranker.predict_degree(DATA).tobytes()
    assert again.predict_proba(DATA).tobytes() == ranker.predict_proba(DATA).tobytes()
    assert again.certificate_ == ranker.certificate_


@pytest.mark.parametrize(("part", "value", "message"), [
    ("thresholds", np.array([1.0]), "one threshold between neighbouring labels"),
    ("thresholds", np.array([1.0, 0.0]), "rising thresholds and labels"),
    ("thresholds", np.array([1.0, np.inf]), "finite"),
    ("labels", np.array([0.0, 0.0, 1.0]), "rising thresholds and labels"),
    ("labels", "0 1 2", "a vector of float64 named 'labels'"),
    ("loss", "hinge", "a loss of ordinal regression, got 'hinge'"),
    ("loss", np.zeros(1), "a loss of ordinal regression"),
    ("weights", None, "a vector of float64 named 'weights'"),
], ids=str)  # fmt: skip
def test_parts_of_a_file_that_do_not_fit(part, value, message):
    model = OrdinalModel(np.ones(2), np.array([0.0, 1.0]), np.arange(3.0), "all-threshold")
    parts = model.parts()
    assert OrdinalModel.from_parts(parts).loss == "all-threshold"
    with pytest.raises(ModelFileError, match=message):
        OrdinalModel.from_parts({**parts, part: value})


def test_a_path_of_penalties_starts_warm():
    ranker = Ordinal(tol=1e-9)
    found = tune(ranker, DATA, DATA, grid={"l2": [1.0, 0.1]})
    alone = Ordinal(tol=1e-9, **found.settings).fit(DATA)
    np.testing.assert_allclose(found.ranker.predict(DATA), alone.predict(DATA), atol=1e-6)
    start = Ordinal(l2=1.0).fit(DATA).model_
    warm, cold = Ordinal(l2=0.9).fit_data(DATA, start=start), Ordinal(l2=0.9).fit(DATA)
    assert warm.history_.objective[0] < cold.history_.objective[0] - 1e-3
    np.testing.assert_allclose(warm.predict(DATA), cold.predict(DATA), atol=1e-5)


def test_the_objective_falls_and_the_optimum_is_kept():
    ranker = Ordinal().fit(DATA, valid=DATA)
    assert (np.diff(ranker.history_.objective) <= 1e-12).all()
    assert ranker.history_.best == len(ranker.history_)
    assert ranker.predict(DATA).tobytes() == Ordinal().fit(DATA).predict(DATA).tobytes()


def test_many_labels_are_slow_and_say_so(monkeypatch):
    monkeypatch.setattr("podium.rankers.ordinal.SLOW_LABELS", 5)
    data = make_opposed(5, 10, seed=0, n_features=3)
    with pytest.warns(SlowWarning, match="10 different labels.*proportional-odds") as caught:
        Ordinal().fit(data)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ordinal(loss="proportional-odds").fit(data)
