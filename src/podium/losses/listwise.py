"""Listwise losses: ListNet, ListMLE, top-k ListMLE, and the squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium import kernels
from podium.data import Groups
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists
from podium.losses.loss import BoundLoss, KernelLoss, ListLoss, Loss
from podium.typing import Derivatives, Floats, Rows


def check_whole_number(value: object, what: str, least: int = 1) -> None:
    """Raise if the parameter is not a whole number of `least` or more."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise UsageError(f"expected {what} to be a whole number of {least} or more, got {value!r}")


def softmax(groups: Groups, values: Floats) -> Floats:
    """Return exp(v_j) / sum_l exp(v_l) within each query.

    Examples
    --------
    >>> softmax(Groups.from_sizes([2, 1]), np.array([1000.0, 1000.0, 3.0])).tolist()
    [0.5, 0.5, 1.0]
    """
    e = np.exp(values - groups.spread(groups.reduce(np.maximum, values)))
    return np.asarray(e / groups.spread(groups.reduce(np.add, e)))


@dataclass(frozen=True)
class ListNetLoss(ListLoss):
    """The cross entropy of first choices: -sum_j P_y(j) log P_s(j), P_z = softmax(z).

    Cao, Qin, Liu, Tsai, Li, Learning to rank: from pairwise to listwise approach, ICML 2007. At
    depth j, the choices are ordered prefixes of j documents under Plackett-Luce; they cost n^j.
    Queries whose labels are all equal do not count.

    Parameters
    ----------
    depth
        The number of documents in a prefix.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 2, [1, 0], qid=[1] * 2)
    >>> ListNetLoss().bind(data)(np.zeros(2))[0].round(6).tolist()  # log 2
    [0.693147]
    """

    name: ClassVar[str] = "listnet"

    depth: int = 1

    def __post_init__(self) -> None:
        check_whole_number(self.depth, "depth")

    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists."""
        groups, contrast = lists.groups, lists.contrast
        if self.depth > 1:
            return KernelLoss(
                self,
                groups,
                contrast,
                kernels.top_cross_entropy,
                kernels.top_cross_entropy_product,
                {"labels": lists.labels, "mass": contrast.astype(float), "depth": self.depth},
            )
        return KernelLoss(
            self,
            groups,
            contrast,
            kernels.softmax_cross_entropy,
            kernels.softmax_cross_entropy_product,
            {"target": softmax(groups, lists.labels) * groups.spread(contrast)},
            pass_over=kernels.softmax_cross_entropy_pass,
        )


def _likelihood(loss: Loss, lists: LabelledLists, k: int | None) -> BoundLoss:
    """Bind the first k choices (None: all) of Plackett-Luce, in the order of the labels."""
    sizes = lists.groups.sizes
    stages = (sizes if k is None else np.minimum(sizes, k)) * lists.contrast
    return KernelLoss(
        loss,
        lists.groups,
        lists.contrast,
        kernels.plackett_luce,
        kernels.plackett_luce_product,
        {"order": lists.order(), "stages": stages},
        pass_over=kernels.plackett_luce_pass,
    )


@dataclass(frozen=True)
class ListMLELoss(ListLoss):
    """The negative log likelihood of the true order: -sum_i log P_s(pi_i among pi_i .. pi_n).

    Xia, Liu, Wang, Zhang, Li, Listwise approach to learning to rank, ICML 2008. Equal labels are
    ordered at random by the seed of ``bind``; queries whose labels are all equal do not count.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
    >>> ListMLELoss().bind(data)(np.zeros(3))[0].round(6).tolist()  # log 3!
    [1.791759]
    """

    name: ClassVar[str] = "listmle"

    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists."""
        return _likelihood(self, lists, None)


@dataclass(frozen=True)
class TopkListMLELoss(ListLoss):
    """ListMLE's first k choices: -sum_{i <= k} log P_s(pi_i among pi_i .. pi_n).

    Xia, Liu, Li, Statistical consistency of top-k ranking, NIPS 2009. Equal labels are treated as
    in ListMLELoss.

    Parameters
    ----------
    k
        The number of places that count.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
    >>> TopkListMLELoss(k=1).bind(data)(np.zeros(3))[0].round(6).tolist()  # log 3
    [1.098612]
    """

    name: ClassVar[str] = "topk-listmle"

    k: int = 10

    def __post_init__(self) -> None:
        check_whole_number(self.k, "k")

    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists."""
        return _likelihood(self, lists, self.k)


@dataclass(frozen=True)
class SquaredLoss(ListLoss):
    """Regression on the labels: sum_j (s_j - y_j)^2. The only loss that changes if all scores shift.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 2, [1, 3], qid=[1] * 2)
    >>> SquaredLoss().bind(data)(np.zeros(2))[0].tolist()
    [10.0]
    """

    name: ClassVar[str] = "squared"

    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists."""
        nonempty = lists.groups.sizes > 0
        return KernelLoss(
            self, lists.groups, nonempty, _squared, _squared_product, {"labels": lists.labels}
        )


def _squared(scores: Floats, labels: Floats, offsets: Rows) -> Derivatives:
    gap = scores - labels
    return Groups(offsets).reduce(np.add, gap**2), 2 * gap, np.full(len(gap), 2.0)


def _squared_product(scores: Floats, labels: Floats, offsets: Rows, direction: Floats) -> Floats:
    return 2 * direction
