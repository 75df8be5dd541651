"""A store that tests of labelling share."""

import pytest

from podium.labelling.store import Store
from tests.support.stores import furnish


@pytest.fixture
def store(store_url):
    """An open store with queries, members and tasks, on each database of `store_url`."""
    with Store.open(store_url) as store:
        yield furnish(store)
