"""Vespa: rank expressions in float64, and LightGBM's dump as its importer and its forests read it.

The importer writes ``x < threshold``, or ``!(x >= threshold)`` if missing values go left. Forests
keep thresholds and leaves in float32 and add leaves in float64.

Checks follow LightGBMParser and LightGBMNode of Vespa 8's model-integration. Jackson turns numbers into
texts and back there (thresholds are texts, for categories), so types matter little: names must be
texts, and objective, decision_type and pandas_categorical must be there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ModelFileError
from podium.exchange.emulators.nested_trees import evaluate_tree
from podium.typing import Floats


def score_vespa(content: str, features: Sequence[str], X: NDArray[Any]) -> Floats:
    """Return the scores of a rank profile or a dump; Vespa computes features in float32."""
    x = X.astype(np.float32).astype(np.float64)
    columns = {name: x[:, j] for j, name in enumerate(features)}
    if content.lstrip().startswith("{"):
        return _forest(json.loads(content), columns, len(x))
    match = re.search(r"expression \{(.*?)\n\s*\}", content, re.DOTALL)
    if not content.startswith("rank-profile ") or match is None:
        raise ModelFileError("expected a rank profile with an expression")
    return _Expression(match[1], columns).value()


def _forest(dump: dict[str, Any], columns: dict[str, Floats], n_rows: int) -> Floats:
    names = dump["feature_names"]
    if dump["objective"] != "lambdarank" or dump["pandas_categorical"] is None:
        raise ModelFileError("expected a dump of a ranker")
    if not all(isinstance(name, str) for name in names):
        raise ModelFileError("expected text as feature names")

    def leaf(node: dict[str, Any]) -> np.float32 | None:
        return None if "left_child" in node else np.float32(node["leaf_value"])

    def left(node: dict[str, Any], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        if node["decision_type"] != "<=":  # "==" asks for categories
            raise ModelFileError(f"expected numeric splits, got {node['decision_type']!r}")
        value = columns[names[node["split_feature"]]][rows]
        threshold = np.float64(np.float32(node["threshold"]))
        return ~(value >= threshold) if node["default_left"] else value < threshold

    def children(node: dict[str, Any]) -> tuple[Any, Any]:
        return node["left_child"], node["right_child"]

    total = np.zeros(n_rows)
    for tree in dump["tree_info"]:
        root = tree["tree_structure"]
        total += evaluate_tree(
            root, n_rows, leaf=leaf, left=left, children=children, dtype=np.float32
        )
    return total


class _Expression:
    """A parser of rank expressions that computes their value for all rows.

    sum := product (+|- product)*; product := value (*|/ value)*; value := number|feature|(sum).
    """

    def __init__(self, text: str, columns: dict[str, Floats]) -> None:
        self.text, self.columns, self.at = text, columns, 0
        self.names = sorted(columns, key=len, reverse=True)
        self.rows = len(next(iter(columns.values())))

    def value(self) -> Floats:
        value = self._sum()
        if self._next():
            raise ModelFileError(
                f"expected the end of the expression, got {self.text[self.at :]!r}"
            )
        return value

    def _next(self) -> str:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def _sum(self) -> Floats:
        total = self._product()
        while (sign := self._next()) and sign in "+-":
            self.at += 1
            total = total + self._product() if sign == "+" else total - self._product()
        return total

    def _product(self) -> Floats:
        total = self._value()
        while (sign := self._next()) and sign in "*/":
            self.at += 1
            total = total * self._value() if sign == "*" else total / self._value()
        return total

    def _value(self) -> Floats:
        if self._next() == "(":
            self.at += 1
            inner = self._sum()
            if self._next() != ")":
                raise ModelFileError("expected a closing bracket")
            self.at += 1
            return inner
        for name in self.names:
            if self.text.startswith(name, self.at):
                self.at += len(name)
                return self.columns[name]
        number = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?").match(self.text, self.at)
        if number is None:
            raise ModelFileError(f"expected a value, got {self.text[self.at : self.at + 20]!r}")
        self.at = number.end()
        return np.full(self.rows, float(number[0]))
