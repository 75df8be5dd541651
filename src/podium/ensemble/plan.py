"""Which compositions of which orders of the features are asked for, and the blocks they share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.compositions import Block, Composition, Compositions, blocks_of
from podium.ensemble.lattice import Floats, Lattice
from podium.errors import UnknownNameError, UsageError

Features = tuple[int, ...]
"""The features of a block, ascending."""

Listed = tuple[int, Composition]
"""An order's number, and how it is cut."""

Chain = tuple[int, int, tuple[int, ...]]
"""Blocks that begin alike: their order's number, where they start, and where each of them ends."""


@dataclass(frozen=True, eq=False)
class Order:
    """The features in the order in which they are cut, and what they may be cut into."""

    features: tuple[int, ...]
    compositions: Compositions

    def __getitem__(self, block: Block) -> Features:
        return tuple(sorted(self.features[slice(*block)]))

    @cached_property
    def lattice(self) -> Lattice:
        """Of the compositions."""
        return Lattice.of(self.compositions)


@dataclass(frozen=True, eq=False)
class Plan:
    """Orders of the features, how they are cut, and the distinct blocks that come of it.

    A block is its features: two orders may share it, as all share the block of all features.

    Parameters
    ----------
    orders
        One, or several permutations.
    listed
        The compositions asked for; None: all of every order.

    Examples
    --------
    >>> plan = Plan((Order(tuple(range(6)), Compositions(6, 2)),))
    >>> len(plan.blocks), plan.blocks[0], plan.n_compositions
    (8, (0, 1), 5)
    """

    orders: tuple[Order, ...]
    listed: tuple[Listed, ...] | None = None

    @property
    def n_features(self) -> int:
        """Features in all."""
        return len(self.orders[0].features)

    @property
    def n_compositions(self) -> int:
        """Compositions in the ensemble."""
        if self.listed is not None:
            return len(self.listed)
        return sum(order.compositions.count for order in self.orders)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """The distinct blocks by order and start; those of a chain grow."""
        found: dict[tuple[int, int], list[int]] = {}
        known: set[Features] = set()
        for number, (a, b) in dict.fromkeys(self._places()):
            block = self.orders[number][a, b]
            if block not in known:
                known.add(block)
                found.setdefault((number, a), []).append(b)
        return tuple((number, a, tuple(sorted(ends))) for (number, a), ends in found.items())

    def _places(self) -> Iterator[tuple[int, Block]]:
        if self.listed is not None:
            return ((number, block) for number, sizes in self.listed for block in blocks_of(sizes))
        return (
            (number, block)
            for number, order in enumerate(self.orders)
            for block in order.compositions.blocks
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
    def sizes(self) -> Floats:
        """n_k / N: the share of the features that each block has."""
        return np.array([len(block) for block in self.blocks]) / self.n_features

    def members(self, number: int, composition: Composition) -> NDArray[np.int64]:
        """The numbers of a composition's blocks."""
        order = self.orders[number]
        return np.array([self._numbers[order[block]] for block in blocks_of(composition)])

    @cached_property
    def _edges(self) -> tuple[NDArray[np.int64], ...]:
        """Of each order, the number of each block of its lattice."""
        return tuple(
            np.array([self._numbers[order[block]] for block in order.lattice.blocks])
            for order in self.orders
        )

    def shares(self, products: Floats | None = None, sums: Floats | None = None) -> Floats:
        """The share of the compositions that contain each block, each weighted (see `Lattice`)."""
        if self.listed is None:
            return self._shares(products, sums)
        members = [self.members(*one) for one in self.listed]
        weights = np.ones(len(members))
        if products is not None:
            weights *= [np.prod(products[some]) for some in members]
        if sums is not None:
            weights *= [np.sum(sums[some]) for some in members]
        return self.shares_among(self.listed, weights)

    def _shares(self, products: Floats | None, sums: Floats | None) -> Floats:
        """Those of each order, orders weighted by the sums of their compositions' weights."""
        found, logs = [], []
        for order, edges in zip(self.orders, self._edges, strict=True):
            g = None if products is None else products[edges]
            h = None if sums is None else sums[edges]
            logs.append(order.lattice.log_total(g, h))
            found.append(order.lattice.shares(g, h) if np.isfinite(logs[-1]) else 0.0 * edges)
        weights = np.exp(np.array(logs) - max(logs))  # the sums themselves need not fit a double
        shares = np.zeros(len(self.blocks))
        for own, edges, weight in zip(found, self._edges, weights / weights.sum(), strict=True):
            shares[edges] += weight * own
        return shares

    def shares_among(self, listed: Sequence[Listed], weights: Floats) -> Floats:
        """The share of each block among these compositions, with their weights."""
        found = np.zeros(len(self.blocks))
        for one, weight in zip(listed, weights.tolist(), strict=True):
            found[self.members(*one)] += weight
        return found / np.sum(weights)

    def every(self) -> Iterator[Listed]:
        """The compositions, one after the other."""
        if self.listed is not None:
            return iter(self.listed)
        return (
            (number, sizes)
            for number, order in enumerate(self.orders)
            for sizes in order.compositions
        )

    def best(
        self, gains: Floats, used: Sequence[Listed], alphas: Floats | None = None
    ) -> tuple[Listed, float] | None:
        """The composition whose blocks gain most, of those not used yet; of equal ones the first.

        With feedback alpha on each composition, alpha times what its blocks gain; those of 0 are out.
        The feedback on it is told, too (1 without).
        """
        taken = set(used)
        if alphas is not None:
            return self._best_liked(gains, taken, alphas)
        some = (c for c in self.listed or self._best(gains, taken) if c not in taken)
        found = max(some, key=lambda c: float(np.sum(gains[self.members(*c)])), default=None)
        return None if found is None else (found, 1.0)

    def _best_liked(
        self, gains: Floats, taken: set[Listed], alphas: Floats
    ) -> tuple[Listed, float] | None:
        """A product of two sums over blocks has no longest path: all compositions are gone through."""
        every, members, starts = self._one_by_one
        values = np.round(alphas * np.add.reduceat(gains[members], starts), 12)
        for c in np.argsort(-values, kind="stable").tolist():
            if alphas[c] > 0 and every[c] not in taken:
                return every[c], float(alphas[c])
        return None

    @cached_property
    def _one_by_one(self) -> tuple[list[Listed], NDArray[np.int64], NDArray[np.int64]]:
        """The compositions, the numbers of their blocks in a row, and where each one's begin."""
        every = list(self.every())
        members = [self.members(*one) for one in every]
        ends = np.cumsum([len(some) for some in members])
        return every, np.concatenate(members), np.concatenate([[0], ends[:-1]])

    def _best(self, gains: Floats, taken: set[Listed]) -> Iterator[Listed]:
        """The best compositions of every order, one more than are taken."""
        for number, (order, edges) in enumerate(zip(self.orders, self._edges, strict=True)):
            for sizes in order.lattice.best(gains[edges], 1 + len(taken)):
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
    seed: int = 0,
) -> Plan:
    """The plan of a `CFBRS` with these parameters on features of these names.

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
    units = [[j] for j in range(d)] if groups is None else _units(groups, names)
    rng = np.random.default_rng(seed)
    turns = [np.arange(len(units)), *(rng.permutation(len(units)) for _ in range(permutations - 1))]
    orders = tuple(
        _order([units[u] for u in turn], min_block, groups is not None) for turn in turns
    )
    if isinstance(compositions, str) and compositions == "all":
        return Plan(orders)
    if isinstance(compositions, int | np.integer):
        counts = np.bincount(np.arange(compositions) % permutations, minlength=permutations)
        drawn = [
            _drawn(order.compositions, int(count), sampling, probabilities, rng)
            for order, count in zip(orders, counts, strict=True)
        ]
    else:
        drawn = [_listed(order.compositions, compositions) for order in orders]
    return Plan(orders, tuple((o, sizes) for o, some in enumerate(drawn) for sizes in some))


def _order(units: Sequence[Sequence[int]], min_block: int, grouped: bool) -> Order:
    borders = tuple(itertools.accumulate(len(unit) for unit in units))
    cuts = borders[:-1] if grouped else None
    return Order(tuple(itertools.chain(*units)), Compositions(borders[-1], min_block, cuts))


def _drawn(
    every: Compositions,
    size: int,
    sampling: str,
    probabilities: Sequence[float] | None,
    rng: np.random.Generator,
) -> list[Composition]:
    if sampling == "uniform":
        return every.sample(size, rng)
    p = None if probabilities is None else dict(enumerate(probabilities, start=1))
    return every.stratified(size, rng, p)


def _listed(every: Compositions, compositions: Any) -> list[Composition]:
    """The first composition for every smallest block, or those that are given."""
    if isinstance(compositions, str):
        smallest = range(every.least, every.n + 1)
        return [Compositions(every.n, m, every.cuts).first for m in smallest]
    whole = Compositions(every.n, 1, every.cuts)
    given = [tuple(int(size) for size in sizes) for sizes in as_list(compositions)]
    for sizes in given:
        if sizes not in whole:
            raise UsageError(f"expected compositions of {whole}, got {sizes}")
    return given


def check_compositions(compositions: Any) -> None:
    """Raise a UsageError where it is not "all", "first", a number of 1 or more, or a list."""
    if isinstance(compositions, int | np.integer) and not isinstance(compositions, bool):
        if compositions < 1:
            raise UsageError(f"expected 1 composition of cfbrs or more, got {compositions}")
    elif not (isinstance(compositions, str) and compositions in ("all", "first")):
        as_list(compositions)


def check_groups(groups: Any) -> None:
    """Raise a UsageError where it is not None or a mapping of names to features."""
    if groups is None:
        return
    if (
        not isinstance(groups, Mapping)
        or not groups
        or not all(map(_are_features, groups.values()))
    ):
        raise UsageError(
            "expected groups of cfbrs to be names with lists of features, such as "
            f"{{'title': ['f1', 'f6']}} (--set groups.title=f1,f6), got {groups!r}"
        )


def _are_features(members: Any) -> bool:
    """Names or numbers of features; one alone is a list of one."""
    alone = isinstance(members, str | int | np.integer)
    listed = [members] if alone else members
    if not isinstance(listed, Sequence | np.ndarray | set | frozenset):
        return False
    return all(isinstance(m, str | int | np.integer) and not isinstance(m, bool) for m in listed)


def as_list(compositions: Any) -> list[Sequence[int]]:
    """Compositions as they were listed; one alone, as from a command line, is a list of one."""
    listed = isinstance(compositions, Sequence | np.ndarray) and not isinstance(compositions, str)
    given = list(compositions) if listed else []
    if _are_sizes(given):
        given = [given]
    if not given or not all(_are_sizes(sizes) for sizes in given):
        raise UsageError(
            f"expected compositions of cfbrs to be 'all', 'first', a number to draw, or lists of "
            f"block sizes, such as (5, 41), got {compositions!r}"
        )
    return given


def _are_sizes(sizes: Any) -> bool:
    if not isinstance(sizes, Sequence | np.ndarray) or isinstance(sizes, str) or not len(sizes):
        return False
    return all(isinstance(s, int | np.integer) and not isinstance(s, bool) for s in sizes)


def _units(groups: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[list[int]]:
    """The features of each group; those that are in none are a last group."""
    number = {name: j for j, name in enumerate(names)}
    taken: dict[int, str] = {}
    units = []
    for group, members in groups.items():
        alone = isinstance(members, str | int | np.integer)
        listed = [members] if alone else list(members)
        unit = [_feature(member, number, len(names)) for member in listed]
        for j in unit:
            if j in taken:
                raise UsageError(
                    f"expected each feature in one group, got {names[j]} in {taken[j]} and {group}"
                )
            taken[j] = group
        if unit:
            units.append(unit)
    rest = [j for j in range(len(names)) if j not in taken]
    return [*units, rest] if rest else units


def _feature(given: Any, number: Mapping[str, int], d: int) -> int:
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not 0 <= given < d:
            raise UsageError(f"expected features 0 to {d - 1} in groups, got {given}")
        return int(given)
    if str(given) not in number:
        raise UnknownNameError("feature", str(given), number)
    return number[str(given)]
