"""Trees of nested nodes, as JSON has them: the value of each row's leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.typing import Rows

Node = Any


def evaluate_tree(
    root: Node,
    n_rows: int,
    *,
    leaf: Callable[[Node], Any],
    left: Callable[[Node, Rows], NDArray[np.bool_]],
    children: Callable[[Node], tuple[Node, Node]],
    dtype: Any,
) -> NDArray[Any]:
    """Return the leaf's value of each row.

    `leaf` returns the value of a leaf, or None for a node with children. `left` returns which rows
    go left at a node.
    """
    out = np.zeros(n_rows, dtype=dtype)
    todo: list[tuple[Node, Rows]] = [(root, np.arange(n_rows))]
    while todo:
        node, rows = todo.pop()
        value = leaf(node)
        if value is not None:
            out[rows] = value
            continue
        goes_left = left(node, rows)
        left_child, right_child = children(node)
        todo += [(left_child, rows[goes_left]), (right_child, rows[~goes_left])]
    return out
