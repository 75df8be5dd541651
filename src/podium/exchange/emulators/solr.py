"""Solr LTR: LinearModel, MultipleAdditiveTreesModel and NeuralNetworkModel, in float32.

A tree goes left if x <= fl(threshold + 1e-6); the sum is taken in float32 when the model is read. If
isNullSameAsZero is false, `missing` says where NaN goes. Else a feature that a document lacks is 0, the
default value of features, and NaN counts as 0.

Each check follows a class of Solr's ltr module, 9.2 (the first with isNullSameAsZero) and later:

- SolrPluginUtils.invokeSetters calls a setter for every entry. An entry without a setter is refused,
  and so is null. The class of the JSON value chooses the setter: a text calls the one that takes a
  String. A number calls one of several in an undefined order, which usually refuses it.
- StandardNormalizer, MinMaxNormalizer, and RegressionTree and RegressionTreeNode of
  MultipleAdditiveTreesModel have text setters for all their numbers: only texts are safe.
- MultipleAdditiveTreesModel.setIsNullSameAsZero takes a boolean, not a text.
- LinearModel.setWeights casts to Number: no texts.
- NeuralNetworkModel.DefaultLayer casts to Double: 1 is a Long, and refused.
- ManagedModelStore casts class, name and the features' names to String.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ModelFileError
from podium.exchange.emulators.nested_trees import evaluate_tree
from podium.exchange.java_numbers import parse_java_number
from podium.typing import Singles

THRESHOLD_SLACK = np.float32(1e-6)


def score_solr(content: str, features: Sequence[str], X: NDArray[Any]) -> Singles:
    """Return the scores of a model in the model store."""
    model = json.loads(content)
    store = {name: j for j, name in enumerate(features)}
    names = [_text(feature["name"]) for feature in model["features"]]
    raw = X.astype(np.float32)
    if not _takes_nan(model["params"]):
        raw[np.isnan(raw)] = 0
    x = np.empty((len(X), len(names)), dtype=np.float32)
    for j, (name, feature) in enumerate(zip(names, model["features"], strict=True)):
        if name not in store or name in names[:j]:
            raise ModelFileError(f"expected each feature of the store once, got {name!r}")
        x[:, j] = _normalize(feature.get("norm"), raw[:, store[name]])
    package, _, kind = _text(model["class"]).rpartition(".")
    if kind not in _MODELS or package != _PACKAGE + "model" or not _text(model["name"]):
        raise ModelFileError(f"expected a known class of model, got {model['class']}")
    return _MODELS[kind](model["params"], names, x)


_PACKAGE = "org.apache.solr.ltr."


def _takes_nan(params: object) -> bool:
    return isinstance(params, dict) and params.get("isNullSameAsZero") is False


def _entries(value: object, *names: str) -> dict[str, Any]:
    """Return an object; raise if it has an entry without a setter, or null."""
    if not isinstance(value, dict) or not set(value) <= set(names) or None in value.values():
        raise ModelFileError(f"expected an object with entries of {names}, got {value!r:.80}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ModelFileError(f"expected a text, got {value!r:.80}")
    return value


def _single(text: object) -> np.float32:
    if not isinstance(text, str) or (value := parse_java_number(text)) is None:
        raise ModelFileError(f"expected a number as text, got {text!r:.80}")
    with np.errstate(over="ignore"):
        return np.float32(value)


def _normalize(norm: dict[str, Any] | None, x: Singles) -> Singles:
    if norm is None:
        return x
    kind = _text(norm["class"]).removeprefix(_PACKAGE + "norm.")
    if kind == "StandardNormalizer":
        params = _entries(norm["params"], "avg", "std")
        avg, std = _single(params["avg"]), _single(params["std"])
        if std <= 0:
            raise ModelFileError("expected a standard deviation above 0")
        with np.errstate(over="ignore"):
            return (x - avg) / std
    if kind != "MinMaxNormalizer":
        raise ModelFileError(f"expected a known normalizer, got {norm['class']}")
    params = _entries(norm["params"], "min", "max")
    low = _single(params["min"])
    delta = _single(params["max"]) - low
    if delta == 0:
        raise ModelFileError("expected a maximum other than the minimum")
    return (x - low) / delta


def _linear(params: dict[str, Any], names: list[str], x: Singles) -> Singles:
    weights = _entries(params, "weights")["weights"]
    if not set(names) <= set(weights):
        raise ModelFileError("expected a weight for each feature")
    total = np.zeros(len(x), dtype=np.float32)
    for j, name in enumerate(names):
        total += x[:, j] * np.float32(_number(weights[name]))
    return total


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ModelFileError(f"expected a number, got {value!r:.80}")
    return value


def _trees(params: dict[str, Any], names: list[str], x: Singles) -> Singles:
    params = _entries(params, "trees", "isNullSameAsZero")
    zero = params.get("isNullSameAsZero", True)
    if not isinstance(zero, bool):
        raise ModelFileError(f"expected true or false as isNullSameAsZero, got {zero!r:.80}")
    total = np.zeros(len(x), dtype=np.float32)
    for tree in params["trees"]:
        weighted = _entries(tree, "weight", "root")
        total += _single(weighted["weight"]) * _tree(weighted["root"], names, x, nulls=not zero)
    return total


_NODE = ("value", "feature", "threshold", "left", "right", "missing")


def _tree(root: dict[str, Any], names: list[str], x: Singles, *, nulls: bool) -> Singles:
    def leaf(node: dict[str, Any]) -> np.float32 | None:
        if "feature" in _entries(node, *_NODE):
            return None
        if not {"left", "right"}.isdisjoint(node):
            raise ModelFileError("expected a leaf without nodes below it")
        return _single(node["value"])

    def left(node: dict[str, Any], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        if (name := _text(node["feature"])) not in names:  # Solr scores such a tree 0
            raise ModelFileError(f"expected features of the model, got {name!r}")
        values = x[rows, names.index(name)]
        is_low = values <= _single(node["threshold"]) + THRESHOLD_SLACK
        missing = np.isnan(values) if nulls else np.zeros(len(rows), dtype=bool)
        return np.where(missing, nulls and _text(node["missing"]) == "left", is_low).astype(bool)

    def children(node: dict[str, Any]) -> tuple[Any, Any]:
        return node["left"], node["right"]

    return evaluate_tree(root, len(x), leaf=leaf, left=left, children=children, dtype=np.float32)


def _network(params: dict[str, Any], names: list[str], x: Singles) -> Singles:
    out = x
    for value in _entries(params, "layers")["layers"]:
        layer = _entries(value, "matrix", "bias", "activation")
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


_MODELS: dict[str, Callable[[dict[str, Any], list[str], Singles], Singles]] = {
    "LinearModel": _linear,
    "MultipleAdditiveTreesModel": _trees,
    "NeuralNetworkModel": _network,
}
