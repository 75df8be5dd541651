"""ListNet: the cross entropy of top-j probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from podium.losses import ListNetLoss, Loss
from podium.rankers.gradient_ranker import GradientRanker
from podium.rankers.parameters import Range


@dataclass(kw_only=True, eq=False, repr=False)
class ListNet(GradientRanker):
    """Cross entropy of the top-j probabilities (Plackett-Luce) of labels and scores.

    Top one: -sum_j softmax(y)_j log softmax(s)_j. Cao, Qin, Liu, Tsai, Li, Learning to rank: from
    pairwise approach to listwise approach, ICML 2007.

    Parameters
    ----------
    depth
        j, the number of places that are compared. A pass costs n^j per query.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(ListNet().fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "listnet"
    paper: ClassVar[str] = "Cao et al., ICML 2007"

    depth: Annotated[int, Range(1, 4)] = 1

    def loss(self) -> Loss:
        """Return the cross entropy of the heads."""
        return ListNetLoss(depth=self.depth)
