"""What engines cannot express: numbers beyond float32, deep trees, 0 as a missing value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import CannotExpressError
from podium.exchange.normalizers import MinMax
from podium.exchange.portable_model import PortableModel, SumOfForms, WeightedSum
from podium.rankers.float32 import LARGEST_FLOAT32, floor32, next_above32
from podium.rankers.forest import Forest, Tree
from podium.rankers.mlp import Network

MAX_JSON_TREE_DEPTH = 200
"""The maximum number of levels of a tree in JSON: the engines' parsers stop at 1,000 brackets."""


def single_form(model: PortableModel, engine: str) -> WeightedSum | Forest | Network:
    """Return the form of a model; raise if it is a sum of several."""
    if isinstance(model.form, SumOfForms):
        raise CannotExpressError(
            f"{model.ranker} is a sum of {model.form.describe()}, but a model of {engine} is one of them "
            "alone; nearest: export it to onnx, which Vespa and other programs evaluate"
        )
    return model.form


def to_float32(value: Any, subject: str) -> float:
    """Return the nearest float32; raise if it is infinite."""
    with np.errstate(over="ignore"):
        nearest = np.float32(value)
    if not np.isfinite(nearest):
        raise CannotExpressError(
            f"{subject} is {float(value):g}, but engines compute in float32, whose largest "
            "number is 3.4e38; nearest: train on features of a smaller scale"
        )
    return float(nearest)


def to_float32_list(values: NDArray[Any], subject: str) -> list[float]:
    """Return the nearest float32 of each number; raise if one is infinite."""
    return [to_float32(value, subject) for value in values.tolist()]


def float32_divisor(value: Any, subject: str) -> float:
    """Return the nearest float32 of a number to divide by; raise if it is 0."""
    if not (nearest := to_float32(value, subject)) > 0:
        raise CannotExpressError(
            f"{subject} is {float(value):g}, which is 0 in the float32 of engines; nearest: "
            "leave out a feature that hardly varies, or train on it at a larger scale"
        )
    return nearest


def float32_range(normalizer: MinMax) -> tuple[float, float]:
    """Return minimum and maximum as float32; raise if they become equal."""
    low = to_float32(normalizer.minimum, "a minimum")
    high = to_float32(normalizer.maximum, "a maximum")
    float32_divisor(np.float32(high) - np.float32(low), "maximum - minimum of a feature")
    return low, high


def tree_for_less_than(tree: Tree) -> tuple[Tree, list[float]]:
    """Return a tree for engines that test x < t', and t' of each node in float32.

    No finite t' lies above all numbers. So a node that sends all rows left swaps its children and
    tests x < the smallest number, which sends all rows right.
    """
    tree = tree.swap_children(floor32(tree.threshold) >= np.float32(LARGEST_FLOAT32), -np.inf)
    return tree, next_above32(tree.threshold).tolist()


def tree_for_at_most(tree: Tree) -> tuple[Tree, list[float]]:
    """Return a tree for engines that test x <= t', and t' of each node in float32.

    No finite t' lies below all numbers. So a node that sends all rows right swaps its children and
    tests x <= the largest number, which sends all rows left.
    """
    tree = tree.swap_children(np.isneginf(floor32(tree.threshold)), np.inf)
    return tree, np.minimum(floor32(tree.threshold), np.float32(LARGEST_FLOAT32)).tolist()


def check_expressible(
    forest: Forest, names: tuple[str, ...], max_depth: int | None = MAX_JSON_TREE_DEPTH
) -> None:
    """Raise if an engine cannot read the trees, or would decide differently."""
    if max_depth is not None and forest.depth() > max_depth:
        raise CannotExpressError(
            f"a tree has {forest.depth()} levels, but files of nested nodes have at most {max_depth}, "
            "or parsers fail; nearest: train with fewer leaves, or export to onnx"
        )
    for tree in forest.trees:
        if tree.splits_off_zero.any():
            feature = names[int(tree.feature[int(np.argmax(tree.splits_off_zero))])]
            raise CannotExpressError(
                f"a split on {feature!r} treats 0 as missing (LightGBM's zero_as_missing), "
                "which engines do not support; nearest: train with zero_as_missing=false"
            )


def missing_note(forest: Forest, advice: str) -> tuple[str, ...]:
    """Return a note with advice if the trees were trained on missing values."""
    if not forest.has_missing_side:
        return ()
    page = '(docs/exchange.md, "Missing values")'
    return (f"the model was trained on missing values: {advice} {page}",)


def shifts_and_divisors(form: WeightedSum) -> list[tuple[float, float]]:
    """Return shift and divisor of each feature; 0 and 1 if it is not scaled."""
    return [(0.0, 1.0) if n is None else (n.shift, n.divisor) for n in form.normalizers]
