"""Rankers as regressors on rows without queries: scikit-learn's checks, grades, refusals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from podium.connectors.one_query import OneQueryRegressor, cut_into_grades
from podium.errors import DataError, UsageError
from podium.metrics import evaluate
from podium.rankers import RankSVM
from podium.registry import RANKERS, make_ranker
from tests.support.small_rankers import NAMES, cheap, small

# docs/connectors/scikit-learn.md says why.
EXCEPTIONS = {"toprank": {"check_methods_subset_invariance"}}
NEEDS_MORE_QUERIES = {"auto"}


@pytest.mark.parametrize("name", sorted(set(NAMES) - NEEDS_MORE_QUERIES))
@pytest.mark.filterwarnings("ignore")  # checks fit to a few rows of noise
def test_checks_of_scikit_learn(name):
    regressor = OneQueryRegressor(cheap(name))
    results = check_estimator(regressor, on_fail=None, on_skip=None)
    by_status = {status: set() for status in ("passed", "skipped", "failed")}
    for result in results:
        by_status[result["status"]].add(result["check_name"])
    assert by_status["failed"] == EXCEPTIONS.get(name, set())
    assert by_status["skipped"] <= {"check_array_api_input"}  # numbers of numpy only
    assert len(by_status["passed"]) > 35


@pytest.mark.parametrize("name", sorted(NEEDS_MORE_QUERIES))
def test_a_search_over_rankers_needs_more_queries(name):
    assert RANKERS[name].is_search
    with pytest.raises(DataError, match="at least 2 queries"):
        OneQueryRegressor(make_ranker(name)).fit(np.eye(6), np.arange(6.0))


def test_a_fit_is_that_of_the_ranker_to_one_query():
    data = small(1, seed=4)
    regressor = OneQueryRegressor(RankSVM(C=0.1)).fit(data.X, 10 * data.y - 5)
    ranker = RankSVM(C=0.1).fit(data.X, data.y, qid=np.zeros(len(data), int))
    np.testing.assert_array_equal(regressor.predict(data.X), ranker.predict(data.X))
    expected = evaluate(data, ranker.predict(data), "NDCG@10")["NDCG@10"].mean
    assert regressor.score(data.X, 10 * data.y - 5) == expected


@pytest.mark.parametrize(
    ("targets", "grades", "labels"),
    [
        ([3.5, -1.0, 3.5, 0.0], 5, [2, 0, 2, 1]),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 5, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        ([5, 5, 5, 5, 5, 1, 2, 9], 3, [1, 1, 1, 1, 1, 0, 0, 2]),  # equal targets stay together
        ([7, 7, 7, 7, 7, 7, 8, 9, 10], 2, [0, 0, 0, 0, 0, 0, 1, 1, 1]),
    ],
)
def test_targets_become_grades(targets, grades, labels):
    assert cut_into_grades(np.array(targets, float), grades).tolist() == labels


def test_missing_values_go_to_rankers_that_take_them():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0].copy()
    X[::7, 1] = np.nan
    regressor = OneQueryRegressor(cheap("lambdamart")).fit(X, y)
    assert np.isfinite(regressor.predict(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        OneQueryRegressor(RankSVM()).fit(X, y)


def test_names_of_features_are_checked_as_scikit_learn_does():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 1.0]})
    regressor = OneQueryRegressor().fit(frame, [0, 1, 2])
    assert regressor.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(frame[["b", "a"]])


def test_cross_validation_needs_no_query_ids():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 4))
    values = cross_val_score(OneQueryRegressor(RankSVM()), X, X @ [3, 1, 0, 0])
    assert values.min() > 0.95


def test_what_cannot_be_fitted_is_refused():
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(UsageError, match="expected a ranker"):
        OneQueryRegressor("ranksvm").fit(X, [0, 1, 2])
    with pytest.raises(UsageError, match="grades of 2 or more"):
        OneQueryRegressor(grades=1).fit(X, [0, 1, 2])
    with pytest.raises(DataError, match="targets that differ, got 3 of the value 4"):
        OneQueryRegressor().fit(X, [4, 4, 4])
    with pytest.raises(UsageError, match="no sample_weight"):
        OneQueryRegressor().fit(X, [0, 1, 2]).score(X, [0, 1, 2], sample_weight=[1, 1, 2])
