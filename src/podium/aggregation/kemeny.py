"""Orders that disagree with the rankings least: Kemeny's, exact, approximate and supervised."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import kernels
from podium.aggregation.aggregator import Aggregator, Consensus, check_initial, check_weights
from podium.aggregation.distances import weighted_distance
from podium.aggregation.positional import Borda
from podium.aggregation.rankings import Floats, Rankings
from podium.data.groups import Groups
from podium.errors import UsageError

Rows = NDArray[np.int64]

MAX_RESTARTS = 100_000
"""More would not end in reasonable time, whoever asks for them: a person or a model file."""


@dataclass(frozen=True)
class FromInitial(Aggregator):
    """Aggregators that start from an order, weighted Borda's unless given, and end in an order."""

    @abstractmethod
    def improve(
        self, rankings: Rankings, weights: Floats, order: Rows
    ) -> tuple[Rows, Floats | None]:
        """Rows in the new order, and what the distance of each query may be above the least."""

    def __call__(
        self, rankings: Rankings, weights: ArrayLike | None = None, initial: Floats | None = None
    ) -> Consensus:
        """Start, improve, and tell the distance (`distance_to`)."""
        w = check_weights(weights, rankings)
        start = Borda()(rankings, w).scores if initial is None else initial
        order, above = self.improve(rankings, w, check_initial(start, rankings))
        distance = weighted_distance(rankings, order, w)
        bound = None if above is None else distance - above
        return Consensus(_documents_below(rankings.groups, order), distance, bound)


def _documents_below(groups: Groups, order: Rows) -> Floats:
    """The scores of an order."""
    scores = np.empty(len(order))
    scores[order] = groups.spread(groups.sizes) - groups.places - 1
    return scores


@dataclass(frozen=True)
class SupervisedKemeny(FromInitial):
    """Supervised Kemeny: from an initial order mu, each document climbs while a weighted majority says so.

    M_ij is the weight of the rankers that put i above j, a document they list above one they do not.
    The documents of the initial order mu are inserted in turn, each climbs past its neighbour i
    while M_ji > M_ij (local Kemenisation), so the order is never further from the rankings than mu,
    in weighted Kendall distance, and each majority that holds between neighbours is obeyed. Weights
    add up to 1, and a lead of at most 1e-12, the rounding of their sums, is no majority.

    As printed, Algorithm 2 has two flaws: only pairs within the top k of one list count, so documents
    that no list holds together are never told apart; and it quicksorts by a majority that is not
    transitive. `literal=True` is as printed, with the middle document as pivot, documents equal to
    it staying on their side; the order it ends in may be further from the rankings than mu. The
    algorithm's k, how many of each list count, is `Rankings.top`.

    Subbian, Melville, Supervised rank aggregation for predicting influencers in Twitter, SocialCom
    2011; Algorithm 2 of the TopRank paper. Local Kemenisation: Dwork, Kumar, Naor, Sivakumar, Rank
    aggregation methods for the web, WWW 2001.

    Parameters
    ----------
    literal
        Algorithm 2 exactly as the TopRank paper prints it, flaws included.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> rankings = Rankings.of([["a", "b", "c"], ["b", "c", "a"], ["b", "a"]])
    >>> found = SupervisedKemeny()(rankings, weights=[1, 1, 1], initial=[2, 1, 0])
    >>> found.scores.tolist(), found.distance.tolist() == [(1 + 1 + 0) / 3]
    ([1.0, 2.0, 0.0], True)
    """

    name: ClassVar[str] = "supervised-kemeny"
    paper: ClassVar[str] = "Subbian and Melville, SocialCom 2011"

    literal: bool = False

    def improve(self, rankings: Rankings, weights: Floats, order: Rows) -> tuple[Rows, None]:
        """Insert, or quicksort."""
        sort = kernels.majority_quicksort if self.literal else kernels.local_kemenisation
        return sort(rankings.places, weights, order, rankings.groups.offsets), None


@dataclass(frozen=True)
class KemenyLocal(FromInitial):
    """Kemeny by local search: each document to the place where it disagrees least.

    From supervised Kemeny's order, the documents in turn are taken out and inserted where the
    weighted Kendall distance is least, until none moves: O(n^2) a sweep, of few. Each restart shakes
    the best order so far (places plus normal noise of n/10) and searches again; a shake does not
    depend on the other queries.

    Parameters
    ----------
    restarts
        How often to shake.
    seed
        Of the shakes.

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
        """Search, shake and search again."""
        groups, best = rankings.groups, _search(rankings, weights, order)
        if self.restarts == 0:
            return best, None
        noise, n = np.random.default_rng(self.seed), int(groups.sizes.max(initial=0))
        distance = weighted_distance(rankings, best, weights)
        for _ in range(self.restarts):
            shake = noise.normal(size=n)[groups.places] * groups.spread(groups.sizes) / 10
            scores = np.empty(len(best))
            scores[best] = shake - groups.places
            found = _search(rankings, weights, groups.order(scores))
            reached = weighted_distance(rankings, found, weights)
            better = reached < distance - 1e-12 * groups.sizes
            best = np.where(groups.spread(better), found, best)
            distance = np.where(better, reached, distance)
        return best, None


def _search(rankings: Rankings, weights: Floats, order: Rows) -> Rows:
    """Local Kemenisation, then insertions."""
    places, offsets = rankings.places, rankings.groups.offsets
    order = kernels.local_kemenisation(places, weights, order, offsets)
    return kernels.kemeny_search(places, weights, order, offsets)


@dataclass(frozen=True)
class Kemeny(FromInitial):
    """Kemeny's order: the one with the least weighted Kendall distance to the rankings, proved.

    The components of the majority graph follow each other; within one, small ones by the best orders
    of all subsets, larger ones by a linear programme whose triangle inequalities enter as they are
    violated, and by branching (HiGHS) where it does not end in whole numbers. Finding it is NP-hard:
    where the time is over, the order is the best one known, and the bound of the consensus says how
    far from the least it can be.

    Kemeny, Mathematics without numbers, Daedalus 1959.

    Parameters
    ----------
    time_limit
        Seconds a query, None for no limit. A query that reaches it may end differently elsewhere.
    gap
        Stop where the distance is proved to be within this share of the least.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> found = Kemeny()(Rankings.of([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]))
    >>> found.distance.round(3).tolist(), found.optimal.tolist()
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
        """Query by query, from the best order of the local search."""
        # Only here: scipy's optimisers take longer to load than the other aggregators to run.
        from podium.aggregation.linear_ordering import Effort, least_votes_against

        start, step = _search(rankings, weights, order), _step(weights)
        out, above = np.empty_like(start), np.zeros(len(rankings.groups))
        for q, rows in enumerate(rankings.groups.slices()):
            deadline = np.inf if self.time_limit is None else time.monotonic() + self.time_limit
            local, above[q] = least_votes_against(
                rankings.places[rows],
                weights,
                start[rows] - rows.start,
                Effort(self.gap, deadline, step),
            )
            out[rows] = local + rows.start
        return out, above


def _step(weights: Floats) -> float:
    """The smallest weight where all are multiples of it, as equal ones are: distances are then too.

    0 where they are not.
    """
    votes = weights[weights > 0] / weights[weights > 0].min()
    is_whole = np.abs(votes - votes.round()).max() <= 1e-9 and votes.sum() < 1e6
    return float(weights[weights > 0].min()) if is_whole else 0.0
