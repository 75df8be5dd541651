"""Who may read a store's files: their owner only."""

import os
import stat
import sys

import pytest

from podium.errors import StoreError
from podium.labelling import write_pool
from podium.labelling.store import Store
from tests.support.cli import run
from tests.support.judging_client import POOL
from tests.support.stores import furnish

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


@pytest.fixture(autouse=True)
def generous_umask():
    """Files are for everybody unless a program says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_a_new_store_is_for_its_owner_only(tmp_path):
    with furnish(Store.open(tmp_path / "j.db")):
        private = {f"j.db{end}": 0o600 for end in ("", "-wal", "-shm")}
        assert modes(tmp_path) == private


def test_a_store_with_a_wider_mode_is_narrowed(tmp_path):
    with furnish(Store.open(tmp_path / "j.db")) as store:
        for path in tmp_path.iterdir():  # as an older version left them
            path.chmod(0o666)
        with Store.open(tmp_path / "j.db"):
            assert set(modes(tmp_path).values()) == {0o600}
        assert len(store.members()) == 3


def test_files_of_others_keep_their_mode(tmp_path):
    (tmp_path / "notes.txt").write_text("something else than a store, and long enough to be read")
    (tmp_path / "notes.txt").chmod(0o644)
    (tmp_path / "folder").mkdir(0o755)
    before = modes(tmp_path)
    for name in ("notes.txt", "folder"):
        with pytest.raises(StoreError):
            Store.open(tmp_path / name)
    assert modes(tmp_path) == before


def test_import_makes_a_private_store(tmp_path):
    write_pool(POOL, tmp_path / "pool.jsonl")
    run("judge", "import", tmp_path / "j.db", "--pool", tmp_path / "pool.jsonl", "-a", "ann")
    assert modes(tmp_path)["j.db"] == 0o600
