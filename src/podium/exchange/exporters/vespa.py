"""Vespa: a weighted sum as a rank expression, trees as LightGBM's dump.

Vespa reads the dump's x <= threshold as x < threshold, and keeps thresholds and leaves in float32.
"""

from __future__ import annotations

import json
import re
from typing import Any

from podium.errors import CannotExpressError, UsageError
from podium.exchange.exporters.engine_limits import (
    check_expressible,
    missing_note,
    shifts_and_divisors,
    single_form,
    to_float32_list,
    tree_for_less_than,
)
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.portable_model import PortableModel, WeightedSum
from podium.rankers.forest import Forest, Tree

_FEATURE = re.compile(r"[A-Za-z_][\w.]*(\([\w., \"$@:+-]*\))?(\.[\w.]+)?")
_PROFILE = re.compile(r"[A-Za-z_][\w-]*")
MISSING_ADVICE = "a feature that a document lacks must be NaN, not 0"


def export_vespa(model: PortableModel, name: str) -> ExportedModel:
    """Export a model for a schema (weighted sums) or an application's folder ``models`` (trees)."""
    form, names = single_form(model, "Vespa"), model.names
    if not isinstance(form, WeightedSum | Forest):
        raise CannotExpressError(
            f"{model.ranker} is a network, which Vespa evaluates as ONNX; export it to onnx, "
            "and name the file in an onnx-model of the rank profile"
        )
    for feature in names:
        if not _FEATURE.fullmatch(feature):
            raise UsageError(
                f"{feature!r} is not a name in Vespa's rank expressions; expected names such "
                "as bm25(title), attribute(price) or the name of a function"
            ).advise(
                python="rename it with feature_names", command_line="rename it with --feature-names"
            )
    if isinstance(form, WeightedSum):
        return ExportedModel("vespa", "rank profile", name, names, _profile(form, names, name))
    content = json.dumps(_dump(form, names), indent=1, allow_nan=False) + "\n"
    return ExportedModel(
        "vespa", "LightGBM dump", name, names, content, missing_note(form, MISSING_ADVICE)
    )


def _profile(form: WeightedSum, names: tuple[str, ...], name: str) -> str:
    if not _PROFILE.fullmatch(name):
        raise UsageError(f"expected a name of letters, digits, - and _ for Vespa, got {name!r}")
    terms = "\n            + ".join(
        f"{_number(float(weight))} * {_scaled(feature, *scale)}"
        for weight, feature, scale in zip(
            form.weights, names, shifts_and_divisors(form), strict=True
        )
    )
    return (
        f"rank-profile {name} inherits default {{\n"
        "    first-phase {\n"
        "        expression {\n"
        f"            {terms}\n"
        "        }\n"
        "    }\n"
        "}\n"
    )


def _scaled(feature: str, shift: float, divisor: float) -> str:
    if (shift, divisor) == (0.0, 1.0):
        return feature
    return f"(({feature} - {_number(shift)}) / {_number(divisor)})"


def _number(value: float) -> str:
    return f"({value!r})" if value < 0 else repr(value)


def _dump(form: Forest, names: tuple[str, ...]) -> dict[str, Any]:
    check_expressible(form, names)
    return {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "max_feature_idx": len(names) - 1,
        "objective": "lambdarank",
        "feature_names": list(names),
        "feature_infos": {},
        "tree_info": [
            {"tree_index": i, "num_leaves": len(tree.value), "tree_structure": _tree(tree)}
            for i, tree in enumerate(form.trees)
        ],
        "pandas_categorical": [],  # Vespa requires it
    }


def _tree(tree: Tree) -> dict[str, Any]:
    tree, edges = tree_for_less_than(tree)
    values, nan_goes_left = to_float32_list(tree.value, "a leaf"), tree.nan_goes_left

    def node(at: int) -> dict[str, Any]:
        if at < 0:
            return {"leaf_index": ~at, "leaf_value": values[~at]}
        return {
            "split_index": at,
            "split_feature": int(tree.feature[at]),
            "threshold": edges[at],
            "decision_type": "<=",
            "default_left": bool(nan_goes_left[at]),
            "missing_type": "NaN",
            "left_child": node(int(tree.left[at])),
            "right_child": node(int(tree.right[at])),
        }

    return node(0 if len(tree.feature) else ~0)
