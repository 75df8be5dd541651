"""Open lists: lists that may get more events, in a window of bounded size."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import asdict
from math import nan
from typing import Any

import numpy as np

from podium.data import Strings
from podium.feedback.actions import KIND_CODES
from podium.feedback.dwell_time import EventColumns
from podium.feedback.list_sums import ListSums, StringCodes, add_up, combine
from podium.typing import Floats, Ints

_SEARCH = KIND_CODES["search"]

ListTables = tuple[dict[int, str], dict[int, str]]
"""Values of lists by their number: from query records, and from events."""


class OpenLists:
    """The events of open lists as columns.

    A new list is young. After every `half` events, the old lists are done and the young lists
    become old. So a list stays open for at least `half` events after its first, and at most twice
    as many events are in memory.
    """

    def __init__(self, half: int, closed_within: float, counts: Counter[str]) -> None:
        self.half, self.closed_within, self.counts = half, closed_within, counts
        self.done: list[ListSums] = []
        # Hashes have 64 bits, so two different events in a window hardly ever have the same hash.
        self.recent_keys: set[int] = set()
        self.older_keys: set[int] = set()
        self.lists: dict[str, int] = {}
        self.query_time: list[float] = []
        self.has_record: list[bool] = []
        self.texts: ListTables = ({}, {})
        self.classes: ListTables = ({}, {})
        self.conflicts: set[int] = set()
        self._open({})

    def _open(self, docs: dict[str, int]) -> None:
        self.docs, self.n_old, self.room = docs, len(self.lists), self.half
        self.list_code, self.doc, self.kind = array("q"), array("q"), array("b")
        self.ordinal, self.time, self.dwell = array("d"), array("d"), array("d")

    def is_duplicate(self, key: int) -> bool:
        """Return whether the window already has a record with this key; remember the key."""
        if key in self.recent_keys or key in self.older_keys:
            return True
        self.recent_keys.add(key)
        return False

    def code(self, query_id: str) -> int:
        """Return the number of a list; open the list if it is new."""
        code = self.lists.get(query_id)
        if code is None:
            code = self.lists[query_id] = len(self.lists)
            self.query_time.append(nan)
            self.has_record.append(False)
        return code

    def event(
        self, query_id: str, key: int | None, document: str | None, kind: int, ordinal: float,
        time: float, dwell: float,
    ) -> int:  # fmt: skip
        """Add an event on a document or a list; return the number of its list, -1 for a duplicate."""
        if key is not None:
            if key in self.recent_keys or key in self.older_keys:
                return -1
            self.recent_keys.add(key)
        code = self.lists.get(query_id)
        if code is None:
            code = self.code(query_id)
        self.room -= 1
        if kind != _SEARCH:
            self.add(code, document, kind, ordinal, time, dwell)
        return code

    def add(
        self, code: int, document: str | None, kind: int, ordinal: float, time: float, dwell: float
    ) -> None:
        """Add a row to the columns."""
        docs = self.docs
        self.list_code.append(code)
        self.doc.append(-1 if document is None else docs.setdefault(document, len(docs)))
        self.kind.append(kind)
        self.ordinal.append(ordinal)
        self.time.append(time)
        self.dwell.append(dwell)

    def describe(self, code: int, text: str | None, user_class: str | None, record: bool) -> None:
        """Add the text and the user class that a query record or an event names for its list."""
        for tables, value in ((self.texts, text), (self.classes, user_class)):
            if value is not None:
                table = tables[0 if record else 1]
                before = table.setdefault(code, value)
                if before != value:
                    table[code] = min(before, value)
                    if tables is self.classes:
                        self.conflicts.add(code)

    def query(self, code: int, time: float) -> None:
        """Add the time of a query record."""
        self.has_record[code] = True
        before = self.query_time[code]
        if not before <= time:  # the earliest time; any time replaces NaN
            self.query_time[code] = before if time != time else time

    def make_room(self) -> None:
        """Finish the old lists if the window is full; the young lists become old."""
        if self.room > 0:
            return
        events, names = self._events(), list(self.docs)
        if self.n_old:
            list_sums, counts = self._sum_first_lists(self.n_old, events, names)
            self.done.append(list_sums)
            self.counts.update(counts)
            self._combine_done()
        still_open = events.take(events.list_code >= self.n_old)
        used = np.unique(still_open.doc[still_open.doc >= 0])
        number = np.full(len(names) + 1, -1, dtype=np.int64)  # the last one means no document
        number[used] = np.arange(len(used))
        self.lists = {q: c - self.n_old for q, c in self.lists.items() if c >= self.n_old}
        self.query_time, self.has_record = (
            self.query_time[self.n_old :],
            self.has_record[self.n_old :],
        )
        self.texts = self._renumber(self.texts)
        self.classes = self._renumber(self.classes)
        self.conflicts = {c - self.n_old for c in self.conflicts if c >= self.n_old}
        shift = self.n_old
        self._open({names[d]: i for i, d in enumerate(used.tolist())})
        self.list_code.frombytes((still_open.list_code - shift).tobytes())
        self.doc.frombytes(number[still_open.doc].tobytes())
        self.kind.frombytes(still_open.kind.astype(np.int8).tobytes())
        for column, values in (
            (self.ordinal, still_open.ordinal), (self.time, still_open.time), (self.dwell, still_open.dwell),
        ):  # fmt: skip
            column.frombytes(values.tobytes())
        self.recent_keys, self.older_keys = set(), self.recent_keys

    def _renumber(self, tables: ListTables) -> ListTables:
        """Return the values of lists that stay open, by their new numbers."""
        records, events = (
            {c - self.n_old: v for c, v in t.items() if c >= self.n_old} for t in tables
        )
        return records, events

    def _combine_done(self) -> None:
        """Combine the parts of finished lists before there are too many parts."""
        first, *more = [part.groups.n_rows + len(part.groups) for part in self.done] or [0]
        if sum(more) > first + 2 * self.half:
            combined = combine(self.done)
            parts = sum(len(part.groups) for part in self.done)
            self.counts["split_lists"] += parts - len(combined.groups)
            self.done = [combined]

    def all_sums(self) -> tuple[list[ListSums], Counter[str]]:
        """Return the sums of all lists, including open ones, and the counts of the open ones."""
        if not self.lists:
            return self.done, Counter()
        list_sums, counts = self._sum_first_lists(len(self.lists), self._events(), list(self.docs))
        return [*self.done, list_sums], counts

    def _events(self) -> EventColumns:
        return EventColumns(
            np.array(self.list_code, dtype=np.int64), np.array(self.doc, dtype=np.int64),
            np.array(self.kind, dtype=np.int64), np.array(self.ordinal, dtype=np.float64),
            np.array(self.time, dtype=np.float64), np.array(self.dwell, dtype=np.float64),
        )  # fmt: skip

    def _sum_first_lists(
        self, n: int, events: EventColumns, names: list[str]
    ) -> tuple[ListSums, Counter[str]]:
        """Return the sums of the first n lists, and counts of what was wrong with their events."""
        own = events.take(events.list_code < n)
        times: Floats = np.array(self.query_time[:n])
        groups, docs, sums, places, returns, clock_errors = add_up(
            own, n, times, self.closed_within
        )
        counts = Counter(asdict(clock_errors))
        counts["class_conflicts"] = sum(code < n for code in self.conflicts)
        texts, classes = (
            StringCodes.of([_readable(t[0].get(c, t[1].get(c))) for c in range(n)])
            for t in (self.texts, self.classes)
        )
        query_ids = [_readable(q) for q, code in self.lists.items() if code < n]
        list_sums = ListSums(
            Strings.of(query_ids), texts, classes, np.array(self.has_record[:n], dtype=bool), returns,
            groups, _documents(names, docs), sums, places,
        )  # fmt: skip
        return list_sums, counts


def _documents(names: list[str], codes: Ints) -> StringCodes:
    """Convert codes of all documents of the window to codes of the documents that occur."""
    used, inverse = np.unique(codes, return_inverse=True)
    column = StringCodes.of([_readable(names[d]) for d in used.tolist()])
    return StringCodes(column.table, column.codes[inverse.reshape(-1)])


def _readable(text: str | None) -> Any:
    """Return text that UTF-8 can encode: JSON can contain half of a surrogate pair, UTF-8 cannot."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()
