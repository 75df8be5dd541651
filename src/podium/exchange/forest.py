"""Trees as data: what every tree model is here, on its way out or in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.rankers.models import Stumps

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

DEFAULT_LEFT, MISSING_ZERO, MISSING_NAN = 2, 1 << 2, 2 << 2
"""Bits of LightGBM's decision type: where the missing go, and what is missing."""
ZERO = float(np.float32(1e-35))
"""What LightGBM takes for 0 where 0 is missing."""


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree: node i asks x[feature] <= threshold; children of 0 or more are nodes, ~leaf leaves.

    Nodes come before their children; the first is the root. A tree without nodes is a number.

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
    """Documents in each leaf."""

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
        """From lists; missing values are 0, gains unknown and leaves equally full unless told."""
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
    def stump(cls, feature: int, threshold: float, below: float, above: float) -> Tree:
        """One question."""
        return cls.of([feature], [threshold], [(~0, ~1)], [below, above])

    @property
    def nan_left(self) -> NDArray[np.bool_]:
        """Where a node sends NaN: to the side of 0, unless missing values have a side of their own."""
        given = (self.decision & DEFAULT_LEFT) > 0
        return np.where(self.knows_missing, given, self.threshold >= 0)

    @property
    def knows_missing(self) -> NDArray[np.bool_]:
        """Nodes where missing values have a side of their own."""
        return (self.decision & (MISSING_ZERO | MISSING_NAN)) > 0

    @property
    def turns_zero(self) -> NDArray[np.bool_]:
        """Nodes that send 0 to another side than they send the numbers beside it."""
        given = (self.decision & DEFAULT_LEFT) > 0
        safe = np.where(given, self.threshold >= ZERO, self.threshold < -ZERO)
        return ((self.decision & MISSING_ZERO) > 0) & ~safe

    def turned(self, nodes: NDArray[np.bool_], threshold: float) -> Tree:
        """These nodes ask for another threshold, and their children have changed sides."""
        flip = nodes & self.knows_missing
        return replace(
            self,
            threshold=np.where(nodes, threshold, self.threshold),
            decision=np.where(flip, self.decision ^ DEFAULT_LEFT, self.decision),
            left=np.where(nodes, self.right, self.left),
            right=np.where(nodes, self.left, self.right),
        )

    def depth(self) -> int:
        """Questions on the longest way."""
        depth = np.ones(len(self.feature), dtype=np.int64)
        for node in range(len(self.feature)):
            for child in (int(self.left[node]), int(self.right[node])):
                if child >= 0:
                    depth[child] = depth[node] + 1
        return int(depth.max(initial=0))

    def counts(self) -> Indices:
        """Documents in each node."""
        total = np.zeros(len(self.feature), dtype=np.int64)
        for node in reversed(range(len(self.feature))):
            for child in (int(self.left[node]), int(self.right[node])):
                total[node] += total[child] if child >= 0 else self.count[~child]
        return total

    def evaluate(self, X: NDArray[np.floating]) -> Floats:
        """The leaf's value of each row, as LightGBM decides (0 is never missing here)."""
        out = np.full(len(X), self.value[0] if len(self.value) else 0.0)
        todo = [(0, np.arange(len(X)))] if len(self.feature) else []
        nan_left = self.nan_left
        while todo:
            node, rows = todo.pop()
            x = X[rows, self.feature[node]].astype(np.float64)
            goes_left = np.where(np.isnan(x), nan_left[node], x <= self.threshold[node])
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
        """alpha [x > theta] is a tree of one question."""
        every = zip(stumps.features, stumps.thresholds, stumps.alphas, strict=True)
        alphas: dict[tuple[int, float], float] = {}
        for feature, threshold, alpha in every:
            key = int(feature), float(threshold)
            alphas[key] = alphas.get(key, 0.0) + float(alpha)
        return cls(stumps.width, tuple(Tree.stump(*key, 0.0, a) for key, a in alphas.items()))

    @property
    def knows_missing(self) -> bool:
        """Whether missing values have a side of their own anywhere."""
        return any(bool(tree.knows_missing.any()) for tree in self.trees)

    def depth(self) -> int:
        """Of the deepest tree."""
        return max((tree.depth() for tree in self.trees), default=0)

    def times(self, factor: float) -> Forest:
        """All leaves times a factor."""
        return replace(
            self, trees=tuple(replace(tree, value=tree.value * factor) for tree in self.trees)
        )

    def on(self, columns: Sequence[int], width: int) -> Forest:
        """The same trees where their features are some of more."""
        places = np.array(columns, dtype=np.int64)
        trees = (replace(tree, feature=places[tree.feature]) for tree in self.trees)
        return Forest(width, tuple(trees))

    def predict(self, X: NDArray[np.floating]) -> Floats:
        """The sum of the trees."""
        out = np.zeros(len(X))
        for tree in self.trees:
            out += tree.evaluate(X)
        return out
