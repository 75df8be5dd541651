"""FocusedRank's loss (FocusedSVM, FocusedNet): a list loss on the top k, pairs with the rest."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import ClassVar

import numpy as np

from podium import kernels
from podium.data import Groups, RankingData
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists, LabelledPairs
from podium.losses.listwise import ListNetLoss, check_whole_number
from podium.losses.loss import BoundLoss, KernelLoss, LinearPass, ListLoss, Loss, WeightedLoss
from podium.losses.pairwise import PairLogistic, PairLoss, ScaledPairs
from podium.typing import Bools, Derivatives, Floats, Rows


@dataclass(frozen=True)
class FocusedLoss(Loss):
    """beta L_list(T) + (1 - beta) L_pair(T x F), where T is the top k of the truth and F the rest.

    Niu, Guo, Lan, Cheng, Top-k learning to rank, SIGIR 2012, section 3.2 (FocusedNet: ListNet on T,
    RankNet on T x F). In each query, each term is divided by its value at zero scores: the paper's
    footnote 2 requires comparable ranges but does not say how. A term is 0 in a query with fewer
    than two documents in T, or none in F; the other term keeps its weight.

    For graded labels, the seed of ``bind`` draws a total order, and its first k are T. Top-k truth
    of a larger k is cut to k; truth of a smaller k is not changed.

    Parameters
    ----------
    list
        Any listwise loss; it sees only T, with position labels k, k - 1, ..., 1.
    pair
        Any pair loss; each of its pairs has one document of T and one of F.
    k
        The number of places that count.
    beta
        The share of the list term, from 0 to 1.
    scale_pairs
        Whether a pair's score difference is multiplied by y_u - y_v, its difference in position labels
        (the paper's FocusedSVM).

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 4, [2, 1, 0, 0], qid=[1] * 4, topk=2)
    >>> FocusedLoss(k=2, beta=0.25).bind(data)(np.zeros(4))[0].tolist()  # 0.25 + 0.75
    [1.0]
    """

    name: ClassVar[str] = "focused"

    list: ListLoss = field(default_factory=ListNetLoss)
    pair: PairLoss = field(default_factory=PairLogistic)
    k: int = 10
    beta: float = 0.5
    scale_pairs: bool = False

    def __post_init__(self) -> None:
        check_whole_number(self.k, "k")
        if not isinstance(self.beta, int | float) or not 0 <= self.beta <= 1:
            raise UsageError(f"expected beta from 0 to 1, got {self.beta!r}")
        if not isinstance(self.scale_pairs, bool):
            raise UsageError(f"expected scale_pairs True or False, got {self.scale_pairs!r}")
        for part, kind in ((self.list, ListLoss), (self.pair, PairLoss)):
            if not isinstance(part, kind):
                raise UsageError(f"{self.name} needs a {kind.__name__}, got {part!r}")

    def bind(self, data: RankingData, seed: int = 0) -> BoundLoss:
        """Bind the loss to top-k truth, which is drawn from the labels if they are grades."""
        truth = LabelledLists.from_data(data, seed).truth(self.k)
        top = truth.labels > 0
        terms: builtins.list[tuple[BoundLoss, float]] = []
        if self.beta > 0:
            subset = self.list.bind_lists(truth.take(top))
            terms.append((SubsetLoss(subset, data.groups, np.flatnonzero(top)), self.beta))
        labels = truth.labels if self.scale_pairs else top.astype(np.float64)
        del truth  # numbers per row take memory until they are dropped
        if self.beta < 1:
            terms.append((self._pair_term(data.groups, labels), 1 - self.beta))
        del labels
        return SumOfLosses([scale_by_start(term, share) for term, share in terms])

    def _pair_term(self, groups: Groups, labels: Floats) -> BoundLoss:
        """Return the loss of the pairs T x F; labels in F are 0, so y_u - y_v = y_u."""
        if self.scale_pairs:
            return ScaledPairs.from_labels(self.pair, groups, labels)
        return self.pair.bind_pairs(LabelledPairs.from_labels(groups, labels))


def scale_by_start(bound: BoundLoss, share: float) -> WeightedLoss:
    """Return a loss divided by its value at zero scores, times a share; 0 if that value is 0."""
    start = bound.values(np.zeros(bound.groups.n_rows))
    weight = np.zeros(len(start))
    return WeightedLoss(bound, np.divide(share, start, out=weight, where=start > 0))


@dataclass(frozen=True, eq=False)
class SubsetLoss(BoundLoss):
    """A loss of some rows, extended to all rows."""

    bound: BoundLoss
    groups: Groups
    rows: Rows

    @property
    def smooth(self) -> bool:
        """Whether the loss of the subset has a curvature."""
        return self.bound.smooth

    @property
    def active(self) -> Bools:
        """The queries for which the loss of the subset is active."""
        return self.bound.active

    def redraw(self, round_number: int) -> BoundLoss:
        """Return the loss with the random numbers of this round."""
        return SubsetLoss(self.bound.redraw(round_number), self.groups, self.rows)

    def _spread(self, values: Floats) -> Floats:
        out = np.zeros(self.groups.n_rows)
        out[self.rows] = values
        return out

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return values and gradient, 0 outside the subset."""
        values, gradient = self.bound(self.vector(scores)[self.rows])
        return values, self._spread(gradient)

    def values(self, scores: Floats) -> Floats:
        """Return the values."""
        return self.bound.values(self.vector(scores)[self.rows])

    def curvature(self, scores: Floats) -> Floats:
        """Return the curvature, 0 outside the subset."""
        return self._spread(self.bound.curvature(self.vector(scores)[self.rows]))

    def derivatives(self, scores: Floats) -> Derivatives:
        """Return values, gradient and curvature."""
        values, gradient, curvature = self.bound.derivatives(self.vector(scores)[self.rows])
        return values, self._spread(gradient), self._spread(curvature)

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """Return the product, 0 outside the subset."""
        scores, direction = self.vector(scores), self.vector(direction, "values in direction")
        return self._spread(self.bound.product(scores[self.rows], direction[self.rows]))


def _list_and_pairs_pass(listed: WeightedLoss, paired: WeightedLoss) -> LinearPass | None:
    """Return the kernel of ListNet on some rows plus RankNet's pairs, if the terms are these."""
    subset, pair_weight, pairs = listed.bound, paired.weight, paired.bound
    if isinstance(pairs, WeightedLoss):  # the mean over pairs
        pair_weight, pairs = pair_weight * pairs.weight, pairs.bound
    if not (
        isinstance(subset, SubsetLoss)
        and isinstance(subset.bound, KernelLoss)
        and subset.bound.evaluate is kernels.softmax_cross_entropy
        and isinstance(pairs, KernelLoss)
        and pairs.evaluate is kernels.logistic_pairs
    ):
        return None
    return partial(
        kernels.softmax_and_logistic_pass, **subset.bound.bound, members=subset.rows,
        member_offsets=subset.bound.groups.offsets, list_weight=listed.weight, **pairs.bound,
        pair_weight=pair_weight, offsets=pairs.groups.offsets,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SumOfLosses(BoundLoss):
    """The sum of bound losses on the same queries."""

    terms: Sequence[BoundLoss]

    @property
    def groups(self) -> Groups:  # type: ignore[override]
        """The queries."""
        return self.terms[0].groups

    @property
    def smooth(self) -> bool:
        """Whether all terms have a curvature."""
        return all(term.smooth for term in self.terms)

    @property
    def active(self) -> Bools:
        """The queries for which any term is active."""
        return np.asarray(reduce(np.logical_or, [term.active for term in self.terms]))

    def redraw(self, round_number: int) -> BoundLoss:
        """Return the loss with the random numbers of this round."""
        return SumOfLosses([term.redraw(round_number) for term in self.terms])

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return values and gradient."""
        values, gradient = _sum_parts(self.terms, lambda term: term(scores))
        return values, gradient

    def linear_pass(self) -> LinearPass | None:
        """Return the kernel of the only term, or of ListNet on some rows plus RankNet's pairs."""
        if len(self.terms) == 1:
            return self.terms[0].linear_pass()
        listed, paired, *others = self.terms
        if others or not (isinstance(listed, WeightedLoss) and isinstance(paired, WeightedLoss)):
            return None
        return _list_and_pairs_pass(listed, paired)

    def curvature(self, scores: Floats) -> Floats:
        """Return the sum of the curvatures."""
        return _sum_parts(self.terms, lambda term: (term.curvature(scores),))[0]

    def derivatives(self, scores: Floats) -> Derivatives:
        """Return values, gradient and curvature."""
        values, gradient, curvature = _sum_parts(self.terms, lambda term: term.derivatives(scores))
        return values, gradient, curvature

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """Return the sum of the products."""
        return _sum_parts(self.terms, lambda term: (term.product(scores, direction),))[0]


def _sum_parts(
    terms: Sequence[BoundLoss], of: Callable[[BoundLoss], tuple[Floats, ...]]
) -> builtins.list[Floats]:
    """Return the sum over the terms, part by part."""
    return [np.asarray(reduce(np.add, parts)) for parts in zip(*map(of, terms), strict=True)]
