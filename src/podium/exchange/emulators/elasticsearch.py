"""Elasticsearch LTR and OpenSearch LTR: LinearRanker and NaiveAdditiveDecisionTree, in float32.

A tree goes left if threshold > x. If a feature is missing, versions of the plug-ins differ (`missing`):

- "zero": x is 0. All versions for Elasticsearch (which fills feature vectors with 0 before it
evaluates the tree: o19s#481), and OpenSearch up to 3.1.
- "right": x is NaN, and goes right at every node, whatever the node says: OpenSearch from 3.2 or 3.3
  (opensearch-learning-to-rank-base#206, August 2025) to 3.7.
- "node": x is NaN, and goes to the node named `missing`: OpenSearch from 3.8 on (#379, July 2026), and
  Elasticsearch's plug-in from 2024 on, where a NaN reaches it (o19s#480).

The default of each engine is the behaviour of its newest known version.

Checks follow these classes, of o19s/elasticsearch-learning-to-rank at 8.x and
opensearch-learning-to-rank-base at 3.8: StoredLtrModel and its LtrModelDefinition (the definition may
be an object in newer versions, and is a text here), StandardFeatureNormDefinition,
MinMaxFeatureNormDefinition, LinearRankerParser (JSON numbers only) and XGBoostJsonParser, whose
ObjectParser refuses unknown fields and takes numbers as JSON numbers or texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ModelFileError
from podium.exchange.emulators.nested_trees import evaluate_tree
from podium.exchange.engine_versions import MissingBranch

_SPLIT = {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children"}
_LEAF = {"nodeid", "leaf"}
_RAW_OBJECTIVES = ("binary:logitraw", "rank:ndcg", "rank:map", "rank:pairwise", "reg:linear")
_OLD_RAW_OBJECTIVES = ("binary:logitraw", "rank:pairwise", "reg:linear")


def score_opensearch(
    content: str, features: Sequence[str], X: NDArray[Any], *, missing: MissingBranch = "node"
) -> NDArray[np.float32]:
    """Return the scores of OpenSearch's plug-in."""
    return _score(content, features, X, missing, _RAW_OBJECTIVES)


def score_elasticsearch(
    content: str, features: Sequence[str], X: NDArray[Any], *, missing: MissingBranch = "zero"
) -> NDArray[np.float32]:
    """Return the scores of Elasticsearch's plug-in, whose older versions have fewer objectives."""
    return _score(content, features, X, missing, _OLD_RAW_OBJECTIVES)


def _score(
    content: str,
    features: Sequence[str],
    X: NDArray[Any],
    missing: MissingBranch,
    objectives: tuple[str, ...],
) -> NDArray[np.float32]:
    stored = _fields(_fields(json.loads(content), {"model"})["model"], {"name", "model"})
    body = _fields(stored["model"], {"type", "definition", "feature_normalizers"})
    columns = {name: j for j, name in enumerate(features)}
    if not (_text(stored["name"]) and _text(body["definition"])):
        raise ModelFileError("expected a name and a definition, got an empty text")
    x = X.astype(np.float32)
    if missing == "zero":
        x[np.isnan(x)] = 0
    for name, normalizer in body.get("feature_normalizers", {}).items():
        x[:, _column(columns, name)] = _normalize(normalizer, x[:, columns[name]])
    definition = json.loads(body["definition"])
    if body["type"] == "model/linear":
        return _linear(definition, columns, x)
    if body["type"] != "model/xgboost+json":
        raise ModelFileError(f"expected a known type of model, got {body['type']}")
    forest = _fields(definition, {"objective", "splits"})
    if _text(forest["objective"]) not in objectives:
        raise ModelFileError(f"expected a known objective, got {forest['objective']}")
    total = np.zeros(len(x), dtype=np.float32)
    for tree in forest["splits"]:
        total += _tree(tree, columns, x, follows_missing=missing == "node")
    return total


def _fields(value: object, names: set[str]) -> dict[str, Any]:
    """Return an object; raise if it has other fields, which the plug-ins refuse."""
    if not isinstance(value, dict) or not set(value) <= names:
        raise ModelFileError(
            f"expected an object with fields of {sorted(names)}, got {value!r:.80}"
        )
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ModelFileError(f"expected a text, got {value!r:.80}")
    return value


def _single(value: object) -> np.float32:
    """Return a float32 as ObjectParser.declareFloat reads it: a number, or a number as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ModelFileError(f"expected a number, got {value!r:.80}")
    return np.float32(float(value))


def _column(columns: dict[str, int], name: str) -> int:
    if name not in columns:
        raise ModelFileError(f"expected features of the set, got the unknown {name!r}")
    return columns[name]


def _normalize(normalizer: dict[str, Any], x: NDArray[np.float32]) -> NDArray[np.float32]:
    ((kind, settings),) = normalizer.items()
    if kind == "standard":
        settings = _fields(settings, {"mean", "standard_deviation"})
        deviation = _single(settings["standard_deviation"])
        if deviation <= 0:
            raise ModelFileError("expected a standard deviation above 0")
        return (x - _single(settings["mean"])) / deviation
    settings = _fields(settings, {"minimum", "maximum"})
    low, high = _single(settings["minimum"]), _single(settings["maximum"])
    if kind != "min_max" or low >= high:
        raise ModelFileError("expected a minimum below a maximum")
    return (x - low) / (high - low)


def _linear(
    weights: dict[str, float], columns: dict[str, int], x: NDArray[np.float32]
) -> NDArray[np.float32]:
    by_column = np.zeros(len(columns), dtype=np.float32)
    for name, weight in weights.items():
        if isinstance(weight, str):
            raise ModelFileError(f"expected weights that are JSON numbers, got {weight!r:.80}")
        by_column[_column(columns, name)] = _single(weight)
    total = np.zeros(len(x), dtype=np.float32)
    for j in range(len(by_column)):
        total += by_column[j] * x[:, j]
    return total


def _tree(
    root: dict[str, Any], columns: dict[str, int], x: NDArray[np.float32], *, follows_missing: bool
) -> NDArray[np.float32]:
    def leaf(node: dict[str, Any]) -> np.float32 | None:
        return _single(_fields(node, _LEAF)["leaf"]) if "leaf" in node else None

    def left(node: dict[str, Any], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        _check_node(node)
        values = x[rows, _column(columns, _text(node["split"]))]
        is_low = _single(node["split_condition"]) > values
        missing = np.isnan(values) & follows_missing
        return np.asarray(np.where(missing, node["missing"] == node["yes"], is_low), dtype=bool)

    def children(node: dict[str, Any]) -> tuple[Any, Any]:
        yes, no = node["children"]
        return yes, no

    return evaluate_tree(root, len(x), leaf=leaf, left=left, children=children, dtype=np.float32)


def _check_node(node: dict[str, Any]) -> None:
    """Raise if the plug-ins refuse a node."""
    if set(node) != _SPLIT:
        raise ModelFileError(f"expected a split to have {sorted(_SPLIT)}, got {sorted(node)}")
    for name in ("nodeid", "depth", "yes", "no", "missing"):
        if type(node[name]) is not int:
            raise ModelFileError(f"expected a whole number as {name}, got {node[name]!r:.80}")
    if [child["nodeid"] for child in node["children"]] != [node["yes"], node["no"]]:
        raise ModelFileError("expected the children yes and no, in this order")
    if node["missing"] not in (node["yes"], node["no"]):
        raise ModelFileError("expected missing values to go to a child")
