"""Combinations of finalists, from the simplest to the least simple.

Each method learns weights of members from scores of queries that the members did not see, and orders
other queries with them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.aggregation import Aggregator, SupervisedKemeny
from podium.data import RankingData
from podium.data.groups import Groups
from podium.ensemble.auto.greedy_selection import MEMBER_DIGITS, select_greedily
from podium.ensemble.auto.stacking import stack
from podium.ensemble.toprank.heads import Heads
from podium.ensemble.toprank.reranked_model import aggregate_heads
from podium.metrics import Metric
from podium.metrics.repeated_metric import RepeatedMetric
from podium.typing import Floats


@dataclass(frozen=True)
class CombinationMethod(ABC):
    """Learns the weights of members, and combines their scores."""

    name: ClassVar[str]

    @abstractmethod
    def weigh(self, scores: Floats, data: RankingData, metric: Metric) -> Floats:
        """Return one weight per member, 0 or more; they add up to 1."""

    def combine(self, scores: Floats, weights: Floats, groups: Groups) -> Floats:
        """Return the combined score of each row: Z w."""
        return np.asarray((scores * weights).sum(axis=1))


@dataclass(frozen=True)
class BestSingle(CombinationMethod):
    """The member of the largest metric alone."""

    name: ClassVar[str] = "best single"

    def weigh(self, scores: Floats, data: RankingData, metric: Metric) -> Floats:
        """Return 1 for the best member."""
        values = member_values(scores, data, metric)
        return np.asarray(np.arange(len(values)) == np.argmax(values), dtype=np.float64)


@dataclass(frozen=True)
class EqualMean(CombinationMethod):
    """The mean of all members."""

    name: ClassVar[str] = "mean"

    def weigh(self, scores: Floats, data: RankingData, metric: Metric) -> Floats:
        """Return equal weights."""
        return np.full(scores.shape[1], 1 / scores.shape[1])


@dataclass(frozen=True)
class GreedySelection(CombinationMethod):
    """Greedy ensemble selection with replacement (Caruana et al., 2004)."""

    name: ClassVar[str] = "greedy selection"

    def weigh(self, scores: Floats, data: RankingData, metric: Metric) -> Floats:
        """Return how often the search added each member."""
        return select_greedily(scores, RepeatedMetric(data, metric))


@dataclass(frozen=True)
class NonNegativeStacking(CombinationMethod):
    """Least squares with weights of 0 or more; the gain of a document is 2^y - 1."""

    name: ClassVar[str] = "stacking"

    def weigh(self, scores: Floats, data: RankingData, metric: Metric) -> Floats:
        """Return the weights of least squares."""
        return stack(scores, np.exp2(np.minimum(data.y, MAX_LABEL)) - 1, data.groups)


@dataclass(frozen=True)
class TopRankVote(CombinationMethod):
    """TopRank's vote: the best members order the first t documents of the best one.

    Parameters
    ----------
    t
        How many documents are ordered by votes.
    voters
        How many members vote.
    """

    name: ClassVar[str] = "supervised Kemeny"
    aggregator: ClassVar[Aggregator] = SupervisedKemeny()

    t: int = 50
    voters: int = 5

    def weigh(self, scores: Floats, data: RankingData, metric: Metric) -> Floats:
        """Return weights of the best members, proportional to their metric."""
        values = np.asarray(member_values(scores, data, metric))
        order = np.argsort(-values, kind="stable")
        weights = np.zeros(len(values))
        chosen = order[: self.voters]
        weights[chosen] = np.maximum(values[chosen], 0)
        total = weights.sum()
        return weights / total if total > 0 else np.full(len(values), 1 / len(values))

    def combine(self, scores: Floats, weights: Floats, groups: Groups) -> Floats:
        """Return minus the place of each row."""
        base = scores[:, int(np.argmax(weights))]
        voters = np.flatnonzero(weights)
        heads = Heads.of(groups, base, self.t)
        voter_scores = scores[np.ix_(heads.rows, voters)]
        return aggregate_heads(
            groups, base, heads, voter_scores, weights[voters].tolist(), self.aggregator, self.t
        )


MAX_LABEL = 30.0
"""Larger labels would have gains beyond what least squares can hold."""

COMBINATION_METHODS: tuple[CombinationMethod, ...] = (
    EqualMean(),
    BestSingle(),
    GreedySelection(),
    NonNegativeStacking(),
    TopRankVote(),
)
"""The methods, the simplest first: a mean learns nothing, a single one number, the others weights."""


def member_values(scores: Floats, data: RankingData, metric: Metric) -> Sequence[float]:
    """Return the metric of each member."""
    measure = RepeatedMetric(data, metric)
    return [round(measure(column), MEMBER_DIGITS) for column in scores.T]
