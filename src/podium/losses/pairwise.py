"""Pairwise losses: every document with every document of its query that has a lower label."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from podium import kernels
from podium.data import Groups, RankingData
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledPairs
from podium.losses.loss import BoundLoss, KernelLoss, Loss, OrderedLoss, WeightedLoss
from podium.typing import Bools, Derivatives, Floats, Rows


class PairLoss(Loss):
    """A loss of pairs: their sum, or with ``pairs="mean"`` the sum divided by the query's number of pairs."""

    pairs: Literal["mean", "sum"]

    def __post_init__(self) -> None:
        if self.pairs not in ("mean", "sum"):
            raise UsageError(f"expected pairs='mean' or 'sum' in {self.name}, got {self.pairs!r}")

    def bind(self, data: RankingData, seed: int = 0) -> BoundLoss:
        """Bind the loss to all pairs of documents with different labels."""
        return self.bind_pairs(LabelledPairs.from_labels(data.groups, data.y))

    def bind_pairs(self, pairs: LabelledPairs) -> BoundLoss:
        """Bind the loss to these pairs."""
        total = self.total(pairs)
        return (
            total if self.pairs == "sum" else WeightedLoss(total, 1 / np.maximum(pairs.counts, 1))
        )

    @abstractmethod
    def total(self, pairs: LabelledPairs) -> BoundLoss:
        """Bind the sum over the pairs."""


@dataclass(frozen=True)
class PairHinge(PairLoss):
    """RankSVM's loss: sum over pairs y_u > y_v of max(0, 1 - (s_u - s_v))^power.

    Herbrich, Graepel, Obermayer 2000; Joachims, KDD 2002. It takes O(n log n) per query for any
    number of grades, by a sweep along the scores (after Lee and Lin, Large-scale linear RankSVM,
    2014).

    Parameters
    ----------
    power
        1: the hinge, with a subgradient and no curvature; 2: its square.
    pairs
        "sum", or "mean" to divide by the query's number of pairs.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
    >>> PairHinge().bind(data)(np.array([3.0, 0.0, 0.5]))[0].tolist()  # (1 + 0.5)^2
    [2.25]
    """

    name: ClassVar[str] = "hinge"

    power: int = 2
    pairs: Literal["mean", "sum"] = "sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.power not in (1, 2):
            raise UsageError(f"expected power 1 or 2 in {self.name}, got {self.power!r}")

    def total(self, pairs: LabelledPairs) -> BoundLoss:
        """Bind the sum over the pairs."""
        smooth = self.power == 2
        return OrderedLoss(
            self,
            pairs.groups,
            pairs.counts > 0,
            partial(kernels.hinge_pairs, power=self.power),
            kernels.hinge_pairs_product if smooth else None,
            {"levels": pairs.levels},
            flat=not smooth,
            multiply_many=kernels.hinge_pairs_products if smooth else None,
            has_flat_form=True,
            multiply_in_pass=kernels.hinge_pairs_product_pass if smooth else None,
        )


@dataclass(frozen=True)
class PairLogistic(PairLoss):
    """RankNet's loss: over pairs y_u > y_v, log(1 + exp(-(s_u - s_v))).

    Burges et al., Learning to rank using gradient descent, ICML 2005.

    Parameters
    ----------
    pairs
        "mean" to divide by the query's number of pairs, or "sum".

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
    >>> PairLogistic().bind(data)(np.zeros(3))[0].round(6).tolist()  # log 2
    [0.693147]
    """

    name: ClassVar[str] = "ranknet"

    pairs: Literal["mean", "sum"] = "mean"

    def total(self, pairs: LabelledPairs) -> BoundLoss:
        """Bind the sum over the pairs."""
        return KernelLoss(
            self,
            pairs.groups,
            pairs.counts > 0,
            kernels.logistic_pairs,
            kernels.logistic_pairs_product,
            {"levels": pairs.levels, "by_level": pairs.by_level},
            has_flat_form=True,
            pass_over=kernels.logistic_pairs_pass,
        )


@dataclass(frozen=True, eq=False)
class ScaledPairs(BoundLoss):
    """A pair loss between labelled documents and all documents of label 0: phi(y_u (s_u - s_v)).

    Each labelled document u gets its own list: u and its query's documents of label 0, with all
    scores multiplied by y_u. The pair loss of that list is the sum over the pairs of u. So the
    kernel of every pair loss can be scaled, at the cost of one list per labelled document. A loss
    with ``pairs="mean"`` is divided by the total number of these pairs in the query.

    Parameters
    ----------
    groups
        The queries.
    lists
        The pair loss on the lists.
    query
        The query of each list.
    rows
        The row of the data for each row of the lists.
    factor
        y_u of each row of the lists.

    Examples
    --------
    >>> pairs = ScaledPairs.from_labels(PairHinge(power=1), Groups.from_sizes([3]), np.array([2.0, 1.0, 0.0]))
    >>> values, gradient = pairs(np.array([0.25, 0.5, 0.0]))
    >>> values.tolist(), gradient.tolist()  # (1 - 2 * 0.25) + (1 - 0.5)
    ([1.0], [-2.0, -1.0, 3.0])
    """

    groups: Groups
    lists: BoundLoss
    query: Rows
    rows: Rows
    factor: Floats

    @classmethod
    def from_labels(cls, loss: PairLoss, groups: Groups, labels: Floats) -> ScaledPairs:
        """Bind a pair loss to labels of 0 or more."""
        rest = np.flatnonzero(labels == 0)
        n_rest = np.bincount(groups.codes[rest], minlength=len(groups))
        first_rest = np.cumsum(n_rest) - n_rest
        tops = np.flatnonzero((labels > 0) & (groups.spread(n_rest) > 0))
        query = groups.codes[tops]
        lists = Groups.from_sizes(1 + n_rest[query])
        place = np.arange(lists.n_rows) - lists.spread(lists.offsets[:-1])
        rows = np.asarray(lists.spread(tops)).copy()
        rest_place = lists.spread(first_rest[query]) + place - 1
        rows[place > 0] = rest[rest_place[place > 0]]
        bound = loss.total(LabelledPairs.from_labels(lists, (place == 0).astype(np.float64)))
        if loss.pairs == "mean":  # over all pairs of the query, not over those of each list
            n_lists = np.bincount(query, minlength=len(groups))
            bound = WeightedLoss(bound, 1 / (n_lists * n_rest)[query])
        return cls(groups, bound, query, rows, np.asarray(lists.spread(labels[tops])))

    @property
    def smooth(self) -> bool:
        """Whether the pair loss has a curvature."""
        return self.lists.smooth

    @property
    def active(self) -> Bools:
        """The queries that have labelled documents and documents of label 0."""
        return np.bincount(self.query, minlength=len(self.groups)) > 0

    def _scaled(self, values: Floats, what: str = "scores") -> Floats:
        return np.asarray(self.vector(values, what)[self.rows] * self.factor)

    def _by_query(self, values: Floats) -> Floats:
        sums = np.bincount(self.query, weights=values, minlength=len(self.groups))
        return np.asarray(sums, dtype=np.float64)

    def _by_row(self, values: Floats) -> Floats:
        sums = np.bincount(self.rows, weights=values, minlength=self.groups.n_rows)
        return np.asarray(sums, dtype=np.float64)

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return values and gradient."""
        values, gradient = self.lists(self._scaled(scores))
        return self._by_query(values), self._by_row(gradient * self.factor)

    def curvature(self, scores: Floats) -> Floats:
        """Return the diagonal of the Hessian."""
        return self._by_row(self.lists.curvature(self._scaled(scores)) * self.factor**2)

    def derivatives(self, scores: Floats) -> Derivatives:
        """Return values, gradient and curvature in one pass."""
        values, gradient, curvature = self.lists.derivatives(self._scaled(scores))
        return (
            self._by_query(values), self._by_row(gradient * self.factor),
            self._by_row(curvature * self.factor**2),
        )  # fmt: skip

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """Return the Hessian times a direction."""
        scaled_direction = self._scaled(direction, "values in direction")
        product = self.lists.product(self._scaled(scores), scaled_direction)
        return self._by_row(product * self.factor)
