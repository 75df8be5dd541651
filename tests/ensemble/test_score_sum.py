"""Weighted sums of models: the simplest equal model, and a file that is never trusted."""

import json

import numpy as np
import pytest

from podium.data import RankingData
from podium.data.groups import Groups
from podium.ensemble import ScoreSum, SummedMember, combine_models, offset_and_scale
from podium.ensemble.combined_models import combine_members
from podium.errors import ModelFileError, UsageError
from podium.rankers import LambdaMART, Linear, Prepared, RankBoost, RankSVM, TopSlack, explain
from podium.rankers.merged_trees import WeightedTrees, merge_trees
from podium.rankers.models import Stumps
from podium.rankers.prepared_model import PreparedModel
from podium.rankers.tree_model import Trees
from podium.registry import MODELS, load
from tests.support.small_rankers import cheap, qid_of, small

DATA = small(20, 4, seed=3)
WEIGHTS, OFFSETS, SCALES = [0.5, 2.0, -1.0], [1.0, -2.0, 0.25], [2.0, 0.5, 4.0]


def formula(models, data=DATA):
    """sum_m weight_m (s_m - offset_m) / scale_m."""
    terms = zip(models, WEIGHTS, OFFSETS, SCALES, strict=True)
    return sum(w * (m.scores(data.X, data.groups) - o) / s for m, w, o, s in terms)


CONSTANT = sum(w * o / s for w, o, s in zip(WEIGHTS, OFFSETS, SCALES, strict=True))
"""What merged models lack: it is the same for all documents."""


def trees(seed=0, **settings):
    return cheap("lambdamart", seed=seed, **settings).fit(DATA).model_


@pytest.fixture(scope="module")
def tree_models():
    return [trees(), trees(loss="xendcg"), trees(leaves=3)]


# --- two numbers per member ---


def test_the_offset_is_the_mean_and_the_scale_the_spread_within_a_query():
    groups = Groups.from_sizes([3, 1, 2])
    scores = np.array([1.0, 2.0, 6.0, 50.0, -1.0, 1.0])
    variances = [(4 + 1 + 9) / 3, (1 + 1) / 2]  # of 1, 2, 6 around 3 and of -1, 1 around 0
    offset, scale = offset_and_scale(scores, groups)
    assert offset == pytest.approx((1 + 2 + 6 + 50 - 1 + 1) / 6)
    assert scale == pytest.approx(np.sqrt(np.mean(variances)))


def test_what_differs_between_queries_only_does_not_count():
    groups = Groups.from_sizes([2, 2])
    assert offset_and_scale(np.array([0.0, 2.0, 1000.0, 1002.0]), groups)[1] == 1.0
    assert offset_and_scale(np.array([7.0, 7.0, 9.0, 9.0]), groups) == (8.0, 1.0)
    assert offset_and_scale(np.array([3.0]), Groups.from_sizes([1])) == (3.0, 1.0)


# --- the simplest equal model ---


def test_linear_models_become_one():
    models = [cheap(name).fit(DATA).model_ for name in ("ranksvm", "ordinal", "cfbrs")]
    combined = combine_models(models, WEIGHTS, OFFSETS, SCALES)
    assert type(combined) is Linear
    expected = 0.25 * models[0].weights + 4 * models[1].weights - 0.25 * models[2].weights
    np.testing.assert_allclose(combined.weights, expected, rtol=1e-14)
    np.testing.assert_allclose(combined.predict(DATA.X) - CONSTANT, formula(models), atol=1e-9)


def test_stumps_become_one_sum():
    models = [RankBoost(rounds=r).fit(DATA).model_ for r in (3, 5, 8)]
    combined = combine_models(models, WEIGHTS, OFFSETS, SCALES)
    assert type(combined) is Stumps
    assert len(combined.alphas) == sum(len(model.alphas) for model in models)
    np.testing.assert_allclose(combined.predict(DATA.X) - CONSTANT, formula(models), atol=1e-9)


def test_trees_become_one_sum_of_trees(tree_models):
    combined = combine_models(tree_models, WEIGHTS, OFFSETS, SCALES)
    assert type(combined) is Trees
    assert Trees.from_parts(combined.parts()).text == combined.text  # as a file is checked
    roots = [len(model.arrays.roots) for model in tree_models]
    assert len(combined.arrays.roots) == sum(roots)
    scores = combined.predict(DATA.X)
    np.testing.assert_allclose(scores - CONSTANT, formula(tree_models), atol=1e-12)
    # LightGBM reads the same trees.
    np.testing.assert_allclose(combined.booster.predict(DATA.X, raw_score=True), scores, atol=0)
    parts = zip(tree_models, WEIGHTS, SCALES, strict=True)
    expected = sum(w / s * model.contributions(DATA.X) for model, w, s in parts)
    np.testing.assert_allclose(combined.contributions(DATA.X), expected, atol=1e-12)


def test_merged_trees_count_features_as_the_sum_of_their_members_does(tree_models):
    rows = zip(tree_models, WEIGHTS, OFFSETS, SCALES, strict=True)
    whole = ScoreSum(tuple(SummedMember(*row) for row in rows), 4)
    combined = combine_models(tree_models, WEIGHTS, OFFSETS, SCALES)
    np.testing.assert_allclose(combined.importance(), whole.importance(), rtol=1e-6)
    assert combined.importance().sum() == pytest.approx(0.5 + 2.0 + 1.0)


def test_a_factor_of_one_keeps_the_trees_to_the_bit(tree_models):
    (model, *_) = tree_models
    again = merge_trees([WeightedTrees(model, 1.0)], 4)
    assert again.predict(DATA.X).tobytes() == model.predict(DATA.X).tobytes()
    np.testing.assert_array_equal(again.importance(), model.importance())


@pytest.mark.parametrize("name", ["ranksvm", "rankboost", "lambdamart", "focused-net"])
def test_members_on_some_features_refer_to_the_features_of_the_sum(name):
    columns = (1, 3)
    narrow = DATA.with_features(np.ascontiguousarray(DATA.X[:, columns]), ["b", "d"])
    model = cheap(name).fit(narrow).model_
    member = SummedMember(model, 2.0, 0.0, 0.5, columns)
    combined = combine_members([member, member], 4)
    assert combined.n_features == 4
    np.testing.assert_allclose(combined.predict(DATA.X), 8 * model.predict(narrow.X), atol=1e-9)
    other = DATA.X.copy()
    other[:, [0, 2]] += 5.0
    np.testing.assert_array_equal(combined.predict(other), combined.predict(DATA.X))
    if name != "focused-net":
        assert (combined.importance()[[0, 2]] == 0).all()
        own = combined.contributions(DATA.X)
        np.testing.assert_allclose(own[:, columns], 8 * model.contributions(narrow.X), atol=1e-9)
        assert (own[:, [0, 2]] == 0).all()


def test_other_models_become_a_sum_of_scores(tree_models):
    models = [tree_models[0], RankSVM().fit(DATA).model_, cheap("toprank").fit(DATA).model_]
    combined = combine_models(models, WEIGHTS, OFFSETS, SCALES)
    assert type(combined) is ScoreSum
    np.testing.assert_allclose(
        combined.scores(DATA.X, DATA.groups), formula(models), rtol=0, atol=1e-12
    )
    with pytest.raises(UsageError, match="query ids are missing"):
        combined.predict(DATA.X)
    assert combined.describe() == "3 standardised scores: trees 0.5, linear 2, reranked -1"


def test_a_sum_explains_itself(tree_models):
    ranker = RankSVM().fit(DATA)
    models = [tree_models[0], ranker.model_, RankBoost(rounds=4).fit(DATA).model_]
    ranker.model_ = combine_models(models, WEIGHTS, OFFSETS, SCALES)
    explanation = explain(ranker, DATA, DATA.qids[0])
    rest = explanation.scores - explanation.contributions.sum(axis=1)
    assert np.ptp(rest) < 1e-9  # a constant that all documents share
    shares = [model.importance() / model.importance().sum() for model in models]
    expected = 0.5 * shares[0] + 2 * shares[1] + 1 * shares[2]
    np.testing.assert_allclose(ranker.model_.importance(), expected, rtol=1e-12)
    assert ranker.model_.linear_weights(["a", "b", "c", "d"]) is None


def test_one_model_stays_itself_and_weight_zero_is_left_out(tree_models):
    linear = RankSVM().fit(DATA).model_
    assert combine_models([linear], [0.3], [1.0], [2.0]) is linear
    assert combine_models([tree_models[0], linear], [0.0, 1.0], [0, 0], [1, 1]) is linear
    turned = combine_models([linear], [-1.0], [0.0], [1.0])
    np.testing.assert_array_equal(turned.weights, -linear.weights)


# --- preparation ---


def test_models_behind_one_preparation_are_combined_behind_it():
    prepared = Prepared(RankSVM(C=0.1)).fit(DATA)
    other = Prepared(RankSVM(C=10.0)).fit(DATA)
    combined = combine_models([prepared.model_, other.model_], [1, 3], [0, 0], [1, 2])
    assert type(combined) is PreparedModel
    weights = prepared.model_.model.weights + 1.5 * other.model_.model.weights
    np.testing.assert_allclose(combined.model.weights, weights, rtol=1e-14)


def test_models_behind_several_preparations_are_summed(tree_models):
    models = [Prepared(RankSVM(), scale=s).fit(DATA).model_ for s in ("minmax", "query-zscore")]
    models.append(tree_models[0])
    combined = combine_models(models, WEIGHTS, OFFSETS, SCALES)
    assert type(combined) is ScoreSum
    scores = combined.scores(DATA.X, DATA.groups)
    np.testing.assert_allclose(scores, formula(models), atol=1e-12)
    again = ScoreSum.read(combined.parts(), MODELS)
    np.testing.assert_array_equal(again.scores(DATA.X, DATA.groups), scores)


# --- wrong use ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [0.0], [1.0]), "one weight, offset and scale per model, got 2 models, 1 weights"),
        (([1.0, np.nan], [0.0, 0.0], [1.0, 1.0]), "expected finite weights"),
        (([1.0, 1.0], [0.0, 0.0], [1.0, 0.0]), "scales of models above 0"),
        (([1e300, 1.0], [0.0, 0.0], [1e-300, 1.0]), "scales of models above 0"),
        (([0.0, 0.0], [0.0, 0.0], [1.0, 1.0]), "a weight other than 0"),
    ],
)
def test_numbers_that_do_not_fit(arguments, message):
    models = [Linear(np.ones(2)), Linear(np.ones(2))]
    with pytest.raises(UsageError, match=message):
        combine_models(models, *arguments)


def test_models_of_other_features_are_refused():
    with pytest.raises(UsageError, match="models of 2 features, got one of 3"):
        combine_models([Linear(np.ones(2)), Linear(np.ones(3))], [1, 1], [0, 0], [1, 1])


# --- files ---


def whole():
    stumps = RankBoost(rounds=2).fit(DATA.with_features(DATA.X[:, :2], ["a", "b"])).model_
    linear = SummedMember(Linear(np.ones(4)), 1.0, 2.0, 3.0)
    return ScoreSum((linear, SummedMember(stumps, columns=(1, 2))), 4)


def test_a_sum_in_a_file_is_read_back_to_the_bit(tmp_path):
    ranker = TopSlack().fit(DATA)
    ranker.model_ = whole()
    ranker.save(tmp_path / "sum.podium")
    again = load(tmp_path / "sum.podium")
    assert again.predict(DATA).tobytes() == ranker.predict(DATA).tobytes()
    again.save(tmp_path / "again.podium")
    assert (tmp_path / "again.podium").read_bytes() == (tmp_path / "sum.podium").read_bytes()


def test_sums_may_be_nested_but_not_too_deep():
    model = whole()
    for _ in range(3):
        model = ScoreSum((SummedMember(model, 2.0),), 4)
    read = ScoreSum.from_parts(model.parts())
    np.testing.assert_array_equal(read.predict(DATA.X), model.predict(DATA.X))
    with pytest.raises(ModelFileError, match="nested at most 4 levels"):
        ScoreSum.from_parts(ScoreSum((SummedMember(model),), 4).parts())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, "over 1 to 131,072 features"),
        ({"width": 10**10}, "over 1 to 131,072 features"),
        ({"width": 3}, "a member of 3 features, got 4"),
        ({"width": True}, "over 1 to 131,072 features"),
        ({"members": []}, "1 to 256 members"),
        ({"members": [{}] * 257}, "1 to 256 members"),
        ({"members": {}}, "1 to 256 members"),
        ({"members": [1]}, "damaged"),
        ({"members": [{}]}, "damaged"),
    ],
)
def test_a_hostile_sum_is_refused(change, message):
    parts = whole().parts()
    parts["sum"] = json.dumps(json.loads(parts["sum"]) | change)
    with pytest.raises(ModelFileError, match=message):
        ScoreSum.from_parts(parts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "forest"}, "unknown kind of model of a member: 'forest'"),
        ({"model": ["linear"]}, "unknown kind of model"),
        ({"model": "trees"}, "expected"),
        ({"weight": "1"}, "is not a number"),
        ({"weight": True}, "is not a number"),
        ({"scale": 0}, "a scale above 0"),
        ({"scale": -1.0}, "below 0"),
        ({"weight": 1e300, "scale": 1e-300}, "a scale above 0"),
        ({"columns": [0, 1, 2, 4]}, "ascending features from 0 to 3"),
        ({"columns": [0, 2, 1, 3]}, "ascending features"),
        ({"columns": [0, 1]}, "a member of 2 features, got 4"),
        ({"columns": []}, "ascending features"),
        ({"columns": "01"}, "not the numbers of features"),
        ({"columns": [0, 1, 2, True]}, "not the numbers of features"),
    ],
)
def test_a_hostile_member_is_refused(change, message):
    parts = whole().parts()
    stored = json.loads(parts["sum"])
    stored["members"][0] |= change
    parts["sum"] = json.dumps(stored)
    with pytest.raises(ModelFileError, match=message):
        ScoreSum.from_parts(parts)


def test_a_sum_without_its_text_or_its_members_is_refused():
    parts = whole().parts()
    with pytest.raises(ModelFileError, match="a text named 'sum'"):
        ScoreSum.from_parts({name: part for name, part in parts.items() if name != "sum"})
    with pytest.raises(ModelFileError, match="'weights'"):
        ScoreSum.from_parts({name: part for name, part in parts.items() if name != "0/weights"})
    with pytest.raises(ModelFileError, match="damaged"):
        ScoreSum.from_parts(parts | {"sum": "["})


def test_a_toprank_may_hold_a_sum(tmp_path):
    ranker = cheap("toprank").fit(DATA)
    member = ranker.model_.members[0]
    object.__setattr__(member, "model", whole())
    ranker.save(tmp_path / "nested.podium")
    assert (
        load(tmp_path / "nested.podium").predict(DATA).tobytes() == ranker.predict(DATA).tobytes()
    )


def test_trees_keep_the_sides_of_missing_values():
    X = DATA.X.copy()
    X[::3, 1] = np.nan
    holes = RankingData.from_arrays(X, DATA.y, qid=qid_of(DATA), missing="nan")
    models = [LambdaMART(trees=3, min_leaf=2, threads=1, seed=s).fit(holes).model_ for s in (0, 1)]
    combined = combine_models(models, [1, 1], [0, 0], [1, 1])
    expected = models[0].predict(X) + models[1].predict(X)
    np.testing.assert_allclose(combined.predict(X), expected, atol=1e-12)
