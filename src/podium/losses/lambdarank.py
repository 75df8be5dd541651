"""LambdaRank: pairs weighted by the change of NDCG if the two documents swap places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from podium import kernels
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists
from podium.losses.listwise import check_whole_number
from podium.losses.loss import BoundLoss, ListLoss, OrderedLoss
from podium.metrics.gain_and_discount import check_exponent, discounts
from podium.typing import Floats


@dataclass(frozen=True)
class LambdaRankLoss(ListLoss):
    """sum over pairs y_u > y_v of |delta NDCG_uv| log(1 + exp(-(s_u - s_v))).

    Burges, Ragno, Le, NIPS 2006; Wang et al., The LambdaLoss framework, CIKM 2018. |delta NDCG| is
    the change if u and v swap places in the current order (by score, ties in the order of rows).
    The weights are treated as constants, so value and gradient jump when the order changes.

    Parameters
    ----------
    k
        NDCG@k: the ideal is cut at k, and one document of a pair must be among the first k + 3 (a
        few more than k, as LightGBM recommends). None: the whole list.
    gain
        "exp2" (2^y - 1) or "linear" (y).

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 2, [0, 1], qid=[1] * 2)
    >>> value, _ = LambdaRankLoss().bind(data)(np.zeros(2))  # (1 - 1 / log2 3) log 2
    >>> value.round(6).tolist()
    [0.25582]
    """

    name: ClassVar[str] = "lambdarank"

    k: int | None = None
    gain: Literal["exp2", "linear"] = "exp2"

    def __post_init__(self) -> None:
        if self.k is not None:
            check_whole_number(self.k, "k")
        if self.gain not in ("exp2", "linear"):
            raise UsageError(f"expected gain 'exp2' or 'linear' in {self.name}, got {self.gain!r}")

    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists."""
        longest = int(lists.groups.sizes.max(initial=0))
        discount = discounts("log2", max(longest, 1))
        gains = self._gains(lists, discount[: self.k])
        truncation = longest if self.k is None else self.k + 3
        return OrderedLoss(
            self,
            lists.groups,
            lists.contrast,
            kernels.lambda_pairs,
            None,
            {"gains": gains, "discount": discount, "truncation": truncation},
        )

    def _gains(self, lists: LabelledLists, discount: Floats) -> Floats:
        """Return gains divided by the query's ideal DCG."""
        gains = lists.labels
        if self.gain == "exp2":
            check_exponent(float(gains.max(initial=0)))
            # 2^y - 1 divided by the query's largest 2^y, so that the ideal sum fits in a double.
            top = lists.groups.spread(lists.groups.reduce(np.maximum, gains))
            gains = np.exp2(gains - top) - np.exp2(-top)
        ideal = kernels.ideal_sum(gains, lists.groups.offsets, discount)
        return np.asarray(gains / lists.groups.spread(np.where(ideal > 0, ideal, 1.0)))
