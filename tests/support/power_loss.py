"""A folder whose disk may lose power at any moment: what would be there afterwards.

Operations are recorded as they happen. A crash keeps what was synced; of the rest it keeps anything: each
name that was made, renamed or removed since the folder was synced, or not; of a file the bytes of its last
sync, all bytes, or some of them. SQLite's tests try crashes in the same way.
"""

import itertools
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

OPERATIONS = ("replace", "rename", "link", "unlink", "write", "ftruncate")
MOST_PENDING = 8


@dataclass(frozen=True)
class Crash:
    """A moment: what was safe, what was not, and what had been promised."""

    names: dict
    pending: tuple
    safe: dict
    written: dict
    promised: tuple

    def images(self):
        """Name -> bytes of every state that may be left."""
        assert len(self.pending) <= MOST_PENDING
        for kept in itertools.product((False, True), repeat=len(self.pending)):
            names = dict(self.names)
            for change in itertools.compress(self.pending, kept):
                names |= change
            inodes = {name: inode for name, inode in names.items() if inode is not None}
            for bytes_of in (self._dropped, self._torn, self._kept):
                yield {name: bytes_of(inode) for name, inode in inodes.items()}

    def _dropped(self, inode):
        return self.safe.get(inode, b"")

    def _kept(self, inode):
        return self.written[inode]

    def _torn(self, inode):
        safe, written = self.safe.get(inode, b""), self.written[inode]
        start = len(safe) if written.startswith(safe) else 0
        return written[: (start + len(written)) // 2]


@dataclass
class Disk:
    """Records what happens in one folder. All that is there at the beginning is safe."""

    folder: str
    promised: tuple = ()
    crashes: list = field(default_factory=list)
    n_syncs: int = 0

    def __post_init__(self):
        self._real = {name: getattr(os, name) for name in (*OPERATIONS, "fsync", "open")}
        self._lock = threading.RLock()
        self._held, self._safe, self._pending = {}, {}, []
        self._names = self._synced = self._listing()
        self._safe = self._contents()

    def promise(self, what):
        """Something is acknowledged: it must be there after every later crash."""
        self.promised = (*self.promised, what)
        self._look()

    def images(self):
        """(name -> bytes, what was promised) of all crashes, each state once."""
        seen = set()
        for crash in self.crashes:
            for image in crash.images():
                state = (frozenset(image.items()), crash.promised)
                if state not in seen:
                    seen.add(state)
                    yield image, crash.promised

    def close(self):
        for descriptor in self._held.values():
            os.close(descriptor)

    def patched(self, name):
        """An operation that is looked at before and after."""

        def run(*arguments, **options):
            with self._lock:
                self._look()
                result = self._real[name](*arguments, **options)
                self._look()
                return result

        return run

    def fsync(self, descriptor):
        """Make a file safe, or the names in the folder."""
        with self._lock:
            self._look()
            self.n_syncs += 1
            about = os.fstat(descriptor)
            if not stat.S_ISDIR(about.st_mode):
                self._safe[about.st_ino] = self._contents().get(about.st_ino, b"")
            elif os.path.samestat(about, os.stat(self.folder)):
                self._synced, self._pending = self._names, []
            self._look()

    def _look(self):
        """Note what has changed, and that the power may fail now."""
        with self._lock:
            names = self._listing()
            change = {
                name: names.get(name)
                for name in {*names, *self._names}
                if names.get(name) != self._names.get(name)
            }
            if change:
                self._pending.append(change)
            self._names = names
            crash = Crash(
                self._synced,
                tuple(self._pending),
                dict(self._safe),
                self._contents(),
                self.promised,
            )
            if not self.crashes or self.crashes[-1] != crash:
                self.crashes.append(crash)

    def _listing(self):
        """Name -> inode; each is held open, so that no other file gets its number."""
        names = {}
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            inode = os.stat(path).st_ino
            if inode not in self._held:
                self._held[inode] = self._real["open"](path, os.O_RDONLY)
            names[name] = inode
        return names

    def _contents(self):
        return {
            inode: os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            for inode, descriptor in self._held.items()
        }


@contextmanager
def watched(folder, monkeypatch) -> Iterator[Disk]:
    """A disk that records a folder until the block ends."""
    disk = Disk(str(folder))
    with monkeypatch.context() as patch:
        for name in OPERATIONS:
            patch.setattr(os, name, disk.patched(name))
        patch.setattr(os, "fsync", disk.fsync)
        yield disk
    disk.close()
