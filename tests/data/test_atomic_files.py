"""Files that are written whole: synced with their names, and nothing is left of writers that were killed."""

import errno
import os
import re
import signal
import stat
import subprocess
import sys
import threading

import pytest

from podium.data import atomic_files
from podium.data.atomic_files import (
    atomic_path,
    atomic_writer,
    make_folder,
    reserve_temporary,
    sync_folder,
)

WRITER = """
import sys
from podium.data.atomic_files import atomic_writer
with atomic_writer(sys.argv[1]) as write:
    write(sys.argv[2].encode())
    print("writing", flush=True)
    sys.stdin.readline()
"""


def begin(path, text="by another"):
    """A process that has begun to write a file, and goes on with a line on its stdin."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), text],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "writing\n"
    return process


def end(process):
    process.communicate("\n", timeout=60)
    return process.returncode


def write(path, text):
    with atomic_writer(path) as put:
        put(text.encode())


def temporary_files(path):
    pattern = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{8}")
    return [one for one in path.parent.iterdir() if pattern.fullmatch(one.name)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.podium"


def test_the_next_writer_removes_what_a_killed_one_left(path):
    killed = begin(path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    assert len(temporary_files(path)) == 1
    write(path, "new")
    assert list(path.parent.iterdir()) == [path]
    assert path.read_text() == "new"


def test_a_writer_that_lives_keeps_its_file(path):
    other = begin(path)
    own = temporary_files(path)
    write(path, "first")
    assert temporary_files(path) == own
    assert end(other) == 0
    assert path.read_text() == "by another"
    assert list(path.parent.iterdir()) == [path]


def test_a_writer_in_the_same_process_keeps_its_file(path):
    with atomic_path(path) as outer:
        outer.write_text("outer")
        write(path, "inner")
        assert path.read_text() == "inner"
        assert outer.exists()
    assert path.read_text() == "outer"
    assert list(path.parent.iterdir()) == [path]


def test_many_writers_at_once_all_succeed(path):
    (path.parent / f".{path.name}.0123abcd").write_text("left")
    threads = [
        threading.Thread(target=lambda n=n: [write(path, f"{n}" * 50) for _ in range(30)])
        for n in range(4)
    ]
    failures = []
    threading.excepthook, hook = lambda args: failures.append(args.exc_value), threading.excepthook
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    threading.excepthook = hook
    assert failures == []
    assert len(set(path.read_text())) == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_removed_before_it_is_locked_is_made_again(path, monkeypatch):
    real, calls = atomic_files.lock, []

    def lock_too_late(descriptor, wait=True):
        if not calls:
            temporary_files(path)[0].unlink()  # as another writer does, who takes it for abandoned
        calls.append(descriptor)
        return real(descriptor, wait)

    monkeypatch.setattr(atomic_files, "lock", lock_too_late)
    write(path, "new")
    assert len(calls) == 2
    assert path.read_text() == "new"


@pytest.mark.parametrize(
    "name",
    [".model.podium", ".model.podium.old", ".model.podium.0123ABCD", ".model.podium.0123abcde",
     ".other.podium.0123abcd", "model.podium.0123abcd", ".modelXpodium.0123abcd"],
)  # fmt: skip
def test_other_files_stay(path, name):
    (path.parent / name).write_text("precious")
    write(path, "new")
    assert (path.parent / name).read_text() == "precious"


def test_links_and_folders_of_such_a_name_stay(path):
    precious = path.parent / "precious"
    precious.write_text("precious")
    (path.parent / f".{path.name}.0123abcd").symlink_to(precious)
    (path.parent / f".{path.name}.0123abce").mkdir()
    write(path, "new")
    assert precious.read_text() == "precious"
    assert len(temporary_files(path)) == 2


def test_without_locks_nothing_is_removed_and_files_are_written(path, monkeypatch):
    import fcntl

    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    left = path.parent / f".{path.name}.0123abcd"
    left.write_text("may be another's")
    monkeypatch.setattr(fcntl, "flock", no_locks)
    write(path, "new")
    assert path.read_text() == "new"
    assert left.exists()


def test_a_sync_that_fails_keeps_the_old_file(path, monkeypatch):
    write(path, "old")

    def broken(descriptor):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output error"):
        write(path, "new")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def synced_folders(monkeypatch):
    found = []

    def note(descriptor):
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            found.append(about.st_ino)

    monkeypatch.setattr(os, "fsync", note)
    return found


def test_the_names_of_new_folders_are_synced(tmp_path, monkeypatch):
    found = synced_folders(monkeypatch)
    make_folder(tmp_path / "a" / "b")
    assert set(found) == {tmp_path.stat().st_ino, (tmp_path / "a").stat().st_ino}
    found.clear()
    make_folder(tmp_path / "a" / "b")
    assert found == []


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_syncs_no_folders_will_do(tmp_path, monkeypatch, number):
    def unsupported(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", unsupported)
    assert sync_folder(tmp_path) is None


def test_a_disk_that_fails_at_the_folder_is_an_error(tmp_path, monkeypatch):
    def broken(descriptor):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output error"):
        sync_folder(tmp_path)


def test_a_temporary_file_may_be_for_its_owner_only(path):
    with reserve_temporary(path, mode=0o600) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == []
