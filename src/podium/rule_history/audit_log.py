"""The audit log of a rule folder: one line of JSON per change, appended, synced and chained by hashes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from podium.data.atomic_files import has_name, lock_within, sync_folder
from podium.typing import Path_

LOCK_SECONDS = 5.0
TAIL_BYTES = 1 << 16


class AuditLog:
    """An NDJSON file to which entries are only appended, by any number of processes.

    An entry is on the disk when `append` returns. Each has the next ``number`` and ``previous``, the
    beginning of the SHA-256 of the line before, so that a changed or removed line is noticed. A line that
    a kill cut short stays, and the next entry begins on a new line.

    Parameters
    ----------
    path
        The file; it is created with the first entry.
    """

    def __init__(self, path: Path_) -> None:
        self.path = Path(path)

    def append(self, entry: dict[str, Any]) -> None:
        """Append an entry and wait until it is on the disk."""
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)
            try:
                lock_within(file, LOCK_SECONDS)
                if not has_name(file, self.path):
                    continue
                self._append_locked(file, entry)
                return
            finally:
                os.close(file)

    def _append_locked(self, file: int, entry: dict[str, Any]) -> None:
        size = os.fstat(file).st_size
        number, previous = 1, ""
        for line in self.lines_backwards():
            parsed = _parse(line)
            if parsed is not None:
                number, previous = parsed["number"] + 1, _line_digest(line)
                break
        whole = {"number": number, "previous": previous, **entry}
        data = json.dumps(whole, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        if size and os.pread(file, 1, size - 1) != b"\n":
            data = b"\n" + data
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)
            raise
        if not size:
            sync_folder(self.path.parent)

    def lines_backwards(self) -> Iterator[bytes]:
        """Yield the lines of the file from the last to the first, without reading all of it."""
        try:
            file = open(self.path, "rb")  # noqa: SIM115 - closed below
        except FileNotFoundError:
            return
        with file:
            left, rest = file.seek(0, os.SEEK_END), b""
            while left:
                step = min(TAIL_BYTES, left)
                left -= step
                file.seek(left)
                first, *lines = (file.read(step) + rest).split(b"\n")
                yield from (line for line in reversed(lines) if line.strip())
                rest = first
            if rest.strip():
                yield rest

    def newest(self) -> Iterator[dict[str, Any]]:
        """Yield the entries from the newest to the oldest; lines that are no entry are left out."""
        for line in self.lines_backwards():
            entry = _parse(line)
            if entry is not None:
                yield entry

    def entries(self) -> list[dict[str, Any]]:
        """Return all entries, the oldest first."""
        return [*self.newest()][::-1]

    def first_break(self) -> int | None:
        """Return the number of the first entry that does not follow the line before; None if all do."""
        number, previous = 0, ""
        for line in [*self.lines_backwards()][::-1]:
            entry = _parse(line)
            if entry is None:
                continue
            if entry["number"] != number + 1 or entry.get("previous") != previous:
                return int(entry["number"])
            number, previous = entry["number"], _line_digest(line)
        return None


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the entry of a line; None for a line that was cut short."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("number"), int) else None


def _line_digest(line: bytes) -> str:
    return hashlib.sha256(line.strip()).hexdigest()[:16]
