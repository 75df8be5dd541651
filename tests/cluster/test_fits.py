"""Fits over parts on workers: the weights of the fit in memory to 1e-9, for any placement of parts."""

import numpy as np
import pytest
from sklearn.base import clone

import podium
from podium.data import make_synthetic, partition
from podium.data.collections.collection_parts import collection_parts
from podium.errors import DataError, UsageError
from podium.rankers import MLP
from podium.rankers.remote_rows import RemoteRows, group_parts
from podium.task_runner import current_runner
from tests.support.cli import answer, run


def write_parts(data, folder, rows=200):
    data.to_parquet(folder / "data.parquet")
    return partition([folder / "data.parquet"], folder / "parts", rows=rows)


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    return write_parts(
        make_synthetic(n_queries=40, n_features=8, seed=0), tmp_path_factory.mktemp("fits")
    )


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    return write_parts(
        make_synthetic(n_queries=30, n_features=8, seed=1), tmp_path_factory.mktemp("valid")
    )


LINEAR = [
    podium.Regression(), podium.LeastSquares(), podium.RankSVM(), podium.RankSVM(C=0.1, tol=1e-8),
    podium.RankNet(), podium.ListNet(), podium.ListMLE(), podium.TopkListMLE(k=3), podium.FocusedNet(),
    podium.FocusedNet(k=3, beta=0.3, depth=2),
]  # fmt: skip


def assert_same_fit(client, ranker, train, valid=None):
    with podium.use(client):
        on_workers = clone(ranker).fit(train, valid=valid)
    alone = clone(ranker).fit(train.read(), valid=valid and valid.read())
    weights, expected = on_workers.model_.weights, alone.model_.weights
    assert np.abs(weights - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max())
    assert on_workers.trained_ == alone.trained_
    assert on_workers.history_.best == alone.history_.best
    assert on_workers.converged_ == alone.converged_


@pytest.mark.parametrize("ranker", LINEAR, ids=str)
def test_weights_are_those_of_the_fit_in_memory(client, collection, ranker):
    assert ranker.fits_on_workers()
    assert_same_fit(client, ranker, collection)


@pytest.mark.parametrize("ranker", [podium.ListNet(l2=1e-5), podium.RankSVM()], ids=str)
def test_validation_parts_choose_the_same_iteration(client, collection, valid, ranker):
    assert_same_fit(client, ranker, collection, valid)


@pytest.mark.parametrize(
    "ranker", [podium.Regression(), podium.LeastSquares(), podium.ListNet()], ids=str
)
def test_query_weights_count(client, tmp_path, ranker):
    from dataclasses import replace

    weight = (np.arange(60) % 4).astype(float)
    data = replace(make_synthetic(n_queries=60, n_features=5, seed=1), query_weight=weight)
    assert_same_fit(client, ranker, write_parts(data, tmp_path))


def test_the_number_of_workers_does_not_change_a_bit(client, collection):
    rankers = [podium.ListNet(), podium.RankSVM(), podium.Regression()]
    with podium.use(client):
        two = [clone(r).fit(collection).model_.weights for r in rankers]
    with podium.use("local:1"):
        one = [clone(r).fit(collection).model_.weights for r in rankers]
    assert [w.tobytes() for w in one] == [w.tobytes() for w in two]


def test_features_are_not_read_here(client, collection):
    with podium.use(client):
        rows = podium.ListNet().ranking_data(collection)
        assert isinstance(rows, RemoteRows)
        assert (len(rows), rows.n_features, rows.n_queries) == (len(collection), 8, 40)
        with pytest.raises(UsageError, match="on the workers of the cluster"):
            _ = rows.X
        assert rows.fingerprint == collection.read().fingerprint
        assert rows.feature_hashes().tolist() == collection.read().feature_hashes().tolist()


def test_the_fingerprint_of_large_features_comes_from_hashes(client, collection, monkeypatch):
    data = collection.read()
    monkeypatch.setattr("podium.data.ranking_data.MAX_DIGESTED_BYTES", 0)
    with podium.use(client):
        assert RemoteRows(collection, current_runner()).fingerprint == data.fingerprint


@pytest.mark.parametrize("n_groups", [1, 2, 3, 64])
def test_groups_have_consecutive_parts_and_each_part_once(collection, n_groups):
    parts = collection_parts(collection)
    groups = group_parts(parts, n_groups)
    assert [part for group in groups for part in group] == parts
    assert len(groups) == min(n_groups, len(parts))


def test_settings_are_tuned_over_parts_on_workers(client, collection, valid):
    ranker, grid = podium.ListNet(), {"l2": [1.0, 0.01]}
    with podium.use(client):
        tuning = podium.tune(ranker, collection, valid, grid=grid)
    alone = podium.tune(ranker, collection.read(), valid.read(), grid=grid)
    assert tuning.settings == alone.settings
    assert tuning.value == pytest.approx(alone.value, abs=1e-9)


def test_rankers_that_need_all_rows_fit_here(client, collection):
    rankers = [podium.RankSVM(power=1), podium.ListNet(scorer=MLP(hidden=(4,), epochs=1))]
    for ranker in rankers:
        assert not ranker.fits_on_workers()
        with podium.use(client):
            on_cluster = clone(ranker).fit(collection)
        scores = clone(ranker).fit(collection).predict(collection)
        assert on_cluster.predict(collection).tolist() == scores.tolist()


def test_labels_without_contrast_are_the_same_error(client, tmp_path):
    data = make_synthetic(n_queries=10, n_features=3, seed=0)
    collection = write_parts(data.with_labels(np.zeros(len(data))), tmp_path)
    with podium.use(client), pytest.raises(DataError, match="all documents have the same label"):
        podium.ListNet().fit(collection)


def test_the_command_trains_over_parts(client, collection, valid, tmp_path):
    there, here = tmp_path / "there.podium", tmp_path / "here.podium"
    arguments = ["train", "listnet", collection.folder, "--valid", valid.folder, "-o"]
    facts = answer(*arguments, there, "--cluster", client.scheduler.address)
    expected = answer(*arguments, here)
    same = ("queries", "documents", "features", "iterations", "kept_iteration")
    assert [facts[name] for name in same] == [expected[name] for name in same]
    assert facts["validation"] == pytest.approx(expected["validation"], abs=1e-9)
    weights, others = (podium.load(path).model_.weights for path in (there, here))
    assert np.abs(weights - others).max() <= 1e-9


def test_a_command_that_would_leave_the_cluster_idle_says_so(client, collection, tmp_path):
    cluster = ["--cluster", client.scheduler.address]
    result = run("train", "adarank", collection.folder, "-o", tmp_path / "m", *cluster, code=2)
    assert "a fit of adarank does not use a cluster" in result.stderr
    prepared = ["train", "listnet", collection.folder, "-o", tmp_path / "m", "--scale", "zscore"]
    assert "a fit with prepared features" in run(*prepared, *cluster, code=2).stderr
    text = tmp_path / "train.txt"
    podium.write_letor(collection.read(), text)
    result = run("train", "listnet", text, "-o", tmp_path / "m", *cluster, code=2)
    assert "expected the folder of a collection with --cluster" in result.stderr
