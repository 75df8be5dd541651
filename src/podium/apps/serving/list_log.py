"""The log of lists that an experiment or a swap has changed, beside the event log."""

from __future__ import annotations

import itertools
import os
import threading
import time
from pathlib import Path

import msgspec

from podium.clicks.experiment_records import ListRecord
from podium.data.atomic_files import has_name

_encode = msgspec.json.Encoder().encode


def list_log_path(events: str) -> str:
    """Return the path of the log of lists for an event log.

    Examples
    --------
    >>> list_log_path("logs/events.ndjson")
    'logs/events-lists.ndjson'
    """
    path = Path(events)
    return str(path.with_name(f"{path.stem}-lists{path.suffix}"))


class ListLog:
    """An NDJSON file to which several threads and processes append one line per list.

    A line is written before the list is answered, by one call that appends all of it, so that a click on the
    list finds it even if the service is killed. It is not synced: a power failure may lose the last seconds.

    Parameters
    ----------
    path
        The file; it is created if it does not exist.
    max_bytes
        A file that is larger is renamed with the time, and a new one is begun; 0: never.
    """

    def __init__(self, path: str, max_bytes: int = 0) -> None:
        self.path, self._max_bytes = path, max_bytes
        self._lock = threading.Lock()
        self._file = self._open()
        self._is_line_open = self._ends_within_line()

    def append(self, record: ListRecord) -> None:
        """Append a record; OSError if the file cannot be written."""
        line = _encode(record) + b"\n"
        with self._lock:
            if self._max_bytes and os.fstat(self._file).st_size > self._max_bytes:
                self._begin_file()
            if self._is_line_open:
                line = b"\n" + line
            self._is_line_open = os.write(self._file, line) < len(line)
            if self._is_line_open:
                raise OSError(28, "No space left on device", self.path)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            os.close(self._file)

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)

    def _ends_within_line(self) -> bool:
        """Return whether a crash cut the last line short."""
        size = os.fstat(self._file).st_size
        return bool(size) and os.pread(self._file, 1, size - 1) != b"\n"

    def _free_name(self) -> Path:
        """Return a name that no file has, and no other process uses."""
        path, moment = Path(self.path), time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        numbers = itertools.count(1)
        names = (f"{path.stem}-{moment}-{os.getpid()}-{n}{path.suffix}" for n in numbers)
        return next(free for name in names if not (free := path.with_name(name)).exists())

    def _begin_file(self) -> None:
        """Rename the file, unless another process did it already, and open a new one."""
        if has_name(self._file, self.path):
            os.rename(self.path, self._free_name())
        new = self._open()
        os.close(self._file)
        self._file = new
