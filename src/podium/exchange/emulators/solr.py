"""Solr LTR: LinearModel, MultipleAdditiveTreesModel and NeuralNetworkModel, in float32.

Left where x <= fl(threshold + 1e-6), the sum taken in float32 when the model is read. NaN goes where
`missing` says if isNullSameAsZero is false, and right if it is not told (a comparison with NaN).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ModelFileError
from podium.exchange.emulators.walking import walk

Singles = NDArray[np.float32]
SLACK = np.float32(1e-6)


def score_solr(content: str, features: Sequence[str], X: NDArray[Any]) -> Singles:
    """A model of the model store."""
    told = json.loads(content)
    store = {name: j for j, name in enumerate(features)}
    names = [feature["name"] for feature in told["features"]]
    x = np.empty((len(X), len(names)), dtype=np.float32)
    for j, feature in enumerate(told["features"]):
        if feature["name"] not in store:
            raise ModelFileError(f"expected features of the store, got {feature['name']!r}")
        x[:, j] = _normalize(feature.get("norm"), X[:, store[feature["name"]]].astype(np.float32))
    kind, params = told["class"].rpartition(".")[2], told["params"]
    if kind == "LinearModel":
        return _linear(params["weights"], names, x)
    if kind == "MultipleAdditiveTreesModel":
        return _trees(params, names, x)
    if kind == "NeuralNetworkModel":
        return _network(params["layers"], x)
    raise ModelFileError(f"expected a known class of model, got {kind}")


def _single(text: object) -> np.float32:
    if not isinstance(text, str):
        raise ModelFileError(f"expected a number as text, got {text!r}")
    return np.float32(float(text))


def _normalize(norm: dict[str, Any] | None, x: Singles) -> Singles:
    if norm is None:
        return x
    params = {name: _single(value) for name, value in norm["params"].items()}
    if norm["class"].endswith(".StandardNormalizer"):
        if params["std"] <= 0:
            raise ModelFileError("expected a standard deviation above 0")
        with np.errstate(over="ignore"):
            return (x - params["avg"]) / params["std"]
    delta = params["max"] - params["min"]
    if delta == 0:
        raise ModelFileError("expected a maximum other than the minimum")
    return (x - params["min"]) / delta


def _linear(weights: dict[str, float], names: list[str], x: Singles) -> Singles:
    if set(weights) != set(names):
        raise ModelFileError("expected a weight for each feature")
    total = np.zeros(len(x), dtype=np.float32)
    for j, name in enumerate(names):
        total += x[:, j] * np.float32(weights[name])
    return total


def _trees(params: dict[str, Any], names: list[str], x: Singles) -> Singles:
    nulls = params.get("isNullSameAsZero", "true") == "false"
    total = np.zeros(len(x), dtype=np.float32)
    for tree in params["trees"]:
        total += _single(tree["weight"]) * _tree(tree["root"], names, x, nulls)
    return total


def _tree(root: dict[str, Any], names: list[str], x: Singles, nulls: bool) -> Singles:
    def leaf(node: dict[str, Any]) -> np.float32 | None:
        return None if "feature" in node else _single(node["value"])

    def left(node: dict[str, Any], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        values = x[rows, names.index(node["feature"])]
        below = values <= _single(node["threshold"]) + SLACK
        missing = np.isnan(values) if nulls else np.zeros(len(rows), dtype=bool)
        return np.where(missing, nulls and node["missing"] == "left", below).astype(bool)

    def children(node: dict[str, Any]) -> tuple[Any, Any]:
        return node["left"], node["right"]

    return walk(root, len(x), leaf=leaf, left=left, children=children, dtype=np.float32)


def _network(layers: list[dict[str, Any]], x: Singles) -> Singles:
    out = x
    for layer in layers:
        matrix, bias = layer["matrix"], layer["bias"]
        if len(matrix) != len(bias) or any(len(row) != out.shape[1] for row in matrix):
            raise ModelFileError("expected a layer's matrix and bias to fit")
        after = np.empty((len(x), len(bias)), dtype=np.float32)
        for i, (row, start) in enumerate(zip(matrix, bias, strict=True)):
            value = np.full(len(x), np.float32(_double(start)))
            for j, weight in enumerate(row):
                value += np.float32(_double(weight)) * out[:, j]
            after[:, i] = value
        out = _activate(layer["activation"], after)
    if out.shape[1] != 1:
        raise ModelFileError("expected one output")
    return out[:, 0]


def _double(value: object) -> float:
    if not isinstance(value, float):  # Solr casts to Double, and 1 is a Long
        raise ModelFileError(f"expected a decimal number, got {value!r}")
    return value


def _activate(name: str, value: Singles) -> Singles:
    if name == "relu":
        return np.where(value < 0, np.float32(0), value)
    if name == "tanh":
        return np.tanh(value.astype(np.float64)).astype(np.float32)
    if name == "sigmoid":
        return (1 / (1 + np.exp(-value.astype(np.float64)))).astype(np.float32)
    if name != "identity":
        raise ModelFileError(f"expected a known activation, got {name!r}")
    return value
