"""Faults: a worker killed with -9, a worker that joins, a slow one, a scheduler that is lost."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from distributed import LocalCluster
from joblib import delayed

import podium
from podium.cluster import dask_runner
from podium.data import make_synthetic, partition
from podium.errors import ClusterError


@pytest.fixture
def cluster():
    """A cluster that a test may damage."""
    with podium.use("local:2") as runner:
        yield runner


def worker_processes(runner):
    return list(runner.client.run(os.getpid).values())


def kill_one(runner, after=0.5):
    """Kill a worker with -9 while the test goes on."""
    victim = worker_processes(runner)[0]

    def kill():
        time.sleep(after)
        os.kill(victim, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def slow_sum(data, number):
    time.sleep(0.3)
    return number, float(data.X.sum())


def test_calls_of_a_killed_worker_run_on_another(cluster):
    data = make_synthetic(n_queries=60, n_features=10, seed=0)
    killer = kill_one(cluster)
    results = list(cluster.run([delayed(slow_sum)(data, number) for number in range(10)]))
    killer.join()
    assert results == [(number, float(data.X.sum())) for number in range(10)]


def kill_own_process(message):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_call_that_kills_its_workers_is_an_error_or_has_a_substitute(cluster):
    calls = [delayed(kill_own_process)("again and again"), delayed(abs)(-3)]
    results = list(cluster.run(calls, on_killed=lambda number: f"call {number} was killed"))
    assert results == ["call 0 was killed", 3]
    with pytest.raises(
        ClusterError, match=r"kill_own_process has no result: 4 workers were killed"
    ):
        list(cluster.run(calls[:1]))


N_KILLS = int(os.environ.get("PODIUM_KILLS", 1))
"""Runs with a killed worker; `make soak` has 20."""


def test_fits_over_parts_survive_killed_workers(cluster, tmp_path):
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
                os.kill(worker_processes(cluster)[0], signal.SIGKILL)

        weights = ranker.fit(collection, callback=kill_once).model_.weights
        assert len(steps) == n_steps
        assert weights.tobytes() == expected


def test_a_worker_that_joins_takes_part(cluster):
    numbers = []
    calls = (delayed(slow_pid)(number) for number in range(24))
    for number, _ in cluster.run(calls, in_order=False):
        if not numbers:
            cluster.client.cluster.scale(3)
        numbers.append(number)
    assert sorted(numbers) == list(range(24))
    assert cluster.n_workers() == 3


def slow_pid(number):
    time.sleep(0.2)
    return number, os.getpid()


def test_a_slow_worker_gets_fewer_calls(cluster):
    slow = worker_processes(cluster)[0]
    results = list(cluster.run([delayed(slow_on)(slow) for _ in range(12)]))
    assert sum(pid == slow for pid in results) < 6


def slow_on(pid):
    time.sleep(0.5 if os.getpid() == pid else 0.05)
    return os.getpid()


SCHEDULER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    )
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def test_a_lost_scheduler_is_one_error_and_the_run_resumes(tmp_path):
    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER)
    scheduler = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = scheduler.stdout.readline().strip()
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
    scheduler.stdin.close()
    scheduler.stdout.close()
    scheduler.wait()
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


def test_only_workers_whose_calls_wait_are_restarted(cluster, monkeypatch):
    monkeypatch.setattr(dask_runner, "POLL_SECONDS", 0.3)
    first = set(worker_processes(cluster))

    def refuse(*_, **__):
        raise ValueError("restarting workers requires nannies")

    with monkeypatch.context() as patch:
        patch.setattr(cluster.client, "restart_workers", refuse)
        with pytest.raises(ValueError, match="the first machine failed"):
            run_together(cluster, seconds=2)
    with pytest.raises(ValueError, match="the first machine failed"):
        run_together(cluster, seconds=60)
    assert len(first & set(worker_processes(cluster))) == 1
    assert list(cluster.run([delayed(abs)(-3)])) == [3]


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


def test_few_results_wait_for_a_slow_call(cluster):
    started = []

    def calls():
        for number in range(30):
            started.append(number)
            yield delayed(time.sleep)(3.0 if number == 0 else 0.0)

    results = cluster.run(calls())
    assert next(results) is None
    assert len(started) <= 2 * dask_runner.WAITING_PER_WORKER + 2
    assert len(list(results)) == 29
