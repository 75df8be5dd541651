"""Elasticsearch LTR and OpenSearch LTR: a weighted sum, or trees in XGBoost's form.

Both plugins compute in float32, go left where x < threshold, and ask `missing` where x is NaN; but
OpenSearch from 3.2 to 3.7 sends NaN right, and makes NaN of every feature that a document lacks.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from podium.errors import CannotExpressError
from podium.exchange.forest import Forest, Tree
from podium.exchange.normalizers import MinMax, Normalizer
from podium.exchange.portable import Portable, WeightedSum
from podium.exchange.targets.content import (
    Exported,
    asking_below,
    check_forest,
    divisor,
    missing_note,
    single,
    single_range,
    singles,
)

LINEAR, TREES = "model/linear", "model/xgboost+json"
MISSING = {
    "elasticsearch": "the Elasticsearch plug-in makes 0 of a feature that a document lacks, and so scores "
    "the document wrong; define features that have a value for every document",
    "opensearch": "OpenSearch 3.1 and earlier makes 0 of a feature that a document lacks, and so scores "
    "the document wrong; use 3.8 or later",
}
"""What to know of trees that were trained on missing values."""


def elasticsearch(model: Portable, name: str) -> Exported:
    """For the Elasticsearch LTR plugin."""
    return _exported("elasticsearch", model, name)


def opensearch(model: Portable, name: str) -> Exported:
    """For the OpenSearch LTR plugin, whose models are the same."""
    made = _exported("opensearch", model, name)
    if not isinstance(model.form, Forest):
        return made
    return replace(made, notes=(*made.notes, _goes_right(model.form)))


def _goes_right(form: Forest) -> str:
    """Return what to know of the plug-in between its pull requests #206 and #379."""
    zero = "" if form.knows_missing else " (or 3.1 or earlier, where it counts as 0)"
    return (
        "OpenSearch 3.2 to 3.7 sends a feature that a document lacks to the right at every split, and "
        f"so scores the document wrong; use 3.8 or later{zero}, or define features that have a value "
        "for every document"
    )


def _exported(target: str, model: Portable, name: str) -> Exported:
    form, names = model.form, model.names
    notes: tuple[str, ...] = ()
    if isinstance(form, WeightedSum):
        body = _linear(form, names)
    elif isinstance(form, Forest):
        body, notes = _trees(form, names), missing_note(form, MISSING[target])
    else:
        raise CannotExpressError(
            f"{target} has weighted sums and trees, and {model.ranker} is a network; nearest: the "
            "same ranker with scorer='linear', lambdamart, or another engine (solr, onnx)"
        )
    wrapped = {"model": {"name": name, "model": body}}
    content = json.dumps(wrapped, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return Exported(target, str(body["type"]), name, names, content, notes)


def _linear(form: WeightedSum, names: tuple[str, ...]) -> dict[str, Any]:
    weights = dict(zip(names, singles(form.weights, "a weight"), strict=True))
    normalizers = {
        name: _normalizer(normalizer)
        for name, normalizer in zip(names, form.normalizers, strict=True)
        if normalizer is not None
    }
    body: dict[str, Any] = {"type": LINEAR}
    if normalizers:
        body["feature_normalizers"] = normalizers
    return body | {"definition": _text(weights)}  # which the plugins expect as text


def _normalizer(normalizer: Normalizer) -> dict[str, Any]:
    if isinstance(normalizer, MinMax):
        low, high = single_range(normalizer)
        return {"min_max": {"minimum": low, "maximum": high}}
    return {
        "standard": {
            "mean": single(normalizer.mean, "a mean"),
            "standard_deviation": divisor(normalizer.standard_deviation, "a standard deviation"),
        }
    }


def _trees(form: Forest, names: tuple[str, ...]) -> dict[str, Any]:
    check_forest(form, names)
    splits = [_tree(tree, names) for tree in form.trees]
    # An objective that every version of both plugins takes, and that leaves scores as they are.
    return {"type": TREES, "definition": _text({"objective": "rank:pairwise", "splits": splits})}


def _tree(tree: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    """XGBoost's dump: nodes are numbered as they are met."""
    tree, edges = asking_below(tree)
    values, nan_left, count = singles(tree.value, "a leaf"), tree.nan_left, 0

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
            "missing": (yes if nan_left[at] else no)["nodeid"],
            "children": [yes, no],
        }

    return node(0 if len(tree.feature) else ~0, 0)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
