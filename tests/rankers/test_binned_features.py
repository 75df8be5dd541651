"""Binned features: what the fits of one call share, and what LightGBM cannot split."""

import gc
import weakref
from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from sklearn.base import clone

from podium import compare
from podium.data import RankingData, make_synthetic, split
from podium.errors import DataError
from podium.rankers import LambdaMART, Prepared, binned_features, tune
from podium.rankers.binned_features import (
    TrainingColumns,
    bin_training_rows,
    shared_bins,
    tiny_features,
)

TRAIN, VALID = split(make_synthetic(n_queries=60, n_features=5, seed=3), [0.7, 0.3])
RANKER = LambdaMART(trees=6, min_leaf=5, learning_rate=0.3)
GRID = {"loss": ["lambdarank", "xendcg", "ranknet", "listnet"], "leaves": [3, 7]}


@pytest.fixture
def datasets(monkeypatch):
    """Every data set of LightGBM that is made."""
    made = []

    class CountedDataset(lightgbm.Dataset):
        def __init__(self, *args, **settings):
            super().__init__(*args, **settings)
            made.append(weakref.ref(self))

    monkeypatch.setattr(lightgbm, "Dataset", CountedDataset)
    monkeypatch.setattr(lightgbm.basic, "Dataset", CountedDataset)
    return made


def fitted(settings, train=TRAIN, valid=VALID):
    return clone(RANKER).set_params(**settings).fit(train, valid=valid)


def text(ranker):
    return ranker.model_.text


def test_tune_builds_one_data_set_per_kind_of_loss(datasets):
    models = {}

    def remember(trial, total):
        models[tuple(trial.settings.values())] = trial.value

    found = tune(RANKER, TRAIN, VALID, grid=GRID, trial_callback=remember)
    # Training and validation rows, with queries for LightGBM's losses and without for podium's.
    assert len(datasets) == 2 * 2
    gc.collect()
    assert [made() for made in datasets] == [None] * 4
    assert text(found.ranker) == text(fitted(found.settings))


@pytest.mark.parametrize("weighted", [False, True])
def test_shared_bins_change_no_bit(weighted, datasets):
    settings = [
        {"loss": loss, "leaves": leaves} for loss in GRID["loss"] for leaves in GRID["leaves"]
    ]
    weight = np.arange(TRAIN.n_queries) % 3 if weighted else None
    train = replace(TRAIN, query_weight=weight)
    alone = [fitted(s, train) for s in settings]
    assert len(datasets) == 2 * len(settings)
    with shared_bins():
        shared = [fitted(s, train) for s in settings]
    assert len(datasets) == 2 * len(settings) + 2 * 2
    for ours, theirs in zip(shared, alone, strict=True):
        assert text(ours) == text(theirs)
        assert ours.history_.steps == theirs.history_.steps


def test_other_labels_weights_and_queries_of_the_same_features():
    codes = np.arange(len(TRAIN)) // 7
    others = [
        TRAIN,
        TRAIN.with_labels(TRAIN.y[::-1]),
        replace(TRAIN, query_weight=np.arange(1, TRAIN.n_queries + 1)),
        RankingData.from_arrays(TRAIN.X, TRAIN.y, qid=codes),
        TRAIN,
    ]
    alone = [text(fitted({}, train)) for train in others]
    assert len(set(alone)) == 4
    with shared_bins():
        assert [text(fitted({}, train)) for train in others] == alone


def test_a_reused_data_set_has_the_labels_and_weights_of_its_fit():
    parameters = {"seed": 0, "min_data_in_leaf": 5, "num_threads": 1, "verbosity": -1}
    sizes, weight = TRAIN.groups.sizes, np.linspace(0.1, 2, len(TRAIN))

    def bin_rows(labels, weights):
        return bin_training_rows(TRAIN, TrainingColumns(labels, sizes, weights), parameters)

    with shared_bins():
        weighted = bin_rows(TRAIN.y, weight)
        again = bin_rows(TRAIN.y[::-1], np.ones(len(TRAIN)))
        assert again is weighted
        np.testing.assert_array_equal(again.get_field("label"), TRAIN.y[::-1].astype(np.float32))
        assert set(again.get_field("weight").tolist()) == {1.0}
        assert bin_rows(TRAIN.y, None).get_field("weight") is None


@pytest.mark.parametrize("change", [{"seed": 1}, {"min_leaf": 9}])
def test_other_bins_are_built_again(change, datasets):
    alone = text(fitted(change))
    with shared_bins():
        fitted({})
        n_before = len(datasets)
        assert text(fitted(change)) == alone
    assert len(datasets) == n_before + 2


def test_held_out_queries_are_shared_too(datasets):
    alone = [text(fitted({"leaves": leaves}, valid=None)) for leaves in (3, 7)]
    del datasets[:]
    with shared_bins():
        shared = [text(fitted({"leaves": leaves}, valid=None)) for leaves in (3, 7)]
    assert shared == alone
    assert len(datasets) == 2


def test_prepared_features_are_not_kept_alive():
    kept = []

    class Watched(LambdaMART):
        def learn(self, train, monitor, start):
            kept.append(weakref.ref(train.stored_features()[0]))
            return super().learn(train, monitor, start)

    with shared_bins():
        Prepared(Watched(trees=2, min_leaf=5), scale="zscore").fit(TRAIN, valid=VALID)
        gc.collect()
        assert kept[0]() is None


def test_contestants_of_a_comparison_share_bins(datasets):
    rankers = {f"{leaves} leaves": clone(RANKER).set_params(leaves=leaves) for leaves in (3, 7)}
    compare(make_synthetic(n_queries=40, seed=1), rankers, ["NDCG@10"], folds=2)
    assert len(datasets) == 2 * 2  # the training and the validation rows of two folds


@pytest.mark.parametrize("loss", ["lambdarank", "ranknet"])
@pytest.mark.parametrize("scale", [1e-300, 1e-320])
def test_features_that_lightgbm_takes_for_0(loss, scale, capfd):
    data = RankingData.from_arrays(
        TRAIN.X * np.array([scale, 0, scale, scale, 0]), TRAIN.y, qid=TRAIN.groups.codes,
        feature_names=["length", "b", "c", "d", "e"],
    )  # fmt: skip
    with pytest.raises(
        DataError, match=r"nearer to 0 than 1e-35 for 0, and the feature 'length'.* multiply"
    ):
        LambdaMART(loss=loss, trees=3).fit(data)
    assert capfd.readouterr() == ("", "")
    assert tiny_features(data) == ["length", "c", "d"]


@pytest.mark.parametrize("loss", ["lambdarank", "ranknet"])
def test_features_without_a_split(loss, capfd):
    data = RankingData.from_arrays(np.ones((len(TRAIN), 2)), TRAIN.y, qid=TRAIN.groups.codes)
    with pytest.raises(DataError, match="cannot split the data"):
        LambdaMART(loss=loss, trees=3).fit(data)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_in_batches_change_no_bit(dtype, monkeypatch):
    data = make_synthetic(n_queries=60, n_features=4, seed=1)
    train, valid = split(data.with_features(data.X.astype(dtype)), (0.7, 0.3))
    ranker = LambdaMART(trees=5, min_leaf=2)
    at_once = clone(ranker).fit(train, valid=valid)
    monkeypatch.setattr(binned_features, "MAX_COPIED_BYTES", 0)
    monkeypatch.setattr(binned_features, "ROWS_PER_BATCH", 100)
    in_batches = clone(ranker).fit(train, valid=valid)
    assert at_once.predict(valid).tobytes() == in_batches.predict(valid).tobytes()
    assert len(in_batches.history_.steps) == len(at_once.history_.steps) == 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_of_chosen_rows_are_those_of_a_copy(dtype, monkeypatch):
    monkeypatch.setattr(binned_features, "ROWS_PER_BATCH", 70)
    random = np.random.default_rng(4)
    X = random.standard_normal((1000, 4)).astype(dtype)
    X[random.random(X.shape) < 0.3] = 0
    X[random.random(X.shape) < 0.2] = np.nan
    X[:, 3] = random.integers(0, 3, 1000) * 1e-36  # LightGBM takes these for 0
    rows = random.permutation(1000)[:800]
    parameters = {
        "bin_construct_sample_cnt": 300, "max_bin": 20, "min_data_in_leaf": 3, "num_threads": 1,
        "verbosity": -1,
    }  # fmt: skip
    chosen = binned_features._bin_chosen_rows(X, rows, parameters).set_label(rows)
    copied = lightgbm.Dataset(X[rows], rows, params=parameters).construct()
    settings = parameters | {"objective": "regression"}
    ours, theirs = (lightgbm.train(settings, d, 5).model_to_string() for d in (chosen, copied))
    assert ours == theirs
    assert ours.count("threshold=") == 5
