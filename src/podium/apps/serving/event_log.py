"""The event log: an NDJSON file of whole lines, shared by processes, synced by its policy."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Literal

import msgspec

from podium.apps.http.refusals import Refusal
from podium.data.atomic_files import has_name, lock_within, sync_folder
from podium.work_budget import seconds_left

log = logging.getLogger("podium.serving")

Durability = Literal["event", "batch", "off"]
"""When events are synced to the disk: before they are acknowledged, soon after, or when the system does."""

BATCH_EVENTS, BATCH_SECONDS = 1_000, 0.1
"""With "batch", a power failure may lose up to this many events, or those of this many seconds."""

LOCK_SECONDS = 5.0
"""How long the log waits while another process has locked the file."""
APPEND_SECONDS, APPEND_SHARE = 30.0, 0.9
"""How long an append waits, and the share of its request's remaining time that it may use."""
CLOSE_SECONDS = 10.0
"""How long the service waits for the log when it stops."""


@dataclass(eq=False)
class _Append:
    """Lines of one request, and the error that kept them from the log, if any."""

    lines: bytes
    n_events: int
    error: Exception | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    _claimed: threading.Lock = field(default_factory=threading.Lock)

    def claim(self) -> bool:
        """Return True for the first claim: a writer then writes the lines, a sender withdraws them."""
        return self._claimed.acquire(blocking=False)


class EventLog:
    """An NDJSON file that several threads and processes may append to.

    With the policy "event", a power failure loses no acknowledged event. One thread of each process writes.
    Requests that wait while it syncs are written and synced together (group commit): many requests cost
    one sync.

    Parameters
    ----------
    path
        The file; it is created if it does not exist.
    max_bytes
        A file that would grow larger is renamed with the time, and a new one is begun; 0: never.
    durability
        "event": an append returns once its events are synced. "batch": they are synced within
        `batch_seconds`, or with the event that makes `batch_events`. "off": the system decides.
    lock_seconds
        How long to wait while another process has locked the file; after that events fail.
    """

    def __init__(
        self,
        path: str,
        max_bytes: int = 0,
        durability: Durability = "event",
        batch_events: int = BATCH_EVENTS,
        batch_seconds: float = BATCH_SECONDS,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        self.path, self._max_bytes, self._durability = path, max_bytes, durability
        self._batch_events, self._batch_seconds = batch_events, batch_seconds
        self._lock_seconds = lock_seconds
        self._queue: SimpleQueue[_Append | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._writer: threading.Thread | None = None
        # Only the writer uses the following fields.
        self._n_unsynced, self._sync_by = 0, 0.0
        self._is_failing = False
        self._synced_name: tuple[int, int] | None = None  # device and inode of the file
        # Report a log that cannot be written now, not at the first event.
        os.close(self._open())

    def append(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Append all records or none; raise 503 if that fails, or exceeds the time of the request."""
        if not records:
            return
        append = _Append(msgspec.json.Encoder().encode_lines(records), len(records))
        with self._starting:  # so that nothing is queued after the stop signal
            self._start()
            self._queue.put(append)
        if not append.finished.wait(APPEND_SHARE * min(seconds_left(), APPEND_SECONDS)):
            if append.claim():  # so that events refused here are not written later
                raise Refusal(
                    503, "log_failed", "events cannot be stored at the moment: the log is busy"
                )
            append.finished.wait()  # the writer is writing it
        if append.error is not None:
            reason = getattr(append.error, "strerror", None) or type(append.error).__name__
            raise Refusal(
                503, "log_failed", f"events cannot be stored at the moment: {reason}"
            ) from append.error

    def close(self) -> None:
        """Write and sync the waiting lines, unless that takes too long."""
        with self._starting:
            if self._writer is None:
                return
            self._queue.put(None)
            self._writer.join(CLOSE_SECONDS)
            if self._writer.is_alive():
                log.error("the event log did not close within %g seconds", CLOSE_SECONDS)
            else:
                self._writer = None

    # --- the writer ---

    def _start(self) -> None:
        if self._writer is None:
            self._writer = threading.Thread(
                target=self._write_until_closed, name="event-log-writer", daemon=True
            )
            self._writer.start()

    def _write_until_closed(self) -> None:
        is_open = True
        while is_open:
            appends = self._take_waiting()
            is_open = None not in appends
            self._write_all([append for append in appends if append is not None])
            is_late = self._n_unsynced > 0 and time.monotonic() >= self._sync_by
            if not is_open or is_late:
                self._sync_batch()

    def _take_waiting(self) -> list[_Append | None]:
        """Return all waiting appends; an empty list if a batch must be synced first."""
        appends: list[_Append | None] = []
        is_batch = self._durability == "batch" and self._n_unsynced > 0
        left = max(0.0, self._sync_by - time.monotonic()) if is_batch else None
        with contextlib.suppress(Empty):
            appends.append(self._queue.get(timeout=left))
            while True:
                appends.append(self._queue.get_nowait())
        return appends

    def _write_all(self, appends: Sequence[_Append]) -> None:
        left = deque(appends)
        try:
            while left:
                with self._locked(len(left[0].lines)) as file:
                    self._write_to(file, left)
        except Exception as error:
            for append in left:
                append.error = error
        finally:
            for append in appends:
                append.finished.set()

    def _write_to(self, file: int, left: deque[_Append]) -> None:
        """Write as many appends as the file has room for, at least one; sync them if that is due."""
        size, written = os.fstat(file).st_size, list[_Append]()
        if not size:
            self._synced_name = None  # a new file: its name must be synced, too
        while left and self._has_room(file, len(left[0].lines)):
            append = left.popleft()
            if not append.claim():
                continue
            try:
                _write(file, append.lines)
                written.append(append)
            except OSError as error:
                append.error = error
        if written and not self._n_unsynced:
            self._sync_by = time.monotonic() + self._batch_seconds
        self._n_unsynced += sum(append.n_events for append in written)
        if not written or not self._is_sync_due():
            return
        try:
            self._sync(file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(file, size)  # refused events will be sent again
            for append in written:
                append.error = error

    def _has_room(self, file: int, n_bytes: int) -> bool:
        size = os.fstat(file).st_size
        return not self._max_bytes or not size or size + n_bytes <= self._max_bytes

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)

    @contextlib.contextmanager
    def _locked(self, n_bytes: int = 0) -> Iterator[int]:
        """Yield the file that has the log's name, locked, with room for more bytes."""
        while True:
            file = self._open()
            try:
                lock_within(file, self._lock_seconds)
                if not has_name(file, self.path):  # another process renamed it in between
                    continue
                if n_bytes and not self._has_room(file, n_bytes):
                    self._put_aside(file)
                    continue
                yield file
                return
            finally:
                os.close(file)  # this also releases the lock

    def _put_aside(self, file: int) -> None:
        """Rename a full log; its new name is synced before another file takes the old one."""
        if self._durability == "off":
            os.rename(self.path, self._free_name())
            return
        os.fsync(file)
        os.rename(self.path, self._free_name())
        self._sync_name()

    def _free_name(self) -> str:
        """Return a name that no file has: log.ndjson -> log-20260131T120000.ndjson."""
        stem, ending = os.path.splitext(self.path)
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        name, n = f"{stem}-{moment}{ending}", 1
        while os.path.exists(name):
            n += 1
            name = f"{stem}-{moment}-{n}{ending}"
        return name

    # --- syncing ---

    def _is_sync_due(self) -> bool:
        if self._durability == "batch":
            return self._is_failing or self._n_unsynced >= self._batch_events
        return self._durability == "event"

    def _sync(self, file: int) -> None:
        """Wait until the file is on the disk; the first time also its name."""
        self._is_failing = True
        os.fsync(file)
        status = os.fstat(file)
        if self._synced_name != (status.st_dev, status.st_ino):
            self._sync_name()
            self._synced_name = status.st_dev, status.st_ino
        self._n_unsynced, self._is_failing = 0, False

    def _sync_name(self) -> None:
        sync_folder(os.path.dirname(os.path.abspath(self.path)))

    def _sync_batch(self) -> None:
        """Sync acknowledged events; while that fails, no more events are acknowledged."""
        if self._durability != "batch" or not self._n_unsynced:
            return
        was_failing = self._is_failing
        try:
            with self._locked() as file:
                self._sync(file)
        except OSError as error:
            self._is_failing = True
            self._sync_by = time.monotonic() + self._batch_seconds  # try again then
            if not was_failing:
                log.error("events that were acknowledged cannot be synced: %s", error.strerror)


def _write(file: int, data: bytes) -> None:
    """Append whole lines; if there is no room for all of them, the file stays as it was."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":  # a crash cut the last line short
        data = b"\n" + data
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, size)
        raise
