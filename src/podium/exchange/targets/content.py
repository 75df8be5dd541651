"""What all targets share: a finished export, numbers in float32, limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.files import Path_, atomic_path
from podium.errors import CannotExpressError
from podium.exchange.floats import LARGEST, above32, floor32
from podium.exchange.forest import Forest, Tree
from podium.exchange.normalizers import MinMax
from podium.exchange.portable import WeightedSum

DEEPEST = 200
"""Levels of a tree in JSON: readers of the engines' kind stop at 1,000 brackets."""


@dataclass(frozen=True)
class Exported:
    """A model as an engine takes it.

    Parameters
    ----------
    target
        The engine.
    kind
        What the engine calls such a model.
    name
        What the model is called there.
    features
        The features it asks for, in the order of the model's.
    content
        The file: text, or bytes.
    notes
        What to know before it is served.
    """

    target: str
    kind: str
    name: str
    features: tuple[str, ...]
    content: str | bytes = field(repr=False)
    notes: tuple[str, ...] = ()

    def save(self, path: Path_) -> None:
        """Write the file, all or nothing."""
        content = self.content
        with atomic_path(path) as temporary:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def single(value: Any, what: str) -> float:
    """A number as float32; raises where that is infinite."""
    with np.errstate(over="ignore"):
        near = np.float32(value)
    if not np.isfinite(near):
        raise CannotExpressError(
            f"{what} is {float(value):g}, and engines compute in float32, which ends at 3.4e38; "
            "nearest: train on features of a smaller scale"
        )
    return float(near)


def divisor(value: Any, what: str) -> float:
    """A number to divide by, as float32; raises where that is 0."""
    if not (near := single(value, what)) > 0:
        raise CannotExpressError(
            f"{what} is {float(value):g}, which is 0 in float32, in which engines compute; nearest: "
            "leave out a feature that hardly varies, or train on it at a larger scale"
        )
    return near


def single_range(normalizer: MinMax) -> tuple[float, float]:
    """Minimum and maximum as float32; raises where they are the same there."""
    low, high = single(normalizer.minimum, "a minimum"), single(normalizer.maximum, "a maximum")
    divisor(np.float32(high) - np.float32(low), "maximum - minimum of a feature")
    return low, high


def singles(values: NDArray[Any], what: str) -> list[float]:
    """Numbers as float32."""
    return [single(value, what) for value in values.tolist()]


def asking_below(tree: Tree) -> tuple[Tree, list[float]]:
    """A tree for engines that ask x < t', and t' of each node in float32.

    No finite t' is above all numbers: where all go left, all go right of the smallest one instead.
    """
    tree = tree.turned(floor32(tree.threshold) >= np.float32(LARGEST), -np.inf)
    return tree, above32(tree.threshold).tolist()


def asking_upto(tree: Tree) -> tuple[Tree, list[float]]:
    """A tree for engines that ask x <= t', and t' of each node in float32.

    No finite t' is below all numbers: where all go right, all go left of the largest one instead.
    """
    tree = tree.turned(np.isneginf(floor32(tree.threshold)), np.inf)
    return tree, np.minimum(floor32(tree.threshold), np.float32(LARGEST)).tolist()


def check_forest(forest: Forest, names: tuple[str, ...], deepest: int | None = DEEPEST) -> None:
    """Raise where an engine decides otherwise than the trees, or cannot read them."""
    if deepest is not None and forest.depth() > deepest:
        raise CannotExpressError(
            f"a tree has {forest.depth()} levels, and engines read {deepest} at most from JSON; "
            "nearest: train with fewer leaves, or export to onnx"
        )
    for tree in forest.trees:
        if tree.turns_zero.any():
            feature = names[int(tree.feature[int(np.argmax(tree.turns_zero))])]
            raise CannotExpressError(
                f"a split on {feature!r} takes 0 for missing (LightGBM's zero_as_missing), which "
                "engines do not; nearest: train with zero_as_missing=false"
            )


def missing_note(forest: Forest, advice: str) -> tuple[str, ...]:
    """Return what to do in an engine about trees that were trained on missing values; else nothing."""
    if not forest.knows_missing:
        return ()
    return (f'the model knows missing values: {advice} (docs/exchange.md, "Missing values")',)


def scale_terms(form: WeightedSum) -> list[tuple[float, float]]:
    """Shift and divisor of each feature."""
    return [(0.0, 1.0) if n is None else (n.shift, n.divisor) for n in form.normalizers]
