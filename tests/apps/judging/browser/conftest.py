"""A judging server for the tests of its pages."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support.judging_site import Site


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A judging server for the tests of one file."""
    with closing(Site(tmp_path_factory.mktemp("judging"))) as made:
        yield made


@pytest.fixture
def site(server: Any) -> Any:
    """A server with an assessor who has done nothing yet; a test may kill it."""
    return server.greet() if server.is_up else server.start().greet()
