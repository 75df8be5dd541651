"""Structural hinge losses: how much the most violated ranking is preferred to the ideal one.

max over rankings z of Delta(z) + s.Psi(z) - s.Psi(ideal): convex in the scores s, never below the
loss Delta of the ranking by s itself, and never below 0. Not smooth: the gradient is that of the
maximiser (a subgradient), and there is no curvature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data import Groups
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists
from podium.losses.loss import BoundLoss, ListLoss

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Reading = Literal["dcg", "cuts"]

MOST_CUT = 12  # documents of a query whose 2^k sets are gone through


@dataclass(frozen=True)
class APHinge(ListLoss):
    """SVM-MAP: Delta = 1 - average precision.

    Psi(z) = 1/(|R||N|) sum over relevant i and other j of z_ij (x_i - x_j), z_ij = 1 where i is
    above j and -1 below. The most violated ranking is exact, in O(n log n) (Yue, Finley,
    Radlinski, Joachims: A support vector method for optimizing average precision, SIGIR 2007).

    Parameters
    ----------
    rel
        Labels of `rel` or more are relevant.

    Examples
    --------
    Equal scores, one relevant document of two: lowest place, AP 1/2.

    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0], [0.0]], [0, 1], qid=[1, 1])
    >>> values, gradient = APHinge().bind(data)(np.zeros(2))
    >>> values.tolist(), gradient.tolist()
    ([0.5], [2.0, -2.0])
    """

    name: ClassVar[str] = "svm-map"

    rel: float = 1.0

    def on(self, judged: LabelledLists) -> BoundLoss:
        """The loss on these documents."""
        return _BoundAPHinge(judged.groups, judged.labels >= self.rel)


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
    """The order of a list, as in FocusedSVM's term on the top k documents T.

    reading "dcg": Delta = 1 - DCG/ideal DCG over T with linear gain k + 1 - position,
    Psi(z) = sum_j l(place of j) x_j with l the discount 1/log2(1 + place): the most violated
    ranking is a sort. reading "cuts": Delta = 1 - the mean over cuts c < |T| of AP with the c
    best of T relevant, Psi the pair map of SVM-MAP over all pairs of T: a programme over the
    subsets of T, at most 12 documents. (Niu, Guo, Lan, Cheng: Top-k learning to rank, SIGIR 2012,
    section 3.2, leaves open how AP reads a total order.)

    It is meant for lists whose labels are positions, k + 1 - position, all different; equal labels
    are taken in the order of the rows.

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

    def on(self, judged: LabelledLists) -> BoundLoss:
        """The loss on these documents."""
        largest = int(judged.groups.sizes.max(initial=0))
        if self.reading == "cuts" and largest > MOST_CUT:
            raise UsageError(
                f"reading 'cuts' goes through all sets of the top documents of a query and takes "
                f"{MOST_CUT} of them at most, got {largest}; reading 'dcg' takes any number"
            )
        return _BoundOrderHinge(judged, self.reading)


@dataclass(frozen=True, eq=False)
class _BoundOrderHinge(BoundLoss):
    judged: LabelledLists
    reading: Reading

    @property
    def groups(self) -> Groups:  # type: ignore[override]
        return self.judged.groups

    @property
    def smooth(self) -> bool:
        return False

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        member = np.ones(self.groups.n_rows, dtype=bool)
        truth = self.vector(scores), self.judged.labels, member, self.groups.offsets
        if self.reading == "cuts":
            return kernels.violated_cuts(*truth)
        discount = 1 / np.log2(2.0 + np.arange(self.groups.sizes.max(initial=1)))
        return kernels.violated_order(*truth, discount)

    @property
    def active(self) -> Bools:
        return self.judged.contrast
