"""Partitions and row caches that are killed or find no room: the next call goes on and cleans up."""

import errno
import os
import signal
from pathlib import Path

import pytest

from podium.data import make_synthetic, open_collection, partition, write_letor
from podium.data.atomic_files import publish_folder, recover_folder
from podium.data.collections import partition as partition_module
from podium.data.collections import row_cache
from podium.errors import DataError, UsageError
from tools.forks import FORKS

DATA = make_synthetic(n_queries=60, seed=3)


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def run_killed(work, *arguments) -> None:
    """Run work in another process, which kills itself."""
    process = FORKS.Process(target=work, args=arguments)
    process.start()
    process.join(timeout=120)
    assert process.exitcode == -signal.SIGKILL


def partition_until(folder: Path, n_parts: int) -> None:
    """Partition, and die in the middle of a part."""
    write = partition_module.write_parquet_blocks

    def write_some(blocks, path):
        if int(path.stem.split("-")[1]) < n_parts:
            write(blocks, path)
        else:
            write((block if i == 0 else die() for i, block in enumerate([*blocks, None])), path)

    partition_module.write_parquet_blocks = write_some
    partition([folder / "data.txt"], folder / "parts", rows=250)


@pytest.mark.parametrize("n_parts", [0, 1, 3])
def test_a_killed_partition_goes_on_with_its_finished_parts(tmp_path, n_parts, monkeypatch):
    write_letor(DATA, tmp_path / "data.txt")
    run_killed(partition_until, tmp_path, n_parts)
    draft = tmp_path / "parts.partial"
    finished = sorted(p.name for p in draft.glob("part-*.parquet"))
    assert finished == [f"part-{i:05}.parquet" for i in range(n_parts)]
    assert not (tmp_path / "parts").exists()
    written = []
    write = partition_module.write_parquet_blocks

    def record(blocks, path):
        written.append(path.name)
        write(blocks, path)

    monkeypatch.setattr(partition_module, "write_parquet_blocks", record)
    collection = partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    assert finished + written == [part.file for part in collection.manifest.parts]
    assert collection.read().equals(DATA)
    assert sorted(os.listdir(tmp_path)) == ["data.txt", "parts"]
    assert not [name for name in os.listdir(collection.folder) if name.startswith(".part")]


def build_until_killed(folder: Path) -> None:
    """Build the row cache, and die after some rows."""

    def write_half(file, *_):
        file.write(b"half")
        file.flush()
        die()

    row_cache._write = write_half
    open_collection(folder).mapped()


def test_a_killed_cache_is_built_again(tmp_path):
    write_letor(DATA, tmp_path / "data.txt")
    collection = partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    run_killed(build_until_killed, collection.folder)
    assert not (collection.folder / ".rows").exists()
    assert collection.mapped().equals(DATA)
    names = {name for name in os.listdir(collection.folder) if name.startswith(".rows")}
    assert names == {".rows", ".rows.json"}


def replace_until_killed(folder: Path) -> None:
    """Replace a collection, and die between the two renames."""
    rename = os.rename

    def rename_once(source, target):
        rename(source, target)
        die()

    os.rename = rename_once
    partition([folder / "new.txt"], folder / "parts", rows=250, replace_collection=True)


def test_a_replacement_that_was_killed_leaves_the_old_collection(tmp_path):
    write_letor(DATA, tmp_path / "data.txt")
    new = DATA.subset(range(5))
    write_letor(new, tmp_path / "new.txt")
    partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    run_killed(replace_until_killed, tmp_path)
    assert not (tmp_path / "parts").exists()
    with pytest.raises(UsageError, match="which exists"):  # it has its name back
        partition([tmp_path / "new.txt"], tmp_path / "parts", rows=250)
    assert open_collection(tmp_path / "parts").read().equals(DATA)
    replaced = partition(
        [tmp_path / "new.txt"], tmp_path / "parts", rows=250, replace_collection=True
    )
    assert replaced.read().equals(new)
    assert sorted(os.listdir(tmp_path)) == ["data.txt", "new.txt", "parts"]


def test_an_older_folder_beside_its_replacement_is_removed(tmp_path):
    for name, text in (("draft.older", "old"), ("target", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(text)
    recover_folder(tmp_path / "draft", tmp_path / "target", lambda _: True)
    assert [p.name for p in tmp_path.iterdir()] == ["target"]
    assert (tmp_path / "target" / "a").read_text() == "new"
    (tmp_path / "draft").mkdir()
    publish_folder(tmp_path / "draft", tmp_path / "target")
    assert [p.name for p in tmp_path.iterdir()] == ["target"]


def publish_never(folder: Path) -> None:
    """Partition, and die before the complete folder gets its name."""
    partition_module.publish_folder = die
    partition([folder / "data.txt"], folder / "parts", rows=250)


def test_a_complete_draft_gets_its_name(tmp_path, monkeypatch):
    write_letor(DATA, tmp_path / "data.txt")
    run_killed(publish_never, tmp_path)
    with pytest.raises(DataError, match=r"it is complete in .*parts\.partial: partition again"):
        open_collection(tmp_path / "parts")
    monkeypatch.setattr(partition_module, "_fill_draft", lambda *_: pytest.fail("written again"))
    assert partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250).read().equals(DATA)
    assert sorted(os.listdir(tmp_path)) == ["data.txt", "parts"]
    assert not (tmp_path / "parts" / "settings.json").exists()


def test_a_missing_collection_names_the_older_one(tmp_path):
    write_letor(DATA, tmp_path / "data.txt")
    partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    os.rename(tmp_path / "parts", tmp_path / "parts.partial.older")
    with pytest.raises(DataError, match=r"the old collection is in .*parts\.partial\.older"):
        open_collection(tmp_path / "parts")


@pytest.mark.parametrize("name", ["parts.partial", "parts.partial.older"])
@pytest.mark.parametrize("has_target", [False, True])
def test_folders_of_others_stay(tmp_path, name, has_target):
    write_letor(DATA, tmp_path / "data.txt")
    if has_target:
        partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    (tmp_path / name).mkdir()
    (tmp_path / name / "settings.json").write_text('{"mine": true}')
    with pytest.raises(UsageError, match="a folder or file that podium did not write; rename it"):
        partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250, replace_collection=True)
    assert (tmp_path / name / "settings.json").read_text() == '{"mine": true}'
    assert (tmp_path / "parts").exists() == has_target


def test_an_older_collection_beside_a_folder_of_others_stays(tmp_path):
    write_letor(DATA, tmp_path / "data.txt")
    partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    os.rename(tmp_path / "parts", tmp_path / "parts.partial.older")
    (tmp_path / "parts").mkdir()
    with pytest.raises(UsageError, match="which exists"):
        partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    assert open_collection(tmp_path / "parts.partial.older").read().equals(DATA)


@pytest.mark.parametrize("setting", ["BLOCK_ROWS", "MANIFEST_VERSION"])
def test_parts_of_another_podium_are_written_again(tmp_path, monkeypatch, setting):
    write_letor(DATA, tmp_path / "data.txt")
    run_killed(partition_until, tmp_path, 2)
    written = []
    write = partition_module.write_parquet_blocks

    def record(blocks, path):
        written.append(path.name)
        write(blocks, path)

    monkeypatch.setattr(partition_module, setting, getattr(partition_module, setting) - 1)
    monkeypatch.setattr(partition_module, "write_parquet_blocks", record)
    partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    assert written[0] == "part-00000.parquet"


def test_a_full_disk_says_that_finished_parts_stay(tmp_path, monkeypatch):
    write_letor(DATA, tmp_path / "data.txt")
    write = partition_module.write_parquet_blocks

    def write_two(blocks, path):
        if path.name >= "part-00002":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(blocks, path)

    with monkeypatch.context() as patch:
        patch.setattr(partition_module, "write_parquet_blocks", write_two)
        with pytest.raises(DataError, match="got a full one; free some and start again"):
            partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
    assert len(list((tmp_path / "parts.partial").glob("part-*"))) == 2
    assert partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250).read().equals(DATA)


def test_a_folder_that_cannot_be_written_is_an_error_before_work(tmp_path, monkeypatch):
    write_letor(DATA, tmp_path / "data.txt")

    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    monkeypatch.setattr(partition_module, "make_folder", refuse)
    monkeypatch.setattr(partition_module, "write_parquet_blocks", lambda *_: pytest.fail("work"))
    with pytest.raises(PermissionError, match="Permission denied"):
        partition([tmp_path / "data.txt"], tmp_path / "parts", rows=250)
