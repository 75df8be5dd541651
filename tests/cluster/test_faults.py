"""Faults: a worker killed with -9, a worker that joins, a slow one, a scheduler that is lost."""

import os
import signal
import time

import pytest
from distributed import LocalCluster
from joblib import delayed

import podium
from podium.cluster import dask_runner
from podium.data import make_synthetic, partition
from podium.errors import ClusterError
from tools.forks import FORKS


def sum_after_a_death(data, number, marker):
    """Call 3 kills its worker, but not the worker that runs it again."""
    if number == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number, float(data.X.sum())


def test_calls_of_a_killed_worker_run_on_another(damaged_cluster, tmp_path):
    data = make_synthetic(n_queries=60, n_features=10, seed=0)
    calls = [delayed(sum_after_a_death)(data, number, tmp_path / "dead") for number in range(6)]
    results = list(damaged_cluster.run(calls))
    assert (tmp_path / "dead").exists()
    assert results == [(number, float(data.X.sum())) for number in range(6)]


def kill_own_process(message):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_call_that_kills_its_workers_is_an_error_or_has_a_substitute(
    damaged_cluster, monkeypatch
):
    monkeypatch.setattr(damaged_cluster.client.cluster.scheduler, "allowed_failures", 1)
    calls = [delayed(kill_own_process)("again and again"), delayed(abs)(-3)]
    results = list(damaged_cluster.run(calls, on_killed=lambda number: f"call {number} was killed"))
    assert results == ["call 0 was killed", 3]
    with pytest.raises(
        ClusterError, match=r"kill_own_process has no result: 2 workers were killed"
    ):
        list(damaged_cluster.run(calls[:1]))


N_KILLS = int(os.environ.get("PODIUM_KILLS", 1))
"""Runs with a killed worker; `make soak` has 20."""


def test_fits_over_parts_survive_killed_workers(damaged_cluster, worker_processes, tmp_path):
    make_synthetic(n_queries=60, n_features=6, seed=0).to_parquet(tmp_path / "data.parquet")
    collection = partition([tmp_path / "data.parquet"], tmp_path / "parts", rows=200)
    ranker = podium.ListNet(tol=1e-9)
    expected = ranker.fit(collection).model_.weights.tobytes()
    n_steps = len(ranker.history_)
    for number in range(N_KILLS):
        steps, fatal_step = [], 1 + number % (n_steps - 1)

        def kill_once(step, steps=steps, fatal_step=fatal_step):
            steps.append(step)
            if len(steps) == fatal_step:
                os.kill(worker_processes()[0], signal.SIGKILL)

        weights = ranker.fit(collection, callback=kill_once).model_.weights
        assert len(steps) == n_steps
        assert weights.tobytes() == expected


def test_a_worker_that_joins_takes_part(damaged_cluster, worker_processes):
    workers = set(worker_processes())
    damaged_cluster.client.cluster.scale(3)
    seen, numbers = set(), []

    def calls():
        while len(seen - workers) == 0:
            yield delayed(os.getpid)()
            numbers.append(len(numbers))

    for pid in damaged_cluster.run(calls(), in_order=False):
        seen.add(pid)
    assert len(seen - workers) == 1
    assert damaged_cluster.n_workers() == 3


def test_a_slow_worker_gets_fewer_calls(damaged_cluster, worker_processes, tmp_path):
    slow, others = worker_processes()[0], tmp_path / "others-made-seven-calls"
    pids = []
    for pid in damaged_cluster.run(
        [delayed(wait_on)(slow, others) for _ in range(12)], in_order=False
    ):
        pids.append(pid)
        if len(pids) == 7:
            assert slow not in pids
            others.touch()
    assert sum(pid == slow for pid in pids) < 6


def wait_on(pid, event):
    """Wait for a file, on one of the workers only."""
    while os.getpid() == pid and not event.exists():
        time.sleep(0.01)
    return os.getpid()


def serve_a_scheduler(address):
    """Run a scheduler and its worker in this process until it is killed; send the address."""
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )  # fmt: skip
    address.send(cluster.scheduler_address)
    signal.pause()


def test_a_lost_scheduler_is_one_error_and_the_run_resumes(tmp_path):
    reader, writer = FORKS.Pipe(duplex=False)
    scheduler = FORKS.Process(target=serve_a_scheduler, args=(writer,))
    scheduler.start()
    address = reader.recv()
    data, states = make_synthetic(n_queries=40, n_features=5, seed=0), []

    def note(progress):
        states.append(progress.state)
        if states.count("done") == 2:
            scheduler.kill()

    settings = {
        "rankers": ["regression", "ranksvm"],
        "metrics": ["NDCG@5"],
        "folds": 3,
        "tune": False,
    }
    with (
        pytest.raises(
            ClusterError, match=rf"the scheduler of the cluster {address} was lost; start it"
        ),
        podium.use(address),
    ):
        podium.compare(data, **settings, out=tmp_path / "out", progress=note)
    scheduler.join()
    states.clear()
    report = podium.compare(
        data, **settings, out=tmp_path / "out", progress=lambda p: states.append(p.state)
    )
    assert states.count("kept") == 2
    assert report.standings == podium.compare(data, **settings).standings


def fail_first(number, seconds):
    """Fail on the first machine, and wait on the second."""
    if number == 0:
        raise ValueError("the first machine failed")
    time.sleep(seconds)


def run_together(runner, seconds):
    """Run `fail_first` on two workers."""
    runner.run_together(
        lambda machines: [delayed(fail_first)(i, seconds) for i in range(len(machines))], 2
    )


def test_only_workers_whose_calls_wait_are_restarted(
    damaged_cluster, worker_processes, monkeypatch
):
    monkeypatch.setattr(dask_runner, "POLL_SECONDS", 0.3)
    first = set(worker_processes())

    def refuse(*_, **__):
        raise ValueError("restarting workers requires nannies")

    with monkeypatch.context() as patch:
        patch.setattr(damaged_cluster.client, "restart_workers", refuse)
        with pytest.raises(ValueError, match="the first machine failed"):
            run_together(damaged_cluster, seconds=2)
    with pytest.raises(ValueError, match="the first machine failed"):
        run_together(damaged_cluster, seconds=60)
    assert len(first & set(worker_processes())) == 1
    assert list(damaged_cluster.run([delayed(abs)(-3)])) == [3]


def test_calls_run_together_on_one_worker_per_process():
    with (
        LocalCluster(
            n_workers=2, processes=False, threads_per_worker=1, dashboard_address=None
        ) as in_process,
        podium.use(in_process) as runner,
    ):
        assert runner.n_workers() == 2
        results = runner.run_together(lambda machines: [delayed(len)(machines)], 2)
    assert results == [1]


def test_few_results_wait_for_a_slow_call(damaged_cluster):
    started = []

    def calls():
        for number in range(30):
            started.append(number)
            yield delayed(time.sleep)(1.0 if number == 0 else 0.0)

    results = damaged_cluster.run(calls())
    assert next(results) is None
    assert len(started) <= 2 * dask_runner.WAITING_PER_WORKER + 2
    assert len(list(results)) == 29
