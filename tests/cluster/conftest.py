"""One cluster of two local workers for all tests of this folder."""

import logging
import os
import time

import dask
import distributed.utils
import pytest
from distributed import Client, LocalCluster

import podium
from tools.forks import FORKS


@pytest.fixture(autouse=True, scope="package")
def _forked_workers():
    """Workers are forks of a process that has imported podium, which takes each of them a second."""
    settings = {
        "distributed.worker.multiprocessing-method": FORKS.get_start_method(),
        "distributed.worker.profile.enabled": False,
    }
    with pytest.MonkeyPatch.context() as patch, dask.config.set(settings):
        # Dask would preload other modules than podium's.
        patch.setattr(distributed.utils, "_forkserver_preload_set", True)
        yield


@pytest.fixture(scope="package")
def client(_forked_workers):
    """A client of two worker processes of this machine."""
    settings = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=2, silence_logs=logging.CRITICAL, **settings) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def damaged_cluster(client):
    """The cluster for a test that ends its workers, or adds one; two workers are there afterwards."""
    with podium.use(client) as runner:
        yield runner
    client.cluster.scale(2)
    client.wait_for_workers(2)
    while len(client.nthreads()) > 2:
        time.sleep(0.02)


@pytest.fixture
def worker_processes(client):
    """A function that returns the numbers of the workers' processes."""
    return lambda: list(client.run(os.getpid).values())
