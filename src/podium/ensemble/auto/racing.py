"""Racing by successive halving: each fold that is fitted halves the number of candidates.

Jamieson, Talwalkar, Non-stochastic best arm identification and hyperparameter optimization, 2016.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence

import numpy as np

from podium.ensemble.auto.candidates import Candidate, Family
from podium.ensemble.auto.search_progress import interval
from podium.metrics.query_mean import mean_over_queries
from podium.typing import Floats

HALVING = 2
"""Each rung keeps one candidate of this many."""
MAX_FINALISTS = 10
"""At most this many candidates are fitted on all folds."""
N_PILOTS: Mapping[Family, int] = {
    "trees": 2, "symmetric trees": 2, "linear": 2, "stumps": 1, "network": 1
}  # fmt: skip
"""Candidates of a family that are fitted before the family may be left out."""
FAR_BEHIND = 0.03
"""A candidate whose metric is lower by more than this share of the best improves no combination."""


def rung_sizes(n_candidates: int, n_folds: int, n_finalists: int) -> list[int]:
    """Return how many candidates are fitted on each fold: n, n/2, n/4, ..., at least the finalists.

    Examples
    --------
    >>> rung_sizes(32, 5, 6)
    [32, 16, 8, 6, 6]
    """
    least = min(n_finalists, n_candidates)
    return [max(math.ceil(n_candidates / HALVING**fold), least) for fold in range(n_folds)]


def plan_race(n_candidates: int, n_folds: int, max_fits: int) -> tuple[int, int]:
    """Return how many candidates enter a race of at most `max_fits` fits, and how many finish it.

    Half of the fits, or fewer, are for the finalists.

    Examples
    --------
    >>> plan_race(60, 5, 200), sum(rung_sizes(60, 5, 10))
    ((60, 10), 125)
    >>> plan_race(60, 2, 6), sum(rung_sizes(4, 2, 2))
    ((4, 2), 6)
    """
    finalists = min(MAX_FINALISTS, n_candidates, max(1, max_fits // (2 * n_folds)))
    finalists = min(max(finalists, 2), max(1, max_fits // n_folds))
    n_racing = n_candidates
    while n_racing > 1 and sum(rung_sizes(n_racing, n_folds, finalists)) > max_fits:
        n_racing -= 1
    return n_racing, min(finalists, n_racing)


def whole_race(n_candidates: int, n_folds: int) -> int:
    """Return a number of fits with which every candidate enters the race.

    Examples
    --------
    >>> whole_race(60, 5), plan_race(60, 5, whole_race(60, 5))
    (125, (60, 10))
    """
    race = sum(rung_sizes(n_candidates, n_folds, MAX_FINALISTS))
    return max(race, 2 * n_folds * min(MAX_FINALISTS, n_candidates))


def far_behind(per_query: Mapping[int, Floats], weight: Floats | None = None) -> set[int]:
    """Return the candidates that are far behind the best one: gap - standard error > 3% of the best metric.

    The gap is the mean difference per query.

    Parameters
    ----------
    per_query
        The metric of each query by candidate, for the same queries.
    weight
        The weights of the queries.

    Examples
    --------
    >>> sorted(far_behind({0: np.full(4, 0.8), 1: np.full(4, 0.79), 2: np.full(4, 0.7)}))
    [2]
    """
    means = {number: mean_over_queries(values, weight) for number, values in per_query.items()}
    means = {number: mean for number, mean in means.items() if np.isfinite(mean)}
    if not means:
        return set()
    best = max(means, key=lambda number: (means[number], -number))
    weak = set()
    for number in means:
        gap, low, _ = interval(per_query[best] - per_query[number], weight)
        error = (gap - low) / 1.96
        if gap - error > FAR_BEHIND * means[best]:
            weak.add(number)
    return weak


def pilots(candidates: Sequence[Candidate], n_racing: int) -> list[int]:
    """Return the first candidates of each family, which show whether the family is worth more fits."""
    numbers = range(n_racing)
    of_family: dict[Family, list[int]] = {}
    for number in numbers:
        of_family.setdefault(candidates[number].family, []).append(number)
    first = {number for family, own in of_family.items() for number in own[: N_PILOTS[family]]}
    return [number for number in numbers if number in first]


def survivors(
    values: Mapping[int, float],
    candidates: Sequence[Candidate],
    size: int,
    weak: Container[int] = (),
) -> list[int]:
    """Return the candidates that stay in the race, best first.

    The best of each family stays unless it is far behind, because a combination needs members that
    differ. Such leaders take at most half of the places. The others are the best of all. Of equal values,
    the candidate that comes first wins.

    Parameters
    ----------
    values
        The mean metric of each candidate by its number.
    size
        How many stay.
    weak
        The candidates that are far behind.
    """
    order = sorted(values, key=lambda number: (-values[number], number))
    first_of_family = {candidates[number].family: number for number in reversed(order)}
    leading = {number for number in first_of_family.values() if number not in weak}
    leaders = [number for number in order if number in leading][: math.ceil(size / 2)]
    others = [number for number in order if number not in leaders]
    chosen = {*leaders, *others[: size - len(leaders)]}
    return [number for number in order if number in chosen]
