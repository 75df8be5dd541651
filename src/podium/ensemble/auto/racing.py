"""Racing by successive halving: each fold that is fitted halves the number of candidates.

Jamieson, Talwalkar, Non-stochastic best arm identification and hyperparameter optimization, 2016.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from podium.ensemble.auto.candidates import Candidate

HALVING = 2
"""Each rung keeps one candidate of this many."""
MAX_FINALISTS = 10
"""At most this many candidates are fitted on all folds."""


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
    entrants = n_candidates
    while entrants > 1 and sum(rung_sizes(entrants, n_folds, finalists)) > max_fits:
        entrants -= 1
    return entrants, min(finalists, entrants)


def whole_race(n_candidates: int, n_folds: int) -> int:
    """Return a number of fits with which every candidate enters the race.

    Examples
    --------
    >>> whole_race(60, 5), plan_race(60, 5, whole_race(60, 5))
    (125, (60, 10))
    """
    race = sum(rung_sizes(n_candidates, n_folds, MAX_FINALISTS))
    return max(race, 2 * n_folds * min(MAX_FINALISTS, n_candidates))


def survivors(values: Mapping[int, float], candidates: Sequence[Candidate], size: int) -> list[int]:
    """Return the candidates that stay in the race, best first.

    The best of each family stays as long as there is room, because a combination needs members that
    differ. The others are the best of all. Of equal values, the candidate that comes first wins.

    Parameters
    ----------
    values
        The mean metric of each candidate by its number.
    size
        How many stay.
    """
    order = sorted(values, key=lambda number: (-values[number], number))
    first_of_family = {candidates[number].family: number for number in reversed(order)}
    leaders = [number for number in order if number in first_of_family.values()][:size]
    others = [number for number in order if number not in leaders]
    chosen = {*leaders, *others[: size - len(leaders)]}
    return [number for number in order if number in chosen]
