"""The writer of trees: arrays of trees in LightGBM's text, which is podium's form of a tree model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from podium.rankers.forest import Forest, Tree
from podium.rankers.merged_trees import join_trees
from podium.rankers.tree_model import Trees


def model_from_forest(forest: Forest) -> Trees:
    """Return a podium model from these trees.

    Examples
    --------
    >>> model = model_from_forest(Forest(1, (Tree.stump(0, 0.5, -1.0, 2.0),)))
    >>> model.predict(np.array([[0.5], [0.6]])).tolist()
    [-1.0, 2.0]
    """
    return Trees.from_parts({"trees": write_forest(forest), "width": np.array([forest.width])})


def write_forest(forest: Forest, names: Sequence[str] | None = None) -> str:
    """Return LightGBM's text of these trees; features are Column_0, ... without `names`."""
    trees = ["\n".join(_tree_lines(tree)) for tree in forest.trees]
    return join_trees(trees, forest.width, names)


def _tree_lines(tree: Tree) -> Iterator[str]:
    if not len(tree.feature):  # LightGBM reads no tree without a node here
        tree = Tree.stump(0, 0.0, float(tree.value[0]), float(tree.value[0]))
    nodes, leaves = len(tree.feature), len(tree.value)
    counts = tree.node_counts()
    fields = {
        "num_leaves": leaves,
        "num_cat": 0,
        "split_feature": _row(tree.feature.tolist()),
        "split_gain": _row(tree.gain.tolist()),
        "threshold": _row(tree.threshold.tolist()),
        "decision_type": _row(tree.decision.tolist()),
        "left_child": _row(tree.left.tolist()),
        "right_child": _row(tree.right.tolist()),
        "leaf_value": _row(tree.value.tolist()),
        "leaf_weight": _row([0] * leaves),
        "leaf_count": _row(tree.count.tolist()),
        "internal_value": _row([0] * nodes),
        "internal_weight": _row([0] * nodes),
        "internal_count": _row(counts.tolist()),
        "is_linear": 0,
        "shrinkage": 1,
    }
    for name, value in fields.items():
        yield f"{name}={value}"


def _row(values: Iterable[object]) -> str:
    """Return values in one row, with digits that are read back exactly."""
    return " ".join(map(str, values))
