"""Plain JSON, in float64, for programs of one's own: x <= threshold goes left, NaN as `missing` says."""

from __future__ import annotations

import json
import sys
from typing import Any

from podium.exchange.forest import Forest, Tree
from podium.exchange.portable import Portable, WeightedSum
from podium.exchange.targets.content import Exported, check_forest, scale_terms
from podium.rankers.mlp import Network

FORMAT, VERSION = "podium-json", 1


def plain(model: Portable, name: str) -> Exported:
    """A file that says in words what it is."""
    form, names = model.form, model.names
    if isinstance(form, WeightedSum):
        kind, body = "linear", _linear(form)
    elif isinstance(form, Forest):
        kind, body = "trees", _trees(form, names)
    else:
        kind, body = "network", _network(form)
    head = {"format": FORMAT, "version": VERSION, "name": name, "ranker": model.ranker}
    scaled = {} if model.scaled is None else {"scaled_by_query": model.scaled}
    told = {**head, "kind": kind, "features": list(names), **scaled, **body}
    content = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return Exported("json", kind, name, names, content)


def _linear(form: WeightedSum) -> dict[str, Any]:
    scales = scale_terms(form)
    told: dict[str, Any] = {"weights": form.weights.tolist()}
    if any(form.normalizers):
        told |= {"shift": [a for a, _ in scales], "divisor": [b for _, b in scales]}
    return told


def _network(form: Network) -> dict[str, Any]:
    layers = [
        {"matrix": W.T.tolist(), "bias": b.tolist()}
        for W, b in zip(form.weights, form.biases, strict=True)
    ]
    return {
        "shift": form.mean.tolist(),
        "divisor": form.scale.tolist(),
        "activation": form.activation,
        "layers": layers,
    }


def _trees(form: Forest, names: tuple[str, ...]) -> dict[str, Any]:
    check_forest(form, names)
    return {"trees": [_tree(tree, names) for tree in form.trees]}


def _tree(tree: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    nan_left = tree.nan_left

    def node(at: int) -> dict[str, Any]:
        if at < 0:
            return {"value": float(tree.value[~at])}
        return {
            "feature": names[int(tree.feature[at])],
            "threshold": min(float(tree.threshold[at]), sys.float_info.max),
            "missing": "left" if nan_left[at] else "right",
            "left": node(int(tree.left[at])),
            "right": node(int(tree.right[at])),
        }

    return node(0 if len(tree.feature) else ~0)
