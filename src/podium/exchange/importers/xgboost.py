"""XGBoost's JSON models: trees that go left if x < threshold in float32, or weights (gblinear)."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from podium.data.number_parsing import decimal_of, whole_of
from podium.errors import ModelFileError, UsageError
from podium.exchange.importers.foreign_model import ForeignModel
from podium.exchange.model_text_lines import MAX_FEATURES, ModelLines, check_width
from podium.rankers.float32 import largest_rounding_to
from podium.rankers.forest import DEFAULT_LEFT, MISSING_NAN, Forest, Tree
from podium.rankers.forest_text import model_from_forest
from podium.rankers.lightgbm_checks import MAX_TREE_LEVELS
from podium.rankers.models import Linear

_LOGIT_OBJECTIVES = ("binary:logistic", "reg:logistic")
_LOG_OBJECTIVES = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")


def read_xgboost(lines: ModelLines, n_features: int | None = None) -> ForeignModel:
    """Read a file from ``Booster.save_model("model.json")``; scores are margins of all trees."""
    try:
        document = json.loads(lines.text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise lines.error(
            line,
            f"this is not the JSON of an XGBoost model ({error}); save it with "
            "Booster.save_model('model.json')",
        ) from None
    try:
        return _ModelReader(lines, document, n_features).read()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, ModelFileError | UsageError):
            raise
        raise ModelFileError(
            f"{lines.path}: this JSON is not an XGBoost model ({type(error).__name__}: "
            f"{str(error)[:100]}); save it with Booster.save_model('model.json')"
        ) from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


class _ModelReader:
    """Reads the parts of the file one after another."""

    def __init__(self, lines: ModelLines, document: Any, n_features: int | None) -> None:
        self.lines = lines
        if not isinstance(document, Mapping) or "learner" not in document:
            raise ModelFileError(
                f"{lines.path}: this JSON has no 'learner'; perhaps it is a dump, which lacks "
                "the base score; save the model with Booster.save_model('model.json')"
            )
        self.learner = document["learner"]
        self.objective = str(self.learner["objective"]["name"])
        self.width = self._integer(self.learner["learner_model_param"]["num_feature"])
        if not 1 <= self.width <= MAX_FEATURES:
            raise self.error(f"expected 1 to {MAX_FEATURES} features, got {self.width}")
        check_width(lines, self.width, n_features)
        if n_features not in (None, self.width):
            raise UsageError(
                f"the model has {self.width} features, but n_features is {n_features}; leave it out"
            )

    def error(self, message: str) -> ModelFileError:
        return ModelFileError(f"{self.lines.path}: {message}")

    def read(self) -> ForeignModel:
        params, booster = self.learner["learner_model_param"], self.learner["gradient_booster"]
        classes, targets = params.get("num_class", "0"), params.get("num_target", "1")
        if self._integer(classes) > 1 or self._integer(targets) > 1:
            raise self.error("the model has several classes or targets; expected one score per row")
        names = tuple(map(str, self.learner.get("feature_names") or ())) or None
        if names is not None and len(names) != self.width:
            raise self.error(f"expected {self.width} feature names, got {len(names)}")
        kind = booster["name"]
        if kind == "gblinear":
            return ForeignModel(self._linear(booster["model"]["weights"]), "gblinear", names)
        if kind not in ("gbtree", "dart"):
            raise self.error(f"expected gbtree, dart or gblinear, got {kind!r:.40}")
        inner = booster["gbtree"] if kind == "dart" else booster
        trees = [self._tree(i, tree) for i, tree in enumerate(inner["model"]["trees"])]
        if not trees:
            raise self.error("expected at least one tree, got none")
        if kind == "dart":
            weights = [self._number(w) for w in booster["weight_drop"]]
            if len(weights) != len(trees):
                raise self.error(f"expected {len(trees)} weights, one per tree of dart")
            trees = [
                replace(tree, value=tree.value * weight)
                for tree, weight in zip(trees, weights, strict=True)
            ]
        trees.append(Tree.of([], [], [], [self._base_margin(params["base_score"])]))
        return ForeignModel(
            model_from_forest(Forest(self.width, tuple(trees))), self.objective, names
        )

    def _number(self, value: Any) -> float:
        if type(value) not in (int, float) or not math.isfinite(value):
            raise self.error(f"expected finite numbers, got {value!r:.40}")
        return float(value)

    def _integer(self, text: Any) -> int:
        """Return the whole number of a setting, which XGBoost writes as text."""
        value = whole_of(str(text))
        if value is None:
            raise self.error(f"expected a whole number, got {text!r:.40}")
        return value

    def _base_margin(self, value: Any) -> float:
        """Return the base margin, to which the trees add."""
        base = decimal_of(str(value).removeprefix("[").removesuffix("]"))  # a list since 3.1
        if base is None or not math.isfinite(base):
            raise self.error(f"expected a finite base score, got {value!r:.40}")
        if self.objective in _LOGIT_OBJECTIVES:
            if not 0 < base < 1:
                raise self.error(f"expected a base score between 0 and 1, got {base:g}")
            return math.log(base / (1 - base))
        if self.objective in _LOG_OBJECTIVES:
            if base <= 0:
                raise self.error(f"expected a base score above 0, got {base:g}")
            return math.log(base)
        return base

    def _linear(self, weights: list[Any]) -> Linear:
        """Return the weights without the last one, which is the same for all documents."""
        if len(weights) != self.width + 1:
            raise self.error(f"expected {self.width} weights and a constant, got {len(weights)}")
        return Linear(np.array([self._number(w) for w in weights[:-1]]))

    def _tree(self, number: int, fields: Mapping[str, Any]) -> Tree:
        """Return a tree whose nodes come after their parents."""
        left, right = _integers(fields["left_children"]), _integers(fields["right_children"])
        n = len(left)
        feature, default = _integers(fields["split_indices"]), _integers(fields["default_left"])
        condition = [self._number(v) for v in fields["split_conditions"]]
        gain = [self._number(v) for v in fields.get("loss_changes", [0.0] * n)]
        cover = [self._number(v) for v in fields.get("sum_hessian", [1.0] * n)]
        columns = (right, feature, default, condition, gain, cover)
        if n == 0 or any(len(column) != n for column in columns):
            raise self.error(f"the lists of tree {number} have different lengths")
        if any(fields.get("split_type") or ()) or fields.get("categories_nodes"):
            raise self.error(f"expected numeric splits, got splits of categories in tree {number}")
        if self._integer(fields.get("tree_param", {}).get("size_leaf_vector", "1")) > 1:
            raise self.error(f"expected a number in each leaf of tree {number}, got vectors")
        order, leaves = self._walk(number, left, right)
        if not all(0 <= feature[node] < self.width for node in order):
            raise self.error(f"expected features 0 to {self.width - 1} in tree {number}")
        place = {node: i for i, node in enumerate(order)}
        place |= {leaf: ~i for i, leaf in enumerate(leaves)}
        # x < t in float32 is fl32(x) <= the float32 before t.
        conditions = np.array([condition[node] for node in order], dtype=np.float32)
        with np.errstate(over="ignore"):  # below the smallest float32 is -inf: no row goes left
            before = np.nextafter(conditions, np.float32(-np.inf))
        read = Tree.of(
            [feature[node] for node in order],
            np.maximum(largest_rounding_to(before), -sys.float_info.max).tolist(),
            [(place[left[node]], place[right[node]]) for node in order],
            [condition[leaf] for leaf in leaves],
            [MISSING_NAN | (DEFAULT_LEFT if default[node] else 0) for node in order],
            [gain[node] for node in order],
            [max(1, min(round(cover[leaf]), 1 << 20)) for leaf in leaves],
        )
        if (depth := read.depth()) > MAX_TREE_LEVELS:
            raise self.error(
                f"expected at most {MAX_TREE_LEVELS} levels in tree {number}, got {depth}"
            )
        return read

    def _walk(self, number: int, left: list[int], right: list[int]) -> tuple[list[int], list[int]]:
        """Return nodes and leaves from the root on; raise if a node occurs twice."""
        order: list[int] = []
        leaves: list[int] = []
        visited, todo = {0}, [0]
        while todo:
            node = todo.pop()
            if left[node] == -1 and right[node] == -1:
                leaves.append(node)
                continue
            order.append(node)
            for child in (right[node], left[node]):
                if not 0 <= child < len(left) or child in visited:
                    raise self.error(
                        f"a node of tree {number} has several parents; expected one parent per node"
                    )
                visited.add(child)
                todo.append(child)
        return order, leaves


def _integers(values: Any) -> list[int]:
    if not all(type(value) in (int, bool) for value in values):
        raise TypeError("whole numbers")
    return [int(value) for value in values]
