"""Rankers inside scikit-learn: model selection, pipelines and routing never split a query."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from podium.data import RankingData
from podium.errors import DataError, UsageError
from podium.metrics import evaluate, scorer
from podium.rankers import Prepared, RankSVM
from tests.support.small_rankers import BY_QUERY, NAMES, arrays, cheap, predict, small

DATA = small(12)
ROWS = np.random.default_rng(0).permutation(len(DATA))  # rows of a query apart
X, Y, QID = arrays(DATA, ROWS)
ROUTED = {"qid": QID, "groups": QID}
FOLDS = GroupKFold(n_splits=3)
every = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Spy(RankSVM):
    """Writes down which rows it was fitted and scored on."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None, *, qid=None, **rest):
        type(self).seen.append(("fit", sorted(map(tuple, X)), set(qid)))
        return super().fit(X, y, qid=qid, **rest)

    def score(self, X, y=None, *, qid=None, sample_weight=None):
        type(self).seen.append(("score", sorted(map(tuple, X)), set(qid)))
        return super().score(X, y, qid=qid, sample_weight=sample_weight)


@pytest.fixture
def spy():
    Spy.seen.clear()
    return Spy()


def check_no_query_was_split():
    """Every part has all rows of its queries, and no query is both fitted and scored."""
    assert Spy.seen
    rows = {qid: sorted(map(tuple, X[qid == QID])) for qid in set(QID)}
    for _, got, qids in Spy.seen:
        assert got == sorted(row for qid in qids for row in rows[qid])
    for (what, _, fitted), (then, _, scored) in zip(Spy.seen, Spy.seen[1:], strict=False):
        if (what, then) == ("fit", "score"):
            assert not fitted & scored
            assert fitted | scored == set(QID)


def test_cross_val_score_never_splits_a_query(routing, spy):
    found = cross_val_score(spy, X, Y, cv=FOLDS, params=ROUTED)
    assert [what for what, _, _ in Spy.seen] == ["fit", "score"] * 3
    check_no_query_was_split()
    assert ((found > 0) & (found <= 1)).all()


def test_grid_search_never_splits_a_query(routing, spy):
    search = GridSearchCV(spy, {"C": [1e-3, 1e-1]}, cv=FOLDS, refit=False)
    search.fit(X, Y, **ROUTED)
    assert len(Spy.seen) == 2 * 3 * 2
    check_no_query_was_split()


def test_each_fold_scores_as_by_hand(routing):
    found = cross_val_score(RankSVM(), X, Y, cv=FOLDS, params=ROUTED)
    for value, (train, test) in zip(found, FOLDS.split(X, Y, QID), strict=True):
        ranker = RankSVM().fit(X[train], Y[train], qid=QID[train])
        held_out = RankingData.from_arrays(X[test], Y[test], qid=QID[test])
        scores = ranker.predict(held_out)
        assert value == evaluate(held_out, scores, "NDCG@10")["NDCG@10"].mean


@every
def test_cross_validation_of_every_ranker(name, routing):
    found = cross_validate(
        cheap(name), X, Y, cv=FOLDS, params=ROUTED, return_train_score=True, error_score="raise"
    )
    assert np.isfinite(found["test_score"]).all()
    assert np.isfinite(found["train_score"]).all()


@every
def test_grid_search_of_every_ranker(name, routing):
    ranker = cheap(name)
    parameter, values = next(
        (p, [getattr(ranker, p), type(getattr(ranker, p))(2 * getattr(ranker, p))])
        for p in ("C", "l2", "rounds", "steps", "trees", "t", "k")
        if p in ranker.get_params()
    )
    search = GridSearchCV(ranker, {parameter: values}, cv=FOLDS, error_score="raise")
    search.fit(X, Y, **ROUTED)
    assert search.best_params_[parameter] in values
    if name not in BY_QUERY:  # a search routes nothing to predict
        np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert 0 < search.score(X, Y, qid=QID) <= 1


@every
def test_pipeline_of_every_ranker(name, routing):
    pipe = make_pipeline(StandardScaler(), cheap(name)).fit(X, Y, qid=QID)
    scaled = StandardScaler().fit_transform(X)
    alone = cheap(name).fit(scaled, Y, qid=QID)
    routed = {"qid": QID} if name in BY_QUERY else {}
    np.testing.assert_array_equal(pipe.predict(X, **routed), predict(alone, scaled, QID))
    assert pipe.score(X, Y, qid=QID) == alone.score(scaled, Y, qid=QID)


def test_a_pipeline_in_a_search(routing):
    pipe = Pipeline([("scale", StandardScaler()), ("rank", RankSVM())])
    search = RandomizedSearchCV(
        pipe, {"rank__C": [1e-4, 1e-2]}, n_iter=2, random_state=0, cv=FOLDS, error_score="raise",
        scoring=scorer("NDCG@10"),  # before 1.8 a search does not route to a pipeline's own score
    )  # fmt: skip
    search.fit(X, Y, **ROUTED)
    assert len(search.cv_results_["params"]) == 2
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_data_frames_go_through_a_pipeline(routing):
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcd"))
    pipe = make_pipeline(StandardScaler(), RankSVM()).set_output(transform="pandas")
    pipe.fit(frame, Y, qid=QID)
    assert pipe[-1].feature_names_in_.tolist() == list("abcd")
    assert pipe.predict(frame).shape == Y.shape


# --- score ---


@every
def test_score_is_the_mean_of_ndcg_at_10(name):
    ranker = cheap(name).fit(DATA)
    want = evaluate(DATA, ranker.predict(DATA), "NDCG@10")["NDCG@10"].mean
    assert ranker.score(DATA) == want
    assert abs(ranker.score(*arrays(DATA)[:2], qid=arrays(DATA)[2]) - want) < 1e-12


def test_score_weighs_queries():
    ranker = RankSVM().fit(DATA)
    per_query = evaluate(DATA, ranker.predict(DATA), "NDCG@10")["NDCG@10"].per_query
    weight = np.arange(1.0, 13.0)
    known = ~np.isnan(per_query)
    want = np.average(per_query[known], weights=weight[known])
    by_row = np.repeat(weight, DATA.groups.sizes)
    A, b, qid = arrays(DATA)
    assert abs(ranker.score(DATA, sample_weight=weight) - want) < 1e-12
    assert abs(ranker.score(DATA, sample_weight=by_row) - want) < 1e-12
    assert abs(ranker.score(A, b, qid=qid, sample_weight=by_row) - want) < 1e-12
    assert abs(want - ranker.score(DATA)) > 1e-6
    by_row = by_row.copy()
    by_row[0] += 1
    for given in ((DATA,), (A, b)):
        with pytest.raises(DataError, match="for all rows of a query"):
            ranker.score(*given, qid=qid if len(given) > 1 else None, sample_weight=by_row)


def test_weights_are_routed_where_they_are_asked_for(routing):
    by_query = {qid: i + 1.0 for i, qid in enumerate(DATA.qids)}
    weight = np.array([by_query[qid] for qid in QID])
    params = {**ROUTED, "sample_weight": weight}
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_val_score(RankSVM(), X, Y, cv=FOLDS, params=params)
    ranker = RankSVM().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    found = cross_val_score(ranker, X, Y, cv=FOLDS, params=params)
    train, test = next(iter(FOLDS.split(X, Y, QID)))
    by_hand = RankSVM().fit(X[train], Y[train], qid=QID[train], sample_weight=weight[train])
    want = by_hand.score(X[test], Y[test], qid=QID[test], sample_weight=weight[test])
    assert found[0] == want


# --- errors ---


def test_without_routing_the_error_says_what_to_do():
    with pytest.raises(UsageError, match=r"set_config\(enable_metadata_routing=True\)"):
        RankSVM().fit(X, Y)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        cross_val_score(RankSVM(), X, Y, cv=3, error_score="raise")


@pytest.mark.parametrize("ranker", [RankSVM(), Prepared(RankSVM(), scale="zscore")])
def test_a_search_without_routing_fails_at_once_with_advice(ranker):
    parameter = "C" if isinstance(ranker, RankSVM) else "ranker__C"
    grid = {parameter: [1e-3, 1e-1]}
    advice = r"every score is nan: switch on metadata routing first \(sklearn.set_config"
    with pytest.raises(ValueError, match=advice):
        GridSearchCV(ranker, grid, cv=FOLDS).fit(X, Y, **ROUTED)
    with pytest.raises(UsageError, match=advice):
        GridSearchCV(ranker, grid, cv=FOLDS, error_score="raise").fit(X, Y, **ROUTED)
    assert ranker.fit(X, Y, qid=QID).predict(X).shape == Y.shape  # no search, no error


def test_with_routing_but_without_query_ids(routing):
    with pytest.raises(UsageError, match="query ids are missing"):
        cross_val_score(RankSVM(), X, Y, cv=3, error_score="raise")
