"""Solr LTR: LinearModel, MultipleAdditiveTreesModel and NeuralNetworkModel, all in float32.

A tree goes left where x <= fl(threshold + 1e-6): thresholds are chosen so that the sum is what is meant.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from podium.errors import CannotExpressError
from podium.exchange.floats import LARGEST, floor32, solr_power, solr_thresholds
from podium.exchange.forest import Forest, Tree
from podium.exchange.normalizers import MinMax, Normalizer
from podium.exchange.portable import Portable, WeightedSum
from podium.exchange.targets.content import (
    Exported,
    asking_upto,
    check_forest,
    divisor,
    missing_note,
    single,
    single_range,
    singles,
)
from podium.rankers.mlp import Network

_CLASS, _NORM = "org.apache.solr.ltr.model.", "org.apache.solr.ltr.norm."
MISSING = """use Solr 9.2 or later, and set "defaultValue": "NaN" in every feature"""


def solr(model: Portable, name: str) -> Exported:
    """For ``PUT /schema/model-store``."""
    form, names = model.form, model.names
    notes: tuple[str, ...] = ()
    if isinstance(form, WeightedSum):
        kind, features, params = "LinearModel", *_linear(form, names)
    elif isinstance(form, Forest):
        kind, features, params = "MultipleAdditiveTreesModel", *_trees(form, names)
        notes = missing_note(form, MISSING)
    else:
        kind, features, params = "NeuralNetworkModel", *_network(form, names)
    told = {"class": _CLASS + kind, "name": name, "features": features, "params": params}
    content = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return Exported("solr", kind, name, names, content, notes)


Parts = tuple[list[dict[str, Any]], dict[str, Any]]


def _feature(name: str, norm: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name} if norm is None else {"name": name, "norm": norm}


def _linear(form: WeightedSum, names: tuple[str, ...]) -> Parts:
    weights = dict(zip(names, singles(form.weights, "a weight"), strict=True))
    every = zip(names, form.normalizers, strict=True)
    return [_feature(n, None if f is None else _norm(f)) for n, f in every], {"weights": weights}


def _norm(normalizer: Normalizer) -> dict[str, Any]:
    if isinstance(normalizer, MinMax):
        low, high = single_range(normalizer)
        params = {"min": repr(low), "max": repr(high)}
        return {"class": _NORM + "MinMaxNormalizer", "params": params}
    return _standard(normalizer.mean, normalizer.standard_deviation)


def _standard(mean: float, deviation: float) -> dict[str, Any]:
    """Solr's setters of normalizers and trees take numbers as texts; of JSON's they refuse doubles."""
    avg, std = single(mean, "a mean"), divisor(deviation, "a standard deviation")
    return {"class": _NORM + "StandardNormalizer", "params": {"avg": repr(avg), "std": repr(std)}}


def _network(form: Network, names: tuple[str, ...]) -> Parts:
    scales = zip(names, form.mean.tolist(), form.scale.tolist(), strict=True)
    last = len(form.weights) - 1
    layers = [
        {
            "matrix": [singles(row, "a weight") for row in W.T],  # a row an output
            "bias": singles(b, "a bias"),
            "activation": "identity" if i == last else form.activation,
        }
        for i, (W, b) in enumerate(zip(form.weights, form.biases, strict=True))
    ]
    return [_feature(name, _standard(m, s)) for name, m, s in scales], {"layers": layers}


def _trees(form: Forest, names: tuple[str, ...]) -> Parts:
    check_forest(form, names)
    powers = _powers(form, names)
    features = [
        _feature(name, _standard(0.0, 2.0**-k) if (k := powers.get(j)) else None)
        for j, name in enumerate(names)
    ]
    # A setter that takes a boolean, unlike those of numbers: the text "false" is refused.
    missing = {"isNullSameAsZero": False} if form.knows_missing else {}
    trees = [
        {"weight": "1", "root": _tree(tree, names, powers, bool(missing))} for tree in form.trees
    ]
    return features, {**missing, "trees": trees}


def _powers(form: Forest, names: tuple[str, ...]) -> dict[int, int]:
    """For each feature the power of two times which it is compared, 0 for nearly all."""
    edges: dict[int, list[float]] = {}
    for tree in form.trees:
        every = floor32(tree.threshold)
        for feature, edge in zip(tree.feature.tolist(), every.tolist(), strict=True):
            if abs(edge) < LARGEST:
                edges.setdefault(feature, []).append(edge)
    powers = dict.fromkeys(range(form.width), 0)
    for feature, values in edges.items():
        power = solr_power(np.unique(values).astype(np.float32))
        if power is None:
            raise CannotExpressError(
                f"thresholds of {names[feature]!r} go from {min(map(abs, values)):g} to "
                f"{max(map(abs, values)):g} in size, and Solr adds 1e-6 to each, which no scale of "
                "the feature makes up for; nearest: train on its logarithm or its rank"
            )
        powers[feature] = power
    return powers


def _tree(
    tree: Tree, names: tuple[str, ...], powers: dict[int, int], missing: bool
) -> dict[str, Any]:
    tree, edges = asking_upto(tree)
    thresholds = [
        _threshold(edge, powers[f]) for edge, f in zip(edges, tree.feature.tolist(), strict=True)
    ]
    values, nan_left = singles(tree.value, "a leaf"), tree.nan_left

    def node(at: int) -> dict[str, Any]:
        if at < 0:
            return {"value": repr(values[~at])}
        direction = {"missing": "left" if nan_left[at] else "right"} if missing else {}
        return {
            "feature": names[int(tree.feature[at])],
            "threshold": thresholds[at],
            **direction,
            "left": node(int(tree.left[at])),
            "right": node(int(tree.right[at])),
        }

    return node(0 if len(tree.feature) else ~0)


def _threshold(edge: float, power: int) -> str:
    """What Solr makes the edge of; it reads Java's numbers, the infinite one included."""
    if edge >= LARGEST:
        return "Infinity"
    with np.errstate(over="ignore"):
        scaled = np.array([edge * 2.0**power], dtype=np.float32)
    if np.isneginf(scaled[0]):
        raise CannotExpressError(
            f"a threshold of {edge:g} stands beside others near 0, and Solr adds 1e-6 to each, so the "
            "feature would be scaled beyond its range; nearest: train on its logarithm or its rank"
        )
    found = solr_thresholds(scaled)
    assert found is not None  # so the power was chosen
    return repr(float(found[0]))
