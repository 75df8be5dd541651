"""Exports to LightGBM, XGBoost and RankLib score the same in the programs, or in their readers here."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.data import RankingData
from podium.errors import CannotExpressError, UsageError
from podium.exchange import Standard, emulate, export_model, import_model
from podium.rankers import MLP, LambdaMART, ListNet, Prepared, RankBoost, RankSVM
from podium.rankers.forest import MISSING_ZERO, Forest, Tree
from podium.rankers.forest_text import model_from_forest
from podium.rankers.imported_ranker import ImportedRanker
from tests.support.export_targets import PROGRAMS
from tests.support.generated_trees import trees
from tests.support.ranklib_reader import ranklib_scores
from tests.support.small_rankers import cheap, small
from tests.support.thresholds import assert_same, form_of, hard_rows

DATA = small(20, n_features=4, seed=5)


def program_scores(exported, X):
    """The scores of the program itself; of RankLib, those of a reader by its rules."""
    if exported.target == "ranklib":
        return ranklib_scores(exported.content, X)
    if exported.target == "lightgbm":
        import lightgbm

        booster = lightgbm.Booster(model_str=exported.content)
        return booster.predict(X.astype(np.float64), raw_score=True, num_threads=1)
    import xgboost

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        booster = xgboost.Booster(model_file=bytearray(exported.content.encode()))
        booster.set_param({"nthread": 1})
        rows = xgboost.DMatrix(
            X.astype(np.float32), feature_names=list(exported.features), nthread=1
        )
        return booster.predict(rows, output_margin=True)


def all_scores(exported, X):
    """The scores of the emulator, and of the program."""
    yield emulate(exported, X)
    yield program_scores(exported, X)


@pytest.mark.parametrize("target", PROGRAMS)
@pytest.mark.parametrize("name", ["lambdamart", "rankboost", "focused-boost", "ranksvm", "adarank"])
def test_rankers_score_the_same_in_the_program(name, target):
    ranker = cheap(name).fit(DATA)
    form = form_of(ranker)
    if target == "lightgbm" and not isinstance(form, Forest):
        with pytest.raises(CannotExpressError, match=r"has trees only.*nearest: .*xgboost"):
            export_model(ranker, target)
        return
    X = hard_rows(form, 4, n=500)
    expected = ranker.predict(X.astype(np.float64))
    for scores in all_scores(export_model(ranker, target), X):
        assert_same(form, X, expected, scores)


@pytest.mark.parametrize("target", PROGRAMS)
@given(forest=st.lists(trees(), min_size=1, max_size=3), seed=st.integers(0, 2**32))
def test_any_trees_score_the_same_on_their_thresholds_and_beside_them(target, forest, seed):
    form = Forest(3, tuple(forest))
    # RankLib takes 0 for a missing value, which trees with a side of their own for it do not.
    missing = 0.0 if target == "ranklib" and form.has_missing_side else 0.1
    X = hard_rows(form, 3, n=100, seed=seed, missing=missing)
    model = ImportedRanker.from_model(model_from_forest(form), "a test")
    rows = np.nan_to_num(X) if target == "ranklib" else X
    expected = model.predict(rows.astype(np.float64))
    for scores in all_scores(export_model(model, target), X):
        assert_same(form, np.nan_to_num(X), expected, scores)


def test_lightgbm_scores_are_equal_to_the_bit():
    ranker = LambdaMART(trees=20, min_leaf=3, threads=1).fit(DATA)
    X = np.random.default_rng(0).standard_normal((200, 4))
    expected = ranker.predict(X)
    assert program_scores(export_model(ranker, "lightgbm"), X).tolist() == expected.tolist()


def test_lightgbm_treats_0_as_missing_where_the_trees_do():
    tree = Tree.of([0], [0.5], [(~0, ~1)], [1.0, 2.0], [MISSING_ZERO])
    model = ImportedRanker.from_model(model_from_forest(Forest(1, (tree,))), "a test")
    scores = program_scores(export_model(model, "lightgbm"), np.array([[0.0], [0.1]]))
    assert scores.tolist() == [2.0, 1.0] == model.predict([[0.0], [0.1]]).tolist()
    for target in ("ranklib", "xgboost"):
        with pytest.raises(CannotExpressError, match="treats 0 as missing"):
            export_model(model, target)


@pytest.mark.parametrize("target", ["ranklib", "xgboost"])
def test_scaled_sums_are_weights_of_raw_features_and_a_constant(target):
    # w (x - a) / b = (w / b) x - w a / b
    ranker = ImportedRanker.from_model(RankSVM().fit(DATA).model_, "a test")
    normalizers = {name: Standard(3.0 * j, 2.0) for j, name in enumerate(DATA.names())}
    exported = export_model(ranker, target, normalizers=normalizers)
    X = np.random.default_rng(1).standard_normal((50, 4)).astype(np.float32)
    weights = ranker.model_.weights
    expected = (X / 2) @ weights - sum(3.0 * j / 2 * w for j, w in enumerate(weights))
    for scores in all_scores(exported, X):
        np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", PROGRAMS)
@pytest.mark.parametrize("inner", [cheap("lambdamart"), RankBoost(rounds=5)])
def test_trees_that_fill_missing_values(inner, target):
    X = np.where(np.random.default_rng(1).random(DATA.X.shape) < 0.2, np.nan, DATA.X)
    data = RankingData.from_arrays(X, DATA.y, qid=DATA.groups.codes, missing="nan")
    ranker = Prepared(inner, impute="median", scale="zscore").fit(data)
    exported = export_model(ranker, target)
    assert bool(exported.notes) is (target == "ranklib")
    rows = np.nan_to_num(X) if target == "ranklib" else X
    for scores in all_scores(exported, X):
        np.testing.assert_allclose(scores, ranker.predict(rows), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", PROGRAMS)
def test_an_export_is_imported_again(target, tmp_path):
    ranker = cheap("lambdamart").fit(DATA)
    exported = export_model(ranker, target, feature_names=["a", "b", "c", "d"])
    exported.save(tmp_path / "model")
    again = import_model(tmp_path / "model", target, feature_names=["a", "b", "c", "d"])
    np.testing.assert_allclose(again.predict(DATA.X), ranker.predict(DATA.X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", PROGRAMS)
def test_networks_are_refused(target):
    ranker = ListNet(scorer=MLP(hidden=(3,), epochs=1)).fit(DATA)
    with pytest.raises(CannotExpressError, match=r"network.*onnx"):
        export_model(ranker, target)


def test_names_that_the_programs_refuse():
    ranker = cheap("lambdamart").fit(DATA)
    names = ["a b", "[1]", "c", "d"]
    with pytest.raises(UsageError, match=r"'a b' is not a name of a feature in LightGBM"):
        export_model(ranker, "lightgbm", feature_names=names)
    with pytest.raises(UsageError, match=r"'\[1\]' is not a name of a feature in XGBoost"):
        export_model(ranker, "xgboost", feature_names=names)
    with pytest.raises(
        UsageError, match=r"'a\\nb' is not a name of a feature in RankLib's comments"
    ):
        export_model(ranker, "ranklib", feature_names=["a\nb", "b", "c", "d"])


def test_a_stump_in_each_file():
    stump = Tree.stump(1, 0.5, -1.0, 2.0)
    model = ImportedRanker.from_model(model_from_forest(Forest(2, (stump,))), "a test")
    text = export_model(model, "ranklib", feature_names=["bm25", "age"]).content
    assert text.splitlines()[:4] == [
        "## LambdaMART",
        "## Feature 1 = bm25",
        "## Feature 2 = age",
        "",
    ]
    assert "<feature> 2 </feature>\n\t\t\t<threshold> 0.5 </threshold>" in text
    (tree,) = json.loads(export_model(model, "xgboost").content)["learner"]["gradient_booster"][
        "model"
    ]["trees"]
    assert tree["split_indices"] == [1, 0, 0]
    assert tree["left_children"], tree["right_children"] == ([1, -1, -1], [2, -1, -1])
    above = float(np.nextafter(np.float32(0.5), np.float32(1)))
    assert tree["split_conditions"] == [above, -1.0, 2.0]
    assert "feature_names=bm25 age\n" in (
        export_model(model, "lightgbm", feature_names=["bm25", "age"]).content
    )
