"""CatBoost's JSON models as arrays of trees: numeric splits, symmetric trees or trees of any shape.

CatBoost stores features and borders in float32, and a row goes right if x > border. Missing values go
left, unless the file says otherwise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from podium.errors import ModelFileError
from podium.rankers.float32 import largest_rounding_to
from podium.rankers.forest import DEFAULT_LEFT, MISSING_NAN, Forest, Tree
from podium.rankers.lightgbm_checks import MAX_TREE_LEVELS

MAX_DEPTH = 16
"""The largest depth of CatBoost's symmetric trees."""
MAX_LEAF_COUNT = 1 << 20
"""Leaves count as at most this full: the sums of all leaves must be whole numbers of 9 digits."""

_NAN_GOES_LEFT = {"AsIs": True, "AsFalse": True, "AsTrue": False}
_ADVICE = "save the model with save_model('model.json', format='json')"


@dataclass(frozen=True, eq=False)
class CatBoostFile:
    """What podium takes from a CatBoost model in JSON."""

    forest: Forest
    loss: str
    feature_names: tuple[str, ...] | None = None


def read_catboost_json(text: str, n_trees: int | None = None) -> CatBoostFile:
    """Return the trees of a model that CatBoost saved as JSON; the first ones if `n_trees` is given.

    Examples
    --------
    >>> split = {"split_type": "FloatFeature", "float_feature_index": 0, "border": 0.5}
    >>> feature = {"flat_feature_index": 0, "nan_value_treatment": "AsIs"}
    >>> import numpy as np
    >>> model = read_catboost_json(json.dumps({
    ...     "features_info": {"float_features": [feature]},
    ...     "oblivious_trees": [{"splits": [split], "leaf_values": [-1.0, 2.0], "leaf_weights": [3, 4]}],
    ...     "scale_and_bias": [1.0, [0.25]],
    ... }))
    >>> model.forest.predict(np.array([[0.5], [0.6], [np.nan]])).tolist()
    [-0.75, 2.25, -0.75]
    """
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"this is not the JSON of a CatBoost model ({error}); {_ADVICE}"
        ) from None
    try:
        features = _float_features(document)
        forest = _read_forest(document, features, n_trees)
        return CatBoostFile(forest, _loss(document), _feature_names(features))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"this JSON is not a CatBoost model ({type(error).__name__}: {str(error)[:100]}); {_ADVICE}"
        ) from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _loss(document: Mapping[str, Any]) -> str:
    """Return the name of the loss, if the file states it."""
    parameters = document.get("model_info", {}).get("params", {})
    return str(parameters.get("loss_function", {}).get("type", "trees"))


def _feature_names(features: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """Return the names of the features, if the file has one for each that is not its number."""
    names = tuple(str(feature.get("feature_id", "")) for feature in features)
    is_numbered = all(name == str(place) for place, name in enumerate(names))
    return names if all(names) and not is_numbered else None


def _read_forest(
    document: Mapping[str, Any], features: Sequence[Mapping[str, Any]], n_trees: int | None
) -> Forest:
    scale, biases = document["scale_and_bias"]
    if len(biases) != 1:
        raise ModelFileError(f"expected one score per row, got {len(biases)}")
    reader = _TreeReader(
        [_NAN_GOES_LEFT[feature["nan_value_treatment"]] for feature in features], _number(scale)
    )
    listed = document.get("trees") or document["oblivious_trees"]
    trees = [_checked(i, reader.read(tree)) for i, tree in enumerate(listed[:n_trees])]
    if not trees:
        raise ModelFileError("expected at least one tree, got none")
    if bias := _number(biases[0]):
        trees.append(Tree.of([], [], [], [bias]))
    return Forest(len(features), tuple(trees))


def _checked(number: int, tree: Tree) -> Tree:
    """Return the tree; raise if it has too many levels."""
    if (depth := tree.depth()) > MAX_TREE_LEVELS:
        raise ModelFileError(
            f"expected at most {MAX_TREE_LEVELS} levels in tree {number}, got {depth}"
        )
    return tree


def _float_features(document: Any) -> Sequence[Mapping[str, Any]]:
    """Return what the file says of each feature; raise if a feature is not a number."""
    if not isinstance(document, Mapping) or "features_info" not in document:
        raise ModelFileError(f"this JSON has no 'features_info'; {_ADVICE}")
    info = document["features_info"]
    for kind in ("categorical_features", "text_features", "embedding_features"):
        if info.get(kind):
            raise ModelFileError(f"expected numeric features alone, got {kind.replace('_', ' ')}")
    features: Sequence[Mapping[str, Any]] = info["float_features"]
    if [f["flat_feature_index"] for f in features] != list(range(len(features))) or not features:
        raise ModelFileError("expected the numeric features in the order of their numbers")
    return features


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ModelFileError(f"expected finite numbers, got {value!r:.40}")
    return float(value)


class _Split(NamedTuple):
    """A node: a row goes right if x[feature] > border."""

    feature: int
    border: float


class _Leaf(NamedTuple):
    """A leaf: its value, and the weight of the training rows in it."""

    value: float
    weight: float


_Steps = Iterator[_Split | _Leaf]
"""A tree as its nodes and leaves: each node, then all of its left side, then all of its right side."""


@dataclass(frozen=True)
class _TreeReader:
    """Reads trees of a model; leaves are multiplied by `scale`."""

    nan_goes_left: Sequence[bool]
    scale: float

    def read(self, tree: Mapping[str, Any]) -> Tree:
        """Return a tree of either shape."""
        steps = self._symmetric(tree) if "leaf_values" in tree else self._any_shape(tree)
        return _tree(steps, self.nan_goes_left)

    def _symmetric(self, tree: Mapping[str, Any]) -> _Steps:
        """Yield a tree whose nodes of one level share one split: bit i of a leaf's number is split i."""
        splits = [self._split(split) for split in tree.get("splits") or ()]
        n_leaves = 1 << min(len(splits), MAX_DEPTH + 1)
        values = tree["leaf_values"]
        weights = tree.get("leaf_weights") or [1] * n_leaves
        if len(splits) > MAX_DEPTH or not len(values) == len(weights) == n_leaves:
            raise ModelFileError(
                f"expected at most {MAX_DEPTH} splits and one number in each leaf, got "
                f"{len(splits)} splits and {len(values)} numbers"
            )
        leaves = [self._leaf(*leaf) for leaf in zip(values, weights, strict=True)]
        return _symmetric_steps(splits, leaves, 0, 0, {}, {})

    def _any_shape(self, root: Mapping[str, Any]) -> _Steps:
        """Yield a tree whose nodes have their own splits."""
        todo = [root]
        while todo:
            node = todo.pop()
            if "split" in node:
                yield self._split(node["split"])
                todo += [node["right"], node["left"]]
            else:
                yield self._leaf(node["value"], node.get("weight", 1))

    def _leaf(self, value: Any, weight: Any) -> _Leaf:
        return _Leaf(_number(value) * self.scale, max(_number(weight), 0.0))

    def _split(self, split: Mapping[str, Any]) -> _Split:
        if split["split_type"] != "FloatFeature":
            raise ModelFileError(f"expected numeric splits, got {split['split_type']!r:.40}")
        feature, width = split["float_feature_index"], len(self.nan_goes_left)
        if type(feature) is not int or not 0 <= feature < width:
            raise ModelFileError(f"expected features 0 to {width - 1}, got {feature!r:.40}")
        return _Split(feature, _number(split["border"]))


def _symmetric_steps(
    splits: Sequence[_Split],
    leaves: Sequence[_Leaf],
    level: int,
    leaf: int,
    upper_bounds: Mapping[int, float],
    lower_bounds: Mapping[int, float],
) -> _Steps:
    """Yield the part of a symmetric tree from a level on, without sides that no row can reach.

    The bounds hold for the features on the way here; `leaf` has the bits of the sides taken.
    """
    for i, (feature, border) in enumerate(splits[level:], start=level):
        if border <= lower_bounds.get(feature, -math.inf):
            leaf |= 1 << i
        elif border < upper_bounds.get(feature, math.inf):
            yield splits[i]
            left, right = {**upper_bounds, feature: border}, {**lower_bounds, feature: border}
            yield from _symmetric_steps(splits, leaves, i + 1, leaf, left, lower_bounds)
            yield from _symmetric_steps(splits, leaves, i + 1, leaf | 1 << i, upper_bounds, right)
            return
    yield leaves[leaf]


def _tree(steps: _Steps, nan_goes_left: Sequence[bool]) -> Tree:
    """Return the arrays of a tree."""
    nodes: list[_Split] = []
    leaves: list[_Leaf] = []
    children: list[list[int]] = []
    open_sides: list[tuple[int, int]] = []
    for step in steps:
        is_leaf = isinstance(step, _Leaf)
        if open_sides:
            parent, side = open_sides.pop()
            children[parent][side] = ~len(leaves) if is_leaf else len(nodes)
        if isinstance(step, _Leaf):
            leaves.append(step)
        else:
            open_sides += [(len(nodes), 1), (len(nodes), 0)]
            nodes.append(step)
            children.append([0, 0])
    pairs = [(left, right) for left, right in children]
    sides = [DEFAULT_LEFT if nan_goes_left[node.feature] else 0 for node in nodes]
    return Tree.of(
        [node.feature for node in nodes],
        largest_rounding_to([node.border for node in nodes]).tolist(),
        pairs,
        [leaf.value for leaf in leaves],
        [MISSING_NAN | side for side in sides],
        _gains(pairs, leaves),
        [max(1, min(round(leaf.weight), MAX_LEAF_COUNT)) for leaf in leaves],
    )


def _gains(children: Sequence[tuple[int, int]], leaves: Sequence[_Leaf]) -> list[float]:
    """Return how much each split divides the values of leaves: w_l w_r / (w_l + w_r) (m_l - m_r)^2.

    m and w are the mean value and the weight of a side. CatBoost's files have no gains of the loss;
    these are the terms of its importance "PredictionValuesChange".
    """
    gains = [0.0] * len(children)
    sides = [_Leaf(0.0, 0.0)] * len(children)
    for node in reversed(range(len(children))):
        left, right = (sides[c] if c >= 0 else leaves[~c] for c in children[node])
        weight = left.weight + right.weight
        if weight > 0:
            share = right.weight / weight
            gains[node] = left.weight * share * (left.value - right.value) ** 2
            sides[node] = _Leaf(left.value + share * (right.value - left.value), weight)
    return gains
