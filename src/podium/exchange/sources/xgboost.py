"""XGBoost's JSON models: trees that go left where x < threshold in float32, or weights (gblinear)."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium.data.decimals import decimal_of, whole_of
from podium.errors import ModelFileError, UsageError
from podium.exchange.floats import largest_rounding_to
from podium.exchange.forest import DEFAULT_LEFT, MISSING_NAN, Forest, Tree
from podium.exchange.lightgbm_text import trees_model
from podium.exchange.lines import MOST_FEATURES, Lines
from podium.exchange.sources.content import Found
from podium.rankers.models import Linear

_LOGIT = ("binary:logistic", "reg:logistic")
_LOG = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")


def xgboost(lines: Lines, n_features: int | None = None) -> Found:
    """A file of ``Booster.save_model("model.json")``; scores are margins, all trees counted."""
    try:
        told = json.loads(lines.text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise lines.wrong(
            line,
            f"expected XGBoost's JSON (Booster.save_model('model.json')), got something else ({error})",
        ) from None
    try:
        return _Model(lines, told, n_features).read()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, ModelFileError | UsageError):
            raise
        raise ModelFileError(
            f"{lines.path}: expected an XGBoost model as Booster.save_model writes it, got another "
            f"JSON ({type(error).__name__}: {str(error)[:100]})"
        ) from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


class _Model:
    """The parts of the file, taken one after the other."""

    def __init__(self, lines: Lines, told: Any, n_features: int | None) -> None:
        self.lines = lines
        if not isinstance(told, Mapping) or "learner" not in told:
            raise ModelFileError(
                f"{lines.path}: expected a model saved by Booster.save_model('model.json'), got JSON "
                "without a 'learner' (a dump, which lacks the base score?)"
            )
        self.learner = told["learner"]
        self.objective = str(self.learner["objective"]["name"])
        self.width = self._whole(self.learner["learner_model_param"]["num_feature"])
        if not 1 <= self.width <= MOST_FEATURES:
            raise self.wrong(f"expected 1 to {MOST_FEATURES} features, got {self.width}")
        if n_features not in (None, self.width):
            raise UsageError(
                f"expected {self.width} features, as the model says, got n_features={n_features}"
            )

    def wrong(self, message: str) -> ModelFileError:
        return ModelFileError(f"{self.lines.path}: {message}")

    def read(self) -> Found:
        params, booster = self.learner["learner_model_param"], self.learner["gradient_booster"]
        classes, targets = params.get("num_class", "0"), params.get("num_target", "1")
        if self._whole(classes) > 1 or self._whole(targets) > 1:
            raise self.wrong("expected one score a row, got a model of several classes or targets")
        names = tuple(map(str, self.learner.get("feature_names") or ())) or None
        if names is not None and len(names) != self.width:
            raise self.wrong(f"expected {self.width} feature names, got {len(names)}")
        kind = booster["name"]
        if kind == "gblinear":
            return Found(self._linear(booster["model"]["weights"]), "gblinear", names)
        if kind not in ("gbtree", "dart"):
            raise self.wrong(f"expected gbtree, dart or gblinear, got {kind!r:.40}")
        inner = booster["gbtree"] if kind == "dart" else booster
        trees = [self._tree(i, tree) for i, tree in enumerate(inner["model"]["trees"])]
        if not trees:
            raise self.wrong("expected at least one tree, got none")
        if kind == "dart":
            weights = [self._number(w) for w in booster["weight_drop"]]
            if len(weights) != len(trees):
                raise self.wrong(f"expected a weight for each of {len(trees)} trees of dart")
            forest = [
                Forest(self.width, (t,)).times(w) for t, w in zip(trees, weights, strict=True)
            ]
            trees = [one.trees[0] for one in forest]
        trees.append(Tree.of([], [], [], [self._base(params["base_score"])]))
        return Found(trees_model(Forest(self.width, tuple(trees))), self.objective, names)

    def _number(self, value: Any) -> float:
        if type(value) not in (int, float) or not math.isfinite(value):
            raise self.wrong(f"expected finite numbers, got {value!r:.40}")
        return float(value)

    def _whole(self, text: Any) -> int:
        """A setting: XGBoost writes those as texts."""
        value = whole_of(str(text))
        if value is None:
            raise self.wrong(f"expected a whole number, got {text!r:.40}")
        return value

    def _base(self, told: Any) -> float:
        """The margin that everything starts from."""
        base = decimal_of(str(told).removeprefix("[").removesuffix("]"))  # a list since 3.1
        if base is None or not math.isfinite(base):
            raise self.wrong(f"expected a finite base score, got {told!r:.40}")
        if self.objective in _LOGIT:
            if not 0 < base < 1:
                raise self.wrong(f"expected a base score between 0 and 1, got {base:g}")
            return math.log(base / (1 - base))
        if self.objective in _LOG:
            if base <= 0:
                raise self.wrong(f"expected a base score above 0, got {base:g}")
            return math.log(base)
        return base

    def _linear(self, weights: list[Any]) -> Linear:
        """The last one is the same for all documents, and left out."""
        if len(weights) != self.width + 1:
            raise self.wrong(f"expected {self.width} weights and a constant, got {len(weights)}")
        return Linear(np.array([self._number(w) for w in weights[:-1]]))

    def _tree(self, number: int, told: Mapping[str, Any]) -> Tree:
        """Nodes in the order of a walk, so that each comes behind its parent."""
        left, right = _whole(told["left_children"]), _whole(told["right_children"])
        n = len(left)
        feature, default = _whole(told["split_indices"]), _whole(told["default_left"])
        condition = [self._number(v) for v in told["split_conditions"]]
        gain = [self._number(v) for v in told.get("loss_changes", [0.0] * n)]
        cover = [self._number(v) for v in told.get("sum_hessian", [1.0] * n)]
        columns = (right, feature, default, condition, gain, cover)
        if n == 0 or any(len(column) != n for column in columns):
            raise self.wrong(f"expected tree {number} to have as many numbers in each list")
        if any(told.get("split_type") or ()) or told.get("categories_nodes"):
            raise self.wrong(f"expected numeric splits, got splits of categories in tree {number}")
        if self._whole(told.get("tree_param", {}).get("size_leaf_vector", "1")) > 1:
            raise self.wrong(f"expected a number in each leaf of tree {number}, got vectors")
        order, leaves = self._walk(number, left, right)
        if not all(0 <= feature[node] < self.width for node in order):
            raise self.wrong(f"expected features 0 to {self.width - 1} in tree {number}")
        place = {node: i for i, node in enumerate(order)}
        place |= {leaf: ~i for i, leaf in enumerate(leaves)}
        # x < t in float32 is fl32(x) <= the float32 before t.
        conditions = np.array([condition[node] for node in order], dtype=np.float32)
        before = np.nextafter(conditions, np.float32(-np.inf))
        return Tree.of(
            [feature[node] for node in order],
            np.maximum(largest_rounding_to(before), -sys.float_info.max).tolist(),
            [(place[left[node]], place[right[node]]) for node in order],
            [condition[leaf] for leaf in leaves],
            [MISSING_NAN | (DEFAULT_LEFT if default[node] else 0) for node in order],
            [gain[node] for node in order],
            [max(1, min(round(cover[leaf]), 1 << 20)) for leaf in leaves],
        )

    def _walk(self, number: int, left: list[int], right: list[int]) -> tuple[list[int], list[int]]:
        """Questions and leaves, from the root on; raises on circles."""
        order: list[int] = []
        leaves: list[int] = []
        seen, todo = {0}, [0]
        while todo:
            node = todo.pop()
            if left[node] == -1 and right[node] == -1:
                leaves.append(node)
                continue
            order.append(node)
            for child in (right[node], left[node]):
                if not 0 <= child < len(left) or child in seen:
                    raise self.wrong(f"expected each node of tree {number} below one other node")
                seen.add(child)
                todo.append(child)
        return order, leaves


def _whole(values: Any) -> list[int]:
    if not all(type(value) in (int, bool) for value in values):
        raise TypeError("whole numbers")
    return [int(value) for value in values]
