"""Podium's plain JSON, in float64, as a program of one's own would read it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ModelFileError
from podium.exchange.emulators.walking import walk

Floats = NDArray[np.float64]


def score_plain(content: str, features: Sequence[str], X: NDArray[Any]) -> Floats:
    """A file of version 1."""
    told = json.loads(content)
    if (told["format"], told["version"]) != ("podium-json", 1):
        raise ModelFileError("expected podium-json of version 1")
    columns = [list(features).index(name) for name in told["features"]]
    x = X[:, columns].astype(np.float64)
    if told["kind"] == "trees":
        total = np.zeros(len(x))
        for tree in told["trees"]:
            total += _tree(tree, told["features"], x)
        return total
    if "shift" in told:
        x = (x - np.array(told["shift"])) / np.array(told["divisor"])
    if told["kind"] == "linear":
        return np.asarray(x @ np.array(told["weights"]))
    for i, layer in enumerate(told["layers"]):
        x = x @ np.array(layer["matrix"]).T + np.array(layer["bias"])
        if i < len(told["layers"]) - 1:
            x = _activate(told["activation"], x)
    return x[:, 0]


def _tree(root: dict[str, Any], names: list[str], x: Floats) -> Floats:
    def leaf(node: dict[str, Any]) -> float | None:
        return node.get("value")

    def left(node: dict[str, Any], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        value = x[rows, names.index(node["feature"])]
        below = value <= node["threshold"]
        return np.asarray(np.where(np.isnan(value), node["missing"] == "left", below), dtype=bool)

    def children(node: dict[str, Any]) -> tuple[Any, Any]:
        return node["left"], node["right"]

    return walk(root, len(x), leaf=leaf, left=left, children=children, dtype=np.float64)


def _activate(name: str, z: Floats) -> Floats:
    if name == "relu":
        return np.maximum(z, 0.0)
    return np.tanh(z) if name == "tanh" else np.asarray(1 / (1 + np.exp(-z)))
