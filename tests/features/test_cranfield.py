"""Cranfield: BM25 in the known range, and rankers on LETOR's features better than BM25 alone."""

import numpy as np
import pytest

import podium
from podium.data import Groups, Run, Strings, kfold, scale_by_query
from podium.features import Index, Tokenizer, make_features
from podium.metrics import paired_test
from tests.support import cranfield
from tests.support.case_counts import soak_cases

pytestmark = pytest.mark.needs("shared data")


@pytest.fixture(scope="module")
def folder(shared_data):
    return shared_data / "cranfield"


@pytest.fixture(scope="module")
def documents(folder):
    return list(cranfield.documents(folder))


@pytest.fixture(scope="module")
def queries(folder):
    return cranfield.queries(folder)


@pytest.fixture(scope="module")
def qrels(folder):
    return cranfield.judgments(folder)


@pytest.fixture(scope="module")
def index(documents):
    return Index.build(
        documents, fields=["title", "body"], tokenizer=Tokenizer("english", "porter")
    )


def test_the_collection(documents, queries, qrels, index):
    assert len(documents) == 1400
    assert sum(document.fields["body"] == "" for document in documents) == 2
    assert (len(queries), len(qrels)) == (225, 1837)
    assert np.bincount(qrels.values.astype(int)).tolist() == [0, 363, 734, 387, 128 + 225]
    assert len(index) == 1400


@pytest.mark.parametrize(
    ("stop_words", "stemmer", "known"),
    [("none", "none", 0.386), ("english", "s", 0.412), ("english", "porter", 0.425)],
)
def test_bm25_is_in_the_known_range(documents, queries, qrels, stop_words, stemmer, known):
    built = Index.build(
        documents, fields=["title", "body"], tokenizer=Tokenizer(stop_words, stemmer)
    )
    found = podium.evaluate(qrels, built.retrieve(queries, k=1000), "MAP")["MAP"].mean
    assert found == pytest.approx(known, abs=0.002)


def cross_validated(data, ranker, seed):
    """The order a ranker gives each query when it has not seen it."""
    runs = []
    for train, valid, test in kfold(data, 5, seed=seed):
        fitted = ranker().fit(train, valid=valid)
        runs.append(Run.from_scores(test, fitted.predict(test)))
    return Run(
        np.concatenate([run.qids for run in runs]),
        Groups.from_sizes(np.concatenate([run.groups.sizes for run in runs])),
        Strings.concatenate([run.docids for run in runs]),
        np.concatenate([run.values for run in runs]),
    )


@pytest.mark.parametrize("ranker", [podium.ListNet, podium.RankSVM])
def test_learned_orders_are_better_than_bm25(index, queries, qrels, ranker):
    data = make_features(index, queries, 100, qrels)
    assert (data.n_queries, len(data), data.n_features) == (225, 22_500, 48)
    bm25 = podium.evaluate(qrels, index.retrieve(queries, 100), "MAP")["MAP"]
    scaled = scale_by_query(data, "zscore")
    learned = [
        podium.evaluate(qrels, cross_validated(scaled, ranker, seed), "MAP")["MAP"]
        for seed in range(soak_cases(3))
    ]
    # Measured: 0.435 to 0.438, BM25 0.419.
    assert bm25.mean == pytest.approx(0.419, abs=0.002)
    assert np.mean([result.mean for result in learned]) > bm25.mean + 0.01
    assert all(result.mean > bm25.mean + 0.007 for result in learned)
    assert paired_test(learned[0].per_query, bm25.per_query).p_value < 0.05
