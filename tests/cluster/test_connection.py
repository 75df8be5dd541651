"""Connecting: addresses, workers that differ, clear errors, and the option of the commands."""

import os
import sys
from dataclasses import replace

import dask
import pytest

import podium
from podium.cluster.addresses import parse_address
from podium.cluster.connection import describe_cluster
from podium.cluster.worker_checks import SoftwareVersions, check_workers, software_record
from podium.data import make_synthetic
from podium.errors import ClusterError, MissingExtraError, UsageError
from podium.task_runner import current_runner
from tests.support.cli import run


@pytest.mark.parametrize("text", ["local:2", "local:16"])
def test_local_addresses_have_a_number_of_workers(text):
    assert parse_address(text).n_local == int(text.removeprefix("local:"))


def test_local_alone_takes_every_core():
    assert parse_address("local").n_local == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    "text", ["tcp://10.0.0.1:8786", "tls://scheduler:8786", "tcp://[::1]:8786"]
)
def test_addresses_of_schedulers(text):
    assert parse_address(text).scheduler == text


@pytest.mark.parametrize(
    "text", ["", "local:0", "local:two", "10.0.0.1:8786", "http://x:1", "tcp://", "cluster"]
)
def test_other_addresses_are_an_error(text):
    with pytest.raises(UsageError, match=r"expected a cluster as local:N .* got"):
        parse_address(text)


def test_workers_that_differ_are_all_named():
    own = software_record()
    old = {**own, "podium": "0.0.9", "python": "3.8"}
    plain = {**own, "kernels": "none", "libraries": {**own["libraries"], "numpy": "1.0"}}
    answers = {
        "tcp://a:1": own,
        "tcp://b:1": old,
        "tcp://c:1": plain,
        "tcp://d:1": ImportError("no podium"),
    }
    with pytest.raises(ClusterError) as caught:
        check_workers(answers)
    message = str(caught.value)
    assert "tcp://a:1" not in message
    assert f"tcp://b:1 has podium 0.0.9, not {podium.__version__}, python 3.8" in message
    assert "tcp://c:1 has none kernels" in message
    assert "numpy 1.0, not" in message
    assert "tcp://d:1 cannot import podium" in message


def test_a_worker_that_joins_later_is_checked_too(client):
    with podium.use(client) as runner:
        other = replace(SoftwareVersions.of_this_process(), podium="0.0.9")
        runner._software = other
        with pytest.raises(ClusterError, match=r"the worker on .* has podium"):
            list(runner.run([(abs, (-1,), {})]))


def test_the_runner_is_in_use_within_the_statement_only(client):
    with podium.use(client) as runner:
        assert current_runner() is runner
        assert describe_cluster(runner).startswith(f"{client.scheduler.address}: 2 workers; ")
    assert current_runner() is None


def test_a_cluster_of_dask_and_its_address_are_clusters(client):
    address = client.scheduler.address
    for cluster in (client.cluster, address):
        with podium.use(cluster) as runner:
            assert (runner.name, runner.n_workers()) == (address, 2)
    with dask.config.set({"scheduler-address": address}), podium.use("dask") as runner:
        assert runner.name == address


def test_no_scheduler_is_one_clear_error(monkeypatch):
    monkeypatch.setattr("podium.cluster.connection.CONNECT_SECONDS", 1)
    with pytest.raises(
        ClusterError, match=r"expected a scheduler of Dask at tcp://127.0.0.1:9, got no answer"
    ):
        podium.use("tcp://127.0.0.1:9").__enter__()
    with pytest.raises(UsageError, match="scheduler-address"):
        podium.use("dask").__enter__()
    with pytest.raises(UsageError, match="got 3"):
        podium.use(3).__enter__()


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'podium-ltr\[dask\]'"):
        podium.use("local:2").__enter__()


def test_commands_work_on_local_workers(tmp_path):
    train, model = tmp_path / "train.txt", tmp_path / "model.podium"
    podium.write_letor(make_synthetic(n_queries=30, n_features=5, seed=0), train)
    arguments = ["tune", "regression", train, "--valid", train, "-o", model, "--grid", "l2=0.1,1"]
    # Here alone, a worker starts as on the machine of a user.
    with dask.config.set({"distributed.worker.multiprocessing-method": "spawn"}):
        result = run(*arguments, "--cluster", "local:1")
    assert "podium: cluster: local:1: 1 worker; " in result.stderr
    bytes_on_cluster = model.read_bytes()
    run(*arguments, "--force")
    assert model.read_bytes() == bytes_on_cluster


def test_a_wrong_cluster_is_an_error_of_the_command_line(tmp_path):
    train = tmp_path / "train.txt"
    podium.write_letor(make_synthetic(n_queries=5, seed=0), train)
    result = run(
        "tune", "regression", train, "--valid", train, "-o", "m", "--cluster", "remote", code=2
    )
    assert "podium: expected a cluster as local:N" in result.stderr
