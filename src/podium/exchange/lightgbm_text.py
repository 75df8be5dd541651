"""LightGBM's text format: a reader of trees."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from podium.data.number_parsing import decimal_of, words_of
from podium.errors import ModelFileError
from podium.exchange.model_text_lines import ModelLines
from podium.rankers.forest import ZERO, Forest, Tree
from podium.rankers.lightgbm_checks import MAX_TREE_LEVELS
from podium.rankers.tree_model import Trees

_INTEGER = re.compile(r"-?[0-9]{1,9}")


@dataclass(frozen=True)
class LightGBMSection:
    """Lines name=value of the header or of a tree, each with its number."""

    lines: ModelLines
    line: int
    fields: dict[str, tuple[int, str]]

    def text(self, name: str) -> str:
        """Return a field; raise if it is absent."""
        if name not in self.fields:
            raise self.lines.error(
                self.line, f"the file has no line {name}=...; expected LightGBM's text format"
            )
        return self.fields[name][1]

    def error(self, name: str, message: str) -> ModelFileError:
        """Return an error at the line of a field."""
        return self.lines.error(self.fields[name][0], message)

    def integers(self, name: str, n: int) -> list[int]:
        """Return a field of n whole numbers."""
        words = words_of(self.text(name))
        if len(words) != n or not all(map(_INTEGER.fullmatch, words)):
            raise self.error(name, f"expected {n} whole numbers as {name}, got {_preview(words)}")
        return [int(word) for word in words]

    def numbers(self, name: str, n: int, *, infinite: bool = False) -> list[float]:
        """Return a field of n finite numbers; with `infinite` they may be inf."""
        words = words_of(self.text(name))
        numbers = [math.inf if infinite and word == "inf" else decimal_of(word) for word in words]
        largest = math.inf if infinite else sys.float_info.max
        values = [v for v in numbers if v is not None and -math.inf < v <= largest]
        if not len(words) == len(values) == n:
            raise self.error(name, f"expected {n} finite numbers as {name}, got {_preview(words)}")
        return values


def _preview(words: Sequence[str]) -> str:
    more = f", ... ({len(words)} in all)" if len(words) > 3 else ""
    return ", ".join(repr(word[:20]) for word in words[:3]) + more if words else "none"


def forest_from_model(model: Trees) -> Forest:
    """Return the trees of a podium model.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import LambdaMART
    >>> data = make_synthetic(n_queries=30, n_features=3, seed=0)
    >>> model = LambdaMART(trees=3, threads=1).fit(data).model_
    >>> bool(np.allclose(forest_from_model(model).predict(data.X), model.predict(data.X), rtol=0, atol=1e-12))
    True
    """
    forest = read_forest(ModelLines.from_text(model.text, "the model"))[0]
    return replace(forest, trees=tuple(_as_predicted(tree) for tree in forest.trees))


def _as_predicted(tree: Tree) -> Tree:
    """Return the tree as LightGBM predicts: it treats features of absolute value up to 1e-35 as 0."""
    t = tree.threshold
    t = np.where((t >= 0) & (t < ZERO), ZERO, t)
    return replace(tree, threshold=np.where((t < 0) & (t >= -ZERO), np.nextafter(-ZERO, -1.0), t))


def read_forest(lines: ModelLines) -> tuple[Forest, tuple[str, ...]]:
    """Return the trees of a LightGBM text model, and its names of the features."""
    header, sections = _split_sections(lines)
    names = tuple(words_of(header.text("feature_names")))
    if [header.integers(name, 1) for name in ("num_class", "num_tree_per_iteration")] != [[1], [1]]:
        raise header.error("num_class", "the model has several classes; expected one score per row")
    width = header.integers("max_feature_idx", 1)[0] + 1
    if width < 1 or len(names) != width:
        raise header.error(
            "feature_names",
            f"max_feature_idx states {width} features, but there are {len(names)} names",
        )
    if not sections:
        raise lines.error(header.line, "expected at least one tree, got none")
    # Raw scores of a random forest (average_output) are also sums: LightGBM averages them later.
    return Forest(width, tuple(_read_tree(section, width) for section in sections)), names


def _split_sections(lines: ModelLines) -> tuple[LightGBMSection, list[LightGBMSection]]:
    """Return the lines of the header and of each tree."""
    if not lines or lines[0] != "tree":
        raise lines.error(
            1, "expected LightGBM's text format (Booster.save_model), which begins with 'tree'"
        )
    header = LightGBMSection(lines, 1, {})
    sections: list[LightGBMSection] = []
    for number, line in enumerate(lines[1:], start=2):
        if line == "end of trees":
            return header, sections
        if line.startswith("Tree="):
            sections.append(LightGBMSection(lines, number, {}))
        elif line:
            name, _, value = line.partition("=")
            fields = (sections[-1] if sections else header).fields
            if name in fields:
                raise lines.error(number, f"the field {name} occurs twice; expected it once")
            fields[name] = (number, value)
    raise lines.error(len(lines), "the file is truncated: it has no line 'end of trees'")


def _read_tree(section: LightGBMSection, width: int) -> Tree:
    (leaves,) = section.integers("num_leaves", 1)
    if leaves < 1:
        raise section.error("num_leaves", f"expected a tree with leaves, got {leaves}")
    if "num_cat" in section.fields and section.integers("num_cat", 1) != [0]:
        raise section.error("num_cat", "a tree splits on categories; expected numeric splits")
    if "is_linear" in section.fields and section.integers("is_linear", 1) != [0]:
        raise section.error(
            "is_linear", "the leaves are linear models; expected a number in each leaf"
        )
    nodes = leaves - 1
    value = section.numbers("leaf_value", leaves)
    if not nodes:
        return Tree.of([], [], [], value)
    feature, decision = (
        section.integers("split_feature", nodes),
        section.integers("decision_type", nodes),
    )
    if not all(0 <= f < width for f in feature):
        raise section.error("split_feature", f"expected features 0 to {width - 1}")
    if not all(0 <= kind < 12 and not kind & 1 for kind in decision):
        raise section.error("decision_type", "expected numeric splits (even, 0 to 10)")
    left, right = section.integers("left_child", nodes), section.integers("right_child", nodes)
    children = list(zip(left, right, strict=True))
    if sorted(left + right) != [*range(-leaves, 0), *range(1, nodes)] or any(
        0 <= child <= node for node, pair in enumerate(children) for child in pair
    ):
        raise section.error(
            "left_child", "a node or leaf has several parents; expected one parent each"
        )
    gain = section.numbers("split_gain", nodes) if "split_gain" in section.fields else None
    count = section.integers("leaf_count", leaves) if "leaf_count" in section.fields else None
    threshold = section.numbers("threshold", nodes, infinite=True)  # inf: all except missing values
    tree = Tree.of(feature, threshold, children, value, decision, gain, count)
    if (depth := tree.depth()) > MAX_TREE_LEVELS:
        raise section.error(
            "left_child", f"expected at most {MAX_TREE_LEVELS} levels in a tree, got {depth}"
        )
    return tree if (tree.count > 0).all() else Tree.of(
        feature, threshold, children, value, decision, gain
    )  # fmt: skip
