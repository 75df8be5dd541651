"""Sums of events, one row per list and document, from which the eight factors are computed.

The order of events does not matter, and the sums of several parts of a log add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.data import Groups, Strings
from podium.feedback.actions import KIND_CODES
from podium.feedback.dwell_time import EventColumns, dwell_times
from podium.typing import Bools, Floats, Ints

SUMS = (
    "shown",
    "clicks",
    "bookmarks",
    "dwell",
    "downloads",
    "shares",
    "back",
    "closed",
    "openings",
)
"""The columns of sums; dwell is in seconds, and openings is the number of its dwell times."""

PLACES = ("seen_at", "hit_at", "used_at")
"""The positions of a document by impressions, by query records and by other events; infinite if
there is none. The first finite one is the document's position; if there are several of one kind,
the best counts."""

_SUM = {name: j for j, name in enumerate(SUMS)}
_COUNTED = {"impression": "shown", "click": "clicks", "bookmark": "bookmarks",
            "download": "downloads", "share": "shares", "back": "back"}  # fmt: skip
_PLACED = {"impression": 0, "hit": 1, "click": 2, "bookmark": 2, "download": 2, "share": 2,
           "back": 2, "view": 2, "exit": 2}  # fmt: skip
_PLACE_OF = np.array([_PLACED.get(kind, -1) for kind in KIND_CODES])


@dataclass(frozen=True)
class StringCodes:
    """A column of strings as codes into a sorted table; -1 is None."""

    table: tuple[str, ...]
    codes: Ints

    @classmethod
    def of(cls, values: Sequence[str | None]) -> StringCodes:
        """Return the codes of strings.

        Examples
        --------
        >>> StringCodes.of(["b", None, "a", "b"])
        StringCodes(table=('a', 'b'), codes=array([ 1, -1,  0,  1]))
        """
        table = tuple(sorted({v for v in values if v is not None}))
        number = {value: code for code, value in enumerate(table)}
        codes = [-1 if v is None else number[v] for v in values]
        return cls(table, np.array(codes, dtype=np.int64))

    @classmethod
    def concatenate(cls, columns: Sequence[StringCodes]) -> StringCodes:
        """Return columns one after another, with one table."""
        table = tuple(sorted({value for column in columns for value in column.table}))
        number = {value: code for code, value in enumerate(table)}
        maps = [np.array([number[v] for v in c.table] + [-1], dtype=np.int64) for c in columns]
        parts = [m[c.codes] for m, c in zip(maps, columns, strict=True)]
        return cls(table, np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64))

    def take(self, rows: Ints) -> StringCodes:
        """Return the codes of these rows."""
        return StringCodes(self.table, self.codes[rows])

    def to_array(self) -> NDArray[np.object_]:
        """Return strings and None."""
        return np.array([*self.table, None], dtype=object)[self.codes]


@dataclass(frozen=True, eq=False)
class ListSums:
    """Lists with their documents, and the sums of the events on them.

    `has_record` says which lists have a query record. `returns` counts returns to a list that do
    not name a document. Rows of `sums` and `places` are documents, grouped by list.
    """

    query_ids: Strings
    text: StringCodes
    user_class: StringCodes
    has_record: Bools
    returns: Floats
    groups: Groups
    docs: StringCodes
    sums: Floats
    places: Floats

    def __getitem__(self, column: str) -> Floats:
        """Return a column of sums."""
        return self.sums[:, _SUM[column]]

    @property
    def positions(self) -> Floats:
        """The position of each document in its list, or NaN; it counts from 0 or from 1, like its events."""
        places = self.places.copy()
        places[self.groups.spread(self._from_zero), 1] -= 1  # query records count from 1
        finite = np.isfinite(places)
        first = np.take_along_axis(places, np.argmax(finite, axis=1)[:, None], axis=1)[:, 0]
        return np.where(np.isfinite(first), first, np.nan)

    @property
    def ranks(self) -> Ints:
        """The position of each document from 1; a document without one has its place in the list."""
        ranks = self.positions + self.groups.spread(self._from_zero)
        return np.where(np.isnan(ranks), self.groups.places + 1, ranks).astype(np.int64)

    @property
    def _from_zero(self) -> Bools:
        """Which lists have events that count from 0: one has position 0, or all are one below the record."""
        impression_place, hit, used = self.places.T
        zero = (impression_place == 0) | (used == 0)
        has_both_places = np.isfinite(impression_place) & np.isfinite(hit)
        is_one_behind = has_both_places & (impression_place == hit - 1)
        has_behind, has_other, any_zero = (
            self.groups.reduce(np.logical_or, rows).astype(bool)
            for rows in (is_one_behind, has_both_places & ~is_one_behind, zero)
        )
        return np.asarray(any_zero | (has_behind & ~has_other))

    @property
    def ignored(self) -> Bools:
        """Which documents are ignored: they stand above a clicked document and were not used."""
        positions = self.positions
        clicked = np.where(self["clicks"] > 0, positions, -np.inf)
        lowest = self.groups.reduce(np.fmax, clicked, empty=-np.inf)
        used = self.sums[
            :, [_SUM[c] for c in ("clicks", "bookmarks", "downloads", "shares", "openings")]
        ]
        return (positions < self.groups.spread(lowest)) & ~used.any(axis=1)

    def take(self, lists: Ints) -> ListSums:
        """Return the sums of these lists."""
        groups, rows = self.groups.take(lists)
        return ListSums(
            self.query_ids.take(lists), self.text.take(lists), self.user_class.take(lists),
            self.has_record[lists], self.returns[lists], groups, self.docs.take(rows),
            self.sums[rows], self.places[rows],
        )  # fmt: skip

    def presented(self) -> ListSums:
        """Return the lists with only the documents that had an impression, without empty lists.

        Lists without any impressions keep all their documents.
        """
        has_impression = self["shown"] > 0
        used = np.isfinite(self.places[:, 2]) | (self.sums[:, 1:] > 0).any(axis=1)
        list_has_impressions = self.groups.spread(
            self.groups.reduce(np.logical_or, has_impression).astype(bool)
        )
        is_presented = has_impression | used | ~list_has_impressions
        sizes = np.bincount(self.groups.codes[is_presented], minlength=len(self.groups))
        list_sums = ListSums(
            self.query_ids, self.text, self.user_class, self.has_record, self.returns,
            Groups.from_sizes(sizes), self.docs.take(np.flatnonzero(is_presented)), self.sums[is_presented],
            self.places[is_presented],
        )  # fmt: skip
        return list_sums.take(np.flatnonzero(sizes))


@dataclass(frozen=True)
class ClockErrors:
    """Counts of events in an impossible order: clocks differ, or events are missing."""

    before_query: int
    exit_before_view: int
    exit_without_view: int


def add_up(
    events: EventColumns, n_lists: int, query_time: Floats, closed_within: float
) -> tuple[Groups, Ints, Floats, Floats, Floats, ClockErrors]:
    """Add up events: groups of documents, their codes, sums, places, the lists' returns, clock errors."""
    on_list = events.doc < 0
    returns = np.bincount(events.list_code[on_list], minlength=n_lists).astype(np.float64)
    n_before_query = int((events.time < query_time[events.list_code]).sum())
    e = events.take(~on_list)
    # Sort by every column, so that the order in the log does not change even the rounding of sums.
    order = np.lexsort((e.ordinal, e.dwell, e.kind, e.time, e.doc, e.list_code))
    e = e.take(order)
    starts = np.ones(len(e.doc), dtype=bool)
    starts[1:] = (e.doc[1:] != e.doc[:-1]) | (e.list_code[1:] != e.list_code[:-1])
    row = np.cumsum(starts) - 1
    n = int(starts.sum())
    sums = np.zeros((n, len(SUMS)))
    for kind, column in _COUNTED.items():
        sums[:, _SUM[column]] = np.bincount(row[e.kind == KIND_CODES[kind]], minlength=n)
    places = np.full((n, len(PLACES)), np.inf)
    for place in range(len(PLACES)):
        own = (_PLACE_OF[e.kind] == place) & np.isfinite(e.ordinal)
        np.minimum.at(places[:, place], row[own], e.ordinal[own])
    dwell, exit_before, exit_without = dwell_times(e, row)
    has_dwell = np.isfinite(dwell)
    sums[:, _SUM["dwell"]] = np.bincount(row[has_dwell], dwell[has_dwell], minlength=n)
    sums[:, _SUM["openings"]] = np.bincount(row[has_dwell], minlength=n)
    sums[:, _SUM["closed"]] = np.bincount(row[dwell <= closed_within], minlength=n)
    groups = Groups.from_sizes(np.bincount(e.list_code[starts], minlength=n_lists))
    return (
        groups,
        e.doc[starts],
        sums,
        places,
        returns,
        ClockErrors(n_before_query, exit_before, exit_without),
    )


def combine(parts: Sequence[ListSums]) -> ListSums:
    """Combine parts: lists by query id, documents by position; the parts of a list are added up."""
    ids = [query_id for part in parts for query_id in part.query_ids]
    lists = StringCodes.of(ids)
    n = len(lists.table)
    text = _first_value(lists.codes, StringCodes.concatenate([p.text for p in parts]), parts, n)
    user_class = _first_value(
        lists.codes, StringCodes.concatenate([p.user_class for p in parts]), parts, n
    )
    has_record = np.zeros(n, dtype=bool)
    has_record[lists.codes[np.concatenate([p.has_record for p in parts])]] = True
    returns = np.zeros(n)
    np.add.at(returns, lists.codes, np.concatenate([p.returns for p in parts]))
    starts = np.cumsum([0] + [len(p.groups) for p in parts])
    list_codes = np.concatenate(
        [lists.codes[p.groups.codes + s] for p, s in zip(parts, starts, strict=False)]
    )
    docs = StringCodes.concatenate([p.docs for p in parts])
    order = np.lexsort((docs.codes, list_codes))
    list_codes, doc = list_codes[order], docs.codes[order]
    first = np.ones(len(doc), dtype=bool)
    first[1:] = (doc[1:] != doc[:-1]) | (list_codes[1:] != list_codes[:-1])
    rows = Groups(np.append(np.flatnonzero(first), len(doc)))
    sums = rows.reduce(np.add, np.concatenate([p.sums for p in parts])[order])
    places = rows.reduce(np.minimum, np.concatenate([p.places for p in parts])[order])
    groups = Groups.from_sizes(np.bincount(list_codes[first], minlength=n))
    list_sums = ListSums(
        Strings.of(lists.table), text, user_class, has_record, returns, groups,
        StringCodes(docs.table, doc[first]), sums.reshape(-1, len(SUMS)), places.reshape(-1, len(PLACES)),
    )  # fmt: skip
    placed = np.lexsort(
        (list_sums.docs.codes, np.nan_to_num(list_sums.positions, nan=np.inf), groups.codes)
    )
    return ListSums(
        list_sums.query_ids, text, user_class, has_record, returns, groups, list_sums.docs.take(placed),
        list_sums.sums[placed], list_sums.places[placed],
    )  # fmt: skip


def _first_value(
    lists: Ints, column: StringCodes, parts: Sequence[ListSums], n: int
) -> StringCodes:
    """Return one value per list: that of a query record, otherwise the first in alphabetical order."""
    has_record = np.concatenate([p.has_record for p in parts])
    most = len(column.table)
    rank = np.where(column.codes < 0, 2 * most + 1, column.codes + np.where(has_record, 0, most))
    best = np.full(n, 2 * most + 1)
    np.minimum.at(best, lists, rank)
    return StringCodes(column.table, np.where(best > 2 * most, -1, best % max(most, 1)))
