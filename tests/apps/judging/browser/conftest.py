"""A judging server for the tests of its pages in a browser."""

import pytest


@pytest.fixture
def site(server):
    """A server with an assessor who has done nothing yet; a test may kill it."""
    return server.greet() if server.is_up else server.start().greet()
