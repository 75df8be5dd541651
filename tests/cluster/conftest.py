"""One cluster of two local workers for the tests of a module."""

import logging

import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="module")
def client():
    """A client of two worker processes of this machine."""
    settings = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=2, silence_logs=logging.CRITICAL, **settings) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
