"""The judging app without a network: its tasks, and the browser of an assessor."""

import pytest

from tests.support.judging_client import serving


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
