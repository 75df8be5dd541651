"""Solr LTR: LinearModel, MultipleAdditiveTreesModel and NeuralNetworkModel, all in float32.

A tree goes left if x <= fl(threshold + 1e-6). Thresholds are chosen so that this sum is the
threshold of the model.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from podium.errors import CannotExpressError
from podium.exchange.exporters.engine_limits import (
    check_expressible,
    float32_divisor,
    float32_range,
    missing_note,
    single_form,
    to_float32,
    to_float32_list,
    tree_for_at_most,
)
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.exporters.solr_thresholds import solr_power, solr_thresholds
from podium.exchange.float32 import LARGEST_FLOAT32, floor32
from podium.exchange.normalizers import MinMax, Normalizer
from podium.exchange.portable_model import PortableModel, WeightedSum
from podium.exchange.trees import Forest, Tree
from podium.rankers.mlp import Network

_CLASS, _NORM = "org.apache.solr.ltr.model.", "org.apache.solr.ltr.norm."
MISSING_ADVICE = """use Solr 9.2 or later, and set "defaultValue": "NaN" in every feature"""


def export_solr(model: PortableModel, name: str) -> ExportedModel:
    """Export a model for ``PUT /schema/model-store``."""
    form, names = single_form(model, "Solr"), model.names
    notes: tuple[str, ...] = ()
    if isinstance(form, WeightedSum):
        kind, features, params = "LinearModel", *_linear(form, names)
    elif isinstance(form, Forest):
        kind, features, params = "MultipleAdditiveTreesModel", *_trees(form, names)
        notes = missing_note(form, MISSING_ADVICE)
    else:
        kind, features, params = "NeuralNetworkModel", *_network(form, names)
    document = {"class": _CLASS + kind, "name": name, "features": features, "params": params}
    content = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return ExportedModel("solr", kind, name, names, content, notes)


FeaturesAndParams = tuple[list[dict[str, Any]], dict[str, Any]]


def _feature(name: str, norm: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name} if norm is None else {"name": name, "norm": norm}


def _linear(form: WeightedSum, names: tuple[str, ...]) -> FeaturesAndParams:
    weights = dict(zip(names, to_float32_list(form.weights, "a weight"), strict=True))
    features = [
        _feature(name, None if normalizer is None else _norm(normalizer))
        for name, normalizer in zip(names, form.normalizers, strict=True)
    ]
    return features, {"weights": weights}


def _norm(normalizer: Normalizer) -> dict[str, Any]:
    if isinstance(normalizer, MinMax):
        low, high = float32_range(normalizer)
        params = {"min": repr(low), "max": repr(high)}
        return {"class": _NORM + "MinMaxNormalizer", "params": params}
    return _standard(normalizer.mean, normalizer.standard_deviation)


def _standard(mean: float, deviation: float) -> dict[str, Any]:
    """Return a StandardNormalizer; Solr's setters take numbers as text and refuse doubles of JSON."""
    avg, std = to_float32(mean, "a mean"), float32_divisor(deviation, "a standard deviation")
    return {"class": _NORM + "StandardNormalizer", "params": {"avg": repr(avg), "std": repr(std)}}


def _network(form: Network, names: tuple[str, ...]) -> FeaturesAndParams:
    scales = zip(names, form.mean.tolist(), form.scale.tolist(), strict=True)
    last = len(form.weights) - 1
    layers = [
        {
            "matrix": [to_float32_list(row, "a weight") for row in W.T],  # one row per output
            "bias": to_float32_list(b, "a bias"),
            "activation": "identity" if i == last else form.activation,
        }
        for i, (W, b) in enumerate(zip(form.weights, form.biases, strict=True))
    ]
    return [_feature(name, _standard(m, s)) for name, m, s in scales], {"layers": layers}


def _trees(form: Forest, names: tuple[str, ...]) -> FeaturesAndParams:
    check_expressible(form, names)
    powers = _powers(form, names)
    features = [
        _feature(name, _standard(0.0, 2.0**-k) if (k := powers.get(j)) else None)
        for j, name in enumerate(names)
    ]
    # This setter takes a boolean, unlike those of numbers, and refuses the text "false".
    missing = {"isNullSameAsZero": False} if form.has_missing_side else {}
    trees = [
        {"weight": "1", "root": _tree(tree, names, powers, bool(missing))} for tree in form.trees
    ]
    return features, {**missing, "trees": trees}


def _powers(form: Forest, names: tuple[str, ...]) -> dict[int, int]:
    """Return the power of two by which each feature is multiplied before it is compared; mostly 0."""
    edges: dict[int, list[float]] = {}
    for tree in form.trees:
        own_edges = floor32(tree.threshold).tolist()
        for feature, edge in zip(tree.feature.tolist(), own_edges, strict=True):
            if abs(edge) < LARGEST_FLOAT32:
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
    tree, edges = tree_for_at_most(tree)
    thresholds = [
        _threshold(edge, powers[f]) for edge, f in zip(edges, tree.feature.tolist(), strict=True)
    ]
    values, nan_goes_left = to_float32_list(tree.value, "a leaf"), tree.nan_goes_left

    def node(at: int) -> dict[str, Any]:
        if at < 0:
            return {"value": repr(values[~at])}
        direction = {"missing": "left" if nan_goes_left[at] else "right"} if missing else {}
        return {
            "feature": names[int(tree.feature[at])],
            "threshold": thresholds[at],
            **direction,
            "left": node(int(tree.left[at])),
            "right": node(int(tree.right[at])),
        }

    return node(0 if len(tree.feature) else ~0)


def _threshold(edge: float, power: int) -> str:
    """Return the threshold that Solr turns into this edge, as Java writes numbers."""
    if edge >= LARGEST_FLOAT32:
        return "Infinity"
    with np.errstate(over="ignore"):
        scaled = np.array([edge * 2.0**power], dtype=np.float32)
    if np.isneginf(scaled[0]):
        raise CannotExpressError(
            f"a threshold of {edge:g} stands beside others near 0, and Solr adds 1e-6 to each, so the "
            "feature would be scaled beyond its range; nearest: train on its logarithm or its rank"
        )
    thresholds = solr_thresholds(scaled)
    assert thresholds is not None  # the power was chosen so that there is one
    return repr(float(thresholds[0]))
