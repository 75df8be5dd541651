"""Kemeny's order, which disagrees least with the rankings: exact, and by local search."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium import kernels
from podium.aggregation.distances import weighted_distance
from podium.aggregation.initial_order import InitialOrderAggregator
from podium.aggregation.linear_ordering import SearchLimits, minimise_opposing_votes
from podium.aggregation.rankings import Rankings
from podium.errors import UsageError
from podium.typing import Floats, Rows

MAX_RESTARTS = 100_000
"""A limit for the time that a person or a model file can ask for."""


@dataclass(frozen=True)
class KemenyLocal(InitialOrderAggregator):
    """Kemeny's order by local search: each document moves to the place where it disagrees least.

    The search starts from supervised Kemeny's order. It takes out the documents in turn and inserts
    them where the weighted Kendall distance is least, until none moves: few sweeps of O(n^2) each.
    Each restart disturbs the places of the best order by normal noise of n/10 and searches again. The
    noise of a query does not depend on other queries.

    Parameters
    ----------
    restarts
        How often to disturb the order and search again.
    seed
        Seed of the noise.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> KemenyLocal(restarts=2)(Rankings.of([["a", "b", "c"], ["c", "a", "b"]])).distance.tolist()
    [1.0]
    """

    name: ClassVar[str] = "kemeny-local"
    paper: ClassVar[str] = "Kemeny, Daedalus 1959"

    restarts: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.restarts > MAX_RESTARTS:
            raise UsageError(
                f"expected at most {MAX_RESTARTS:,} restarts of {self.name}, got {self.restarts:,}"
            )

    def improve(self, rankings: Rankings, weights: Floats, order: Rows) -> tuple[Rows, None]:
        """Search, then disturb and search again."""
        groups, best = rankings.groups, _search(rankings, weights, order)
        if self.restarts == 0:
            return best, None
        rng, n = np.random.default_rng(self.seed), int(groups.sizes.max(initial=0))
        distance = weighted_distance(rankings, best, weights)
        for _ in range(self.restarts):
            noise = rng.normal(size=n)[groups.places] * groups.spread(groups.sizes) / 10
            scores = np.empty(len(best))
            scores[best] = noise - groups.places
            candidate = _search(rankings, weights, groups.order(scores))
            new_distance = weighted_distance(rankings, candidate, weights)
            better = new_distance < distance - 1e-12 * groups.sizes
            best = np.where(groups.spread(better), candidate, best)
            distance = np.where(better, new_distance, distance)
        return best, None


def _search(rankings: Rankings, weights: Floats, order: Rows) -> Rows:
    """Improve an order by local Kemenisation, then by insertions."""
    places, offsets = rankings.places, rankings.groups.offsets
    order = kernels.local_kemenisation(places, weights, order, offsets)
    return kernels.kemeny_search(places, weights, order, offsets)


@dataclass(frozen=True)
class Kemeny(InitialOrderAggregator):
    """Kemeny's order: the one with the least weighted Kendall distance to the rankings, with a proof.

    The strongly connected components of the majority graph follow each other. Small components are
    solved by the best orders of all their subsets. Larger ones are solved by a linear programme whose
    triangle inequalities enter when they are violated, and by branching (HiGHS) if its solution is not
    whole. The problem is NP-hard: after the time limit, the order is the best so far, and the bound
    of the consensus limits its distance from the least.

    Kemeny, Mathematics without numbers, Daedalus 1959.

    Parameters
    ----------
    time_limit
        Seconds per query, None for no limit. A query that reaches it may get another order elsewhere.
    gap
        Stop when the distance is proved to be within this share of the least.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> consensus = Kemeny()(Rankings.of([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]))
    >>> consensus.distance.round(3).tolist(), consensus.optimal.tolist()
    ([1.333], [True])
    """

    name: ClassVar[str] = "kemeny"
    paper: ClassVar[str] = "Kemeny, Daedalus 1959"

    time_limit: float | None = 10.0
    gap: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time_limit is not None and not self.time_limit > 0:
            raise UsageError(
                f"expected a time limit above 0 seconds or None, got {self.time_limit!r}"
            )
        if not 0 <= self.gap < 1:
            raise UsageError(f"expected a gap from 0 to below 1, got {self.gap!r}")

    def improve(self, rankings: Rankings, weights: Floats, order: Rows) -> tuple[Rows, Floats]:
        """Solve query by query, from the order of the local search."""
        start, step = _search(rankings, weights, order), _weight_unit(weights)
        out, excess = np.empty_like(start), np.zeros(len(rankings.groups))
        for q, rows in enumerate(rankings.groups.slices()):
            deadline = np.inf if self.time_limit is None else time.monotonic() + self.time_limit
            local, excess[q] = minimise_opposing_votes(
                rankings.places[rows],
                weights,
                start[rows] - rows.start,
                SearchLimits(self.gap, deadline, step),
            )
            out[rows] = local + rows.start
        return out, excess


def _weight_unit(weights: Floats) -> float:
    """Return the smallest weight if all weights are multiples of it, else 0.

    Distances are then multiples of it, too.
    """
    votes = weights[weights > 0] / weights[weights > 0].min()
    is_whole = np.abs(votes - votes.round()).max() <= 1e-9 and votes.sum() < 1e6
    return float(weights[weights > 0].min()) if is_whole else 0.0
