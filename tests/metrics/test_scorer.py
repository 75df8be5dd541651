"""Ranking metrics in scikit-learn's model selection: queries arrive whole, by metadata routing."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from podium.data import RankingData, make_synthetic
from podium.errors import UnknownNameError, UsageError
from podium.metrics import NDCG, evaluate, scorer


@pytest.fixture
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    return make_synthetic(n_queries=24, n_docs=(3, 12), n_features=5, seed=0)


@pytest.fixture(scope="module")
def mixed(data):
    """X, y, qid with the rows of all queries mixed up."""
    rows = np.random.default_rng(0).permutation(len(data))
    return data.X[rows], data.y[rows], data.groups.codes[rows]


def by_query(X, y, qid, scores, metric):
    """The mean of a metric, by hand: one query after the other."""
    values = []
    for q in np.unique(qid):
        rows = qid == q
        one = RankingData.from_arrays(X[rows], y[rows], qid=qid[rows])
        values.append(evaluate(one, scores[rows], metric)[metric].mean)
    return np.mean(values)


def with_qid(qid, **more):
    return {"qid": qid, "groups": qid, **more}


def test_a_scorer_is_the_metric_of_the_predictions(mixed):
    X, y, qid = mixed
    model = Ridge().fit(X, y)
    got = scorer("NDCG@5")(model, X, y, qid=qid)
    assert got == pytest.approx(by_query(X, y, qid, model.predict(X), "NDCG@5"), rel=1e-12)
    assert got == scorer("NDCG@5").score(model, X, y, qid=qid)


@pytest.mark.usefixtures("_routing")
def test_cross_val_score_scores_whole_queries(mixed):
    X, y, qid = mixed
    cv = GroupKFold(4)
    values = cross_val_score(
        Ridge(), X, y, cv=cv, scoring=scorer("NDCG@5"), params=with_qid(qid), error_score="raise"
    )
    expected = []
    for train, test in cv.split(X, y, qid):
        assert not set(qid[train]) & set(qid[test])
        predicted = Ridge().fit(X[train], y[train]).predict(X[test])
        expected.append(by_query(X[test], y[test], qid[test], predicted, "NDCG@5"))
    assert values == pytest.approx(np.array(expected), rel=1e-12)


class Witness(RegressorMixin, BaseEstimator):
    """Scores by the first feature, and refuses to be shown part of a query."""

    def __init__(self, sizes):
        self.sizes = sizes

    def fit(self, X, y):
        self._see(X)
        return self

    def predict(self, X):
        self._see(X)
        return X[:, 1]

    def _see(self, X):
        queries, counts = np.unique(X[:, 0].astype(int), return_counts=True)
        if not np.array_equal(counts, np.asarray(self.sizes)[queries]):
            raise AssertionError("a query was split")


@pytest.mark.usefixtures("_routing")
@pytest.mark.parametrize("cv", [GroupKFold(5), GroupShuffleSplit(5, random_state=0)])
def test_queries_are_never_split(data, mixed, cv):
    X, y, qid = mixed
    sizes = data.groups.sizes.tolist()
    marked = np.column_stack([qid, X[:, 0]])
    values = cross_val_score(
        Witness(sizes), marked, y, cv=cv, scoring=scorer("MRR"), params=with_qid(qid),
        error_score="raise",
    )  # fmt: skip
    assert len(values) == 5
    with pytest.raises(AssertionError, match="split"):
        cross_val_score(
            Witness(sizes), marked, y, cv=5, scoring=scorer("MRR"), params={"qid": qid},
            error_score="raise",
        )  # fmt: skip


@pytest.mark.usefixtures("_routing")
def test_grid_search_takes_the_best_by_the_metric(mixed):
    X, y, qid = mixed
    grid = GridSearchCV(
        Ridge(), {"alpha": [0.1, 1e6], "positive": [False, True]}, cv=GroupKFold(3),
        scoring=scorer("MAP(rel=2)"), error_score="raise",
    )  # fmt: skip
    grid.fit(X, y, **with_qid(qid))
    by_hand = [
        cross_val_score(
            Ridge(**params), X, y, cv=GroupKFold(3), scoring=scorer("MAP(rel=2)"),
            params=with_qid(qid),
        ).mean()
        for params in grid.cv_results_["params"]
    ]  # fmt: skip
    assert grid.cv_results_["mean_test_score"] == pytest.approx(np.array(by_hand))
    assert grid.best_score_ == pytest.approx(max(by_hand))
    assert len(set(np.round(by_hand, 6))) > 1
    assert grid.score(X, y, qid=qid) == scorer("MAP(rel=2)")(grid, X, y, qid=qid)


@pytest.mark.usefixtures("_routing")
def test_pipelines_are_scored_like_what_they_hold(mixed):
    X, y, qid = mixed
    pipe = make_pipeline(StandardScaler(), Ridge())
    got = cross_val_score(
        pipe, X, y, cv=GroupKFold(3), scoring=scorer("NDCG@10"), params=with_qid(qid),
        error_score="raise",
    )  # fmt: skip
    for value, (train, test) in zip(got, GroupKFold(3).split(X, y, qid), strict=True):
        predicted = clone(pipe).fit(X[train], y[train]).predict(X[test])
        expected = by_query(X[test], y[test], qid[test], predicted, "NDCG@10")
        assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("_routing")
def test_grid_search_over_a_pipeline(mixed):
    X, y, qid = mixed
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 10.0]},
        cv=GroupKFold(3), scoring=scorer("NDCG@10"), error_score="raise",
    )  # fmt: skip
    grid.fit(X, y, **with_qid(qid))
    assert grid.best_params_["ridge__alpha"] in (0.1, 10.0)
    assert grid.best_score_ == max(grid.cv_results_["mean_test_score"]) > 0.6


@pytest.mark.usefixtures("_routing")
def test_several_metrics_at_once(mixed):
    X, y, qid = mixed
    names = ["NDCG@5", "MRR"]
    got = cross_validate(
        Ridge(), X, y, cv=GroupKFold(3), scoring={name: scorer(name) for name in names},
        params=with_qid(qid), error_score="raise",
    )  # fmt: skip
    for name in names:
        alone = cross_val_score(
            Ridge(), X, y, cv=GroupKFold(3), scoring=scorer(name), params=with_qid(qid)
        )
        assert got[f"test_{name}"].tolist() == alone.tolist()


@pytest.mark.usefixtures("_routing")
@pytest.mark.parametrize(
    "model", [make_pipeline(SimpleImputer(), Ridge()), HistGradientBoostingRegressor(max_iter=5)]
)
def test_the_estimator_may_take_features_that_ranking_data_would_not(mixed, model):
    X, y, qid = mixed
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    got = cross_val_score(
        model, gaps, y, cv=GroupKFold(3), scoring=scorer("NDCG@10"), params=with_qid(qid),
        error_score="raise",
    )  # fmt: skip
    assert ((got > 0.3) & (got <= 1)).all()


class ByLength(BaseEstimator):
    """Scores texts by how long they are."""

    def predict(self, X):
        return np.array([float(len(text)) for text in X])


def test_documents_need_not_be_numbers():
    texts = ["a", "bbb", "cc", "d", "ee"]
    got = scorer("MRR")(ByLength(), texts, [0, 0, 1, 1, 0], qid=[1, 1, 1, 2, 2])
    assert got == (1 / 2 + 1 / 2) / 2


@pytest.mark.usefixtures("_routing")
def test_without_qid_the_error_says_how_to_pass_it(mixed):
    X, y, qid = mixed
    with pytest.raises(UsageError, match=r"enable_metadata_routing=True.*params=\{'qid': qid\}"):
        cross_val_score(
            Ridge(), X, y, cv=GroupKFold(3), scoring=scorer("NDCG@10"), params={"groups": qid},
            error_score="raise",
        )  # fmt: skip


def test_without_routing_the_error_says_to_switch_it_on(mixed):
    X, y, qid = mixed
    with pytest.raises(UsageError, match="enable_metadata_routing=True"):
        cross_val_score(
            Ridge(), X, y, cv=GroupKFold(3), scoring=scorer("NDCG@10"), groups=qid,
            error_score="raise",
        )  # fmt: skip
    with pytest.raises(UsageError, match="needs query ids"):
        scorer("NDCG@10")(Ridge().fit(X, y), X, y)


def test_a_scorer_is_known_by_its_metric():
    assert scorer(NDCG(gain="linear") @ 5).metric == "NDCG(gain='linear')@5"
    assert scorer("ap").metric == "MAP"
    with pytest.raises(UnknownNameError, match="NDCG"):
        scorer("NDCGG@5")


def test_scorers_can_be_cloned_and_pickled(mixed):
    X, y, qid = mixed
    model = Ridge().fit(X, y)
    value = scorer("NDCG@5")(model, X, y, qid=qid)
    for copy in (clone(scorer("NDCG@5")), pickle.loads(pickle.dumps(scorer("NDCG@5")))):
        assert copy.metric == "NDCG@5"
        assert copy(model, X, y, qid=qid) == value


def test_query_ids_may_be_text(mixed):
    X, y, qid = mixed
    model = Ridge().fit(X, y)
    texts = np.array([f"query {q}" for q in qid])
    assert scorer("NDCG@5")(model, X, y, qid=texts) == pytest.approx(
        scorer("NDCG@5")(model, X, y, qid=qid)
    )


def test_constant_predictions_are_scored_in_row_order():
    X, y = np.zeros((4, 1)), np.array([0, 1, 1, 0])
    model = DummyRegressor().fit(X, y)
    assert scorer("MRR")(model, X, y, qid=[1, 1, 2, 2]) == (1 / 2 + 1) / 2
