"""Most connectors need packages that `make test` does not install: `make connectors` selects their tests."""

import importlib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HEAVY = {"test_torch_losses", "torch_losses", "torch", "retrieval"}
"""Files, and cases of other files, that need PyTorch or the packages of recipes."""
ALWAYS = {"test_one_query", "test_search_judgments"}
"""Files that need nothing beyond what `make test` installs: it runs them, and `make connectors` does not."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what --connectors does not name; pytest counts these tests as deselected."""
    chosen = set(config.getoption("--connectors").split(","))
    left_out = [
        item for item in items if HERE in item.path.parents and not _is_chosen(item, chosen)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _is_chosen(item: pytest.Item, chosen: set[str]) -> bool:
    if item.path.stem in ALWAYS:
        return "none" in chosen
    if "all" in chosen:
        return True
    case = item.callspec.id if hasattr(item, "callspec") else ""
    if "light" in chosen:
        return not {item.path.stem, case} & HEAVY
    return item.path.stem in chosen


@pytest.fixture(scope="session")
def load():
    """Import a module of podium.connectors, or a package, when a test needs it."""
    return importlib.import_module
