"""Tables of FA*IR: how many protected documents each prefix of a fair list has at least."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from podium.typing import Floats
from podium.work_budget import spend

ShareTable = tuple[int, ...]
"""The smallest number of protected documents in the first 1, 2, ..., k places."""


def least_counts(k: int, share: float, significance: float) -> ShareTable:
    """Return m(i) for i = 1..k: a binomial count of i draws has F(m(i); i, share) > significance.

    Zehlike et al., *FA\\*IR: A fair top-k ranking algorithm*, CIKM 2017, section 3.1: a prefix passes
    if so few protected documents are not significantly too few.

    Examples
    --------
    >>> least_counts(10, 0.5, 0.1)
    (0, 0, 0, 1, 1, 1, 2, 2, 3, 3)
    """
    return tuple(
        int(np.searchsorted(row[: i + 1], significance, side="right"))
        for i, row in enumerate(_distribution(k, share)[1:], start=1)
    )


def failure_probability(table: ShareTable, share: float) -> float:
    """Return the probability that fair draws fail a table in some prefix (Zehlike et al., section 4.3).

    Examples
    --------
    >>> round(failure_probability((0, 0, 0, 0, 0, 0, 0, 0, 1, 1), 0.2), 6)  # 0.8 ** 9
    0.134218
    """
    passing = np.zeros(len(table) + 1)
    passing[0] = 1.0
    for least in table:
        passing[1:] = passing[1:] * (1 - share) + passing[:-1] * share
        passing[0] *= 1 - share
        passing[:least] = 0.0
    return float(1 - passing.sum())


@lru_cache(maxsize=100)
def corrected_counts(k: int, share: float, significance: float) -> ShareTable:
    """Return the table whose probability to fail fair draws is nearest to the significance.

    A list is tested in k prefixes, so the plain table fails too many fair lists. The corrected one
    is the table of a smaller significance. Tables change only where the distribution function has a
    value, so all of them are compared.

    Examples
    --------
    >>> corrected_counts(20, 0.25, 0.1)
    (0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2)
    """
    spend(k * k)
    values = _distribution(k, share)[1:]
    inside = values[(values > 0) & (values <= significance)]
    levels = [0.0, *np.unique(inside).tolist()]

    def failure(level: float) -> float:
        spend(4 * k)
        return failure_probability(least_counts(k, share, level), share)

    # More is asked at each level, so the probability rises.
    crossing = bisect_left(range(len(levels)), significance, key=lambda at: failure(levels[at]))
    near = levels[max(crossing - 1, 0) : crossing + 1]
    best = min(near, key=lambda level: abs(failure(level) - significance))
    return least_counts(k, share, best)


@lru_cache(maxsize=20)
def _distribution(k: int, share: float) -> NDArray[np.float64]:
    """Return F(m; i, share) for i = 0..k in rows and m = 0..k in columns."""
    mass = np.zeros((k + 1, k + 1))
    mass[0, 0] = 1.0
    for i in range(1, k + 1):
        mass[i] = mass[i - 1] * (1 - share)
        mass[i, 1:] += mass[i - 1, :-1] * share
    return np.cumsum(mass, axis=1)


def exposures(k: int) -> Floats:
    """Return the exposure of the places 1..k: 1 / log2(1 + place), the discount of NDCG.

    Examples
    --------
    >>> exposures(3).round(3).tolist()
    [1.0, 0.631, 0.5]
    """
    return 1 / np.log2(np.arange(2, k + 2))


def places_for_exposure(places: list[int], n: int, k: int, least: float) -> list[int]:
    """Return places of a group, moved up so that it has this share of the exposure of the top k.

    Each step moves a document of the group past the documents above it up to the next of its group,
    or part of the way, where a place moved gains the most. If no places are enough, the group gets
    the first ones.

    Examples
    --------
    >>> places_for_exposure([4, 5], 6, 4, 0.4)
    [1, 4]
    """
    value = np.concatenate([[0.0], exposures(k), np.zeros(max(n - k, 0))])
    target = least * float(value.sum()) - 1e-12
    places = sorted(places)
    have = float(value[places].sum())
    while have < target:
        best: tuple[float, int, int] | None = None
        spend(n)
        for at, place in enumerate(places):
            previous = places[at - 1] if at else 0
            for to in range(previous + 1, place):
                gain = float(value[to] - value[place]) / (place - to)
                if best is None or gain > best[0] + 1e-15:
                    best = gain, at, to
        if best is None:
            break
        _, at, to = best
        have += float(value[to] - value[places[at]])
        places[at] = to
    return places


def running_targets(counts: ShareTable, available: int) -> list[int]:
    """Return the place by which the first, second, ... of a group must stand.

    Examples
    --------
    >>> running_targets((0, 1, 1, 2, 3), 2)
    [2, 4]
    """
    rising = list(accumulate(counts, max))
    most = min(rising[-1] if rising else 0, available)
    return [bisect_left(rising, j) + 1 for j in range(1, most + 1)]
