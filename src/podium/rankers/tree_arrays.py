"""Trees as arrays: LightGBM's text in the form that the kernel `predict_trees` walks."""

from __future__ import annotations

from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.kernels.reference.trees import (
    NAN_GOES_RIGHT,
    NODE,
    ZERO_GOES_RIGHT,
    ZERO_IS_MISSING,
)
from podium.typing import Bools, Floats, Ints

DEFAULT_LEFT = 2
"""The bit of LightGBM's decision_type that sends missing values to the left."""
MISSING_IS_ZERO, MISSING_IS_NAN = 1, 2
"""LightGBM's missing types, in decision_type from its third bit on; 0 means no missing values."""


class TreeArrays(NamedTuple):
    """The arguments of `kernels.predict_trees` after the rows."""

    nodes: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    values: Floats
    roots: NDArray[np.int32]
    depths: NDArray[np.int32]
    zero_is_missing: bool


def tree_arrays(text: str) -> TreeArrays:
    """Return the arrays of a model in LightGBM's text that `check_trees` has checked.

    Node i of a tree has its children in places 2i + 1 and 2i + 2 of the tree's part of the arrays:
    side by side, so that a step right is a step left plus one.
    """
    trees = [_fields(block) for block in text.split("\nTree=")[1:]]
    n_leaves = np.array([len(tree["leaf_value"].split()) for tree in trees], dtype=np.int64)
    places = np.concatenate([[0], np.cumsum(2 * n_leaves - 1)])
    roots, n_places = places[:-1], int(places[-1])

    n_nodes = n_leaves - 1
    node_roots = np.repeat(roots, n_nodes)
    number = np.arange(n_nodes.sum()) - np.repeat(np.cumsum(n_nodes) - n_nodes, n_nodes)
    left_place = node_roots + 2 * number + 1
    left, right = _numbers(trees, "left_child", int), _numbers(trees, "right_child", int)
    children = np.concatenate([left, right])
    child_places = np.concatenate([left_place, left_place + 1])

    # The parent stores the place of each node (0 or more) and leaf (below 0).
    first_node = np.concatenate([np.repeat(np.cumsum(n_nodes) - n_nodes, n_nodes)] * 2)
    first_leaf = np.concatenate([np.repeat(np.cumsum(n_leaves) - n_leaves, n_nodes)] * 2)
    is_node = children >= 0
    node_places = node_roots.copy()
    node_places[(first_node + children)[is_node]] = child_places[is_node]
    leaf_places = np.repeat(roots, n_leaves)
    leaf_places[(first_leaf + ~children)[~is_node]] = child_places[~is_node]

    nodes = np.zeros(n_places, dtype=NODE)
    nodes["threshold"][leaf_places], nodes["left"][leaf_places] = np.inf, leaf_places
    nodes["threshold"][node_places] = _numbers(trees, "threshold", float)
    nodes["feature"][node_places] = _numbers(trees, "split_feature", int)
    nodes["left"][node_places] = left_place
    flags = np.zeros(n_places, dtype=np.uint8)
    decisions = _numbers(trees, "decision_type", int)
    flags[node_places] = _flags(decisions, nodes["threshold"][node_places])
    values = np.zeros(n_places)
    values[leaf_places] = _numbers(trees, "leaf_value", float)
    return TreeArrays(
        nodes.view(np.uint8),
        flags,
        values,
        roots.astype(np.int32),
        _depths(nodes["left"], roots, node_places),
        bool((flags & ZERO_IS_MISSING).any()),
    )


def _fields(block: str) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition("=") for line in block.split("\n"))}


def _numbers(trees: list[dict[str, str]], name: str, kind: type) -> NDArray[Any]:
    """The numbers of one field, one tree after another; a tree of one leaf has no nodes."""
    words = chain.from_iterable(tree.get(name, "").split() for tree in trees)
    return np.fromiter(map(kind, words), dtype=np.float64 if kind is float else np.int64)


def _flags(decisions: Ints, thresholds: Floats) -> NDArray[np.uint8]:
    """Where missing values go at each node.

    LightGBM treats NaN as 0 unless the missing type is NaN. If the missing type is zero, it treats
    values near 0 as missing.
    """
    missing_type, goes_right = decisions >> 2 & 3, decisions & DEFAULT_LEFT == 0
    zero_goes_right: Bools = np.where(missing_type == MISSING_IS_ZERO, goes_right, thresholds < 0)
    nan_goes_right = np.where(missing_type == MISSING_IS_NAN, goes_right, zero_goes_right)
    flags = np.where(nan_goes_right, NAN_GOES_RIGHT, 0)
    zeros = ZERO_IS_MISSING + np.where(goes_right, ZERO_GOES_RIGHT, 0)
    return (flags + np.where(missing_type == MISSING_IS_ZERO, zeros, 0)).astype(np.uint8)


def _depths(left: NDArray[np.int32], roots: Ints, node_places: Ints) -> NDArray[np.int32]:
    """The number of steps from each root to its deepest leaf: the longest walk down the tree."""
    is_node = np.zeros(len(left), dtype=bool)
    is_node[node_places] = True
    depths = np.zeros(len(roots), dtype=np.int32)
    trees, walks = np.arange(len(roots)), roots
    for step in count(1):
        is_moving = is_node[walks]
        trees, walks = trees[is_moving], walks[is_moving]
        if not len(walks):
            break
        depths[trees] = step
        trees, walks = np.tile(trees, 2), np.concatenate([left[walks], left[walks] + 1])
    return depths
