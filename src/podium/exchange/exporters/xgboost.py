"""XGBoost's JSON: trees that go left if x < threshold in float32, or weights (gblinear)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from podium.errors import CannotExpressError, UsageError
from podium.exchange.exporters.engine_limits import (
    check_expressible,
    shifts_and_divisors,
    single_form,
    to_float32,
    to_float32_list,
    tree_for_less_than,
)
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.portable_model import PortableModel, WeightedSum
from podium.rankers.forest import Forest, Tree

SCHEMA_VERSION = [2, 0, 0]
"""The version of the file's schema; every later XGBoost reads it."""
_NO_PARENT = 2**31 - 1


def export_xgboost(model: PortableModel, name: str) -> ExportedModel:
    """Export a model as ``Booster(model_file="model.json")`` reads it; margins are the scores."""
    form, names = single_form(model, "XGBoost"), model.names
    for feature in names:
        if any(letter in feature for letter in "[]<"):
            raise UsageError(
                f"{feature!r} is not a name of a feature in XGBoost, which takes none of [ ] <"
            ).advise(
                python="rename it with feature_names", command_line="rename it with --feature-names"
            )
    if isinstance(form, WeightedSum):
        booster = {"name": "gblinear", "model": {"weights": _weights(form)}}
    elif isinstance(form, Forest):
        booster = {"name": "gbtree", "model": _trees(form, names)}
    else:
        raise CannotExpressError(
            f"XGBoost has trees and weighted sums, but {model.ranker} is a network; nearest: export it "
            "to onnx"
        )
    content = json.dumps(_document(booster, names), allow_nan=False) + "\n"
    return ExportedModel("xgboost", str(booster["name"]), name, names, content)


def _document(booster: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the file; the objective and the base score change no score."""
    learner = {
        "attributes": {},
        "feature_names": list(names),
        "feature_types": ["float"] * len(names),
        "gradient_booster": booster,
        "learner_model_param": {
            "base_score": "0E0",
            "boost_from_average": "0",
            "num_class": "0",
            "num_feature": str(len(names)),
            "num_target": "1",
        },
        "objective": {"name": "rank:pairwise", "lambdarank_param": {}},
    }
    return {"learner": learner, "version": SCHEMA_VERSION}


def _weights(form: WeightedSum) -> list[float]:
    """Return w / b for each feature (x - a) / b, and the constant - sum of w a / b."""
    shift, divisor = np.array(shifts_and_divisors(form)).reshape(-1, 2).T
    weights = form.weights / divisor
    constant = to_float32(-(weights @ shift), "the constant of the scaling")
    return [*to_float32_list(weights, "a weight"), constant]


def _trees(form: Forest, names: tuple[str, ...]) -> dict[str, Any]:
    check_expressible(form, names, max_depth=None)
    n = len(form.trees)
    return {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(n)},
        "iteration_indptr": list(range(n + 1)),
        "tree_info": [0] * n,
        "trees": [_tree(i, tree, len(names)) for i, tree in enumerate(form.trees)],
    }


def _tree(number: int, tree: Tree, width: int) -> dict[str, Any]:
    """Return a tree as lists over its nodes, then its leaves."""
    tree, edges = tree_for_less_than(tree)
    nodes, leaves = len(tree.feature), len(tree.value)
    values = to_float32_list(tree.value, "a leaf")
    children = [np.where(side < 0, nodes + ~side, side) for side in (tree.left, tree.right)]
    parents = np.full(nodes + leaves, _NO_PARENT)
    for side in children:
        parents[side] = np.arange(nodes)
    none, zeros = [-1] * leaves, [0] * leaves
    return {
        "id": number,
        "base_weights": [0.0] * nodes + values,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": tree.nan_goes_left.astype(int).tolist() + zeros,
        "left_children": children[0].tolist() + none,
        "right_children": children[1].tolist() + none,
        "loss_changes": _finite(tree.gain) + [0.0] * leaves,
        "parents": parents.tolist(),
        "split_conditions": edges + values,
        "split_indices": tree.feature.tolist() + zeros,
        "split_type": [0] * (nodes + leaves),
        "sum_hessian": _finite(tree.node_counts()) + _finite(tree.count),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(width),
            "num_nodes": str(nodes + leaves),
            "size_leaf_vector": "1",
        },
    }


def _finite(values: Any) -> list[float]:
    """Return statistics of nodes, which no score needs, within float32."""
    largest = float(np.finfo(np.float32).max)
    return np.clip(np.asarray(values, dtype=np.float64), -largest, largest).tolist()  # type: ignore[no-any-return]
