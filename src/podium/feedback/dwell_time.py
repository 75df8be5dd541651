"""Dwell time: the seconds that a document was open, from clicks, views and exits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.feedback.actions import KIND

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LONGEST_DWELL_SECONDS = 1e12
"""Seconds of an opening; what is longer is no time, and sums of it would be infinite."""


@dataclass(frozen=True, eq=False)
class EventColumns:
    """Events on documents as columns: list, document (-1: none), kind, ordinal, seconds, dwell."""

    list_code: Ints
    doc: Ints
    kind: Ints
    ordinal: Floats
    time: Floats
    dwell: Floats

    def take(self, rows: Ints | Bools) -> EventColumns:
        """These events."""
        return EventColumns(
            self.list_code[rows], self.doc[rows], self.kind[rows], self.ordinal[rows],
            self.time[rows], self.dwell[rows],
        )  # fmt: skip


def dwell_times(e: EventColumns, row: Ints) -> tuple[Floats, int, int]:
    """Return the seconds of each opening (NaN where no event says so), and exits before and without a view.

    An exit says so itself, or is paired with the last click or view since the exit before it; where
    their times are not known, a view may have said so. A view that says so counts where no exit follows.
    """
    dwell = np.full(len(row), np.nan)
    r = np.flatnonzero(np.isin(e.kind, (KIND["click"], KIND["view"], KIND["exit"])))
    if len(r) == 0:
        return dwell, 0, 0
    r = r[_in_turn(e.kind[r] == KIND["exit"], row[r], e.time[r])]
    same = row[r][1:] == row[r][:-1]
    leaves = e.kind[r] == KIND["exit"]
    follows_opening = np.concatenate([[False], same & ~leaves[:-1]])
    precedes_opening = np.concatenate([same & ~leaves[1:], [False]])
    precedes_exit = np.concatenate([same & leaves[1:], [False]])
    apart = np.diff(e.time[r], prepend=np.nan)
    apart = np.where(np.abs(apart) <= LONGEST_DWELL_SECONDS, apart, np.nan)
    since: Floats = np.round(apart, 6).astype(np.float64)  # clocks know microseconds
    stated = e.dwell[r]
    of_view = np.concatenate([[np.nan], stated[:-1]])
    paired = np.where(follows_opening, np.where(np.isnan(since), of_view, since), np.nan)
    of_exit = np.where(leaves, np.where(np.isnan(stated), paired, stated), np.nan)
    views = (e.kind[r] == KIND["view"]) & ~precedes_exit
    dwell[r] = np.where(views, stated, of_exit)
    alone = leaves & ~follows_opening
    before = int((alone & precedes_opening).sum())
    without = int((leaves & ~(alone & precedes_opening) & np.isnan(of_exit)).sum())
    return dwell, before, without


def _in_turn(leaves: Bools, row: Ints, time: Floats) -> Ints:
    """The order of openings and exits, sorted by time: exits first where a document is open by then."""
    starts = np.ones(len(row), dtype=bool)
    starts[1:] = (row[1:] != row[:-1]) | (time[1:] != time[:-1])
    moment, first = np.cumsum(starts) - 1, np.flatnonzero(starts)
    opens = np.logical_or.reduceat(~leaves, first)
    both = opens & np.logical_or.reduceat(leaves, first)
    # A moment with both leaves a document as it was, open or not: the last one without tells.
    last = np.maximum.accumulate(np.where(both, -1, np.arange(len(first))))
    last = np.concatenate([[-1], last[:-1]])
    was_open = (last >= 0) & (row[first][last] == row[first]) & opens[last]
    return np.lexsort((leaves ^ was_open[moment], moment))
