"""Elasticsearch LTR and OpenSearch LTR: LinearRanker and NaiveAdditiveDecisionTree, in float32.

Left where threshold > x; NaN goes to the node named `missing` (OpenSearch), or right, as a comparison
with NaN is false (Elasticsearch's plugin before it knew `missing`: ``knows_missing=False``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ModelFileError
from podium.exchange.emulators.walking import walk

_SPLIT = {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children"}
_PLAIN = ("binary:logitraw", "rank:ndcg", "rank:map", "rank:pairwise", "reg:linear")
_OLD_PLAIN = ("binary:logitraw", "rank:pairwise", "reg:linear")


def score_opensearch(
    content: str, features: Sequence[str], X: NDArray[Any], *, knows_missing: bool = True
) -> NDArray[np.float32]:
    """The plugin of OpenSearch."""
    return _score(content, features, X, knows_missing, _PLAIN)


def score_elasticsearch(
    content: str, features: Sequence[str], X: NDArray[Any], *, knows_missing: bool = True
) -> NDArray[np.float32]:
    """The plugin of Elasticsearch, whose older versions know fewer objectives."""
    return _score(content, features, X, knows_missing, _OLD_PLAIN)


def _score(
    content: str,
    features: Sequence[str],
    X: NDArray[Any],
    knows_missing: bool,
    objectives: tuple[str, ...],
) -> NDArray[np.float32]:
    told = json.loads(content)["model"]
    body, columns = told["model"], {name: j for j, name in enumerate(features)}
    if not told["name"] or not isinstance(body["definition"], str):
        raise ModelFileError("expected a name and a definition that is a text")
    x = X.astype(np.float32)
    for name, normalizer in body.get("feature_normalizers", {}).items():
        x[:, _column(columns, name)] = _normalize(normalizer, x[:, columns[name]])
    definition = json.loads(body["definition"])
    if body["type"] == "model/linear":
        return _linear(definition, columns, x)
    if body["type"] != "model/xgboost+json":
        raise ModelFileError(f"expected a known type of model, got {body['type']}")
    if definition["objective"] not in objectives:
        raise ModelFileError(f"expected a known objective, got {definition['objective']}")
    total = np.zeros(len(x), dtype=np.float32)
    for tree in definition["splits"]:
        total += _tree(tree, columns, x, knows_missing)
    return total


def _column(columns: dict[str, int], name: str) -> int:
    if name not in columns:
        raise ModelFileError(f"expected features of the set, got the unknown {name!r}")
    return columns[name]


def _normalize(told: dict[str, Any], x: NDArray[np.float32]) -> NDArray[np.float32]:
    ((kind, settings),) = told.items()
    if kind == "standard":
        mean = np.float32(settings["mean"])
        return (x - mean) / np.float32(settings["standard_deviation"])
    low, high = np.float32(settings["minimum"]), np.float32(settings["maximum"])
    if kind != "min_max" or low >= high:
        raise ModelFileError("expected a minimum below a maximum")
    return (x - low) / (high - low)


def _linear(
    weights: dict[str, float], columns: dict[str, int], x: NDArray[np.float32]
) -> NDArray[np.float32]:
    every = np.zeros(len(columns), dtype=np.float32)
    for name, weight in weights.items():
        every[_column(columns, name)] = np.float32(weight)
    total = np.zeros(len(x), dtype=np.float32)
    for j in range(len(every)):
        total += every[j] * x[:, j]
    return total


def _tree(
    root: dict[str, Any], columns: dict[str, int], x: NDArray[np.float32], knows_missing: bool
) -> NDArray[np.float32]:
    def leaf(node: dict[str, Any]) -> np.float32 | None:
        return np.float32(node["leaf"]) if "leaf" in node else None

    def left(node: dict[str, Any], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        _check(node)
        values = x[rows, _column(columns, node["split"])]
        below = np.float32(node["split_condition"]) > values
        missing = np.isnan(values) & knows_missing
        return np.asarray(np.where(missing, node["missing"] == node["yes"], below), dtype=bool)

    def children(node: dict[str, Any]) -> tuple[Any, Any]:
        yes, no = node["children"]
        return yes, no

    return walk(root, len(x), leaf=leaf, left=left, children=children, dtype=np.float32)


def _check(node: dict[str, Any]) -> None:
    """What the plugins refuse."""
    if set(node) != _SPLIT:
        raise ModelFileError(f"expected a split to have {sorted(_SPLIT)}, got {sorted(node)}")
    if [child["nodeid"] for child in node["children"]] != [node["yes"], node["no"]]:
        raise ModelFileError("expected the children yes and no, in this order")
    if node["missing"] not in (node["yes"], node["no"]):
        raise ModelFileError("expected missing values to go to a child")
