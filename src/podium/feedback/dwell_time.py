"""Dwell time: the seconds that a document was open, and when it counts as closed at once (mu_8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.feedback.actions import KIND_CODES
from podium.typing import Bools, Floats, Ints

CLOSED_WITHIN_SECONDS = 5.0
"""A document that is closed within this many seconds counts as closed at once (mu_8)."""
LONGEST_DWELL_SECONDS = 1e12
"""The longest dwell time in seconds; longer times are errors, and their sums could be infinite."""


@dataclass(frozen=True, eq=False)
class EventColumns:
    """Events on documents as columns: list, document (-1 for none), kind, position, time, dwell time."""

    list_code: Ints
    doc: Ints
    kind: Ints
    ordinal: Floats
    time: Floats
    dwell: Floats

    def take(self, rows: Ints | Bools) -> EventColumns:
        """Return the events of these rows."""
        return EventColumns(
            self.list_code[rows], self.doc[rows], self.kind[rows], self.ordinal[rows],
            self.time[rows], self.dwell[rows],
        )  # fmt: skip


def dwell_times(e: EventColumns, row: Ints) -> tuple[Floats, int, int]:
    """Return the dwell time of each event in seconds, and the number of exits before and without a view.

    The dwell time of a document belongs to one event: its exit, or a view without a later exit. All
    other events have NaN. An exit may state its dwell time. Otherwise it is the time since the last
    click or view after the previous exit, or without times, the dwell time that this view states.
    """
    dwell = np.full(len(row), np.nan)
    r = np.flatnonzero(
        np.isin(e.kind, (KIND_CODES["click"], KIND_CODES["view"], KIND_CODES["exit"]))
    )
    if len(r) == 0:
        return dwell, 0, 0
    r = r[_event_order(e.kind[r] == KIND_CODES["exit"], row[r], e.time[r])]
    same = row[r][1:] == row[r][:-1]
    leaves = e.kind[r] == KIND_CODES["exit"]
    follows_opening = np.concatenate([[False], same & ~leaves[:-1]])
    precedes_opening = np.concatenate([same & ~leaves[1:], [False]])
    precedes_exit = np.concatenate([same & leaves[1:], [False]])
    elapsed = np.diff(e.time[r], prepend=np.nan)
    elapsed = np.where(np.abs(elapsed) <= LONGEST_DWELL_SECONDS, elapsed, np.nan)
    since: Floats = np.round(elapsed, 6).astype(
        np.float64
    )  # clocks have a resolution of microseconds
    stated = e.dwell[r]
    view_dwell = np.concatenate([[np.nan], stated[:-1]])
    paired = np.where(follows_opening, np.where(np.isnan(since), view_dwell, since), np.nan)
    exit_dwell = np.where(leaves, np.where(np.isnan(stated), paired, stated), np.nan)
    views = (e.kind[r] == KIND_CODES["view"]) & ~precedes_exit
    dwell[r] = np.where(views, stated, exit_dwell)
    is_unopened = leaves & ~follows_opening
    n_before = int((is_unopened & precedes_opening).sum())
    n_without = int((leaves & ~(is_unopened & precedes_opening) & np.isnan(exit_dwell)).sum())
    return dwell, n_before, n_without


def _event_order(leaves: Bools, row: Ints, time: Floats) -> Ints:
    """Return clicks, views and exits by time; at equal times, exits come first if a document is open."""
    starts = np.ones(len(row), dtype=bool)
    starts[1:] = (row[1:] != row[:-1]) | (time[1:] != time[:-1])
    moment, first = np.cumsum(starts) - 1, np.flatnonzero(starts)
    opens = np.logical_or.reduceat(~leaves, first)
    has_both = opens & np.logical_or.reduceat(leaves, first)
    # A moment with both kinds does not change whether a document is open; the last moment with only
    # one kind decides.
    last = np.maximum.accumulate(np.where(has_both, -1, np.arange(len(first))))
    last = np.concatenate([[-1], last[:-1]])
    was_open = (last >= 0) & (row[first][last] == row[first]) & opens[last]
    return np.lexsort((leaves ^ was_open[moment], moment))
