"""LambdaMART over parts: LightGBM's own distributed learner, podium's metric, whole queries."""

import os
import re
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.base import clone

import podium
from podium.cluster.worker_calls import free_ports
from podium.data import RankingData, make_synthetic, partition
from podium.data.collections.manifest import file_fingerprint
from podium.data.concatenation import concatenate
from podium.data.row_selection import select_queries
from podium.errors import ClusterError, DataError, GainOverflowError, UsageError
from podium.losses import ListNetLoss
from podium.losses.loss import WeightedLoss
from podium.metrics.naming import resolve
from podium.rankers import lambdamart_on_workers
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.lambdamart_on_workers import boost_on_workers
from podium.rankers.remote_rows import RemoteRows
from podium.rankers.tree_model import lightgbm
from podium.task_runner import LostMachineError, Machine


def write_parts(folder, n_queries, seed, rows=400):
    data = make_synthetic(n_queries=n_queries, n_features=8, truth="nonlinear", seed=0)
    queries = np.random.default_rng(seed).permutation(n_queries)
    data.subset(np.sort(queries)).to_parquet(folder / "data.parquet")
    return partition([folder / "data.parquet"], folder / "parts", rows=rows)


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("train"), 200, 0)


@pytest.fixture(scope="module")
def held_out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("valid")
    make_synthetic(n_queries=60, n_features=8, truth="nonlinear", seed=1).to_parquet(
        folder / "data.parquet"
    )
    return partition([folder / "data.parquet"], folder / "parts", rows=400)


def assert_as_good(client, ranker, collection, valid, test):
    """The fit on workers is within one standard error of NDCG@10 of the fit in memory."""
    with podium.use(client):
        on_workers = clone(ranker).fit(collection, valid=valid)
    alone = clone(ranker).fit(collection.read(), valid=valid if valid is None else valid.read())
    first, second = (
        podium.evaluate(test, r.predict(test), "NDCG@10")["NDCG@10"].per_query
        for r in (on_workers, alone)
    )
    error = np.std(second, ddof=1) / np.sqrt(len(second))
    assert abs(first.mean() - second.mean()) <= error
    assert on_workers.trained_ == alone.trained_
    return on_workers, alone


@pytest.mark.parametrize("loss", [None, "lambdarank", "listnet"])
def test_it_is_as_good_as_the_local_fit(client, collection, held_out, loss):
    ranker = podium.LambdaMART(loss=loss, trees=30, learning_rate=0.2, patience=5)
    on_workers, alone = assert_as_good(client, ranker, collection, held_out, held_out.read())
    kept, values = on_workers.history_.best, on_workers.history_.valid
    assert kept == 1 + int(np.argmax(values)), "the best round of all validation queries is kept"
    assert len(values) == min(30, kept + 5), (
        "and training stops after as many rounds as patience says"
    )
    assert abs(len(alone.history_) - len(on_workers.history_)) < 30
    measured = podium.evaluate(held_out, on_workers.predict(held_out), "NDCG(ties='average')@10")
    assert values[kept - 1] == pytest.approx(next(iter(measured.values())).mean, abs=1e-12)


def test_queries_are_held_out_as_in_the_local_fit(client, collection, held_out):
    ranker = podium.LambdaMART(trees=10, learning_rate=0.2)
    on_workers, alone = assert_as_good(client, ranker, collection, None, held_out.read())
    assert None not in on_workers.history_.valid
    assert abs(on_workers.history_.valid[0] - alone.history_.valid[0]) < 0.1


def test_validation_data_in_memory_is_sent(client, collection, held_out):
    ranker = podium.LambdaMART(trees=5, learning_rate=0.2)
    with podium.use(client):
        there = clone(ranker).fit(collection, valid=held_out).history_.valid
        sent = clone(ranker).fit(collection, valid=held_out.read()).history_.valid
    assert sent == pytest.approx(there, abs=1e-12)


def cut_a_query(collection, rng):
    """Move some documents of a query into another part, with a manifest that fits; return its id."""
    manifest, folder = collection.manifest, collection.folder
    i, j = rng.choice(len(manifest.parts), 2, replace=False)
    first, second = (podium.read_parquet(folder / manifest.parts[k].file) for k in (i, j))
    number = int(rng.integers(first.n_queries))
    query = first.subset([number])
    cut = int(rng.integers(1, len(query)))
    rows = np.flatnonzero(first.groups.codes == number)
    left = take_rows(first, np.setdiff1d(np.arange(len(first)), rows[cut:]))
    right = concatenate([second, take_rows(query, np.arange(cut, len(query)))])
    parts = list(manifest.parts)
    for k, data in ((i, left), (j, right)):
        path = folder / parts[k].file
        data.to_parquet(path)
        parts[k] = replace(
            parts[k], rows=len(data), queries=data.n_queries, n_bytes=path.stat().st_size,
            sha256=file_fingerprint(path),
        )  # fmt: skip
    replace(manifest, parts=tuple(parts)).write(folder)
    return query.qids[0]


def take_rows(data, rows):
    ids = data.docids[rows]
    return RankingData.from_arrays(
        data.X[rows], data.y[rows], qid=data.qids[data.groups.codes[rows]], docid=ids
    )


@pytest.mark.parametrize("seed", range(int(os.environ.get("PODIUM_CUTS", 3))))
def test_a_cut_query_is_named_before_any_work(client, tmp_path, seed):
    make_synthetic(n_queries=20, n_features=3, seed=seed).to_parquet(tmp_path / "data.parquet")
    collection = partition([tmp_path / "data.parquet"], tmp_path / "parts", rows=120)
    qid = cut_a_query(collection, np.random.default_rng(seed))
    cut = podium.open_collection(collection.folder)
    with (
        podium.use(client),
        pytest.raises(DataError, match=f"expected each query in one part, got {qid!r}"),
    ):
        podium.LambdaMART(trees=2).fit(cut)


@dataclass(frozen=True)
class FatalListNetLoss(ListNetLoss):
    """ListNet; the first worker that begins a round is killed, unless a file says that one was."""

    fatal_round: int = 5
    marker: str = ""

    def bind_lists(self, lists):
        bound = super().bind_lists(lists)
        return FatalBoundLoss(bound, np.ones(len(lists.groups)), self.fatal_round, self.marker)


@dataclass(frozen=True, eq=False)
class FatalBoundLoss(WeightedLoss):
    """The loss on the labels of one worker."""

    fatal_round: int
    marker: str

    def redraw(self, round_number):
        if round_number == self.fatal_round:
            with suppress(FileExistsError), open(self.marker, "x"):
                os.kill(os.getpid(), signal.SIGKILL)
        return self


@pytest.mark.parametrize("number", range(int(os.environ.get("PODIUM_KILLS", 1))))
def test_it_survives_a_killed_worker(damaged_cluster, collection, held_out, tmp_path, number):
    marker = tmp_path / "killed"
    loss = FatalListNetLoss(fatal_round=4 + number, marker=str(marker))
    ranker = podium.LambdaMART(loss=loss, trees=25, learning_rate=0.02, patience=25)
    survived = clone(ranker).fit(collection, valid=held_out)
    assert marker.exists()
    expected = clone(ranker).fit(collection, valid=held_out)
    assert len(expected.history_) == 25
    assert survived.history_.valid == expected.history_.valid
    assert survived.predict(held_out).tolist() == expected.predict(held_out).tolist()


def uneven_parts(folder):
    """Two parts: 40 queries of 30 documents, and one query of 4."""
    rng = np.random.default_rng(0)
    sizes = [30] * 40 + [4]
    data = RankingData.from_arrays(
        rng.normal(size=(1204, 5)), rng.integers(0, 3, 1204), qid=np.repeat(np.arange(41), sizes)
    )
    data.to_parquet(folder / "data.parquet")
    return partition([folder / "data.parquet"], folder / "parts", rows=1200)


def test_a_part_may_have_no_training_query(client, tmp_path):
    collection = uneven_parts(tmp_path)
    with podium.use(client):
        for seed in range(8):  # some of them hold out the only query of the second part
            ranker = podium.LambdaMART(trees=1, min_leaf=5, seed=seed).fit(collection)
            assert len(ranker.history_) == 1


class RecordingRunner:
    """Records what is run together on three machines, of which it needs fewer."""

    def run_together(self, make_calls, n_most):
        self.n_most = n_most
        self.calls = make_calls([Machine("127.0.0.1", (1, 2))] * 3)
        raise InterruptedError


def test_validation_queries_that_are_sent_all_arrive(tmp_path, held_out):
    rows = RemoteRows(uneven_parts(tmp_path), runner := RecordingRunner())
    valid = held_out.read()
    train = select_queries(rows, np.arange(40))  # without the query of the second part
    monitor = FitMonitor("lambdamart", resolve("NDCG@10"), valid)
    with pytest.raises(InterruptedError):
        boost_on_workers(podium.LambdaMART(), train, monitor)
    assert runner.n_most == len(runner.calls) == 1
    _, share, sent, machines, number = runner.calls[0][1]
    assert (len(machines), number, sum(len(group.parts) for group in share)) == (1, 0, 2)
    assert sent.qids.tolist() == valid.qids.tolist()


def small_parts(folder):
    make_synthetic(n_queries=40, n_features=3, seed=0).to_parquet(folder / "data.parquet")
    return partition([folder / "data.parquet"], folder / "parts", rows=300)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("Binding port 4001 failed", LostMachineError),
        ("Socket recv error, Connection reset by peer (code: 104)", LostMachineError),
        ("Cannot find local machine in the list", LostMachineError),
        ("Label 40 is not less than the number of label mappings", UsageError),
    ],
)
def test_errors_of_lightgbm_are_those_of_podium(message, error):
    with pytest.raises(error, match=re.escape(message)), lambdamart_on_workers._clear_errors("x"):
        raise lightgbm().basic.LightGBMError(message)


def test_labels_without_a_gain_are_an_error_before_workers_start(tmp_path):
    data = make_synthetic(n_queries=10, n_features=3, seed=0)
    replace(data, y=data.y * 1000).to_parquet(tmp_path / "data.parquet")
    collection = partition([tmp_path / "data.parquet"], tmp_path / "parts", rows=100)
    monitor = FitMonitor("lambdamart", resolve("NDCG@10"))
    rows = RemoteRows(collection, RecordingRunner())
    with pytest.raises(GainOverflowError, match="as in loss='ranknet'"):
        boost_on_workers(podium.LambdaMART(loss="lambdarank"), rows, monitor)


def test_a_port_that_is_taken_begins_anew(client, tmp_path, monkeypatch):
    collection = small_parts(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken, attempts = listener.getsockname()[1], []

        def free_some(n, taken=taken):
            return [taken, *free_ports(n - 1)]

        def choose(run, *arguments, **options):
            if run is free_ports:
                attempts.append(run)
                run = free_some if len(attempts) == 1 or always else run
            return real(run, *arguments, **options)

        with podium.use(client) as runner:
            real, always = runner.client.run, False
            monkeypatch.setattr(runner.client, "run", choose)
            podium.LambdaMART(trees=2, min_leaf=5).fit(collection)
            assert len(attempts) == 2
            always = True
            with pytest.raises(ClusterError, match="in each of 3 attempts; open the ports"):
                podium.LambdaMART(trees=2, min_leaf=5).fit(collection)
