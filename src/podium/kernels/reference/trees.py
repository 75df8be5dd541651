"""Sums of regression trees, and of stumps: every row walks down every tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.typing import Floats, Ints, Matrix, Rows

NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("left", np.int32)])
"""x[feature] <= threshold goes to node `left`, else to `left + 1`; a leaf is its own left child."""

NAN_GOES_RIGHT = 1
ZERO_IS_MISSING = 2
ZERO_GOES_RIGHT = 4

NEARLY_ZERO = float(np.float32(1e-35))
"""LightGBM treats values this close to 0 as 0."""


def predict_trees(
    x: Matrix,
    nodes: NDArray[np.uint8],
    flags: NDArray[np.uint8],
    values: Floats,
    roots: NDArray[np.int32],
    depths: NDArray[np.int32],
    zero_is_missing: bool,
) -> Floats:
    """Return one score per row: the sum of its leaves' values, in the order of the trees.

    `nodes` holds NODE records as bytes. Flags say where missing values go; `zero_is_missing` tells
    whether any node has the flag ZERO_IS_MISSING.
    """
    table = nodes.view(NODE)
    x = np.where(np.abs(x) <= NEARLY_ZERO, 0, x)
    out = np.zeros(len(x))
    every_row = np.arange(len(x))
    for root, depth in zip(roots, depths, strict=True):
        at: Ints = np.full(len(x), root, dtype=np.int64)
        for _ in range(depth):
            node, flag = table[at], flags[at]
            value = x[every_row, node["feature"]].astype(np.float64)
            right = value > node["threshold"]
            right |= np.isnan(value) & ((flag & NAN_GOES_RIGHT) != 0)
            if zero_is_missing:
                is_missing = ((flag & ZERO_IS_MISSING) != 0) & (value == 0)
                right = np.where(is_missing, (flag & ZERO_GOES_RIGHT) != 0, right)
            at = node["left"].astype(np.int64) + right
        out += values[at]
    return out


def predict_stumps(
    x: Matrix, features: Rows, bounds: Rows, thresholds: Floats, heights: Floats
) -> Floats:
    """Return one score per row: the sum over features of a step function of each.

    Feature ``features[i]`` has the ascending ``thresholds[bounds[i]:bounds[i + 1]]``. It has one height
    more: the value below the first threshold, then the value above each threshold. A missing value gives NaN.
    """
    out = np.zeros(len(x))
    for i, feature in enumerate(features.tolist()):
        first, last = bounds[i : i + 2].tolist()
        value = x[:, feature].astype(np.float64)
        n_passed = np.searchsorted(thresholds[first:last], value, side="left")
        out += np.where(np.isnan(value), np.nan, heights[first + i : last + i + 1][n_passed])
    return out
