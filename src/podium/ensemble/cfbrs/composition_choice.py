"""Choice of compositions: the plan that the parameters of CFBRS describe, and checks of these parameters."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podium.ensemble.cfbrs.composition_plan import (
    CompositionPlan,
    FeatureOrder,
    OrderedComposition,
)
from podium.ensemble.cfbrs.compositions import BlockSpan, Composition, Compositions, block_spans
from podium.errors import UnknownNameError, UsageError

MAX_DRAWN_COMPOSITIONS = 1000
"""The most compositions that are drawn per order if all have too many blocks."""


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
