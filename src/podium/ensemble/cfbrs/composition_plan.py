"""Plan of an ensemble: the orders of the features, the compositions of each order, and their blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.cfbrs.composition_sums import CompositionSums
from podium.ensemble.cfbrs.compositions import BlockSpan, Composition, Compositions, block_spans
from podium.errors import UnknownNameError, UsageError
from podium.typing import Floats

Features = tuple[int, ...]
"""The features of a block, ascending."""

OrderedComposition = tuple[int, Composition]
"""The number of an order of the features, and how it is cut."""

MAX_DRAWN_COMPOSITIONS = 1000
"""The most compositions that are drawn per order if all have too many blocks."""

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


def make_plan(
    names: Sequence[str],
    *,
    min_block: int,
    compositions: Any = "all",
    sampling: str = "uniform",
    probabilities: Sequence[float] | None = None,
    permutations: int = 1,
    groups: Mapping[str, Sequence[Any]] | None = None,
    max_blocks: int | None = None,
    seed: int = 0,
) -> CompositionPlan:
    """Return the plan of a `CFBRS` with these parameters for features with these names.

    If all compositions of an order have more than `max_blocks` blocks, compositions are drawn.

    Examples
    --------
    >>> plan = make_plan("abcdef", min_block=2, groups={"text": ["a", "b", "c"], "links": ["d", "e"]})
    >>> plan.blocks
    ((0, 1, 2), (0, 1, 2, 3, 4, 5), (3, 4, 5))
    """
    d = len(names)
    if min_block > d:
        raise UsageError(
            f"expected min_block of cfbrs to be at most {d}, the number of features, got {min_block}"
        )
    check_groups(groups)
    units = [[j] for j in range(d)] if groups is None else _group_features(groups, names)
    rng = np.random.default_rng(seed)
    turns = [np.arange(len(units)), *(rng.permutation(len(units)) for _ in range(permutations - 1))]
    orders = tuple(
        _make_order([units[u] for u in turn], min_block, groups is not None) for turn in turns
    )
    if isinstance(compositions, str) and compositions == "all":
        n_blocks = max(len(order.compositions.blocks) for order in orders)
        if max_blocks is None or n_blocks <= max_blocks:
            return CompositionPlan(orders)
        drawn = [_draw_within(order.compositions, max_blocks, rng) for order in orders]
        return CompositionPlan(orders, _numbered(drawn))
    if isinstance(compositions, int | np.integer):
        counts = np.bincount(np.arange(compositions) % permutations, minlength=permutations)
        selected = [
            _draw(order.compositions, int(count), sampling, probabilities, rng)
            for order, count in zip(orders, counts, strict=True)
        ]
    else:
        selected = [_select(order.compositions, compositions) for order in orders]
    return CompositionPlan(orders, _numbered(selected))


def _numbered(selected: Sequence[Sequence[Composition]]) -> tuple[OrderedComposition, ...]:
    """Return the compositions of every order with its number."""
    return tuple((number, sizes) for number, own in enumerate(selected) for sizes in own)


def _make_order(units: Sequence[Sequence[int]], min_block: int, grouped: bool) -> FeatureOrder:
    borders = tuple(itertools.accumulate(len(unit) for unit in units))
    cuts = borders[:-1] if grouped else None
    return FeatureOrder(tuple(itertools.chain(*units)), Compositions(borders[-1], min_block, cuts))


def _draw(
    compositions: Compositions,
    size: int,
    sampling: str,
    probabilities: Sequence[float] | None,
    rng: np.random.Generator,
) -> list[Composition]:
    if sampling == "uniform":
        return compositions.sample(size, rng)
    p = None if probabilities is None else dict(enumerate(probabilities, start=1))
    return compositions.sample_stratified(size, rng, p)


def _draw_within(
    compositions: Compositions, max_blocks: int, rng: np.random.Generator
) -> list[Composition]:
    """Draw compositions uniformly until their distinct blocks would exceed the budget; at least one."""
    drawn: list[Composition] = []
    blocks: set[BlockSpan] = set()
    for composition in compositions.sample(MAX_DRAWN_COMPOSITIONS, rng):
        blocks.update(block_spans(composition))
        if len(blocks) > max_blocks and drawn:
            break
        drawn.append(composition)
    return drawn


def _select(every: Compositions, compositions: Any) -> list[Composition]:
    """Return the first composition for every smallest block ("first"), or the listed ones."""
    if isinstance(compositions, str):
        smallest = range(every.min_block, every.n + 1)
        return [Compositions(every.n, m, every.cuts).first for m in smallest]
    allowed = Compositions(every.n, 1, every.cuts)
    selected = [tuple(int(size) for size in sizes) for sizes in _as_list(compositions)]
    for sizes in selected:
        if sizes not in allowed:
            raise UsageError(f"expected compositions with {allowed}, got {sizes}")
    return selected


# --- checks of the parameters ---


def check_compositions(
    compositions: Any, sampling: str, probabilities: Sequence[float] | None
) -> None:
    """Raise a UsageError if these parameters of a `CFBRS` do not fit together.

    Compositions are "all", "first", a number of 1 or more, or a list of block sizes.
    """
    is_number = isinstance(compositions, int | np.integer)
    if is_number and not isinstance(compositions, bool):
        if compositions < 1:
            raise UsageError(f"expected compositions of cfbrs to be 1 or more, got {compositions}")
    elif not (isinstance(compositions, str) and compositions in ("all", "first")):
        _as_list(compositions)
    if sampling == "stratified" and not is_number:
        raise UsageError(
            "sampling='stratified' needs a number of compositions to draw, got "
            f"compositions={compositions!r}"
        )
    if probabilities is not None and sampling != "stratified":
        raise UsageError("probabilities need sampling='stratified', got sampling='uniform'")


def check_groups(groups: Any) -> None:
    """Raise a UsageError unless groups are None or a mapping of names to features."""
    if groups is None:
        return
    if (
        not isinstance(groups, Mapping)
        or not groups
        or not all(map(_are_features, groups.values()))
    ):
        raise UsageError(
            "expected groups of cfbrs to be a mapping of names to lists of features, got "
            f"{groups!r}"
        ).advise(
            python="an example: groups={'title': ['f1', 'f6']}",
            command_line="an example: --set groups.title=f1,f6",
        )


def _are_features(members: Any) -> bool:
    """Whether these are names or numbers of features; a single one counts as a list."""
    alone = isinstance(members, str | int | np.integer)
    features = [members] if alone else members
    if not isinstance(features, Sequence | np.ndarray | set | frozenset):
        return False
    return all(isinstance(f, str | int | np.integer) and not isinstance(f, bool) for f in features)


def _as_list(compositions: Any) -> list[Sequence[int]]:
    """Return a list of compositions; a single one, as from the command line, becomes a list."""
    is_list = isinstance(compositions, Sequence | np.ndarray) and not isinstance(compositions, str)
    listed = list(compositions) if is_list else []
    if _are_sizes(listed):
        listed = [listed]
    if not listed or not all(_are_sizes(sizes) for sizes in listed):
        raise UsageError(
            f"expected compositions of cfbrs to be 'all', 'first', a number to draw, or lists of "
            f"block sizes, such as (5, 41), got {compositions!r}"
        )
    return listed


def _are_sizes(sizes: Any) -> bool:
    if not isinstance(sizes, Sequence | np.ndarray) or isinstance(sizes, str) or not len(sizes):
        return False
    return all(isinstance(s, int | np.integer) and not isinstance(s, bool) for s in sizes)


def _group_features(groups: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[list[int]]:
    """Return the features of each group; the features without a group form the last one."""
    numbers = {name: j for j, name in enumerate(names)}
    group_of: dict[int, str] = {}
    units = []
    for group, members in groups.items():
        alone = isinstance(members, str | int | np.integer)
        features = [members] if alone else list(members)
        unit = [_feature_number(feature, numbers, len(names)) for feature in features]
        for j in unit:
            if j in group_of:
                raise UsageError(
                    f"feature {names[j]} is in the groups {group_of[j]} and {group}; expected "
                    "each feature in one group"
                )
            group_of[j] = group
        if unit:
            units.append(unit)
    rest = [j for j in range(len(names)) if j not in group_of]
    return [*units, rest] if rest else units


def _feature_number(feature: Any, numbers: Mapping[str, int], d: int) -> int:
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
        if not 0 <= feature < d:
            raise UsageError(f"expected features 0 to {d - 1} in groups, got {feature}")
        return int(feature)
    if str(feature) not in numbers:
        raise UnknownNameError("feature", str(feature), numbers)
    return numbers[str(feature)]
