"""Atomic file writes: a file appears whole or not at all, and survives a kill and a loss of power.

A file is safe once its bytes are synced and the folder that names it is synced, too. `atomic_path` does both;
so does the event log of the ranking service, which appends. Windows cannot open a folder and has no `flock`:
there, podium syncs no folders and leaves the temporary files of killed writers.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from podium.data.text_files import COMPRESSIONS, open_compressor
from podium.typing import Path_

_LOCK_RETRY_SECONDS = 0.001
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)  # some network file systems sync no folders


def sync_file(path: Path_) -> None:
    """Wait until the bytes of a file are on the disk."""
    descriptor = os.open(path, os.O_RDWR)  # Windows syncs only what may be written
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path_) -> None:
    """Wait until the names in a folder are on the disk, after files are made, renamed or removed."""
    if sys.platform == "win32":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written and not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)


def make_folder(folder: Path_) -> None:
    """Make a folder and its missing parents, and wait until their names are on the disk."""
    target = Path(folder)
    missing = [path for path in (target, *target.parents) if not path.exists()]
    target.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def recover_folder(draft: Path_, target: Path_, is_own: Callable[[Path], bool]) -> None:
    """Undo a `publish_folder` that was killed: the older folder gets its name back, or is removed.

    `is_own` tells whether podium has written a folder; no other folder is renamed or removed.
    """
    older = Path(f"{os.fspath(draft)}.older")
    if not older.exists() or not is_own(older):
        return
    if os.path.exists(target):
        if is_own(Path(target)):
            shutil.rmtree(older, ignore_errors=True)
    else:  # killed between the two renames
        os.rename(older, target)
    sync_folder(Path(target).parent)


def publish_folder(draft: Path_, target: Path_) -> None:
    """Give a complete folder its name, in place of an older one, and wait until that is on the disk.

    `recover_folder` must have removed what a killed call left.
    """
    sync_folder(draft)
    older = Path(f"{os.fspath(draft)}.older")
    if replaces := os.path.exists(target):
        os.rename(target, older)
    os.rename(draft, target)
    sync_folder(Path(target).parent)
    if replaces:
        shutil.rmtree(older, ignore_errors=True)


def lock(descriptor: int, wait: bool = True) -> bool:
    """Lock an open file until its last descriptor is closed; return whether that succeeded.

    With wait=False the function returns False at once if another writer has locked the file.
    """
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked by another, or a file system without locks
        return False
    return True


def lock_within(descriptor: int, seconds: float) -> None:
    """Lock an open file until its last descriptor is closed; raises TimeoutError if others keep it locked.

    On a system or file system without locks, the file stays unlocked.
    """
    if sys.platform == "win32":
        return
    import fcntl

    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                why = f"another process has kept the file locked for {seconds:g} seconds"
                raise TimeoutError(errno.ETIMEDOUT, why) from None
        except OSError:  # a file system without locks
            return
        time.sleep(_LOCK_RETRY_SECONDS)


def has_name(descriptor: int, path: Path_) -> bool:
    """Whether an open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def reserve_temporary(target: Path, mode: int = 0o666) -> Iterator[Path]:
    """Make an empty file ``.NAME.hex`` beside a target; it is removed at the end, unless renamed.

    Its writer holds a lock on it, and a lock ends with its process. So the next writer of the same target
    removes the file of a killed writer, and leaves one that is still being written.
    """
    _remove_abandoned(target)
    temporary, descriptor = _make_temporary(target, mode)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        if descriptor is not None:
            os.close(descriptor)


def _make_temporary(target: Path, mode: int) -> tuple[Path, int | None]:
    """Return a new file and the descriptor that holds its lock (None on Windows).

    Windows renames no file that is open.
    """
    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if sys.platform == "win32":
            os.close(descriptor)
            return temporary, None
        lock(descriptor)
        if has_name(descriptor, temporary):
            return temporary, descriptor
        os.close(descriptor)  # another writer removed it before it was locked


def _remove_abandoned(target: Path) -> None:
    """Remove temporary files of this target whose writers were killed."""
    pattern = re.compile(re.escape(f".{target.name}.") + "[0-9a-f]{8}")
    paths: list[str] = []
    # A folder that cannot be listed must not keep us from writing.
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        paths = [
            entry.path
            for entry in entries
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
        ]
    for path in paths:
        with contextlib.suppress(OSError):
            _remove_unlocked(path)


def _remove_unlocked(path: str) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        if lock(descriptor, wait=False) and has_name(descriptor, path):
            os.unlink(path)
    finally:
        os.close(descriptor)


def check_target(path: Path_, *sources: Path_) -> Path:
    """Return the real path of a file to be written; raises OSError if it cannot be written.

    Call it before hours of work. `sources` are files still to be read, which must not be written over.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    for source in sources:
        if Path(os.path.realpath(source)) == target:
            raise OSError(f"cannot write {path}: it is one of the files to be read")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path}: there is no folder {target.parent}; make it first, or correct the name"
        )
    if target.exists() and not target.is_file():
        raise OSError(f"cannot write {path}: it is not a file")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"cannot write {path}: the folder {target.parent} is read-only")
    return target


@contextlib.contextmanager
def atomic_path(path: Path_) -> Iterator[Path]:
    """Give a temporary path that becomes `path` on success and vanishes on failure.

    Podium writes every whole file this way. After a kill or a loss of power, `path` is the old file or the
    new one, each whole. After the block has ended without an error, it is the new one.
    """
    target = check_target(path)
    with contextlib.ExitStack() as stack:
        try:
            temporary = stack.enter_context(reserve_temporary(target))
        except OSError as error:  # its message names the temporary file
            raise type(error)(f"cannot write {path}: {error.strerror}") from None
        yield temporary
        sync_file(temporary)
        os.replace(temporary, target)
    sync_folder(target.parent)


def create_once(path: Path_, data: bytes, mode: int = 0o666) -> bool:
    """Write a new file in one step; return False, and write nothing, if the file exists.

    A hard link fails if its name exists: of two writers at once, exactly one gets True. On a file system
    without hard links, the caller must hold a lock.
    """
    target = Path(path)
    with reserve_temporary(target, mode) as temporary:
        temporary.write_bytes(data)
        sync_file(temporary)
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        except OSError:  # no hard links here
            if target.exists():
                return False
            os.replace(temporary, target)
    sync_folder(target.parent)
    return True


@contextlib.contextmanager
def atomic_writer(path: Path_) -> Iterator[Callable[[bytes], object]]:
    """Give a write function for a file that appears whole or not at all, compressed by its ending."""
    suffix = Path(path).suffix
    with atomic_path(path) as temporary, open(temporary, "wb") as raw:
        if suffix not in COMPRESSIONS:
            yield raw.write
        else:
            with contextlib.closing(open_compressor(suffix, raw)) as compressed:
                yield compressed.write
