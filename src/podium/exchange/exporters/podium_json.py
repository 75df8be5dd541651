"""Podium's JSON (target "json"), in float64, for users' programs.

A tree goes left if x <= threshold; `missing` says where NaN goes.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from podium.exchange.exporters.engine_limits import check_expressible, shifts_and_divisors
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.portable_model import PortableModel, SumOfForms, WeightedSum
from podium.exchange.trees import Forest, Tree
from podium.rankers.mlp import Network

FORMAT, VERSION = "podium-json", 1


def export_json(model: PortableModel, name: str) -> ExportedModel:
    """Export a model as JSON that describes itself in words."""
    form, names = model.form, model.names
    if isinstance(form, SumOfForms):
        terms = [_form(term, names) for term in form.terms]
        kind, body = "sum", {"terms": [{"kind": kind, **body} for kind, body in terms]}
    else:
        kind, body = _form(form, names)
    head = {"format": FORMAT, "version": VERSION, "name": name, "ranker": model.ranker}
    scaled = {} if model.scaled is None else {"scaled_by_query": model.scaled}
    document = {**head, "kind": kind, "features": list(names), **scaled, **body}
    content = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return ExportedModel("json", kind, name, names, content)


def _form(
    form: WeightedSum | Forest | Network, names: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    if isinstance(form, WeightedSum):
        return "linear", _linear(form)
    if isinstance(form, Forest):
        return "trees", _trees(form, names)
    return "network", _network(form)


def _linear(form: WeightedSum) -> dict[str, Any]:
    scales = shifts_and_divisors(form)
    body: dict[str, Any] = {"weights": form.weights.tolist()}
    if any(form.normalizers):
        body |= {"shift": [a for a, _ in scales], "divisor": [b for _, b in scales]}
    return body


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
    check_expressible(form, names)
    return {"trees": [_tree(tree, names) for tree in form.trees]}


def _tree(tree: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    nan_goes_left = tree.nan_goes_left

    def node(at: int) -> dict[str, Any]:
        if at < 0:
            return {"value": float(tree.value[~at])}
        return {
            "feature": names[int(tree.feature[at])],
            "threshold": min(float(tree.threshold[at]), sys.float_info.max),
            "missing": "left" if nan_goes_left[at] else "right",
            "left": node(int(tree.left[at])),
            "right": node(int(tree.right[at])),
        }

    return node(0 if len(tree.feature) else ~0)
