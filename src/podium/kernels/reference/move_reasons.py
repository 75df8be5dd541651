"""Reasons why a document moved: its own, or those of the documents that passed it."""

from __future__ import annotations

import numpy as np

from podium.typing import Rows


def sets_of_movers(before: Rows, after: Rows, rows: Rows, own: Rows) -> Rows:
    """Return for each row the reasons of the movers that passed it, as bits; a mover has its own reasons.

    Row rows[i], a mover, went from place before[rows[i]] to after[rows[i]] for the reasons own[i], a set
    of up to 63 as bits. It passed the rows that went the other way and are now on its other side.
    """
    sets = np.zeros_like(before)
    step = after - before
    for row, reasons in zip(rows.tolist(), own.tolist(), strict=True):
        swapped = (before < before[row]) != (after < after[row])
        opposite = step > 0 if step[row] < 0 else step < 0
        sets[swapped & opposite] |= reasons
    sets[rows] = own
    return sets
