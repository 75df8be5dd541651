"""Most connectors need packages that `make test` does not install: `make connectors` selects their tests."""

import importlib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ALWAYS = ["test_one_query", "test_search_judgments"]
"""Files that need nothing beyond what `make test` installs."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what --connectors does not name; pytest counts these tests as deselected."""
    chosen = config.getoption("--connectors").split(",") + ALWAYS
    if "all" in chosen:
        return
    left_out = [
        item for item in items if HERE in item.path.parents and item.path.stem not in chosen
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(scope="session")
def load():
    """Import a module of podium.connectors, or a package, when a test needs it."""
    return importlib.import_module
