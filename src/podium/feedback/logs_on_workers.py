"""Logs on a cluster: each worker reads whole files; lists of several files are read together, in order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from podium.data.text_files import Progress, read_blocks
from podium.errors import PodiumError
from podium.feedback.log_sums import LogSums
from podium.feedback.ubi_fields import identifier_of
from podium.feedback.ubi_reader import UbiReader
from podium.feedback.user_classes import UserClassSource
from podium.task_runner import map_items

ACTION_LINES = ("index", "create", "update", "delete")
"""The actions of the bulk form; the record of the first two is on the next line."""
MAX_SHARED = 0.5
"""If a larger share of the lists is in several files, all files are read here."""


@dataclass(frozen=True)
class UbiSettings:
    """How a log is read: the arguments of `UbiReader`."""

    user_class: UserClassSource | None
    actions: Mapping[str, str]
    closed_within: float
    window: int
    strict: bool

    def reader(self) -> UbiReader:
        """Return a reader with these settings."""
        return UbiReader(
            self.user_class, self.actions, self.closed_within, self.window, self.strict
        )


def read_on_workers(
    names: Sequence[str], settings: UbiSettings, progress: Progress | None
) -> LogSums | None:
    """Return what workers read from files; None if most lists are in several files.

    The result is that of one reader, because no list is cut: the lines of lists in several files come
    back, and one reader gets them in order.
    """
    sums = []
    for read in map_items(_read_file, [settings], names):
        if isinstance(read, PodiumError):  # the first in the order of the files
            raise read
        one, n_bytes = read
        sums.append(one)
        if progress is not None:
            progress(n_bytes)
    n_files = Counter(qid for one in sums for qid in set(one.query_ids()))
    shared = frozenset(qid for qid, n in n_files.items() if n > 1)
    if len(shared) > MAX_SHARED * len(n_files):
        return None
    return _read_shared_lists(names, settings, sums, shared) if shared else LogSums.join(sums)


def _read_shared_lists(
    names: Sequence[str], settings: UbiSettings, sums: Sequence[LogSums], shared: frozenset[str]
) -> LogSums:
    """Return all sums; files with shared lists are read again, without the lines of these lists."""
    again = [i for i, one in enumerate(sums) if not shared.isdisjoint(one.query_ids())]
    joined, reader = list(sums), settings.reader()
    split = map_items(_split_file, [settings, shared], [names[i] for i in again])
    for i, (own, lines) in zip(again, split, strict=True):
        joined[i] = own
        reader.start(names[i])
        reader.feed(lines)
    return LogSums.join([*joined, reader.sums()])


def read_lines(name: str) -> Iterator[tuple[list[str | None], int]]:
    """Yield the lines of a file in blocks with their bytes; None is a line that is not UTF-8."""
    for text in read_blocks(name):
        yield _lines(text.tobytes()), len(text)


def _read_file(settings: UbiSettings, name: str) -> tuple[LogSums, int] | PodiumError:
    """Return the sums of a file and its bytes of text, or its first error; a worker does so."""
    reader, n_bytes = settings.reader(), 0
    reader.start(name)
    try:
        for lines, n in read_lines(name):
            reader.feed(lines)
            n_bytes += n
    except PodiumError as error:
        return error
    return reader.sums(), n_bytes


def _split_file(
    settings: UbiSettings, shared: AbstractSet[str], name: str
) -> tuple[LogSums, list[str]]:
    """Return the sums of the other lines of a file, and the lines of the shared lists; a worker does so."""
    reader, others = settings.reader(), list[str]()
    reader.start(name)
    reader.feed(
        _leave_out(shared, (line for lines, _ in read_lines(name) for line in lines), others)
    )
    return reader.sums(), others


def _leave_out(
    shared: AbstractSet[str], lines: Iterable[str | None], others: list[str]
) -> Iterator[str | None]:
    """Yield the lines that do not belong to shared lists, and add the others to `others`.

    An action line of the bulk form goes with the record after it.
    """
    action: str | None = None
    for line in lines:
        record = _record_of(line)
        if action is None and _is_action(record):
            action = line
            continue
        if line is not None and _query_id(record, action is not None) in shared:
            others += [line] if action is None else [action, line]
        else:
            if action is not None:
                yield action
            yield line
        action = None
    if action is not None:
        yield action


def _record_of(line: str | None) -> dict[str, Any]:
    """Return the record on a line, or none."""
    try:
        record = json.loads(line or "{}")
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _is_action(record: Mapping[str, Any]) -> bool:
    """Whether a record is an action line of the bulk form."""
    return len(record) == 1 and any(type(record.get(name)) is dict for name in ACTION_LINES)


def _query_id(record: Mapping[str, Any], has_action: bool) -> str | None:
    """Return the id of the list that a record belongs to, as `UbiReader` takes it."""
    source = record.get("_source")
    is_hit = record.get("action_name") is None and not has_action and type(source) is dict
    return identifier_of((source if is_hit else record).get("query_id"))  # type: ignore[union-attr]


def _lines(text: bytes) -> list[str | None]:
    """Return the lines of a block; None for a line that is not UTF-8."""
    try:
        lines: list[str | None] = [*text.decode().split("\n")]
    except UnicodeDecodeError:
        lines = [_decode(line) for line in text.split(b"\n")]
    if lines[-1] == "":  # a block ends with a line end
        del lines[-1]
    return lines


def _decode(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None
