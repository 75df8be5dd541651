"""FocusedSVM: a structural SVM on the top k, RankSVM between the top k and the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from podium.losses import FocusedLoss, Loss, OrderHinge, PairHinge
from podium.rankers.parameters import Count, Positive, Seed, Share
from podium.rankers.svm import SVM


@dataclass(kw_only=True, eq=False, repr=False)
class FocusedSVM(SVM):
    """A structural SVM on the order of the top k, RankSVM between the top k and the rest.

    1/2 |w|^2 + C sum_q [beta L_list(T) + (1 - beta) L_pair(T x F)]. In each query, both terms are
    divided by their value at zero scores. T is a total order, but AP takes binary labels. So the
    listwise term has two readings: "dcg" is the loss in DCG with linear gain, for any k; "cuts" is
    the mean AP over all k - 1 cuts of T, for k up to 12. Niu, Guo, Lan, Cheng, SIGIR 2012, section
    3.2.

    Parameters
    ----------
    k
        The number of places that count.
    beta
        The share of the listwise term, from 0 to 1.
    C
        The weight of a query's loss against |w|^2.
    reading
        The reading of the listwise term.
    scale_pairs
        Whether y_u - y_v times the score difference of a pair must be 1 or more, as printed. The
        document at place p of the top k then needs a margin of only 1 / (k + 1 - p).
    eps
        The proved gap to the optimum, as a share of the objective. A gap of 1e-3 moves kNDCG@10 on MQ2008 by
        more than the lead of this ranker over RankSVM.

    Examples
    --------
    >>> from podium.data import draw_truth, make_synthetic
    >>> data = draw_truth(make_synthetic(n_queries=50, seed=0), k=5)
    >>> bool(FocusedSVM(k=5).fit(data).score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "focused-svm"
    paper: ClassVar[str] = "Niu, Guo, Lan, Cheng, SIGIR 2012"
    grid: ClassVar[dict[str, Any]] = {"beta": tuple(i / 20 for i in range(21))}
    warm_start_along: ClassVar[str | None] = "beta"

    C: Positive = 0.1
    k: Count = 10
    beta: Share = 0.5
    reading: Literal["dcg", "cuts"] = "dcg"
    scale_pairs: bool = False
    eps: Positive = 1e-6
    seed: Seed = 0

    def loss(self) -> Loss:
        """Return the sum of both terms."""
        return FocusedLoss(
            list=OrderHinge(reading=self.reading), pair=PairHinge(power=1),
            k=self.k, beta=self.beta, scale_pairs=self.scale_pairs,
        )  # fmt: skip
