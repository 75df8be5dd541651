"""kappa-NDCG and kappa-ERR: NDCG and ERR on top-k truth, whose labels are positions (data/topk_truth.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from podium.errors import MissingTruthError
from podium.metrics.err import ERR
from podium.metrics.metric import Metric
from podium.metrics.ndcg import NDCG
from podium.metrics.ranked_lists import RankedLists
from podium.typing import Floats


def _check_truth(metric: Metric, lists: RankedLists) -> None:
    if lists.topk is None:
        raise MissingTruthError(
            f"{metric} needs top-k truth (labels that are positions), got graded labels; use "
            "podium.data.draw_truth(data, k), or RankingData.from_arrays(..., topk=k)"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class kNDCG(NDCG):  # noqa: N801 - the paper's name
    """kappa-NDCG: NDCG on top-k truth, labels y = k + 1 - position.

    Niu, Guo, Lan, Cheng, Top-k learning to rank, SIGIR 2012, section 3.3.1. With the gain 2^y - 1
    and k = 10, the first place has 65% of the ideal, and the first three have 94%.
    """

    name = "kNDCG"
    formula = "NDCG on y = k + 1 - position in the top-k truth"

    def values(self, lists: RankedLists) -> Floats:
        """Return NDCG on position labels."""
        _check_truth(self, lists)
        return super().values(lists)


@dataclass(frozen=True, kw_only=True, repr=False)
class kERR(ERR):  # noqa: N801 - the paper's name
    """kappa-ERR: ERR on top-k truth (same paper, section 3.3.2, with 1/rank instead of the printed 1/n).

    r_max is the largest label of the query, as in the paper. A perfect top-10 list has .9993.
    """

    name = "kERR"
    formula = "ERR on y = k + 1 - position in the top-k truth"

    r_max: float | Literal["scale", "query"] = "query"

    def values(self, lists: RankedLists) -> Floats:
        """Return ERR on position labels."""
        _check_truth(self, lists)
        return super().values(lists)
