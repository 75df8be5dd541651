"""Trees as arrays with LightGBM's decision bits: the form of every exported or imported tree model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.rankers.models import Stumps
from podium.typing import Floats

Indices = NDArray[np.int64]

DEFAULT_LEFT, MISSING_ZERO, MISSING_NAN = 2, 1 << 2, 2 << 2
"""Bits of LightGBM's decision type: where missing values go, and which values are missing."""
ZERO = float(np.float32(1e-35))
"""The absolute value up to which LightGBM treats a number as 0."""


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree: node i tests x[feature] <= threshold; if it holds, the row goes left.

    A child of 0 or more is a node; a negative child c is the leaf ~c. Nodes come before their
    children, the root first. A tree without nodes is a constant.

    Examples
    --------
    >>> tree = Tree.stump(0, 0.5, 0.0, 2.0)
    >>> tree.evaluate(np.array([[0.5], [0.6], [np.nan]])).tolist()
    [0.0, 2.0, 0.0]
    """

    feature: Indices
    threshold: Floats
    decision: Indices
    left: Indices
    right: Indices
    value: Floats
    gain: Floats
    count: Indices
    """The number of documents in each leaf."""

    @classmethod
    def of(
        cls,
        feature: Sequence[int],
        threshold: Sequence[float],
        children: Sequence[tuple[int, int]],
        value: Sequence[float],
        decision: Sequence[int] | None = None,
        gain: Sequence[float] | None = None,
        count: Sequence[int] | None = None,
    ) -> Tree:
        """Return a tree from lists; by default missing values and gains are 0 and leaves are equally full."""
        pairs = np.array(children, dtype=np.int64).reshape(-1, 2)
        return cls(
            np.array(feature, dtype=np.int64),
            np.array(threshold, dtype=np.float64),
            np.array(decision or [0] * len(feature), dtype=np.int64),
            pairs[:, 0],
            pairs[:, 1],
            np.array(value, dtype=np.float64),
            np.array(gain or [0.0] * len(feature), dtype=np.float64),
            np.array(count or [1] * len(value), dtype=np.int64),
        )

    @classmethod
    def stump(cls, feature: int, threshold: float, left_value: float, right_value: float) -> Tree:
        """Return a tree with one node and two leaves."""
        return cls.of([feature], [threshold], [(~0, ~1)], [left_value, right_value])

    @property
    def nan_goes_left(self) -> NDArray[np.bool_]:
        """Whether each node sends NaN left: NaN follows 0, unless missing values have their own side."""
        default_left = (self.decision & DEFAULT_LEFT) > 0
        return np.where(self.has_missing_side, default_left, self.threshold >= 0)

    @property
    def has_missing_side(self) -> NDArray[np.bool_]:
        """Whether missing values have their own side at each node."""
        return (self.decision & (MISSING_ZERO | MISSING_NAN)) > 0

    @property
    def splits_off_zero(self) -> NDArray[np.bool_]:
        """Whether each node sends 0 to another side than its neighbouring numbers."""
        default_left = (self.decision & DEFAULT_LEFT) > 0
        safe = np.where(default_left, self.threshold >= ZERO, self.threshold < -ZERO)
        return ((self.decision & MISSING_ZERO) > 0) & ~safe

    def swap_children(self, nodes: NDArray[np.bool_], threshold: float) -> Tree:
        """Return the tree with other thresholds and swapped children at these nodes."""
        flip = nodes & self.has_missing_side
        return replace(
            self,
            threshold=np.where(nodes, threshold, self.threshold),
            decision=np.where(flip, self.decision ^ DEFAULT_LEFT, self.decision),
            left=np.where(nodes, self.right, self.left),
            right=np.where(nodes, self.left, self.right),
        )

    def depth(self) -> int:
        """Return the number of nodes on the longest path."""
        depth = np.ones(len(self.feature), dtype=np.int64)
        for node in range(len(self.feature)):
            for child in (int(self.left[node]), int(self.right[node])):
                if child >= 0:
                    depth[child] = depth[node] + 1
        return int(depth.max(initial=0))

    def node_counts(self) -> Indices:
        """Return the number of documents in each node."""
        total = np.zeros(len(self.feature), dtype=np.int64)
        for node in reversed(range(len(self.feature))):
            for child in (int(self.left[node]), int(self.right[node])):
                total[node] += total[child] if child >= 0 else self.count[~child]
        return total

    def evaluate(self, X: NDArray[np.floating]) -> Floats:
        """Return the leaf's value of each row, as LightGBM decides (0 is never missing here)."""
        out = np.full(len(X), self.value[0] if len(self.value) else 0.0)
        todo = [(0, np.arange(len(X)))] if len(self.feature) else []
        nan_goes_left = self.nan_goes_left
        while todo:
            node, rows = todo.pop()
            x = X[rows, self.feature[node]].astype(np.float64)
            goes_left = np.where(np.isnan(x), nan_goes_left[node], x <= self.threshold[node])
            for child, side in ((self.left[node], goes_left), (self.right[node], ~goes_left)):
                if child < 0:
                    out[rows[side]] = self.value[~child]
                else:
                    todo.append((int(child), rows[side]))
        return out


@dataclass(frozen=True, eq=False)
class Forest:
    """A sum of trees over `width` features.

    Examples
    --------
    >>> forest = Forest(1, (Tree.stump(0, 0.5, 0.0, 2.0), Tree.stump(0, 1.5, 0.0, 1.0)))
    >>> forest.predict(np.array([[0.0], [1.0], [2.0]])).tolist()
    [0.0, 2.0, 3.0]
    """

    width: int
    trees: tuple[Tree, ...]

    @classmethod
    def of_stumps(cls, stumps: Stumps) -> Forest:
        """Return trees of one node each: alpha [x > theta]."""
        rounds = zip(stumps.features, stumps.thresholds, stumps.alphas, strict=True)
        alphas: dict[tuple[int, float], float] = {}
        for feature, threshold, alpha in rounds:
            key = int(feature), float(threshold)
            alphas[key] = alphas.get(key, 0.0) + float(alpha)
        return cls(stumps.width, tuple(Tree.stump(*key, 0.0, a) for key, a in alphas.items()))

    @property
    def has_missing_side(self) -> bool:
        """Whether missing values have their own side at any node."""
        return any(bool(tree.has_missing_side.any()) for tree in self.trees)

    def depth(self) -> int:
        """Return the depth of the deepest tree."""
        return max((tree.depth() for tree in self.trees), default=0)

    def scale(self, factor: float) -> Forest:
        """Return the forest with all leaves times a factor."""
        return replace(
            self, trees=tuple(replace(tree, value=tree.value * factor) for tree in self.trees)
        )

    def with_columns(self, columns: Sequence[int], width: int) -> Forest:
        """Return the forest on wider rows, in which feature j is column columns[j]."""
        column_of = np.array(columns, dtype=np.int64)
        trees = (replace(tree, feature=column_of[tree.feature]) for tree in self.trees)
        return Forest(width, tuple(trees))

    def predict(self, X: NDArray[np.floating]) -> Floats:
        """Return the sum of the trees for each row."""
        out = np.zeros(len(X))
        for tree in self.trees:
            out += tree.evaluate(X)
        return out
