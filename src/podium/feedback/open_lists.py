"""Lists that are open: a few numbers for each of their events, until they are done."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import asdict
from math import nan
from typing import Any

import numpy as np

from podium.data import Strings
from podium.feedback.actions import KIND
from podium.feedback.dwell_time import EventColumns, Floats, Ints
from podium.feedback.list_sums import ListSums, StringCodes, add_up, combine

_SEARCH = KIND["search"]

ListTables = tuple[dict[int, str], dict[int, str]]
"""What query records, and what events, say of lists by their number."""


class OpenLists:
    """Events as columns, and what is known of their lists.

    Lists begin young. When `half` events have come, lists that were old are done and the young ones
    are old: so a list is open for at least `half` events after its first, and at most twice as many
    events are held.
    """

    def __init__(self, half: int, closed_within: float, counts: Counter[str]) -> None:
        self.half, self.closed_within, self.counts = half, closed_within, counts
        self.done: list[ListSums] = []
        # Hashes of 64 bits: even among a billion events none meets another's by chance.
        self.seen: set[int] = set()
        self.seen_before: set[int] = set()
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

    def came_before(self, key: int) -> bool:
        """Whether an event with this key came within the window; it is remembered."""
        if key in self.seen or key in self.seen_before:
            return True
        self.seen.add(key)
        return False

    def code(self, query_id: str) -> int:
        """The number of a list, open from now on."""
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
        """An event, on a document or on the list itself: the number of its list, -1 for a duplicate."""
        if key is not None:
            if key in self.seen or key in self.seen_before:
                return -1
            self.seen.add(key)
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
        """A row of the columns."""
        docs = self.docs
        self.list_code.append(code)
        self.doc.append(-1 if document is None else docs.setdefault(document, len(docs)))
        self.kind.append(kind)
        self.ordinal.append(ordinal)
        self.time.append(time)
        self.dwell.append(dwell)

    def describe(self, code: int, text: str | None, user_class: str | None, record: bool) -> None:
        """What a query record, or an event, says of its list."""
        for tables, value in ((self.texts, text), (self.classes, user_class)):
            if value is not None:
                table = tables[0 if record else 1]
                before = table.setdefault(code, value)
                if before != value:
                    table[code] = min(before, value)
                    if tables is self.classes:
                        self.conflicts.add(code)

    def query(self, code: int, time: float) -> None:
        """A query record came, made at this time."""
        self.has_record[code] = True
        before = self.query_time[code]
        if not before <= time:  # the first of several; NaN gives way
            self.query_time[code] = before if time != time else time

    def make_room(self) -> None:
        """Where the young lists have had their share of events, finish the old ones."""
        if self.room > 0:
            return
        events, names = self._events(), list(self.docs)
        if self.n_old:
            list_sums, counts = self._first(self.n_old, events, names)
            self.done.append(list_sums)
            self.counts.update(counts)
            self._put_together()
        kept = events.take(events.list_code >= self.n_old)
        used = np.unique(kept.doc[kept.doc >= 0])
        number = np.full(len(names) + 1, -1, dtype=np.int64)  # the last is that of no document
        number[used] = np.arange(len(used))
        self.lists = {q: c - self.n_old for q, c in self.lists.items() if c >= self.n_old}
        self.query_time, self.has_record = (
            self.query_time[self.n_old :],
            self.has_record[self.n_old :],
        )
        self.texts = self._kept(self.texts)
        self.classes = self._kept(self.classes)
        self.conflicts = {c - self.n_old for c in self.conflicts if c >= self.n_old}
        shift = self.n_old
        self._open({names[d]: i for i, d in enumerate(used.tolist())})
        self.list_code.frombytes((kept.list_code - shift).tobytes())
        self.doc.frombytes(number[kept.doc].tobytes())
        self.kind.frombytes(kept.kind.astype(np.int8).tobytes())
        for column, values in (
            (self.ordinal, kept.ordinal), (self.time, kept.time), (self.dwell, kept.dwell),
        ):  # fmt: skip
            column.frombytes(values.tobytes())
        self.seen, self.seen_before = set(), self.seen

    def _kept(self, tables: ListTables) -> ListTables:
        """What is said of lists that stay open, by their new number."""
        records, events = (
            {c - self.n_old: v for c, v in t.items() if c >= self.n_old} for t in tables
        )
        return records, events

    def _put_together(self) -> None:
        """Lists that go on and on leave part after part: add them up before they are many."""
        first, *more = [part.groups.n_rows + len(part.groups) for part in self.done] or [0]
        if sum(more) > first + 2 * self.half:
            whole = combine(self.done)
            parts = sum(len(part.groups) for part in self.done)
            self.counts["split_lists"] += parts - len(whole.groups)
            self.done = [whole]

    def all_sums(self) -> tuple[list[ListSums], Counter[str]]:
        """Lists that are done, and open ones as far as they go; with what was found in the latter."""
        if not self.lists:
            return self.done, Counter()
        list_sums, counts = self._first(len(self.lists), self._events(), list(self.docs))
        return [*self.done, list_sums], counts

    def _events(self) -> EventColumns:
        return EventColumns(
            np.array(self.list_code, dtype=np.int64), np.array(self.doc, dtype=np.int64),
            np.array(self.kind, dtype=np.int64), np.array(self.ordinal, dtype=np.float64),
            np.array(self.time, dtype=np.float64), np.array(self.dwell, dtype=np.float64),
        )  # fmt: skip

    def _first(
        self, n: int, events: EventColumns, names: list[str]
    ) -> tuple[ListSums, Counter[str]]:
        """The first n lists as rows of sums, and what was wrong with their events."""
        own = events.take(events.list_code < n)
        times: Floats = np.array(self.query_time[:n])
        groups, docs, sums, places, returns, skew = add_up(own, n, times, self.closed_within)
        counts = Counter(asdict(skew))
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
    """StringCodes into all documents of the window -> codes into those that occur, sorted."""
    used, inverse = np.unique(codes, return_inverse=True)
    column = StringCodes.of([_readable(names[d]) for d in used.tolist()])
    return StringCodes(column.table, column.codes[inverse.reshape(-1)])


def _readable(text: str | None) -> Any:
    """Text that can be written: JSON can escape halves of characters, which UTF-8 has not."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()
