"""CatBoost's trees: the same scores as CatBoost's, chosen by podium's metric, and data in a file."""

import json
import sys

import catboost
import numpy as np
import pytest
from typer.testing import CliRunner

from podium.apps.cli import app
from podium.data import make_synthetic, split, write_letor
from podium.errors import DataError, MissingExtraError, NotConvergedWarning
from podium.metrics import evaluate, parse
from podium.rankers import CatBoostTrees
from podium.rankers.catboost_json import read_catboost_json
from podium.registry import compared_rankers, load

TRAIN, VALID = split(
    make_synthetic(n_queries=80, n_docs=15, n_features=5, truth="nonlinear", seed=0), [0.7, 0.3]
)
SETTINGS = {"trees": 25, "learning_rate": 0.3, "depth": 3, "threads": 1}


@pytest.fixture(scope="module")
def fitted():
    return CatBoostTrees(**SETTINGS).fit(TRAIN, valid=VALID)


def pool(data):
    return catboost.Pool(data.X.astype(np.float32), data.y, group_id=data.groups.codes)


def grown_by_catboost(ranker, loss="YetiRank", **settings):
    """CatBoost by itself, on the rows in the order in which the ranker takes them."""
    train, _ = ranker.training_parts(TRAIN, VALID)
    booster = catboost.CatBoost({
        "loss_function": loss, "iterations": 25, "learning_rate": 0.3, "depth": 3, "l2_leaf_reg": 3.0,
        "random_strength": 1.0, "random_seed": 0, "thread_count": 1, "logging_level": "Silent",
        "allow_writing_files": False, **settings,
    })  # fmt: skip
    return booster.fit(pool(train))


# --- the same trees ---


@pytest.mark.parametrize("loss", ["YetiRank", "QueryRMSE", "YetiRankPairwise"])
def test_scores_are_those_of_catboost(loss):
    ranker = CatBoostTrees(**SETTINGS, loss=loss).fit(TRAIN, valid=VALID)
    n_trees = ranker.history_.best
    theirs = grown_by_catboost(ranker, loss).predict(VALID.X, ntree_end=n_trees)
    np.testing.assert_allclose(ranker.predict(VALID), theirs, rtol=0, atol=1e-9)


def test_missing_values_are_on_the_side_that_catboost_learned():
    rng = np.random.default_rng(0)
    holes = np.where(rng.random(TRAIN.X.shape) < 0.2, np.nan, TRAIN.X)
    qid = np.repeat(np.arange(TRAIN.n_queries), TRAIN.groups.sizes)
    ranker = CatBoostTrees(**SETTINGS).fit(holes, TRAIN.y, qid=qid, valid=VALID)
    sent_left = np.where(np.isnan(holes), np.finfo(np.float32).min, holes)
    np.testing.assert_array_equal(ranker.predict(holes), ranker.predict(sent_left))
    sent_right = np.where(np.isnan(holes), np.finfo(np.float32).max, holes)
    assert (ranker.predict(holes) != ranker.predict(sent_right)).any()


@pytest.mark.parametrize(
    ("temperature", "bootstrap"),
    [(0.0, {"bootstrap_type": "No"}),
     (2.0, {"bootstrap_type": "Bayesian", "bagging_temperature": 2.0})],
)  # fmt: skip
def test_the_temperature_of_bagging(temperature, bootstrap):
    ranker = CatBoostTrees(**SETTINGS, bagging_temperature=temperature).fit(TRAIN, valid=VALID)
    theirs = grown_by_catboost(ranker, **bootstrap)
    expected = theirs.predict(VALID.X, ntree_end=ranker.history_.best)
    np.testing.assert_allclose(ranker.predict(VALID), expected, rtol=0, atol=1e-9)


def document(splits, values, weights):
    feature = {"nan_value_treatment": "AsIs"}
    return json.dumps({
        "features_info": {"float_features": [{"flat_feature_index": i, **feature} for i in range(2)]},
        "oblivious_trees": [{
            "splits": [
                {"split_type": "FloatFeature", "float_feature_index": f, "border": b} for f, b in splits
            ],
            "leaf_values": values, "leaf_weights": weights,
        }],
        "scale_and_bias": [2.0, [0.0]],
    })  # fmt: skip


def test_values_beyond_float32_are_the_largest_of_it():
    data = make_synthetic(n_queries=20, n_features=3, seed=0)
    X = np.array(data.X, dtype=np.float64)
    X[::5, 0] *= 1e39
    ranker = CatBoostTrees(trees=5, threads=1).fit(data.with_features(X))
    assert np.isfinite(ranker.predict(X)).all()


def test_sides_that_no_row_reaches_are_left_out():
    # x0 > 1 and x0 > 2: no row is in leaf 2 (not above 1, but above 2).
    text = document([(0, 1.0), (0, 2.0), (1, 0.0)], list(range(8)), [1] * 8)
    (tree,) = read_catboost_json(text).forest.trees
    assert sorted(tree.value.tolist()) == [2.0 * leaf for leaf in (0, 1, 3, 4, 5, 7)]
    rows = np.array([[x, y] for x in (1.0, 1.5, 2.0, 2.5) for y in (0.0, 1.0)])
    bits = (rows[:, 0] > 1) + 2 * (rows[:, 0] > 2) + 4 * (rows[:, 1] > 0)
    np.testing.assert_array_equal(tree.evaluate(rows), 2.0 * bits)


def test_a_gain_is_the_spread_between_the_sides():
    # Values are doubled; the right side of the root has the mean (2*3 + 6*1) / 4 = 3.
    text = document([(0, 0.0), (1, 0.0)], [5.0, 1.0, 5.0, 3.0], [3, 3, 1, 1])
    (tree,) = read_catboost_json(text).forest.trees
    assert tree.gain.tolist() == [4 * 4 / 8 * (10 - 3) ** 2, 0.0, 3 * 1 / 4 * (2 - 6) ** 2]
    assert tree.count.tolist() == [3, 1, 3, 1]


def test_a_tree_without_splits_is_a_constant():
    (tree,) = read_catboost_json(document([], [1.5], [4])).forest.trees
    assert tree.evaluate(np.zeros((2, 2))).tolist() == [3.0, 3.0]


# --- podium's metric chooses ---


@pytest.mark.parametrize("metric", ["NDCG@10", "MAP"])
def test_the_number_of_trees_is_best_by_the_metric_of_podium(metric):
    ranker = CatBoostTrees(**SETTINGS, metric=metric).fit(TRAIN, valid=VALID)
    averaged = parse(metric).averaging_ties()
    stages = grown_by_catboost(ranker).staged_predict(VALID.X)
    values = [evaluate(VALID, scores, averaged)[averaged].mean for scores in stages]
    np.testing.assert_allclose(ranker.history_.valid, values, rtol=0, atol=1e-12)
    assert ranker.history_.best == 1 + int(np.argmax(values))


def test_patience_ends_a_fit():
    ranker = CatBoostTrees(**{**SETTINGS, "trees": 300, "learning_rate": 1.0}, patience=3)
    history = ranker.fit(TRAIN, valid=VALID).history_
    assert len(history.steps) == history.best + 3 < 300


def test_the_number_of_threads_changes_no_bit(fitted):
    two = CatBoostTrees(**{**SETTINGS, "threads": 2}).fit(TRAIN, valid=VALID)
    assert two.predict(VALID).tobytes() == fitted.predict(VALID).tobytes()


def test_an_interrupted_fit_keeps_the_best_trees():
    def interrupt(step):
        if step.iteration == 5:
            raise KeyboardInterrupt

    with pytest.warns(NotConvergedWarning, match="interrupted"):
        ranker = CatBoostTrees(**SETTINGS).fit(TRAIN, valid=VALID, callback=interrupt)
    assert len(ranker.history_.steps) == 5
    assert np.ptp(ranker.predict(VALID)) > 0


def test_an_error_of_a_callback_comes_through():
    def fail(step):
        raise ZeroDivisionError("in a callback")

    with pytest.raises(ZeroDivisionError, match="in a callback"):
        CatBoostTrees(**SETTINGS).fit(TRAIN, valid=VALID, callback=fail)


def test_features_of_one_value_cannot_be_split():
    with pytest.raises(DataError, match=r"each of its 2 features has one value in all 6 documents"):
        CatBoostTrees().fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1], qid=[0] * 6)


# --- a model that is data ---


def test_nothing_is_written_or_printed(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    CatBoostTrees(**SETTINGS).fit(TRAIN, valid=VALID)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_contributions_add_up(fitted):
    X = VALID.X[:50]
    sums = fitted.model_.contributions(X).sum(axis=1)
    scores = fitted.predict(X)
    np.testing.assert_allclose(sums - sums[0], scores - scores[0], rtol=0, atol=1e-9)
    assert fitted.model_.importance().argmax() in (0, 1, 2)  # the features of the truth


def test_a_model_file_needs_no_catboost(fitted, tmp_path, monkeypatch):
    fitted.save(tmp_path / "m.podium")
    monkeypatch.setitem(sys.modules, "catboost", None)
    loaded = load(tmp_path / "m.podium")
    assert type(loaded) is CatBoostTrees
    assert loaded.predict(VALID).tobytes() == fitted.predict(VALID).tobytes()
    assert len(loaded.explain(VALID, VALID.qids[0]).scores) == 15
    with pytest.raises(
        MissingExtraError,
        match=r"^training catboost needs catboost, .*: pip install 'podium-ltr\[catboost\]' \(in podium's",
    ):
        loaded.fit(TRAIN)


def test_the_command_line_without_catboost(tmp_path, monkeypatch):
    write_letor(TRAIN, tmp_path / "train.txt")
    monkeypatch.setitem(sys.modules, "catboost", None)
    done = CliRunner().invoke(
        app, ["train", "catboost", f"{tmp_path}/train.txt", "-o", f"{tmp_path}/m.podium"]
    )
    assert done.exit_code == 2
    assert "pip install 'podium-ltr[catboost]'" in done.stderr
    assert not (tmp_path / "m.podium").exists()
    assert "catboost" in CliRunner().invoke(app, ["rankers"]).stdout
    assert "catboost" not in compared_rankers()
