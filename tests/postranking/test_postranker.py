"""A ranker with rules is a ranker: it fits, scores, ranks, clones and is tuned as any other."""

import datetime
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import podium
from podium.data import split
from podium.errors import MissingDocidsError, UnknownNameError, UsageError
from podium.metrics import evaluate
from podium.postranking import Hide, NotTopK, PostRanker, PostRanking, TopK, postrank
from podium.rankers import ListNet, Ranker, RankSVM, tune
from podium.registry import RANKERS
from tests.support.small_rankers import arrays, remade, small

DATA = small()
QUERY = DATA.qids[3]
ROWS = list(DATA.groups.slices())[3]
DOCS = list(DATA.docids[ROWS])
LAST = RankSVM().fit(DATA).rank(DATA)[3].docids[-1]


@pytest.fixture(scope="module")
def model():
    return RankSVM().fit(DATA)


def places(scores):
    """Of each row in its query."""
    return DATA.groups.ranks(scores)


def test_without_rules_the_order_is_the_rankers(model):
    ruled = PostRanker(model)
    np.testing.assert_array_equal(places(ruled.predict(DATA)), places(model.predict(DATA)))
    assert ruled.score(DATA) == model.score(DATA)


def test_scores_are_minus_the_places_after_the_rules(model):
    rules = [TopK(LAST, 1, weight=100), NotTopK(DOCS[0], 2, weight=3)]
    ruled = PostRanker(model, rules, base="margin")
    scores = ruled.predict(DATA)
    assert scores.dtype == np.float64
    np.testing.assert_array_equal(places(scores), -scores)
    alone = postrank(DOCS, rules, model.predict(DATA)[ROWS], base="margin")
    np.testing.assert_array_equal(scores[ROWS], [-1 - alone.order.index(doc) for doc in DOCS])
    others = np.ones(len(DATA), dtype=bool)
    others[ROWS] = False
    np.testing.assert_array_equal(places(scores)[others], places(model.predict(DATA))[others])
    expected = evaluate(DATA, scores, "NDCG@10")["NDCG@10"].mean
    assert ruled.score(DATA) == expected


def test_hidden_documents_are_last_and_not_ranked(model):
    ruled = PostRanker(model, [Hide(DOCS[:2], hard=True)])
    scores = ruled.predict(DATA)[ROWS]
    assert set(scores[:2]) == {-len(DOCS), -len(DOCS) + 1.0}
    top = ruled.rank(DATA)[3]
    assert top.qid == QUERY
    assert not {DOCS[0], DOCS[1]} & set(top.docids)
    assert len(top) == len(DOCS) - 2
    assert [len(one) for one in ruled.rank(DATA, k=2)] == np.minimum(DATA.groups.sizes, 2).tolist()
    assert (DATA.docids[top.rows] == np.array(top.docids)).all()
    with pytest.raises(UsageError, match="k to be a whole number of 1 or more"):
        ruled.rank(DATA, k=0)


def test_a_fit_fits_a_copy(model):
    ruled = PostRanker(RankSVM(), [TopK(LAST, 1, weight=100)])
    with pytest.raises(NotFittedError):
        ruled.predict(DATA)
    assert ruled.fit(DATA) is ruled
    assert not hasattr(ruled.model, "model_")
    assert ruled.ranker is ruled.ranker_
    assert ruled.n_features_in_ == DATA.n_features
    assert ruled.trained_ == model.trained_
    assert ruled.history_ == model.history_
    given = PostRanker(model, ruled.rules)
    assert given.ranker is model
    assert given.predict(DATA).tobytes() == ruled.predict(DATA).tobytes()
    by_arrays = PostRanker(RankSVM(), ruled.rules).fit(*arrays(DATA)[:2], qid=arrays(DATA)[2])
    assert by_arrays.predict(DATA).tobytes() == ruled.predict(DATA).tobytes()


def test_clone_and_parameters(model):
    ruled = PostRanker(model, (TopK(LAST, 1),), prior=0.3, today=datetime.date(2026, 1, 1))
    copy = clone(ruled)
    assert copy.rules == ruled.rules
    assert (copy.prior, copy.today) == (0.3, ruled.today)
    assert not hasattr(copy.model, "model_")
    assert copy.get_params()["model__C"] == model.C
    assert copy.set_params(model__C=3.0, prior=0.2).model.C == 3.0
    assert isinstance(ruled, Ranker)
    assert "postranker" not in RANKERS
    assert repr(ruled).startswith("PostRanker(")


def test_it_is_picklable_in_memory(model):
    ruled = PostRanker(model, [TopK(LAST, 1, weight=100)])
    again = pickle.loads(pickle.dumps(ruled))
    assert again.predict(DATA).tobytes() == ruled.predict(DATA).tobytes()


def test_it_is_tuned():
    train, valid = split(small(20, seed=2), [0.6, 0.4])
    first = str(valid.docids[int(np.argmin(valid.y))])
    ruled = PostRanker(ListNet(), [NotTopK(first, 3, weight=3)])
    found = tune(ruled, train, valid, grid={"prior": [0.1, 1.0], "base": ["uniform", "margin"]})
    assert isinstance(found.ranker, PostRanker)
    assert len(found.trace) == 4
    assert found.value == max(trial.value for trial in found.trace)


def test_one_query_is_explained_by_its_rules(model):
    ruled = PostRanker(model, [TopK(LAST, 1, weight=100)])
    told = ruled.explain(DATA, QUERY)
    assert isinstance(told, PostRanking)
    assert told.order[0] == LAST
    assert told.moves[0].because == tuple(ruled.rules)
    with pytest.raises(UnknownNameError, match="unknown query 'nothing'"):
        ruled.explain(DATA, "nothing")
    assert ruled.postrank(DATA).rules[0].satisfied == 1


def test_it_needs_document_ids(model):
    ruled = PostRanker(model, [TopK(LAST, 1)])
    with pytest.raises(MissingDocidsError, match=r"RankingData with document ids.*got ndarray"):
        ruled.predict(DATA.X)
    with pytest.raises(MissingDocidsError):
        ruled.predict(remade(DATA, ids=False))
    with pytest.raises(MissingDocidsError):
        ruled.score(*arrays(DATA)[:2], qid=arrays(DATA)[2])


def test_it_is_not_saved_and_says_what_to_do(model, tmp_path):
    with pytest.raises(UsageError, match=r"postranker\.ranker\.save.*write_rules"):
        PostRanker(model, []).save(tmp_path / "model.podium")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rules": "rules.yaml"}, "expected a list of rules.*read_rules"),
        ({"prior": -1.0}, "prior of 0 to"),
        ({"base": "even"}, "unknown base"),
        ({"method": "newton"}, "unknown method"),
        ({"model": "ranksvm"}, "expected a ranker as model of PostRanker"),
        ({"today": "now"}, "expected today to be a datetime.date"),
    ],
)
def test_wrong_parameters_are_told_when_used(model, settings, message):
    ruled = PostRanker(**{"model": model, "rules": [], **settings})
    with pytest.raises(UsageError, match=message):
        ruled.predict(DATA)


def test_missing_values_are_the_rankers_business():
    X = np.array(DATA.X)
    X[0, 0] = np.nan
    data = podium.RankingData.from_arrays(
        X, DATA.y, qid=arrays(DATA)[2], docid=DATA.docids, missing="nan"
    )
    trees = podium.LambdaMART(trees=3, min_leaf=2, threads=1)
    ruled = PostRanker(trees, [TopK(LAST, 1, weight=100)]).fit(data)
    assert places(ruled.predict(data))[list(DATA.docids).index(LAST)] == 1
