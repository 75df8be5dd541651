"""YetiLoss: pairs of neighbours in drawn permutations, weighted by what their exchange changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from podium import kernels
from podium.errors import UsageError
from podium.losses.exchange_weights import ExchangeWeights, check_exchanges
from podium.losses.labelled_lists import LabelledLists
from podium.losses.listwise import check_whole_number
from podium.losses.loss import BoundLoss, KernelLoss, ListLoss
from podium.metrics import parse

MAX_DRAWS = 2**20
"""The kernel counts rounds in steps of this many draws."""


@dataclass(frozen=True)
class YetiLoss(ListLoss):
    """mean over drawn permutations of sum_i |delta metric_i| log(1 + exp(-(s_u - s_v))).

    u and v are the neighbours at places i and i + 1 of a permutation, u with the larger gain, and
    |delta metric_i| is the change of the metric if they exchange their places. A permutation sorts
    by score plus Gumbel noise. Gulin, Kuralenok, Pavlov, Winning the transfer learning track of
    Yahoo!'s learning to rank challenge with YetiRank, JMLR W&CP 14, 2011; Lyzhin, Ustimenko, Gulin,
    Prokhorenkova, Which tricks are important for learning to rank?, ICML 2023.

    At noise 1, permutations follow Plackett-Luce: u precedes v with the probability
    1 / (1 + exp(-(s_u - s_v))), the same of which the pair loss is the negative logarithm. Each round
    of a learner draws other permutations (``redraw``); within a round, weights are constants.

    Parameters
    ----------
    metric
        NDCG, DCG, ERR, MRR, MAP, P, Recall, Hit or RBP, with or without a cutoff.
    draws
        The number of permutations per query and round.
    noise
        The scale of the noise. 0: one permutation, the order by score.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 2, [0, 1], qid=[1] * 2)
    >>> value, _ = YetiLoss().bind(data)(np.zeros(2))  # (1 - 1 / log2 3) log 2: one pair
    >>> value.round(6).tolist()
    [0.25582]
    """

    name: ClassVar[str] = "yetiloss"

    metric: str = "NDCG@10"
    draws: int = 10
    noise: float = 1.0

    def __post_init__(self) -> None:
        check_exchanges(parse(self.metric))
        check_whole_number(self.draws, "draws")
        if self.draws > MAX_DRAWS:
            raise UsageError(
                f"expected at most {MAX_DRAWS:,} draws in {self.name}, got {self.draws}"
            )
        if not isinstance(self.noise, int | float) or not 0 <= self.noise < np.inf:
            raise UsageError(f"expected noise of 0 or more in {self.name}, got {self.noise!r}")

    def exchange_weights(self, lists: LabelledLists) -> ExchangeWeights:
        """Return what an exchange changes; override it to learn your own metric."""
        return ExchangeWeights.from_metric(parse(self.metric), lists)

    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists, with the permutations of round 0."""
        weights = self.exchange_weights(lists)
        highest = lists.groups.reduce(np.maximum, weights.gains)
        has_contrast = np.asarray(highest > lists.groups.reduce(np.minimum, weights.gains))
        return DrawnLoss(
            self,
            lists.groups,
            has_contrast,
            kernels.neighbour_pairs,
            None,
            {
                **weights.arguments(),
                "keys": lists.keys(),
                "noise": float(self.noise),
                "draws": self.draws if self.noise > 0 else 1,
                "round": 0,
            },
        )


class DrawnLoss(KernelLoss):
    """A loss whose kernel draws random numbers, other ones in each round."""

    def redraw(self, round_number: int) -> BoundLoss:
        """Return the loss with the random numbers of this round."""
        return replace(self, bound={**self.bound, "round": round_number})
