"""What the tests share: a hypothesis profile and the real data sets."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings
from joblib.externals.loky.backend import context

from tests.support import postgres
from tests.support.case_counts import USUAL_CASES
from tests.support.paths import ROOT
from tools.forks import FORKS

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
IN_CI = os.environ.get("CI") == "true"

# Under CI the same examples in every run: a failure there can be repeated anywhere.
settings.register_profile("podium", deadline=None, derandomize=IN_CI, max_examples=USUAL_CASES)
settings.load_profile("podium")


def absent(reason: str) -> None:
    """Something the tests need is not there: a failure in CI, a skipped test elsewhere."""
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tests of connectors are selected by `make connectors` and .ci/run: they need other packages."""
    parser.addoption(
        "--connectors",
        default="none",
        help="all, light, none, or files of tests/connectors: test_torch_losses,...",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than cores: browsers and servers let a worker wait a third of its time."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) + 2
    return (os.cpu_count() or 1) + 2


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests in a browser can be left out: ``-m 'not browser'``."""
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker("browser")


def pytest_collection() -> None:
    """Nearly all that collection makes stays to the end: there is little garbage to look for."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end: the garbage collector need not walk over them."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with MQ2008, MQ2008-agg and OHSUMED."""
    beside = ROOT.parent / "shared" / "data"
    folder = Path(os.environ.get("PODIUM_LETOR") or beside)
    if not folder.is_dir():
        absent(f"no folder {folder} with the LETOR data; PODIUM_LETOR names another one")
    return folder


@pytest.fixture(scope="session")
def native() -> ModuleType:
    """The native kernels, whichever backend is chosen."""
    try:
        from podium.kernels import _native
    except ImportError as error:
        reason = (
            f"the native kernels are not built: no C++ compiler (g++) at install time ({error})"
        )
        if IN_CI or os.environ.get("PODIUM_BACKEND") == "native":
            pytest.fail(reason)
        pytest.skip(reason)
    return _native


@pytest.fixture(scope="session")
def postgres_server(worker_id: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the PostgreSQL server of all test processes, ``{name}`` in it for that of a database."""
    programs = postgres.programs()
    if programs is None:
        absent("no PostgreSQL: install the package postgresql, or pgserver with pip")
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    with postgres.shared_server(programs, shared) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_database(worker_id: str, postgres_server: str) -> str:
    """The name of a database that the tests of a process use in turn."""
    name = f"podium_tests_{worker_id}"
    postgres.create(postgres_server, name)
    return name


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of either kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/judgments.db"
    server, name = map(request.getfixturevalue, ("postgres_server", "postgres_database"))
    postgres.empty(server, name)
    return server.format(name=name)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, for the tests of one file: its event loop would be in the way of others."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("no Playwright: pip install playwright")
    program = os.environ.get("PODIUM_CHROMIUM") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if program is None:
        absent("no Chromium: install the package chromium, or name one in PODIUM_CHROMIUM")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """A sync takes milliseconds and changes nothing that a test sees; test_power_loss.py looks at syncs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _forked_processes() -> Iterator[None]:
    """joblib's processes are forks of one that has imported podium, which takes each of them a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context, "_DEFAULT_START_METHOD", FORKS.get_start_method())
        yield


@pytest.fixture(autouse=True)
def _no_idle_processes() -> Iterator[None]:
    """joblib's processes end with the test that needed them.

    They end by themselves after five idle minutes, and a test that asks for them just then can wait
    for ever.
    """
    yield
    pool = sys.modules.get("joblib.externals.loky.reusable_executor")
    if pool is not None and pool._executor is not None:
        pool._executor.shutdown(wait=True)
