"""Structural hinge losses of SVM-MAP and FocusedSVM: the lead of the most violated ranking.

The loss is the maximum over rankings z of Delta(z) + s.Psi(z) - s.Psi(ideal). It is convex in the
scores s. It is at least the loss Delta of the ranking by s, and at least 0. It is not smooth: the
gradient is that of the maximiser (a subgradient), and there is no curvature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from podium import kernels
from podium.data import Groups
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists
from podium.losses.loss import BoundLoss, ListLoss
from podium.typing import Bools, Floats

Reading = Literal["dcg", "cuts"]

MAX_CUT_DOCUMENTS = 12
"""The maximum number of documents of a query for the reading "cuts", which enumerates their 2^k sets."""


@dataclass(frozen=True)
class APHinge(ListLoss):
    """SVM-MAP: Delta = 1 - average precision.

    Psi(z) = 1/(|R||N|) sum over relevant i and other j of z_ij (x_i - x_j), z_ij = 1 if i is above
    j and -1 if below. The most violated ranking is found exactly, in O(n log n) (Yue, Finley,
    Radlinski, Joachims: A support vector method for optimizing average precision, SIGIR 2007).

    Parameters
    ----------
    rel
        The lowest label that counts as relevant.

    Examples
    --------
    One relevant document of two, equal scores: at the lower place its AP is 1/2.

    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0], [0.0]], [0, 1], qid=[1, 1])
    >>> values, gradient = APHinge().bind(data)(np.zeros(2))
    >>> values.tolist(), gradient.tolist()
    ([0.5], [2.0, -2.0])
    """

    name: ClassVar[str] = "svm-map"

    rel: float = 1.0

    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists."""
        return _BoundAPHinge(lists.groups, lists.labels >= self.rel)


@dataclass(frozen=True, eq=False)
class _BoundAPHinge(BoundLoss):
    groups: Groups
    relevant: Bools

    @property
    def smooth(self) -> bool:
        return False

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        return kernels.violated_ap(self.vector(scores), self.relevant, self.groups.offsets)

    @property
    def active(self) -> Bools:
        hits = self.groups.reduce(np.add, self.relevant.astype(np.int64))
        return np.asarray((hits > 0) & (hits < self.groups.sizes))


@dataclass(frozen=True)
class OrderHinge(ListLoss):
    """A structural hinge on the order of a list: FocusedSVM's term on the top k documents T.

    reading "dcg": Delta = 1 - DCG/ideal DCG over T with linear gain k + 1 - position,
    Psi(z) = sum_j l(place of j) x_j with l the discount 1/log2(1 + place): the most violated
    ranking is a sort. reading "cuts": Delta = 1 - the mean over cuts c < |T| of AP with the c
    best of T relevant, Psi the pair map of SVM-MAP over all pairs of T: a programme over the
    subsets of T, at most 12 documents. (Niu, Guo, Lan, Cheng: Top-k learning to rank, SIGIR 2012,
    section 3.2, leaves open how AP reads a total order.)

    It is for lists whose labels are different positions, k + 1 - position; equal labels are in the
    order of rows.

    Parameters
    ----------
    reading
        "dcg" or "cuts".

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 2, [1, 2], qid=[1] * 2)
    >>> values, gradient = OrderHinge("cuts").bind(data)(np.array([0.0, 1.0]))
    >>> values.tolist(), gradient.tolist()  # right by the margin
    ([0.0], [0.0, 0.0])
    """

    name: ClassVar[str] = "svm-order"

    reading: Reading = "dcg"

    def __post_init__(self) -> None:
        if self.reading not in ("dcg", "cuts"):
            raise UsageError(f"expected reading 'dcg' or 'cuts', got {self.reading!r}")

    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists."""
        largest = int(lists.groups.sizes.max(initial=0))
        if self.reading == "cuts" and largest > MAX_CUT_DOCUMENTS:
            raise UsageError(
                f"reading 'cuts' takes at most {MAX_CUT_DOCUMENTS} top documents per query, "
                f"because it enumerates all their sets, got {largest}; reading 'dcg' takes "
                "any number"
            )
        return _BoundOrderHinge(lists, self.reading)


@dataclass(frozen=True, eq=False)
class _BoundOrderHinge(BoundLoss):
    lists: LabelledLists
    reading: Reading

    @property
    def groups(self) -> Groups:  # type: ignore[override]
        return self.lists.groups

    @property
    def smooth(self) -> bool:
        return False

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        member = np.ones(self.groups.n_rows, dtype=bool)
        truth = self.vector(scores), self.lists.labels, member, self.groups.offsets
        if self.reading == "cuts":
            return kernels.violated_cuts(*truth)
        discount = 1 / np.log2(2.0 + np.arange(self.groups.sizes.max(initial=1)))
        return kernels.violated_order(*truth, discount)

    @property
    def active(self) -> Bools:
        return self.lists.contrast
