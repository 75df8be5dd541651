"""Lists of optimised interleaving: all that two rankings allow, and how likely each is served."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import linprog

from podium.typing import Floats

CACHED_PAIRS = 4096
"""Pairs of rankings whose distribution is kept: they differ only in how the second orders the first."""


@dataclass(frozen=True, eq=False)
class ListDistribution:
    """Lists of documents by number, their cumulative probabilities, and the credit of each document."""

    lists: tuple[tuple[int, ...], ...]
    cumulative: tuple[float, ...]
    credits: tuple[float, ...]

    def choose(self, number: float) -> tuple[int, ...]:
        """Return the list at a number from 0 to 1."""
        at = bisect.bisect_right(self.cumulative, number * self.cumulative[-1])
        return self.lists[min(at, len(self.lists) - 1)]


@lru_cache(maxsize=CACHED_PAIRS)
def list_distribution(n_first: int, second: tuple[int, ...], length: int) -> ListDistribution:
    """Return the distribution over lists that is unbiased and the most sensitive.

    Each next document of an allowed list is the best one of either ranking that is not placed. The credit of
    a document is the difference of its inverse ranks, (1 / rank in the second - 1 / rank in the first) / H,
    where documents that a ranking lacks have the rank after its last, and H = 1 + 1/2 + ... + 1/length
    keeps the sum of credits between -1 and 1. The probabilities p maximise sum(p * sensitivity) such that
    the expected credit is 0 at each rank: clicks that do not look at documents prefer neither ranking. The
    sensitivity of a list is the entropy of the winner of a click at rank r, with probability
    in proportion to 1 / r, times the probability that there is a winner. Radlinski and Craswell, WSDM 2013.

    Parameters
    ----------
    n_first
        The first ranking is 0, 1, ..., n_first - 1.
    second
        The second ranking, with numbers from n_first on for documents that the first lacks.

    Examples
    --------
    >>> distribution = list_distribution(2, (1, 0), 2)
    >>> distribution.lists, distribution.cumulative
    (((0, 1), (1, 0)), (0.5, 1.0))
    """
    lists = allowed_lists(tuple(range(n_first)), second, length)
    credit = _credits(n_first, second, length)
    credits_by_rank = credit[np.array(lists, dtype=np.intp).reshape(len(lists), -1)]
    p = _probabilities(credits_by_rank)
    if p is None:  # no information, but no bias either
        return ListDistribution((lists[0],), (1.0,), (0.0,) * len(credit))
    positive = np.flatnonzero(p > 0)
    cumulative = np.cumsum(p[positive] / p.sum())
    return ListDistribution(
        tuple(lists[i] for i in positive.tolist()),
        tuple(cumulative.round(12).tolist()),
        tuple(credit.tolist()),
    )


def allowed_lists(
    first: tuple[int, ...], second: tuple[int, ...], length: int
) -> list[tuple[int, ...]]:
    """Return all lists whose each next document is the best one left of the first or second ranking."""
    lists: list[tuple[int, ...]] = [()]
    for _ in range(min(length, len({*first, *second}))):
        longer = []
        for head in lists:
            best = [next((d for d in r if d not in head), None) for r in (first, second)]
            longer += [(*head, d) for d in dict.fromkeys(best) if d is not None]
        lists = longer
    return lists


def _credits(n_first: int, second: tuple[int, ...], length: int) -> Floats:
    """Return the credit of each document, between -1 and 1."""
    n = max(n_first, max(second, default=-1) + 1)
    inverse = np.full((2, n), 1.0 / (length + 1))
    inverse[0, :n_first] = 1.0 / np.arange(1, n_first + 1)
    inverse[1, list(second)] = 1.0 / np.arange(1, len(second) + 1)
    total = float((1.0 / np.arange(1, length + 1)).sum())
    return np.asarray((inverse[1] - inverse[0]) / max(total, 1.0))


def _probabilities(credits_by_rank: Floats) -> Floats | None:
    """Solve the linear programme over lists; a row has the credits of a list by rank.

    None without a solution: a ranking of one document against one of three, for example. All pairs of
    rankings of up to six common documents have one.
    """
    n_lists, n_ranks = credits_by_rank.shape
    if n_lists == 1:
        return None if credits_by_rank.any() else np.ones(1)
    equal = np.vstack([np.ones(n_lists), credits_by_rank.T])
    target = np.zeros(n_ranks + 1)
    target[0] = 1.0
    solution = linprog(-_sensitivity(credits_by_rank), A_eq=equal, b_eq=target, method="highs")
    if not solution.success:
        return None
    chances = np.asarray(solution.x, dtype=np.float64)
    return np.where(chances > 1e-9, chances, 0.0)


def _sensitivity(credits_by_rank: Floats) -> Floats:
    """Return the entropy of the winner of a click, times the probability of a winner, by list."""
    weight = 1.0 / np.arange(1, credits_by_rank.shape[1] + 1)
    weight /= weight.sum()
    wins, losses = (credits_by_rank > 0) @ weight, (credits_by_rank < 0) @ weight
    decided = wins + losses
    share = np.clip(wins / np.where(decided > 0, decided, 1.0), 1e-12, 1 - 1e-12)
    entropy = -(share * np.log2(share) + (1 - share) * np.log2(1 - share))
    return np.asarray(decided * entropy)
