"""YetiLoss: pairs in drawn permutations, weighted by what their exchange changes in a metric."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from podium import kernels
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists
from podium.losses.listwise import check_whole_number
from podium.losses.loss import BoundLoss, KernelLoss, ListLoss
from podium.losses.metric_walk import MetricWalk, check_walk
from podium.metrics import parse

MAX_DRAWS = 2**20
"""The kernel counts rounds in steps of this many draws."""


@dataclass(frozen=True)
class YetiLoss(ListLoss):
    """mean over drawn permutations of sum over pairs of |delta metric_uv| log(1 + exp(-(s_u - s_v))).

    u has the larger gain, and |delta metric_uv| is the change of the metric if u and v exchange their
    places in the permutation, which sorts by score plus Gumbel noise. Gulin, Kuralenok, Pavlov,
    Winning the transfer learning track of Yahoo!'s learning to rank challenge with YetiRank, JMLR
    W&CP 14, 2011; Lyzhin, Ustimenko, Gulin, Prokhorenkova, Which tricks are important for learning to
    rank?, ICML 2023.

    At noise 1, permutations follow Plackett-Luce: u precedes v with the probability
    1 / (1 + exp(-(s_u - s_v))), the same of which the pair loss is the negative logarithm. Each round
    of a learner draws other permutations (``redraw``); within a round, weights are constants.

    Parameters
    ----------
    metric
        NDCG, DCG, ERR, MRR, MAP, P, Recall, Hit or RBP, with or without a cutoff.
    neighbours
        How far below the first document of a pair the second may be. 1: only neighbours, as in the
        papers. None: any place.
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
    neighbours: int | None = None
    draws: int = 3
    noise: float = 1.0

    def __post_init__(self) -> None:
        check_walk(parse(self.metric))
        if self.neighbours is not None:
            check_whole_number(self.neighbours, "neighbours")
        check_whole_number(self.draws, "draws")
        if self.draws > MAX_DRAWS:
            raise UsageError(
                f"expected at most {MAX_DRAWS:,} draws in {self.name}, got {self.draws}"
            )
        if not isinstance(self.noise, int | float) or not 0 <= self.noise < np.inf:
            raise UsageError(f"expected noise of 0 or more in {self.name}, got {self.noise!r}")

    def metric_walk(self, lists: LabelledLists) -> MetricWalk:
        """Return the metric as a walk; override it to learn your own metric."""
        return MetricWalk.from_metric(parse(self.metric), lists)

    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists, with the permutations of round 0."""
        walk = self.metric_walk(lists)
        longest = int(lists.groups.sizes.max(initial=1))
        highest = lists.groups.reduce(np.maximum, walk.gains)
        has_contrast = np.asarray(highest > lists.groups.reduce(np.minimum, walk.gains))
        return DrawnLoss(
            self,
            lists.groups,
            has_contrast,
            kernels.exchanged_pairs,
            None,
            {
                **walk.arguments(),
                "neighbours": min(self.neighbours or longest, longest),
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
