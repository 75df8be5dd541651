"""LightGBM's text format, read into trees and written from them."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from podium.data.decimals import decimal_of, words_of
from podium.errors import ModelFileError
from podium.exchange.forest import ZERO, Forest, Tree
from podium.exchange.lines import Lines
from podium.rankers.lambdamart import Trees

_WHOLE = re.compile(r"-?[0-9]{1,9}")


@dataclass(frozen=True)
class Block:
    """Lines name=value, and the line each stands on."""

    lines: Lines
    line: int
    fields: dict[str, tuple[int, str]]

    def text(self, name: str) -> str:
        """A field that must be there."""
        if name not in self.fields:
            raise self.lines.wrong(self.line, f"expected a line {name}=... of LightGBM, got none")
        return self.fields[name][1]

    def wrong(self, name: str, message: str) -> ModelFileError:
        """An error at the line of a field."""
        return self.lines.wrong(self.fields[name][0], message)

    def whole(self, name: str, n: int) -> list[int]:
        """A field of n whole numbers."""
        words = words_of(self.text(name))
        if len(words) != n or not all(map(_WHOLE.fullmatch, words)):
            raise self.wrong(name, f"expected {n} whole numbers as {name}, got {_shown(words)}")
        return [int(word) for word in words]

    def numbers(self, name: str, n: int, *, infinite: bool = False) -> list[float]:
        """A field of n finite numbers, or infinite ones where that has a meaning."""
        words = words_of(self.text(name))
        read = [math.inf if infinite and word == "inf" else decimal_of(word) for word in words]
        largest = math.inf if infinite else sys.float_info.max
        values = [v for v in read if v is not None and -math.inf < v <= largest]
        if not len(words) == len(values) == n:
            raise self.wrong(name, f"expected {n} finite numbers as {name}, got {_shown(words)}")
        return values


def _shown(words: Sequence[str]) -> str:
    more = f", ... ({len(words)} in all)" if len(words) > 3 else ""
    return ", ".join(repr(word[:20]) for word in words[:3]) + more if words else "none"


def trees_of(model: Trees) -> Forest:
    """The trees of a podium model.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import LambdaMART
    >>> data = make_synthetic(n_queries=30, n_features=3, seed=0)
    >>> model = LambdaMART(trees=3, threads=1).fit(data).model_
    >>> bool(np.allclose(trees_of(model).predict(data.X), model.predict(data.X), rtol=0, atol=1e-12))
    True
    """
    forest = read_forest(Lines.of(model.text, "the model"))[0]
    return replace(forest, trees=tuple(_as_predicted(tree) for tree in forest.trees))


def _as_predicted(tree: Tree) -> Tree:
    """LightGBM takes features of up to 1e-35 in size for 0: its thresholds there mean this one."""
    t = tree.threshold
    t = np.where((t >= 0) & (t < ZERO), ZERO, t)
    return replace(tree, threshold=np.where((t < 0) & (t >= -ZERO), np.nextafter(-ZERO, -1.0), t))


def read_forest(lines: Lines) -> tuple[Forest, tuple[str, ...]]:
    """The trees of a LightGBM text model, and its names of the features."""
    header, blocks = _blocks(lines)
    names = tuple(words_of(header.text("feature_names")))
    if [header.whole(name, 1) for name in ("num_class", "num_tree_per_iteration")] != [[1], [1]]:
        raise header.wrong("num_class", "expected one score a row, got a model of several classes")
    width = header.whole("max_feature_idx", 1)[0] + 1
    if width < 1 or len(names) != width:
        raise header.wrong(
            "feature_names", f"expected {width} names, as max_feature_idx says, got {len(names)}"
        )
    if not blocks:
        raise lines.wrong(header.line, "expected at least one tree, got none")
    # Raw scores of a random forest (average_output) are sums, too: LightGBM averages them later.
    return Forest(width, tuple(_tree(block, width) for block in blocks)), names


def _blocks(lines: Lines) -> tuple[Block, list[Block]]:
    """The header, and the lines of each tree."""
    if not lines or lines[0] != "tree":
        raise lines.wrong(
            1, "expected LightGBM's text format (Booster.save_model), which begins with 'tree'"
        )
    header = Block(lines, 1, {})
    blocks: list[Block] = []
    for number, line in enumerate(lines[1:], start=2):
        if line == "end of trees":
            return header, blocks
        if line.startswith("Tree="):
            blocks.append(Block(lines, number, {}))
        elif line:
            name, _, value = line.partition("=")
            fields = (blocks[-1] if blocks else header).fields
            if name in fields:
                raise lines.wrong(number, f"expected {name} once, got it again")
            fields[name] = (number, value)
    raise lines.wrong(len(lines), "expected 'end of trees', got the end of the file")


def _tree(block: Block, width: int) -> Tree:
    (leaves,) = block.whole("num_leaves", 1)
    if leaves < 1:
        raise block.wrong("num_leaves", f"expected a tree with leaves, got {leaves}")
    if "num_cat" in block.fields and block.whole("num_cat", 1) != [0]:
        raise block.wrong("num_cat", "expected numeric splits, got splits of categories")
    if "is_linear" in block.fields and block.whole("is_linear", 1) != [0]:
        raise block.wrong("is_linear", "expected a number in each leaf, got linear models there")
    nodes = leaves - 1
    value = block.numbers("leaf_value", leaves)
    if not nodes:
        return Tree.of([], [], [], value)
    feature, decision = block.whole("split_feature", nodes), block.whole("decision_type", nodes)
    if not all(0 <= f < width for f in feature):
        raise block.wrong("split_feature", f"expected features 0 to {width - 1}")
    if not all(0 <= kind < 12 and not kind & 1 for kind in decision):
        raise block.wrong("decision_type", "expected numeric splits (even, 0 to 10)")
    left, right = block.whole("left_child", nodes), block.whole("right_child", nodes)
    children = list(zip(left, right, strict=True))
    if sorted(left + right) != [*range(-leaves, 0), *range(1, nodes)] or any(
        0 <= child <= node for node, pair in enumerate(children) for child in pair
    ):
        raise block.wrong("left_child", "expected each node and leaf below one other node")
    gain = block.numbers("split_gain", nodes) if "split_gain" in block.fields else None
    count = block.whole("leaf_count", leaves) if "leaf_count" in block.fields else None
    threshold = block.numbers("threshold", nodes, infinite=True)  # inf: all but the missing
    tree = Tree.of(feature, threshold, children, value, decision, gain, count)
    return tree if (tree.count > 0).all() else Tree.of(
        feature, threshold, children, value, decision, gain
    )  # fmt: skip


def trees_model(forest: Forest) -> Trees:
    """A podium model of these trees.

    Examples
    --------
    >>> model = trees_model(Forest(1, (Tree.stump(0, 0.5, -1.0, 2.0),)))
    >>> model.predict(np.array([[0.5], [0.6]])).tolist()
    [-1.0, 2.0]
    """
    return Trees.from_parts({"trees": write_forest(forest), "width": np.array([forest.width])})


def write_forest(forest: Forest) -> str:
    """LightGBM's text of these trees."""
    trees = ["\n".join((f"Tree={i}", *_lines(t))) + "\n\n\n" for i, t in enumerate(forest.trees)]
    header = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": forest.width - 1,
        "feature_names": _row(f"Column_{j}" for j in range(forest.width)),
        "feature_infos": _row("none" for _ in range(forest.width)),
        "tree_sizes": _row(map(len, trees)),
    }
    head = "".join(f"{name}={value}\n" for name, value in header.items())
    return f"tree\n{head}\n{''.join(trees)}end of trees\n"


def _lines(tree: Tree) -> Iterator[str]:
    if not len(tree.feature):  # LightGBM has no tree without a question here
        tree = Tree.stump(0, 0.0, float(tree.value[0]), float(tree.value[0]))
    nodes, leaves = len(tree.feature), len(tree.value)
    counts = tree.counts()
    fields = {
        "num_leaves": leaves,
        "num_cat": 0,
        "split_feature": _row(tree.feature.tolist()),
        "split_gain": _row(tree.gain.tolist()),
        "threshold": _row(tree.threshold.tolist()),
        "decision_type": _row(tree.decision.tolist()),
        "left_child": _row(tree.left.tolist()),
        "right_child": _row(tree.right.tolist()),
        "leaf_value": _row(tree.value.tolist()),
        "leaf_weight": _row([0] * leaves),
        "leaf_count": _row(tree.count.tolist()),
        "internal_value": _row([0] * nodes),
        "internal_weight": _row([0] * nodes),
        "internal_count": _row(counts.tolist()),
        "is_linear": 0,
        "shrinkage": 1,
    }
    for name, value in fields.items():
        yield f"{name}={value}"


def _row(values: Iterable[object]) -> str:
    """Numbers so that they are read back as they are, side by side."""
    return " ".join(map(str, values))
