"""FocusedNet: ListNet on the top k, RankNet between the top k and the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from podium.losses import FocusedLoss, ListNetLoss, Loss, PairLogistic
from podium.rankers.gradient_ranker import GradientRanker
from podium.rankers.parameters import Count, Range, Share


@dataclass(kw_only=True, eq=False, repr=False)
class FocusedNet(GradientRanker):
    """ListNet on the top k, RankNet between T and the rest: beta L_list(T) + (1 - beta) L_pair(T x F).

    In each query, both terms are divided by their value at zero scores. For graded data, a total
    order is drawn from the grades, by seed, query and document. Niu, Guo, Lan, Cheng, Top-k
    learning to rank: labeling, ranking and evaluation, SIGIR 2012, section 3.2.

    Parameters
    ----------
    k
        The number of places that count.
    beta
        The share of the listwise term, from 0 to 1.
    depth
        j of ListNet's top-j probabilities.

    Examples
    --------
    >>> from podium.data import draw_truth, make_synthetic
    >>> data = draw_truth(make_synthetic(n_queries=50, seed=0), k=5)
    >>> bool(FocusedNet(k=5, beta=0.5).fit(data).score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "focused-net"
    paper: ClassVar[str] = "Niu, Guo, Lan, Cheng, SIGIR 2012"
    grid: ClassVar[dict[str, Any]] = {"beta": tuple(i / 20 for i in range(21))}
    warm_start_along: ClassVar[str | None] = "beta"

    k: Count = 10
    beta: Share = 0.5
    depth: Annotated[int, Range(1, 4)] = 1

    def loss(self) -> Loss:
        """Return the sum of both terms."""
        return FocusedLoss(
            list=ListNetLoss(depth=self.depth),
            pair=PairLogistic(),
            k=self.k,
            beta=self.beta,
        )
