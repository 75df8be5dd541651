"""RankNet: the logistic loss of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from podium.losses import Loss, PairLogistic
from podium.rankers.gradient_ranker import GradientRanker


@dataclass(kw_only=True, eq=False, repr=False)
class RankNet(GradientRanker):
    """Cross entropy of the preferences: log(1 + exp(-(s_u - s_v))) over pairs with y_u > y_v.

    Burges et al., Learning to rank using gradient descent, ICML 2005.

    Parameters
    ----------
    pairs
        The "mean" over a query's pairs, so that all queries count equally, or the "sum".

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(RankNet().fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "ranknet"
    paper: ClassVar[str] = "Burges et al., ICML 2005"

    pairs: Literal["mean", "sum"] = "mean"

    def loss(self) -> Loss:
        """Return the logistic loss of pairs."""
        return PairLogistic(pairs=self.pairs)
