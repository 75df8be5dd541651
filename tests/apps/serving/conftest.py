"""A model that tests of the service share."""

import pytest

from tests.support.ranking_service import save


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The file of a fitted ranker; a test may not change it."""
    return save(tmp_path_factory.mktemp("serving"))[1]
