"""Files that survive a kill and a loss of power: synced with their names, and no leftovers.

A file is safe once its bytes are synced and the folder that names it is synced, too. `atomic_path` does both;
so does the event log of the ranking service, which appends. Windows cannot open a folder and has no `flock`:
there, names are left to the system, and leftovers stay.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_LOCK_RETRY_SECONDS = 0.001
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)  # some network file systems sync no folders


def sync_file(path: str | os.PathLike[str]) -> None:
    """Wait until the bytes of a file are on the disk."""
    descriptor = os.open(path, os.O_RDWR)  # Windows syncs only what may be written
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Wait until the names in a folder are on the disk: files made, renamed and removed."""
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


def make_folder(folder: str | os.PathLike[str]) -> None:
    """Make a folder and those above it, and wait until their names are on the disk."""
    target = Path(folder)
    missing = [one for one in (target, *target.parents) if not one.exists()]
    target.mkdir(parents=True, exist_ok=True)
    for one in missing:
        sync_folder(one.parent)


def lock(descriptor: int, wait: bool = True) -> bool:
    """Lock an open file until its last descriptor is closed; False where it could not be locked.

    Without `wait`, a file that another writer has locked is an answer, not a reason to wait.
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
    """Lock an open file until its last descriptor is closed; raise TimeoutError if others keep it locked.

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


def has_name(descriptor: int, path: str | os.PathLike[str]) -> bool:
    """Whether an open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def reserve_temporary(target: Path, mode: int = 0o666) -> Iterator[Path]:
    """Make an empty file ``.NAME.hex`` beside a target; at the end it is gone, unless renamed.

    Its writer holds a lock on it. A lock ends with its process, so the next writer of the same target can
    tell what a killed one left behind from what is still being written, and removes only the former.
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
    """A new file and the descriptor that holds its lock; Windows renames no file that is open."""
    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if sys.platform == "win32":
            os.close(descriptor)
            return temporary, None
        lock(descriptor)
        if has_name(descriptor, temporary):
            return temporary, descriptor
        os.close(descriptor)  # another writer removed it in the moment before it was locked


def _remove_abandoned(target: Path) -> None:
    """Remove temporary files of this target whose writers were killed."""
    pattern = re.compile(re.escape(f".{target.name}.") + "[0-9a-f]{8}")
    paths: list[str] = []
    # What cannot be looked at or removed is no reason not to write.
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
