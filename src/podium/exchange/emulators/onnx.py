"""ONNX: the operators of Podium's graphs, in float32. Tests compare them with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ModelFileError, require
from podium.typing import Singles


def score_onnx(content: bytes, features: Sequence[str], X: NDArray[Any]) -> Singles:
    """Return the graph's output `score`; columns are the model's features, in order."""
    library = require("onnx", "export", "reading ONNX")
    model = library.load_model_from_string(content)
    library.checker.check_model(model)
    values: dict[str, Any] = {"features": X.astype(np.float32)}
    values |= {t.name: library.numpy_helper.to_array(t) for t in model.graph.initializer}
    for node in model.graph.node:
        attributes = {a.name: library.helper.get_attribute_value(a) for a in node.attribute}
        inputs = [values[name] for name in node.input]
        if node.op_type == "TreeEnsembleRegressor":
            values[node.output[0]] = _ensemble(attributes, *inputs)
        elif node.op_type in _OPERATORS:
            values[node.output[0]] = _OPERATORS[node.op_type](*inputs)
        else:
            raise ModelFileError(f"expected a known operator, got {node.op_type}")
    return np.asarray(values["score"][:, 0], dtype=np.float32)


def _relu(x: Singles) -> Singles:
    return np.maximum(x, np.float32(0))


def _sigmoid(x: Singles) -> Singles:
    return np.asarray(1 / (1 + np.exp(-x)), dtype=np.float32)


_OPERATORS: dict[str, Callable[..., Singles]] = {
    "Sub": np.subtract,
    "Sum": lambda *terms: np.sum(terms, axis=0, dtype=np.float32),
    "Div": np.divide,
    "MatMul": np.matmul,
    "Gemm": lambda x, W, b: x @ W + b,
    "Relu": _relu,
    "Tanh": np.tanh,
    "Sigmoid": _sigmoid,
}


def _ensemble(attributes: dict[str, Any], x: Singles) -> Singles:
    """Evaluate all rows at once: each moves from node to child until all rows are at leaves."""
    place = {
        key: i
        for i, key in enumerate(
            zip(attributes["nodes_treeids"], attributes["nodes_nodeids"], strict=True)
        )
    }
    leaf = np.zeros(len(place), dtype=np.float32)
    targets = zip(
        attributes["target_treeids"],
        attributes["target_nodeids"],
        attributes["target_weights"],
        strict=True,
    )
    for tree, node, weight in targets:
        leaf[place[tree, node]] = weight
    is_split = np.array([mode == b"BRANCH_LEQ" for mode in attributes["nodes_modes"]])
    tree_of = attributes["nodes_treeids"]

    def places(name: str) -> NDArray[np.int64]:
        children = enumerate(attributes[name])
        return np.array([place[tree_of[i], to] if is_split[i] else i for i, to in children])

    yes, no = places("nodes_truenodeids"), places("nodes_falsenodeids")
    feature = np.array(attributes["nodes_featureids"])
    value = np.array(attributes["nodes_values"], dtype=np.float32)
    tracks = np.array(attributes["nodes_missing_value_tracks_true"], dtype=bool)
    total = np.zeros(len(x), dtype=np.float32)
    rows = np.arange(len(x))
    for tree in dict.fromkeys(tree_of):
        at = np.full(len(x), place[tree, 0])
        while is_split[at].any():
            feature_value = x[rows, feature[at]]
            is_true = np.where(np.isnan(feature_value), tracks[at], feature_value <= value[at])
            at = np.where(is_split[at], np.where(is_true, yes[at], no[at]), at)
        total += leaf[at]
    return total[:, None]
