"""LambdaRank: pairs weighted by what exchanging the two would do to NDCG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from podium import kernels
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists
from podium.losses.listwise import check_count
from podium.losses.loss import BoundLoss, Floats, ListLoss, OrderedLoss
from podium.metrics.graded import discounts
from podium.metrics.lists import check_exponent


@dataclass(frozen=True)
class LambdaRankLoss(ListLoss):
    """sum over pairs y_u > y_v of |delta NDCG_uv| log(1 + exp(-(s_u - s_v))).

    Burges, Ragno, Le, NIPS 2006; Wang et al., The LambdaLoss framework, CIKM 2018. |delta NDCG| is
    what exchanging u and v in the present order (by score, equal scores in the order of the rows)
    would change; the weights are taken as constants, so value and gradient jump where the order does.

    Parameters
    ----------
    k
        NDCG@k: the ideal is cut at k, and one document of a pair must stand among the first k + 3
        (a few more than k, as LightGBM advises). None: the whole list.
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
            check_count(self.k, "k")
        if self.gain not in ("exp2", "linear"):
            raise UsageError(f"expected gain 'exp2' or 'linear' in {self.name}, got {self.gain!r}")

    def on(self, judged: LabelledLists) -> BoundLoss:
        """The loss on these documents."""
        longest = int(judged.groups.sizes.max(initial=0))
        discount = discounts("log2", max(longest, 1))
        gains = self._gains(judged, discount[: self.k])
        truncation = longest if self.k is None else self.k + 3
        return OrderedLoss(
            self,
            judged.groups,
            judged.contrast,
            kernels.lambda_pairs,
            None,
            {"gains": gains, "discount": discount, "truncation": truncation},
        )

    def _gains(self, judged: LabelledLists, discount: Floats) -> Floats:
        """Gains in units of the query's ideal DCG."""
        gains = judged.labels
        if self.gain == "exp2":
            check_exponent(float(gains.max(initial=0)))
            # 2^y - 1 in units of the query's largest 2^y: the ideal's sum must fit a double too.
            top = judged.groups.spread(judged.groups.reduce(np.maximum, gains))
            gains = np.exp2(gains - top) - np.exp2(-top)
        ideal = kernels.ideal_sum(gains, judged.groups.offsets, discount)
        return np.asarray(gains / judged.groups.spread(np.where(ideal > 0, ideal, 1.0)))
