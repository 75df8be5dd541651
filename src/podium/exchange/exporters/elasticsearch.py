"""Elasticsearch LTR and OpenSearch LTR: a weighted sum, or trees in XGBoost's form.

Both plug-ins compute in float32, go left if x < threshold, and follow `missing` if x is NaN. But
OpenSearch from 3.2 to 3.7 sends NaN right, and turns every feature that a document lacks into NaN.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from podium.errors import CannotExpressError
from podium.exchange.exporters.engine_limits import (
    check_expressible,
    float32_divisor,
    float32_range,
    missing_note,
    single_form,
    to_float32,
    to_float32_list,
    tree_for_less_than,
)
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.normalizers import MinMax, Normalizer
from podium.exchange.portable_model import PortableModel, WeightedSum
from podium.exchange.trees import Forest, Tree

LINEAR_TYPE, TREES_TYPE = "model/linear", "model/xgboost+json"
MISSING_ADVICE = {
    "elasticsearch": "the Elasticsearch plug-in replaces a feature that a document lacks by "
    "0, which gives a wrong score; define features that have a value for "
    "every document",
    "opensearch": "OpenSearch 3.1 and earlier replaces a feature that a document lacks by 0, "
    "which gives a wrong score; use 3.8 or later",
}
"""Advice for trees that were trained on missing values."""


def export_elasticsearch(model: PortableModel, name: str) -> ExportedModel:
    """Export a model for the LTR plug-in of Elasticsearch."""
    return _export("elasticsearch", model, name)


def export_opensearch(model: PortableModel, name: str) -> ExportedModel:
    """Export a model for the LTR plug-in of OpenSearch, whose models are the same."""
    exported = _export("opensearch", model, name)
    if not isinstance(model.form, Forest):
        return exported
    return replace(exported, notes=(*exported.notes, _nan_right_note(model.form)))


def _nan_right_note(form: Forest) -> str:
    """Return the note on the plug-in between its pull requests #206 and #379."""
    zero = "" if form.has_missing_side else " (or 3.1 or earlier, where it counts as 0)"
    return (
        "OpenSearch 3.2 to 3.7 sends a document that lacks a feature to the right at every "
        f"split, which gives a wrong score; use 3.8 or later{zero}, or define features that "
        "have a value for every document"
    )


def _export(target: str, model: PortableModel, name: str) -> ExportedModel:
    form, names = single_form(model, target), model.names
    notes: tuple[str, ...] = ()
    if isinstance(form, WeightedSum):
        body = _linear(form, names)
    elif isinstance(form, Forest):
        body, notes = _trees(form, names), missing_note(form, MISSING_ADVICE[target])
    else:
        raise CannotExpressError(
            f"{target} supports weighted sums and trees, but {model.ranker} is a network; "
            "nearest: the same ranker with a linear scorer, lambdamart, or another engine "
            "(solr, onnx)"
        )
    wrapped = {"model": {"name": name, "model": body}}
    content = json.dumps(wrapped, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return ExportedModel(target, str(body["type"]), name, names, content, notes)


def _linear(form: WeightedSum, names: tuple[str, ...]) -> dict[str, Any]:
    weights = dict(zip(names, to_float32_list(form.weights, "a weight"), strict=True))
    normalizers = {
        name: _normalizer(normalizer)
        for name, normalizer in zip(names, form.normalizers, strict=True)
        if normalizer is not None
    }
    body: dict[str, Any] = {"type": LINEAR_TYPE}
    if normalizers:
        body["feature_normalizers"] = normalizers
    return body | {"definition": _text(weights)}  # the plug-ins expect text


def _normalizer(normalizer: Normalizer) -> dict[str, Any]:
    if isinstance(normalizer, MinMax):
        low, high = float32_range(normalizer)
        return {"min_max": {"minimum": low, "maximum": high}}
    return {
        "standard": {
            "mean": to_float32(normalizer.mean, "a mean"),
            "standard_deviation": float32_divisor(
                normalizer.standard_deviation, "a standard deviation"
            ),
        }
    }


def _trees(form: Forest, names: tuple[str, ...]) -> dict[str, Any]:
    check_expressible(form, names)
    splits = [_tree(tree, names) for tree in form.trees]
    # Every version of both plug-ins supports this objective, which does not change scores.
    return {
        "type": TREES_TYPE,
        "definition": _text({"objective": "rank:pairwise", "splits": splits}),
    }


def _tree(tree: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    """Return a tree as XGBoost dumps it; nodes are numbered from the root down, left before right."""
    tree, edges = tree_for_less_than(tree)
    values, nan_goes_left, count = to_float32_list(tree.value, "a leaf"), tree.nan_goes_left, 0

    def node(at: int, depth: int) -> dict[str, Any]:
        nonlocal count
        own, count = count, count + 1
        if at < 0:
            return {"nodeid": own, "leaf": values[~at]}
        yes, no = node(int(tree.left[at]), depth + 1), node(int(tree.right[at]), depth + 1)
        return {
            "nodeid": own,
            "depth": depth,
            "split": names[int(tree.feature[at])],
            "split_condition": edges[at],
            "yes": yes["nodeid"],
            "no": no["nodeid"],
            "missing": (yes if nan_goes_left[at] else no)["nodeid"],
            "children": [yes, no],
        }

    return node(0 if len(tree.feature) else ~0, 0)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
