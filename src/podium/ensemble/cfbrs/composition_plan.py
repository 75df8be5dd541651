"""Plan of an ensemble: the orders of the features, the compositions of each order, and their blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.cfbrs.composition_sums import CompositionSums
from podium.ensemble.cfbrs.compositions import BlockSpan, Composition, Compositions, block_spans
from podium.typing import Floats

Features = tuple[int, ...]
"""The features of a block, ascending."""

OrderedComposition = tuple[int, Composition]
"""The number of an order of the features, and how it is cut."""

Chain = tuple[int, int, tuple[int, ...]]
"""Blocks with the same start: the number of their order, the start, and the end of each."""


@dataclass(frozen=True, eq=False)
class FeatureOrder:
    """The features in the order in which they are cut, and their compositions."""

    features: tuple[int, ...]
    compositions: Compositions

    def __getitem__(self, span: BlockSpan) -> Features:
        return tuple(sorted(self.features[slice(*span)]))

    @cached_property
    def sums(self) -> CompositionSums:
        """Sums over the compositions."""
        return CompositionSums.of(self.compositions)


@dataclass(frozen=True, eq=False)
class CompositionPlan:
    """Orders of the features, how they are cut, and the distinct blocks of the cuts.

    A block is a set of features: several orders may share it, as all orders share the block of all
    features.

    Parameters
    ----------
    orders
        One or more orders of the features.
    selection
        The compositions of the plan; None: all of every order.

    Examples
    --------
    >>> plan = CompositionPlan((FeatureOrder(tuple(range(6)), Compositions(6, 2)),))
    >>> len(plan.blocks), plan.blocks[0], plan.n_compositions
    (8, (0, 1), 5)
    """

    orders: tuple[FeatureOrder, ...]
    selection: tuple[OrderedComposition, ...] | None = None

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.orders[0].features)

    @property
    def n_compositions(self) -> int:
        """The number of compositions."""
        if self.selection is not None:
            return len(self.selection)
        return sum(order.compositions.count for order in self.orders)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """The distinct blocks by order and start; the blocks of a chain grow."""
        ends: dict[tuple[int, int], list[int]] = {}
        distinct: set[Features] = set()
        for number, (a, b) in dict.fromkeys(self._spans()):
            block = self.orders[number][a, b]
            if block not in distinct:
                distinct.add(block)
                ends.setdefault((number, a), []).append(b)
        return tuple((number, a, tuple(sorted(own))) for (number, a), own in ends.items())

    def _spans(self) -> Iterator[tuple[int, BlockSpan]]:
        if self.selection is not None:
            return (
                (number, span) for number, sizes in self.selection for span in block_spans(sizes)
            )
        return (
            (number, span)
            for number, order in enumerate(self.orders)
            for span in order.compositions.blocks
        )

    @cached_property
    def blocks(self) -> tuple[Features, ...]:
        """The distinct blocks."""
        return tuple(self._numbers)

    @cached_property
    def _numbers(self) -> dict[Features, int]:
        blocks = (self.orders[number][a, b] for number, a, ends in self.chains for b in ends)
        return {block: at for at, block in enumerate(blocks)}

    @cached_property
    def size_shares(self) -> Floats:
        """n_k / N: the share of the features that each block has."""
        return np.array([len(block) for block in self.blocks]) / self.n_features

    def block_numbers(self, number: int, composition: Composition) -> NDArray[np.int64]:
        """Return the numbers of a composition's blocks; `number` is that of the order."""
        order = self.orders[number]
        return np.array([self._numbers[order[span]] for span in block_spans(composition)])

    @cached_property
    def _numbers_by_order(self) -> tuple[NDArray[np.int64], ...]:
        """For each order, the number of each block of its sums."""
        return tuple(
            np.array([self._numbers[order[span]] for span in order.sums.blocks])
            for order in self.orders
        )

    def shares(self, products: Floats | None = None, sums: Floats | None = None) -> Floats:
        """Return the share of the compositions that contain each block (see `CompositionSums`)."""
        if self.selection is None:
            return self._shares_of_all(products, sums)
        members = [self.block_numbers(*composition) for composition in self.selection]
        weights = np.ones(len(members))
        if products is not None:
            weights *= [np.prod(products[blocks]) for blocks in members]
        if sums is not None:
            weights *= [np.sum(sums[blocks]) for blocks in members]
        return self.shares_among(self.selection, weights)

    def _shares_of_all(self, products: Floats | None, sums: Floats | None) -> Floats:
        """Return the shares among all compositions; the weight of an order is that of its compositions."""
        shares_by_order, logs = [], []
        for order, blocks in zip(self.orders, self._numbers_by_order, strict=True):
            g = None if products is None else products[blocks]
            h = None if sums is None else sums[blocks]
            logs.append(order.sums.log_total(g, h))
            own = order.sums.shares(g, h) if np.isfinite(logs[-1]) else 0.0 * blocks
            shares_by_order.append(own)
        weights = np.exp(np.array(logs) - max(logs))  # the sums themselves may overflow a double
        weights = weights / weights.sum()
        shares = np.zeros(len(self.blocks))
        for own, blocks, weight in zip(
            shares_by_order, self._numbers_by_order, weights, strict=True
        ):
            shares[blocks] += weight * own
        return shares

    def shares_among(self, compositions: Sequence[OrderedComposition], weights: Floats) -> Floats:
        """Return the share of each block among these compositions, with their weights."""
        totals = np.zeros(len(self.blocks))
        for composition, weight in zip(compositions, weights.tolist(), strict=True):
            totals[self.block_numbers(*composition)] += weight
        return totals / np.sum(weights)

    def all_compositions(self) -> Iterator[OrderedComposition]:
        """Yield the compositions of the plan."""
        if self.selection is not None:
            return iter(self.selection)
        return (
            (number, sizes)
            for number, order in enumerate(self.orders)
            for sizes in order.compositions
        )

    def best_composition(
        self, gains: Floats, used: Sequence[OrderedComposition], alphas: Floats | None = None
    ) -> tuple[OrderedComposition, float] | None:
        """Return the unused composition with the largest gain of its blocks, and its feedback.

        If several are equal, it is the first; None if all are used. Without feedback the second
        value is 1.

        Parameters
        ----------
        alphas
            The feedback on each composition, a factor of the gain of its blocks; compositions with
            0 are left out.
        """
        excluded = set(used)
        if alphas is not None:
            return self._best_by_feedback(gains, excluded, alphas)
        candidates = (
            c for c in self.selection or self._candidates(gains, excluded) if c not in excluded
        )
        best = max(
            candidates, key=lambda c: float(np.sum(gains[self.block_numbers(*c)])), default=None
        )
        return None if best is None else (best, 1.0)

    def _best_by_feedback(
        self, gains: Floats, excluded: set[OrderedComposition], alphas: Floats
    ) -> tuple[OrderedComposition, float] | None:
        """Compare all compositions, because a product of two sums over blocks is not a longest path."""
        compositions, members, starts = self._listing
        values = np.round(alphas * np.add.reduceat(gains[members], starts), 12)
        for c in np.argsort(-values, kind="stable").tolist():
            if alphas[c] > 0 and compositions[c] not in excluded:
                return compositions[c], float(alphas[c])
        return None

    @cached_property
    def _listing(self) -> tuple[list[OrderedComposition], NDArray[np.int64], NDArray[np.int64]]:
        """The compositions, the numbers of their blocks in one array, and the start of each in the array."""
        compositions = list(self.all_compositions())
        members = [self.block_numbers(*composition) for composition in compositions]
        ends = np.cumsum([len(blocks) for blocks in members])
        return compositions, np.concatenate(members), np.concatenate([[0], ends[:-1]])

    def _candidates(
        self, gains: Floats, excluded: set[OrderedComposition]
    ) -> Iterator[OrderedComposition]:
        """Yield the best compositions of every order, one more than the number of excluded ones."""
        for number, (order, blocks) in enumerate(
            zip(self.orders, self._numbers_by_order, strict=True)
        ):
            for sizes in order.sums.best(gains[blocks], 1 + len(excluded)):
                yield number, sizes
