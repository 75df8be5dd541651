"""CombSUM and CombMNZ: fusion of normalised scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from podium.aggregation.aggregator import (
    Aggregator,
    Consensus,
    PointAggregator,
    check_weights,
    round_scores,
    weighted_sum,
)
from podium.aggregation.rankings import Rankings
from podium.errors import UsageError
from podium.typing import Floats

Normalisation = Literal["min-max", "sum", "zmuv", "rank", "none"]


@dataclass(frozen=True)
class ScoreAggregator(Aggregator):
    """Aggregators of scores, normalised query by query and ranker by ranker.

    A document gets 0 points from a ranker that leaves it out. If there are only places, the score
    is -place (the place in the whole list, if that is known).

    Parameters
    ----------
    normalisation
        min-max: (s - min) / (max - min), 1 if all are equal; sum: s - min, scaled to add up to 1;
        zmuv: s / standard deviation; rank: 1 - (place - 1) / length of the list; none: s. With zmuv
        and none, a list with scores below 0 is shifted until the lowest is 0. This keeps the order
        of the listed documents and puts none of them below unlisted ones.
    """

    paper: ClassVar[str] = "Fox and Shaw, TREC-2, 1993"

    normalisation: Normalisation = "min-max"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normalisation not in get_args(Normalisation):
            raise UsageError(
                f"expected normalisation to be one of {', '.join(get_args(Normalisation))}, "
                f"got {self.normalisation!r}"
            )

    def points(self, rankings: Rankings) -> Floats:
        """Return the normalised scores; 0 if a document is not listed."""
        ranked, groups = rankings.ranked, rankings.groups
        if self.normalisation == "rank":
            lengths = np.maximum(groups.spread(rankings.lengths), 1)
            return np.where(ranked, 1 - (rankings.places - 1) / lengths, 0.0)
        scores = -rankings.listed_at if rankings.scores is None else rankings.scores
        lowest = groups.reduce(np.fmin, scores)
        if self.normalisation == "none":
            return np.where(ranked, scores - groups.spread(np.minimum(lowest, 0.0)), 0.0)
        unit = _or_one(groups.reduce(np.fmax, np.abs(scores)))  # otherwise differences may overflow
        heights = np.where(ranked, scores / groups.spread(unit) - groups.spread(lowest / unit), 0.0)
        scale, if_equal = _SCALES[self.normalisation](heights, rankings)
        # If all scores are equal, all heights are 0 and there is no scale.
        heights = np.where(groups.spread(scale > 0) | ~ranked, heights, groups.spread(if_equal))
        return np.asarray(heights / groups.spread(_or_one(scale)))


@dataclass(frozen=True)
class CombSUM(ScoreAggregator, PointAggregator):
    """The sum of the normalised scores.

    Fox and Shaw, Combination of multiple searches, TREC-2, 1993.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> CombSUM()(Rankings.of([{"a": 9, "b": 8, "c": 5}, {"b": 0.4, "d": 0.2}])).scores.tolist()
    [0.5, 0.875, 0.0, 0.0]
    """

    name: ClassVar[str] = "combsum"


@dataclass(frozen=True)
class CombMNZ(ScoreAggregator):
    """The sum of the normalised scores times the number of rankers that list the document.

    With weights, the number is sum_a p_a [a lists the document]: a ranker of weight 0 does not
    count, and one of weight 2 counts twice. Fox and Shaw, Combination of multiple searches, TREC-2,
    1993.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> CombMNZ()(Rankings.of([{"a": 9, "b": 8, "c": 5}, {"b": 0.4, "d": 0.2}])).scores.tolist()
    [0.25, 0.875, 0.0, 0.0]
    """

    name: ClassVar[str] = "combmnz"

    def __call__(
        self, rankings: Rankings, weights: ArrayLike | None = None, initial: Floats | None = None
    ) -> Consensus:
        """Return the sum times the count."""
        p = check_weights(weights, rankings)
        listed = weighted_sum(rankings.ranked.astype(np.float64), p)
        return Consensus(round_scores(weighted_sum(self.points(rankings), p) * listed))


def _or_one(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)  # neither 0 nor NaN


def _min_max(heights: Floats, rankings: Rankings) -> tuple[Floats, Floats]:
    return rankings.groups.reduce(np.maximum, heights), np.ones(rankings.lengths.shape)


def _sum(heights: Floats, rankings: Rankings) -> tuple[Floats, Floats]:
    return rankings.groups.reduce(np.add, heights), 1 / np.maximum(rankings.lengths, 1)


def _deviation(heights: Floats, rankings: Rankings) -> tuple[Floats, Floats]:
    groups, n = rankings.groups, np.maximum(rankings.lengths, 1)
    mean = groups.spread(groups.reduce(np.add, heights) / n)
    squares = np.where(rankings.ranked, (heights - mean) ** 2, 0.0)
    return np.sqrt(groups.reduce(np.add, squares) / n), np.zeros(n.shape)


# Each returns the divisor of the heights above the lowest score, and the points if all are equal.
_SCALES = {"min-max": _min_max, "sum": _sum, "zmuv": _deviation}
