"""Aggregators that add up normalised scores: CombSUM and CombMNZ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from podium.aggregation.aggregator import (
    Aggregator,
    Consensus,
    Points,
    check_weights,
    rounded,
    weighted_sum,
)
from podium.aggregation.rankings import Floats, Rankings
from podium.errors import UsageError

Normalisation = Literal["min-max", "sum", "zmuv", "rank", "none"]


@dataclass(frozen=True)
class Normalised(Aggregator):
    """Aggregators of scores, normalised query by query and ranker by ranker.

    A document that a ranker leaves out has 0 points of it. Where rankers gave just places, -place
    is the score (the place in the whole list where that is known).

    Parameters
    ----------
    normalisation
        min-max: (s - min) / (max - min), 1 where all are equal; sum: s - min, scaled to add up
        to 1; zmuv: s / standard deviation; rank: 1 - (place - 1) / length of the list; none: s.
        In zmuv and none the scores of a list that go below 0 are raised until the lowest is 0: it
        changes no order among the listed, and puts none of them below the unlisted.
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
        """Normalised scores; 0 where a document is not listed."""
        ranked, groups = rankings.ranked, rankings.groups
        if self.normalisation == "rank":
            lengths = np.maximum(groups.spread(rankings.lengths), 1)
            return np.where(ranked, 1 - (rankings.places - 1) / lengths, 0.0)
        scores = -rankings.listed_at if rankings.scores is None else rankings.scores
        lowest = groups.reduce(np.fmin, scores)
        if self.normalisation == "none":
            return np.where(ranked, scores - groups.spread(np.minimum(lowest, 0.0)), 0.0)
        unit = _or_one(groups.reduce(np.fmax, np.abs(scores)))  # else differences may overflow
        above = np.where(ranked, scores / groups.spread(unit) - groups.spread(lowest / unit), 0.0)
        scale, if_equal = _SCALES[self.normalisation](above, rankings)
        # Scores that are all equal stand at 0 above the lowest, and have no scale.
        above = np.where(groups.spread(scale > 0) | ~ranked, above, groups.spread(if_equal))
        return np.asarray(above / groups.spread(_or_one(scale)))


@dataclass(frozen=True)
class CombSUM(Normalised, Points):
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
class CombMNZ(Normalised):
    """The sum of the normalised scores times the number of rankers that list the document.

    With weights the number is sum_a p_a [a lists the document]: a ranker of weight 0 is as good
    as not there, and one of weight 2 as good as two. Fox and Shaw, Combination of multiple
    searches, TREC-2, 1993.

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
        """The sum times the count."""
        p = check_weights(weights, rankings)
        listed = weighted_sum(rankings.ranked.astype(np.float64), p)
        return Consensus(rounded(weighted_sum(self.points(rankings), p) * listed))


def _or_one(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)  # neither 0 nor NaN


def _min_max(above: Floats, rankings: Rankings) -> tuple[Floats, Floats]:
    return rankings.groups.reduce(np.maximum, above), np.ones(rankings.lengths.shape)


def _sum(above: Floats, rankings: Rankings) -> tuple[Floats, Floats]:
    return rankings.groups.reduce(np.add, above), 1 / np.maximum(rankings.lengths, 1)


def _deviation(above: Floats, rankings: Rankings) -> tuple[Floats, Floats]:
    groups, n = rankings.groups, np.maximum(rankings.lengths, 1)
    mean = groups.spread(groups.reduce(np.add, above) / n)
    squares = np.where(rankings.ranked, (above - mean) ** 2, 0.0)
    return np.sqrt(groups.reduce(np.add, squares) / n), np.zeros(n.shape)


# What scores above the lowest are divided by, and what they are where all are equal.
_SCALES = {"min-max": _min_max, "sum": _sum, "zmuv": _deviation}
