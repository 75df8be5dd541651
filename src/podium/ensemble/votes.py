"""How the scores of many blocks become one score: added up, or as ranks by an aggregator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from podium.aggregation import Aggregator, Points, Rankings
from podium.aggregation.aggregator import rounded, weighted_sum
from podium.data.groups import Groups
from podium.data.scaling import SCALERS
from podium.rankers.models import Floats

Normalise = Literal["zscore"] | None


@dataclass(frozen=True)
class Combination:
    """A weighted mean of scores, or of the points of places, or the order that disagrees least.

    All add up over compositions: sum_c W(c) sum_{b in c} u(b) v_b is sum_b weight(b) v_b, be v_b a
    block's scores, its Borda points or its distance to an order. So one weight a block is all that
    any number of compositions leaves behind.

    Parameters
    ----------
    aggregator
        Of the blocks' rankings; None: scores are added.
    normalise
        "zscore": scores have mean 0 and standard deviation 1 in each query before they are added;
        a block that ties all documents of a query adds nothing there.
    """

    aggregator: Aggregator | None = None
    normalise: Normalise = None

    @property
    def is_linear(self) -> bool:
        """Whether linear blocks make a linear ensemble."""
        return self.aggregator is None and self.normalise is None

    def votes(self, scores: Floats, groups: Groups) -> Votes:
        """What the blocks say, a column each, ready to be weighed."""
        if self.aggregator is None:
            if self.normalise == "zscore":
                scores = zscores(scores, groups)
            return Votes(scores)
        rankings = Rankings.from_scores(groups, scores, keep=False)
        if isinstance(self.aggregator, Points):
            return Votes(self.aggregator.points(rankings), digits=12)
        return Votes(None, rankings, self.aggregator)


@dataclass(frozen=True, eq=False)
class Votes:
    """What blocks say about documents; with their weights, a score a document."""

    points: Floats | None
    rankings: Rankings | None = None
    aggregator: Aggregator | None = None
    digits: int | None = None

    def __call__(self, weights: Floats) -> Floats:
        """The weighted mean, or the aggregator's order."""
        used = np.flatnonzero(weights)
        shares = weights[used] / np.sum(weights)
        if self.points is not None:
            scores = weighted_sum(self.points[:, used], shares)
            return scores if self.digits is None else rounded(scores)
        assert self.rankings is not None
        assert self.aggregator is not None
        some = Rankings(self.rankings.places[:, used], self.rankings.groups)
        return self.aggregator(some, shares).scores


def zscores(scores: Floats, groups: Groups) -> Floats:
    """(s - mean) / sd in each query; 0 where all are equal but for rounding.

    Examples
    --------
    >>> scores = np.array([[1.0, 0.1 + 0.2], [3.0, 0.3]])
    >>> zscores(scores, Groups.from_sizes([2])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    scaled = np.asarray(SCALERS["zscore"](groups, scores), dtype=np.float64)
    low, high = groups.reduce(np.minimum, scores), groups.reduce(np.maximum, scores)
    size = np.maximum(np.abs(low), np.abs(high))
    scaled[groups.spread(high - low <= 1e-12 * size)] = 0.0
    return scaled
