"""UBI events into an NDJSON log: whole lines, also where several processes write, and all or none."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import Any

import msgspec

from podium.apps.serving.errors import Refusal
from podium.feedback.actions import ACTIONS
from podium.feedback.fields import identifier_of, seconds_of

MOST = 10_000
"""Events of a request."""
_NO_DOCUMENT = ("back", "search")


def check_events(given: Any) -> list[dict[str, Any]]:
    """Events or query records, each as `podium feedback` reads it; one that is none refuses them all.

    An event without a time has that of its arrival.

    Examples
    --------
    >>> check_events({"action_name": "on_search", "query_id": "q1", "timestamp": 0})
    [{'action_name': 'on_search', 'query_id': 'q1', 'timestamp': 0}]
    """
    if isinstance(given, Mapping) and set(given) == {"events"}:
        given = given["events"]
    records = given if isinstance(given, list) else [given]
    if len(records) > MOST:
        raise Refusal(413, "too_many", f"expected at most {MOST:,} events, got {len(records):,}")
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return [_checked(record, f"events[{at}]", now) for at, record in enumerate(records)]


def _checked(record: Any, at: str, now: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise _wrong("a UBI event or query as a JSON object", at)
    if identifier_of(record.get("query_id")) is None:
        raise _wrong("a query_id, which is text or a whole number", f"{at}.query_id")
    if record.setdefault("timestamp", now) is None:
        record["timestamp"] = now
    moment = seconds_of(record["timestamp"])
    if moment != moment:
        raise _wrong("an ISO 8601 time, or milliseconds since 1970", f"{at}.timestamp")
    if "action_name" in record:
        _check_event(record, at)
    elif not isinstance(record.get("user_query", ""), str):
        raise _wrong("text", f"{at}.user_query")
    elif not isinstance(record.get("query_response_hit_ids", []), list):
        raise _wrong("a list of ids", f"{at}.query_response_hit_ids")
    return record


def _check_event(record: dict[str, Any], at: str) -> None:
    name = record["action_name"]
    if not isinstance(name, str) or not name or len(name) > 100:
        raise _wrong("text of 1 to 100 characters", f"{at}.action_name")
    about = record.get("event_attributes")
    if about is not None and not isinstance(about, dict):
        raise _wrong("a JSON object", f"{at}.event_attributes")
    kind = ACTIONS.get(name)
    if kind is None or kind in _NO_DOCUMENT:  # actions of one's own may be about anything
        return
    document = (about or {}).get("object")
    found = document.get("object_id") if isinstance(document, dict) else None
    if identifier_of(found) is None:
        place = f"{at}.event_attributes.object.object_id"
        raise _wrong(f"the document of {name!r}, text or a whole number", place)


def _wrong(expected: str, at: str) -> Refusal:
    return Refusal(422, "bad_event", f"expected {expected} at {at}, got something else", at=at)


class EventLog:
    """An NDJSON file that several processes may append to.

    Parameters
    ----------
    path
        The file; it is made where there is none.
    max_bytes
        A file that would grow beyond is renamed with the time, and a new one begun; 0: never.
    """

    def __init__(self, path: str, max_bytes: int = 0) -> None:
        self.path, self._max_bytes = path, max_bytes
        self._lock = Lock()
        os.close(
            self._open()
        )  # a log that cannot be written is found now, not with the first event

    def append(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Append records, all or none."""
        if not records:
            return
        data = msgspec.json.Encoder().encode_lines(records)
        try:
            with self._lock, self._locked(len(data)) as file:
                _write(file, data)
        except OSError as error:
            raise Refusal(
                503, "log_failed", f"events cannot be kept at the moment: {error.strerror}"
            ) from error

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)

    @contextmanager
    def _locked(self, n_bytes: int) -> Iterator[int]:
        """The file that has the log's name while nobody else writes to it, with room for more bytes."""
        while True:
            file = self._open()
            try:
                lock(file)
                if not _is_at(file, self.path):  # put aside by another process in between
                    continue
                size = os.fstat(file).st_size
                if self._max_bytes and size and size + n_bytes > self._max_bytes:
                    os.rename(self.path, self._aside())
                    continue
                yield file
                return
            finally:
                os.close(file)  # and with it the lock

    def _aside(self) -> str:
        """A name that no file has: log.ndjson -> log-20260131T120000.ndjson."""
        stem, ending = os.path.splitext(self.path)
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        name, n = f"{stem}-{moment}{ending}", 1
        while os.path.exists(name):
            n += 1
            name = f"{stem}-{moment}-{n}{ending}"
        return name


def lock(file: int) -> None:
    """Wait for a file's lock; it goes with the file's last descriptor."""
    try:
        import fcntl
    except ImportError:  # Windows: one process writes
        return
    fcntl.flock(file, fcntl.LOCK_EX)


def _is_at(file: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _write(file: int, data: bytes) -> None:
    """Append whole lines; where there is no room for all of them the file stays as it was."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":  # a line that a crash cut short
        data = b"\n" + data
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, size)
        raise
