"""What each feature adds, and which features a ranker needs."""

import numpy as np
import pytest

import podium
from podium.data import RankingData
from podium.errors import UnknownNameError, UsageError
from podium.rankers import (
    MLP,
    ListNet,
    RankSVM,
    explain,
    feature_importance,
    feature_weights,
    permutation_importance,
)
from tests.support.small_rankers import BY_QUERY, NAMES, cheap, small

DATA = small(15, seed=2)


@pytest.fixture(scope="module")
def one_matters():
    """Labels that the second of four features makes alone; the last one is the same everywhere."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    X[:, 3] = 1.0
    y = np.digitize(X[:, 1], [0.0, 1.0])
    names = ["noise", "signal", "more noise", "constant"]
    return RankingData.from_arrays(X, y, qid=np.arange(300) // 15, feature_names=names)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BY_QUERY])
def test_contributions_add_up_to_the_scores(name):
    ranker = cheap(name).fit(DATA)
    for query in DATA.qids[:3]:
        found = ranker.explain(DATA, query)
        rest = found.scores - found.contributions.sum(axis=1)
        np.testing.assert_allclose(rest, rest[0], atol=1e-9)
        rows = list(DATA.groups.slices())[DATA.qids.tolist().index(query)]
        assert sorted(found.rows) == list(range(rows.start, rows.stop))
        np.testing.assert_array_equal(found.scores, ranker.predict(DATA)[found.rows])
        assert (np.diff(found.scores) <= 0).all()
        np.testing.assert_array_equal(found.labels, DATA.y[found.rows])
        assert found.docids == tuple(DATA.docids[found.rows])
        assert found.feature_names == ("f1", "f2", "f3", "f4")


def test_the_strongest_features_come_first():
    found = explain(RankSVM().fit(DATA), DATA, "q3")
    top = found.top(1, n=2)
    row = dict(zip(found.feature_names, found.contributions[0], strict=True))
    assert [name for name, _ in top] == sorted(row, key=lambda f: -abs(row[f]))[:2]
    assert dict(top).items() <= row.items()


def test_weights_by_name(one_matters):
    found = feature_weights(RankSVM().fit(one_matters))
    assert next(iter(found)) == "signal"
    assert set(found) == set(one_matters.feature_names)
    sizes = [abs(w) for w in found.values()]
    assert sizes == sorted(sizes, reverse=True)
    assert abs(found["constant"]) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_permutation_importance_finds_the_feature_that_matters(name, one_matters):
    found = permutation_importance(cheap(name).fit(one_matters), one_matters, repeats=2)
    (first, fall), *others = found.top()
    assert first == "signal"
    assert fall > 0.1
    assert all(abs(other) < 0.3 * fall for _, other in others)
    assert found.mean[3] == found.std[3] == 0
    assert found.metric == "NDCG@10"


def test_permutation_importance_is_that_of_the_metric(one_matters):
    ranker = RankSVM().fit(one_matters)
    same = [permutation_importance(ranker, one_matters, "MAP", seed=3) for _ in range(2)]
    np.testing.assert_array_equal(same[0].mean, same[1].mean)
    other = permutation_importance(ranker, one_matters, "MAP", seed=4)
    assert not np.array_equal(same[0].mean, other.mean)
    assert same[0].metric == "MAP"
    arrays = one_matters.X, one_matters.y, np.arange(300) // 15
    np.testing.assert_array_equal(
        permutation_importance(ranker, arrays, "MAP", seed=3).mean, same[0].mean
    )


def test_what_cannot_be_explained():
    net = ListNet(scorer=MLP(hidden=(2,), epochs=1)).fit(DATA)
    with pytest.raises(UsageError, match=r"an mlp has no .*permutation_importance"):
        net.explain(DATA, "q1")
    with pytest.raises(UsageError, match="listnet has a mlp model, which has no weights"):
        feature_weights(net)
    with pytest.raises(UsageError, match="1 repeat or more, got 0"):
        permutation_importance(net, DATA, repeats=0)
    with pytest.raises(UnknownNameError, match="unknown query 'q99'"):
        RankSVM().fit(DATA).explain(DATA, "q99")


@pytest.mark.parametrize("name", ["ranksvm", "toprank"])
def test_an_explanation_without_a_query_names_one(name, tmp_path):
    ranker = cheap(name).fit(DATA)
    expected = rf"expected the id or the text of a query, got none; as in explain\(data, '{DATA.qids[0]}'\)"
    with pytest.raises(UsageError, match=expected):
        ranker.explain(DATA)
    if name == "ranksvm":
        DATA.to_parquet(tmp_path / "data.parquet")
        collection = podium.partition([tmp_path / "data.parquet"], tmp_path / "parts")
        with pytest.raises(UsageError, match=expected):
            ranker.explain(collection)


def test_podium_explain_names_the_features_or_explains_a_query(one_matters):
    ranker = RankSVM().fit(one_matters)
    assert podium.explain(ranker) == feature_weights(ranker)
    trees = podium.LambdaMART(trees=3).fit(one_matters)
    assert podium.explain(trees) == feature_importance(trees)
    query = one_matters.qids[2]
    why, method = podium.explain(ranker, one_matters, query), ranker.explain(one_matters, query)
    np.testing.assert_array_equal(why.contributions, method.contributions)
    for arguments, example in (((one_matters,), r"'0'"), ((None, query), r"data.qids\[0\]")):
        expected = (
            rf"expected data and a query, or a ranker alone, .* explain\(ranker, data, {example}\)"
        )
        with pytest.raises(UsageError, match=expected):
            podium.explain(ranker, *arguments)
    with pytest.raises(UsageError, match="permutation_importance measures it on data"):
        podium.explain(ListNet(scorer=MLP(hidden=(2,), epochs=1)).fit(one_matters))
