"""Podium's JSON, in float64, as a user's program reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ModelFileError
from podium.exchange.emulators.nested_trees import evaluate_tree
from podium.typing import Floats


def score_podium_json(content: str, features: Sequence[str], X: NDArray[Any]) -> Floats:
    """Return the scores of a model in a file of version 1."""
    model = json.loads(content)
    if (model["format"], model["version"]) != ("podium-json", 1):
        raise ModelFileError("expected podium-json of version 1")
    columns = [list(features).index(name) for name in model["features"]]
    x = X[:, columns].astype(np.float64)
    terms = model["terms"] if model["kind"] == "sum" else [model]
    return np.asarray(np.sum([_score_form(term, model["features"], x) for term in terms], axis=0))


def _score_form(model: dict[str, Any], names: list[str], x: Floats) -> Floats:
    if model["kind"] == "trees":
        total = np.zeros(len(x))
        for tree in model["trees"]:
            total += _tree(tree, names, x)
        return total
    if "shift" in model:
        x = (x - np.array(model["shift"])) / np.array(model["divisor"])
    if model["kind"] == "linear":
        return np.asarray(x @ np.array(model["weights"]))
    for i, layer in enumerate(model["layers"]):
        x = x @ np.array(layer["matrix"]).T + np.array(layer["bias"])
        if i < len(model["layers"]) - 1:
            x = _activate(model["activation"], x)
    return x[:, 0]


def _tree(root: dict[str, Any], names: list[str], x: Floats) -> Floats:
    def leaf(node: dict[str, Any]) -> float | None:
        return node.get("value")

    def left(node: dict[str, Any], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        value = x[rows, names.index(node["feature"])]
        is_low = value <= node["threshold"]
        return np.asarray(np.where(np.isnan(value), node["missing"] == "left", is_low), dtype=bool)

    def children(node: dict[str, Any]) -> tuple[Any, Any]:
        return node["left"], node["right"]

    return evaluate_tree(root, len(x), leaf=leaf, left=left, children=children, dtype=np.float64)


def _activate(name: str, z: Floats) -> Floats:
    if name == "relu":
        return np.maximum(z, 0.0)
    return np.tanh(z) if name == "tanh" else np.asarray(1 / (1 + np.exp(-z)))
