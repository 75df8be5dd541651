"""Place windows: each document gets a place within its window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.typing import Rows


def fill_windows(
    scores: NDArray[np.float64], rows: Rows, first: Rows, last: Rows
) -> tuple[Rows, float]:
    """Fill places 1..n in turn with the best document that may stand there and leaves room for the rest.

    Documents 0..n-1 are best first; `rows` (ascending) have windows first..last, the others may stand
    anywhere. A run of places p..d is tight if as many documents must stand in it as it has places: then
    the next document is one of them, otherwise the best of all (Hall's condition; Glover, Maximum
    matching in a convex bipartite graph, 1967). The order is the cheapest one if no window limits the
    first place, or no window limits the last place. Returns the place of each of the rows, and
    sum_p p s(document at p). If there is no room, the sum is infinity and all places are 0.
    """
    n, m = len(scores), len(rows)
    free = np.setdiff1d(np.arange(n), rows).tolist()[::-1]
    names, opens, closes = rows.tolist(), first.tolist(), np.minimum(last, n).tolist()
    place = np.zeros(m, dtype=np.int64)
    waiting = list(range(m))
    cost = 0.0
    for p in range(1, n + 1):
        tight = _tight([closes[i] for i in waiting if closes[i] < n], p, n)
        if tight < p:
            return np.zeros_like(rows), np.inf
        best = next((i for i in waiting if opens[i] <= p and closes[i] <= tight), None)
        if best is not None and (tight < n or not free or names[best] < free[-1]):
            place[best] = p
            waiting.remove(best)
            row = names[best]
        elif free and tight == n:
            row = free.pop()
        else:
            return np.zeros_like(rows), np.inf
        cost += p * float(scores[row])
    return place, cost


def _tight(closes: list[int], p: int, n: int) -> int:
    """Return the first d such that p..d is tight; n if there is none, 0 if there is no room."""
    for m, d in enumerate(sorted(closes), start=1):
        if m > d - p + 1:
            return 0
        if m == d - p + 1:
            return d
    return n
