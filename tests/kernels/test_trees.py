"""Sums of trees: the native kernel, its twin and LightGBM agree to the bit."""

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.kernels import reference
from podium.rankers.models import Stumps
from podium.rankers.tree_arrays import tree_arrays
from tests.support.case_counts import soak_cases

NEAR_ZERO = [0.0, -0.0, 1e-36, -1e-36, 1e-35, 2e-35, -2e-35, float(np.float32(1e-35))]


def boosted(seed, *, n_features=6, leaves=8, trees=12, missing=0.0, zeros=0.0, **options):
    """LightGBM's model of random data, and the data."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((400, n_features))
    X[random.random(X.shape) < zeros] = 0.0
    X[random.random(X.shape) < missing] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.isnan(X[:, -1]) + 0.3 * random.standard_normal(len(X))
    parameters = {
        "objective": "regression", "num_leaves": leaves, "min_data_in_leaf": 3, "verbosity": -1,
        "num_threads": 1, **options,
    }  # fmt: skip
    return lightgbm.train(parameters, lightgbm.Dataset(X, y), trees), X


def odd_rows(booster, X, dtype):
    """Rows on thresholds and beside them, near 0, missing and infinite."""
    random = np.random.default_rng(0)
    text = booster.model_to_string()
    thresholds = [
        float(word)
        for line in text.split("\n")
        if line.startswith("threshold=")
        for word in line.partition("=")[2].split()
    ] or [0.0]
    values = np.array([*thresholds, *NEAR_ZERO, np.nan, np.inf, -np.inf])
    values = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])
    with np.errstate(over="ignore", under="ignore"):
        return random.choice(values, size=(250, X.shape[1])).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"missing": 0.2},
        {"missing": 0.2, "zeros": 0.3, "zero_as_missing": True},
        {"missing": 0.2, "use_missing": False},
        {"zeros": 0.5},
        {"leaves": 2},
        {"leaves": 60, "trees": 40},
        {"trees": 17},
        {"min_data_in_leaf": 400},
        {"leaves": 40, "missing": 0.1, "max_depth": -1, "trees": 3},
    ],
    ids=str,
)
def test_scores_are_those_of_lightgbm(native, options, dtype):
    booster, X = boosted(3, **options)
    arrays = tree_arrays(booster.model_to_string())
    for rows in (X.astype(dtype), odd_rows(booster, X, dtype)):
        for n in (0, 1, 2, 15, 16, 17, len(rows)):
            part = np.ascontiguousarray(rows[:n])
            scores = native.predict_trees(part, *arrays)
            assert scores.tobytes() == reference.predict_trees(part, *arrays).tobytes()
            if n:
                expected = booster.predict(part, raw_score=True)
                assert scores.tobytes() == np.asarray(expected).tobytes()


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**31 - 1),
    leaves=st.integers(2, 20),
    trees=st.integers(1, 20),
    missing=st.sampled_from([0.0, 0.3]),
    zero_as_missing=st.booleans(),
    n_rows=st.integers(1, 40),
)
def test_twins(native, seed, leaves, trees, missing, zero_as_missing, n_rows):
    booster, X = boosted(
        seed,
        leaves=leaves,
        trees=trees,
        missing=missing,
        zeros=0.2,
        zero_as_missing=zero_as_missing,
    )
    arrays = tree_arrays(booster.model_to_string())
    rows = np.concatenate([X[:n_rows], odd_rows(booster, X, np.float64)[:n_rows]])
    scores = native.predict_trees(rows, *arrays)
    assert scores.tobytes() == reference.predict_trees(rows, *arrays).tobytes()
    assert scores.tobytes() == np.asarray(booster.predict(rows, raw_score=True)).tobytes()


VALUES = [0.0, -0.0, 0.5, 1.0, -3.0, np.inf, -np.inf, np.nan]


@settings(max_examples=soak_cases(200))
@given(
    seed=st.integers(0, 2**31 - 1), width=st.integers(1, 6), n_rows=st.integers(0, 150),
    n_stumps=st.integers(0, 40), dtype=st.sampled_from([np.float64, np.float32]),
)  # fmt: skip
def test_stumps_are_the_sum_of_their_steps(native, seed, width, n_rows, n_stumps, dtype):
    random = np.random.default_rng(seed)
    features = random.integers(0, width, n_stumps)
    thresholds = random.choice([*VALUES[:5], *random.standard_normal(3)], n_stumps)
    alphas = random.integers(-8, 9, n_stumps) / 4  # sums are exact
    model = Stumps(width, features, thresholds, alphas)
    X = random.choice([*VALUES, *thresholds], (n_rows, width)).astype(dtype)
    scores = native.predict_stumps(X, *model.steps)
    np.testing.assert_array_equal(scores, reference.predict_stumps(X, *model.steps))
    is_missing = np.isnan(X[:, np.unique(features)]).any(axis=1)
    expected = ((X[:, features].astype(np.float64) > thresholds) * alphas).sum(axis=1)
    np.testing.assert_array_equal(scores, np.where(is_missing, np.nan, expected))
    contributions = model.contributions(X)
    unused = np.setdiff1d(np.arange(width), features)
    assert not contributions[:, unused].any()
    np.testing.assert_array_equal(contributions.sum(axis=1), scores)


def test_stumps_of_many_rows_are_shared_by_threads_without_a_difference(native):
    random = np.random.default_rng(4)
    n_stumps = 300
    model = Stumps(
        20, random.integers(0, 20, n_stumps), random.standard_normal(n_stumps),
        random.standard_normal(n_stumps),
    )  # fmt: skip
    X = random.standard_normal((500, 20))
    one = native.predict_stumps(X, *model.steps)
    assert one.tobytes() == reference.predict_stumps(X, *model.steps).tobytes()
    many = native.predict_stumps(np.tile(X, (200, 1)), *model.steps)
    assert many.tobytes() == np.tile(one, 200).tobytes()


def test_many_rows_are_shared_by_threads_without_a_difference(native):
    booster, X = boosted(5, trees=30)
    arrays = tree_arrays(booster.model_to_string())
    rows = np.ascontiguousarray(np.tile(X, (500, 1)))
    one = native.predict_trees(X, *arrays)
    assert native.predict_trees(rows, *arrays).tobytes() == np.tile(one, 500).tobytes()


def test_depths_are_steps_to_the_deepest_leaf():
    """Leaves 0..3 at 1, 2, 3 and 3 steps; then a tree that is one leaf."""
    text = (
        "tree\nversion=v4\n\nTree=0\nnum_leaves=4\nsplit_feature=0 0 0\nthreshold=0 1 2\n"
        "decision_type=2 2 2\nleft_child=-1 -2 -3\nright_child=1 2 -4\nleaf_value=1 2 4 8\n\n"
        "Tree=1\nnum_leaves=1\nleaf_value=16\n\nend of trees\n"
    )
    arrays = tree_arrays(text)
    assert arrays.depths.tolist() == [3, 0]
    x = np.array([[0.0], [0.5], [1.5], [2.5]])
    assert reference.predict_trees(x, *arrays).tolist() == [1 + 16, 2 + 16, 4 + 16, 8 + 16]
