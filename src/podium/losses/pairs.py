"""Losses of pairs: every document against every one of its query with a lower label."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from podium import kernels
from podium.data import RankingData
from podium.errors import UsageError
from podium.losses.judged import Pairs
from podium.losses.loss import BoundLoss, KernelLoss, Loss, OrderedLoss, Weighted


class PairLoss(Loss):
    """A sum over pairs, or (``pairs="mean"``) that sum divided by the query's number of pairs."""

    pairs: Literal["mean", "sum"]

    def __post_init__(self) -> None:
        if self.pairs not in ("mean", "sum"):
            raise UsageError(f"expected pairs='mean' or 'sum' in {self.name}, got {self.pairs!r}")

    def bind(self, data: RankingData, seed: int = 0) -> BoundLoss:
        """The loss on all pairs of documents with different labels."""
        return self.on(Pairs.of(data.groups, data.y))

    def on(self, pairs: Pairs) -> BoundLoss:
        """The loss on these pairs."""
        total = self.total(pairs)
        return total if self.pairs == "sum" else Weighted(total, 1 / np.maximum(pairs.counts, 1))

    @abstractmethod
    def total(self, pairs: Pairs) -> BoundLoss:
        """The sum over the pairs."""


@dataclass(frozen=True)
class PairHinge(PairLoss):
    """RankSVM's loss: sum over pairs y_u > y_v of max(0, 1 - (s_u - s_v))^power.

    Herbrich, Graepel, Obermayer 2000; Joachims, KDD 2002. O(n log n) per query for any number of
    grades, by a sweep along the scores (after Lee and Lin, Large-scale linear RankSVM, 2014).

    Parameters
    ----------
    power
        1: the hinge, with a subgradient and no curvature; 2: its square.
    pairs
        "sum", or "mean" to divide by the query's number of pairs.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
    >>> PairHinge().bind(data)(np.array([3.0, 0.0, 0.5]))[0].tolist()  # (1 + 0.5)^2
    [2.25]
    """

    name: ClassVar[str] = "hinge"

    power: int = 2
    pairs: Literal["mean", "sum"] = "sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.power not in (1, 2):
            raise UsageError(f"expected power 1 or 2 in {self.name}, got {self.power!r}")

    def total(self, pairs: Pairs) -> BoundLoss:
        """The sum over the pairs."""
        smooth = self.power == 2
        return OrderedLoss(
            self,
            pairs.groups,
            pairs.counts > 0,
            partial(kernels.hinge_pairs, power=self.power),
            kernels.hinge_pairs_product if smooth else None,
            {"levels": pairs.levels},
            flat=not smooth,
            multiply_many=kernels.hinge_pairs_products if smooth else None,
        )


@dataclass(frozen=True)
class PairLogistic(PairLoss):
    """RankNet's loss: over pairs y_u > y_v, log(1 + exp(-(s_u - s_v))).

    Burges et al., Learning to rank using gradient descent, ICML 2005.

    Parameters
    ----------
    pairs
        "mean" to divide by the query's number of pairs, or "sum".

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
    >>> PairLogistic().bind(data)(np.zeros(3))[0].round(6).tolist()  # log 2
    [0.693147]
    """

    name: ClassVar[str] = "ranknet"

    pairs: Literal["mean", "sum"] = "mean"

    def total(self, pairs: Pairs) -> BoundLoss:
        """The sum over the pairs."""
        return KernelLoss(
            self,
            pairs.groups,
            pairs.counts > 0,
            kernels.logistic_pairs,
            kernels.logistic_pairs_product,
            {"levels": pairs.levels, "by_level": pairs.by_level},
        )
