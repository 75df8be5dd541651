"""The judging app: without a network, with its tasks and an assessor's browser, or as a server."""

from contextlib import closing

import pytest

from tests.support.judging_client import serving
from tests.support.judging_site import Site


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A judging server for the tests of one file."""
    with closing(Site(tmp_path_factory.mktemp("judging"))) as made:
        yield made


@pytest.fixture
def site(tmp_path):
    """The app with its tasks by assessor and query."""
    with serving(tmp_path, repeats=0.0) as (site, tasks):
        site.tasks = tasks
        yield site


@pytest.fixture
def ann(site):
    """The browser of the assessor ann."""
    return site.browser("ann")


@pytest.fixture
def task(site):
    """Ann's first task."""
    return site.tasks["ann", "q1"]
