"""Work over the parts of a collection: each part on a worker, merged in the order of the parts."""

import numpy as np
import pytest

import podium
from podium.data import make_synthetic, partition
from podium.data.collections.collection_parts import collection_parts
from podium.errors import CorruptFileError
from tests.support.cli import answer, run


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    make_synthetic(n_queries=60, n_features=6, seed=0).to_parquet(folder / "data.parquet")
    return partition([folder / "data.parquet"], folder / "parts", rows=300)


@pytest.mark.parametrize("metric", ["NDCG@10", "ERR@10", "P@5"])
def test_evaluation_is_that_of_one_machine(client, collection, metric):
    scores = np.random.default_rng(0).normal(size=len(collection))
    assert len(collection.manifest.parts) > 2
    with podium.use(client):
        result = podium.evaluate(collection, scores, metric)
    alone = podium.evaluate(collection, scores, metric)
    assert result[metric].per_query.tolist() == alone[metric].per_query.tolist()
    assert result.qids.tolist() == alone.qids.tolist()


@pytest.mark.parametrize("ranker", [podium.Regression(), podium.LambdaMART(trees=5)], ids=str)
def test_scores_are_those_of_one_machine(client, collection, ranker):
    ranker.fit(collection.read())
    with podium.use(client):
        scores = ranker.predict(collection)
    assert scores.tolist() == ranker.predict(collection).tolist()


def test_a_part_that_a_worker_reads_otherwise_is_named(client, collection, tmp_path):
    make_synthetic(n_queries=20, n_features=6, seed=1).to_parquet(tmp_path / "data.parquet")
    other = partition([tmp_path / "data.parquet"], tmp_path / "parts", rows=200)
    ranker = podium.Regression().fit(other.read())
    last = collection_parts(other)[-1]
    path = tmp_path / "parts" / last.record.file
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CorruptFileError, match=r"it has other contents; every worker needs"):
        last.check()
    with podium.use(client) as runner, pytest.raises(CorruptFileError, match=last.record.file):
        list(runner.run([(_read_part, (ranker, last), {})]))
    path.unlink()
    with pytest.raises(CorruptFileError, match="it cannot be read"):
        last.check()


def _read_part(ranker, part):
    return len(part.read())


def test_commands_work_over_parts(client, collection, tmp_path):
    ranker = podium.Regression().fit(collection.read())
    ranker.save(tmp_path / "model.podium")
    there, here = tmp_path / "there.scores", tmp_path / "here.scores"
    cluster = ["--cluster", client.scheduler.address]
    run("predict", tmp_path / "model.podium", collection.folder, "-o", there, *cluster)
    run("predict", tmp_path / "model.podium", collection.folder, "-o", here)
    assert there.read_bytes() == here.read_bytes()
    evaluation = answer("evaluate", collection.folder, there, *cluster)
    assert evaluation == answer("evaluate", collection.folder, there)
