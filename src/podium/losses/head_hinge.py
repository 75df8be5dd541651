"""HeadHinge: the losses and the joint feature map Psi of TopSlack and TopMargin, on the head of a list.

Delta(z) = 1 - M(z) / M(ideal) with M = NDCG@n or P@n, and Psi(z) = sum_j l(place of j) x_j with the
discount l of the measure, 0 after place n, so that sorting by w.x maximises w.Psi. Margin scaling
requires a lead of Delta over every ranking z; slack scaling costs Delta times the amount by which
the lead is below 1:

    margin: max_z Delta(z) - w.dPsi(z)          dPsi(z) = Psi(ideal) - Psi(z)
    slack:  max_z Delta(z) (1 - w.dPsi(z))

The slack search is the kernel `violated_head` (``kernels/reference/most_violated_head.py``). Cheng, Sun, Xie:
TopRank, equations (2), (4), (12), (13); Le, Smola: Direct optimization of ranking
measures, 2007, for Psi.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from podium import kernels
from podium.data import Groups
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists
from podium.losses.loss import BoundLoss, ListLoss
from podium.metrics import NDCG, Metric, P
from podium.metrics.gain_and_discount import check_exponent, discounts
from podium.metrics.naming import parse
from podium.typing import Bools, Floats, Rows

Search = Literal["margin", "hull", "golden"]
"""The search for the most violated ranking."""


@dataclass(frozen=True)
class HeadHinge(ListLoss):
    """How much the scores prefer the most violated ranking to the ideal one, on the head of the list.

    Labels have many ideal rankings. ``ideal="own"`` takes the one whose ties are in the order of
    the scores. This loss is not convex, but it is convex for a fixed ideal (see
    `BoundHeadHinge.most_violated`). ``ideal="mean"`` averages over all ideal rankings and cuts at
    the number of relevant documents. This loss is convex, but too strict if most documents are
    relevant.

    The maximum of the slack over rankings is hard to find. "hull" finds the exact maximum over
    mixtures of rankings, which is a convex upper bound. "golden" searches like the paper.

    Parameters
    ----------
    measure
        "NDCG@n" or "P@n"; "NDCG" without a number counts the whole list.
    search
        "margin" for margin scaling; "hull" or "golden" for slack scaling.
    ideal
        "own" or "mean".

    Examples
    --------
    One relevant document of two, equal scores: below the other it has NDCG 1 / log2(3).

    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0], [0.0]], [0, 1], qid=[1, 1])
    >>> values, gradient = HeadHinge("NDCG@10", search="margin").bind(data)(np.zeros(2))
    >>> bool(np.isclose(values[0], 1 - 1 / np.log2(3)))
    True
    """

    name: ClassVar[str] = "head"

    measure: str = "NDCG@10"
    search: Search = "hull"
    ideal: Literal["own", "mean"] = "own"

    def __post_init__(self) -> None:
        if self.search not in ("margin", "hull", "golden"):
            raise UsageError(f"expected search margin, hull or golden, got {self.search!r}")
        if self.ideal not in ("own", "mean"):
            raise UsageError(f"expected ideal 'own' or 'mean', got {self.ideal!r}")
        head_measure(self.measure)

    def bind_lists(self, lists: LabelledLists) -> BoundHeadHinge:
        """Bind the loss to these lists."""
        metric, groups = head_measure(self.measure), lists.groups
        gains = _gains(metric, lists.labels)
        longest = int(groups.sizes.max(initial=1))
        cuts = np.minimum(groups.sizes, longest if metric.k is None else metric.k)
        if self.ideal == "mean":
            cuts = np.minimum(cuts, groups.reduce(np.add, (gains > 0).astype(np.int64)))
        return BoundHeadHinge(
            groups, gains, cuts, _discount(metric, longest), self.search, self.ideal
        )


def head_measure(name: str) -> NDCG | P:
    """Return NDCG@n or P@n, the measures of equations (12) and (13) of the paper."""
    metric = parse(name)
    metric.check_cutoff()
    has_equation = type(metric) is P or (type(metric) is NDCG and metric.gain in ("exp2", "linear"))
    if not has_equation:
        raise UsageError(
            f"expected the measure of a head to be NDCG@n (gain exp2 or linear) or P@n, got {name}"
        )
    assert isinstance(metric, NDCG | P)
    return metric


def _gains(metric: Metric, labels: Floats) -> Floats:
    """Return b of equations (12) and (13), without Nor."""
    if isinstance(metric, P):
        return (labels >= metric.rel).astype(np.float64)
    assert isinstance(metric, NDCG)
    if metric.gain == "linear":
        return labels
    check_exponent(float(labels.max(initial=0)))
    return kernels.exp2_gain(labels)


def _discount(metric: Metric, longest: int) -> Floats:
    """Return l = a of equations (12) and (13), for places up to n."""
    if isinstance(metric, P):
        assert metric.k is not None
        return np.full(longest, 1 / metric.k)
    assert isinstance(metric, NDCG)
    return discounts(metric.discount, longest)


@dataclass(frozen=True, eq=False)
class BoundHeadHinge(BoundLoss):
    """HeadHinge on the labels of some queries.

    Parameters
    ----------
    groups
        The queries.
    gains
        b, one per document.
    cuts
        The number of places of each query that count.
    discount
        l, one per place.
    search, ideal
        As in HeadHinge.
    """

    groups: Groups
    gains: Floats
    cuts: Rows
    discount: Floats
    search: Search
    ideal: Literal["own", "mean"]

    @property
    def smooth(self) -> bool:
        """Whether the loss has a curvature: no, because a maximum has corners."""
        return False

    @cached_property
    def active(self) -> Bools:
        """The queries that have a ranking worse than the ideal one."""
        best, worst = self._best, self._sum(self.groups.order(-self.gains))
        return np.asarray(best > worst * (1 + 1e-12))

    @cached_property
    def worth(self) -> Floats:
        """b / M(ideal), so that the ideal ranking has sum_j l(place of j) worth_j = 1."""
        best = self.groups.spread(np.where(self._best > 0, self._best, 1.0))
        return np.asarray(self.gains / best)

    @cached_property
    def _best(self) -> Floats:
        return self._sum(self.groups.order(self.gains))

    @cached_property
    def _head(self) -> Floats:
        """The discount of each place of each query, 0 after its cut."""
        places = self.groups.places
        return np.where(places < self.groups.spread(self.cuts), self.discount[places], 0.0)

    def _sum(self, order: Rows) -> Floats:
        """Return M of a ranking."""
        return np.asarray(self.groups.reduce(np.add, self._head * self.gains[order], 0.0))

    def ideal_places(self, scores: Floats) -> Floats:
        """Return l of each document's place in the ideal ranking; ties are by score or averaged."""
        order = self.groups.order(self.gains, -self.vector(scores) if self.ideal == "own" else None)
        out = np.empty(len(order))
        out[order] = self._head
        return out if self.ideal == "own" else self._averaged(out, order)

    def _averaged(self, places: Floats, order: Rows) -> Floats:
        """Return places averaged over the documents of equal gain."""
        ties = self.groups.runs(self.gains[order])
        means = ties.reduce(np.add, places[order]) / np.maximum(ties.sizes, 1)
        out = np.empty_like(places)
        out[order] = ties.spread(means)
        return out

    def most_violated(
        self,
        ideal: Floats,
        scores: Floats,
        reached: Floats | None = None,
        search: Search | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """Return values, gradient and the violation of the best single ranking for a fixed ideal.

        `reached` is a lower bound on each query's loss, for the golden section search.
        """
        return kernels.violated_head(
            self.vector(scores), self.worth, ideal, self.groups.offsets,
            np.where(self.active, self.cuts, 0), self.discount,
            search or self.search,
            np.zeros(len(self.groups)) if reached is None else reached,
        )  # fmt: skip

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return values and gradient for the ideal ranking whose ties are in the order of the scores."""
        values, gradient, _ = self.most_violated(self.ideal_places(scores), scores)
        return values, gradient
