"""The row cache: the rows of a collection in one mapped file, equal to the rows in memory."""

import errno
import os
import shutil
import tempfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.data import Collection, RankingData, make_synthetic, open_collection, partition
from podium.data.collections import row_cache
from podium.data.collections.row_cache import CACHE_NAME, RECORD_NAME, RowCache
from podium.data.mapped_arrays import empty_beside, mapped_file
from podium.errors import CorruptFileError, DataError


def write_parts(data: RankingData, folder, rows: int = 150) -> Collection:
    data.to_parquet(folder / "data.parquet")
    return partition([folder / "data.parquet"], folder / "parts", rows=rows)


@pytest.fixture
def collection(tmp_path) -> Collection:
    return write_parts(make_synthetic(n_queries=30, seed=1), tmp_path)


def never_build(self, blocks):
    raise AssertionError("the cache was built again")


@settings(max_examples=15, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    single=st.booleans(),
    has_ids=st.booleans(),
    has_weights=st.booleans(),
    has_names=st.booleans(),
)
def test_mapped_rows_are_the_rows_of_the_parts(
    tmp_path_factory, sizes, single, has_ids, has_weights, has_names
):
    rng = np.random.default_rng(len(sizes))
    n = sum(sizes)
    X = rng.normal(size=(n, 3)).astype(np.float32 if single else np.float64)
    data = RankingData.from_arrays(
        X, rng.integers(0, 3, n), qid=np.repeat([f"q{i}é" for i in range(len(sizes))], sizes),
        docid=[f"d{'x' * (i % 4)}{i}" for i in range(n)] if has_ids else None,
        query_weight=rng.uniform(1, 2, len(sizes)) if has_weights else None,
        feature_names=["a", "b", "c"] if has_names else None,
    )  # fmt: skip
    collection = write_parts(data, tmp_path_factory.mktemp("rows"), rows=7)
    for mapped in (collection.mapped(), open_collection(collection.folder).mapped()):
        assert mapped.equals(collection.read())
        assert mapped.X.dtype == X.dtype
        assert mapped_file(mapped.X) == collection.folder / CACHE_NAME


def test_the_cache_is_built_once(collection, monkeypatch):
    collection.mapped()
    monkeypatch.setattr(RowCache, "build", never_build)
    assert open_collection(collection.folder).mapped().equals(collection.read())


@pytest.mark.parametrize("damage", ["touch", "shorten", "record", "no record", "no rows", "copy"])
def test_a_changed_cache_is_built_again(collection, damage):
    collection.mapped()
    path, record = collection.folder / CACHE_NAME, collection.folder / RECORD_NAME
    if damage == "touch":
        bytes_before = path.read_bytes()
        path.write_bytes(b"\xff" * len(bytes_before))
    elif damage == "shorten":
        os.truncate(path, 100)
    elif damage == "record":
        record.write_text("{}")
    elif damage == "copy":
        shutil.copy(path, path.with_name("other"))
        os.replace(path.with_name("other"), path)
    else:
        (record if damage == "no record" else path).unlink()
    assert collection.mapped().equals(collection.read())
    assert RowCache(collection.folder, collection.manifest).open() is not None


def test_a_cache_of_other_parts_is_built_again(collection, tmp_path):
    collection.mapped()
    (tmp_path / "second").mkdir()
    second = write_parts(make_synthetic(n_queries=30, seed=2), tmp_path / "second")
    for name in (CACHE_NAME, RECORD_NAME):
        os.replace(collection.folder / name, second.folder / name)
    assert second.mapped().equals(second.read())


def test_parts_are_checked_before_the_cache_is_used(collection):
    collection.mapped()
    part = collection.folder / collection.manifest.parts[0].file
    content = bytearray(part.read_bytes())
    content[100] ^= 1
    part.write_bytes(content)
    with pytest.raises(CorruptFileError, match="contents have changed"):
        collection.mapped()


def test_a_full_disk_is_an_error_before_work(collection, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(DataError, match=r"free disk for the rows of a fit, got 0\.0 MB"):
        collection.mapped()


def test_a_disk_that_fills_up_leaves_no_cache(collection, monkeypatch):
    def write(file, *_):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(row_cache, "_write", write)
    with pytest.raises(DataError, match="free some, or move the collection"):
        collection.mapped()
    assert not [name for name in os.listdir(collection.folder) if name.startswith(".rows")]


@pytest.mark.parametrize("error", [PermissionError("read-only"), OSError(errno.EROFS, "read-only")])
def test_a_folder_that_cannot_be_written_is_read_into_memory(collection, monkeypatch, error):
    def refuse(self, blocks):
        raise error

    monkeypatch.setattr(RowCache, "build", refuse)
    data = collection.mapped()
    assert mapped_file(data.X) is None
    assert data.equals(collection.read())


def test_arrays_beside_mapped_ones_are_in_files_without_names(collection):
    X = collection.mapped().X
    names = sorted(os.listdir(collection.folder))
    out = empty_beside(X, (4, 2), np.float32)
    out[:] = 3
    path = mapped_file(out)
    assert path is not None
    assert path.parent == collection.folder
    assert out.sum() == 4 * 2 * 3
    assert sorted(os.listdir(collection.folder)) == names
    assert mapped_file(empty_beside(np.zeros(3), (4, 2), np.float32)) is None


def test_files_of_others_count_as_memory(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((4, 2), np.float32))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert mapped_file(X) is None
    assert mapped_file(empty_beside(X, (4, 2), np.float32)) is None
    assert os.listdir(tmp_path) == ["X.npy"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS])
@pytest.mark.parametrize("has_temporary", [True, False])
def test_arrays_beside_a_file_in_a_read_only_folder(
    collection, monkeypatch, tmp_path, code, has_temporary
):
    X = collection.mapped().X
    make = tempfile.NamedTemporaryFile

    def refuse(**options):
        if not has_temporary or options["dir"] == collection.folder:
            raise OSError(code, os.strerror(code))
        return make(**options)

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    out = empty_beside(X, (4, 2), np.float32)
    out[:] = 2
    assert out.sum() == 4 * 2 * 2
    path = mapped_file(out)
    assert (path.parent == tmp_path) if has_temporary else path is None


def change_rows(collection, by):
    """Write a manifest whose first part has other rows."""
    manifest = collection.manifest
    first, *others = manifest.parts
    parts = (replace(first, rows=first.rows + by), *others)
    replace(manifest, parts=parts).write(collection.folder)
    return open_collection(collection.folder)


@pytest.mark.parametrize("is_checked", [False, True])
def test_rows_that_the_manifest_counts_wrong_are_an_error(collection, is_checked):
    if is_checked:
        collection.mapped()
    n = collection.manifest.parts[0].rows
    for by in (-10, 10):
        with pytest.raises(CorruptFileError, match=f"it has {n} rows, not {n + by}"):
            change_rows(collection, by).mapped()
        change_rows(collection, 0)
        collection.manifest.write(collection.folder)


def test_missing_values_are_found_in_any_block(monkeypatch):
    X = np.zeros((100, 2))
    X[77, 1] = np.nan
    data = RankingData.from_arrays(X, np.zeros(100), qid=np.zeros(100), missing="nan")
    monkeypatch.setattr("podium.data.ranking_data.ROWS_PER_CHECK", 8)
    assert data.has_missing_values()
    assert not data.with_features(np.zeros((100, 2))).has_missing_values()
