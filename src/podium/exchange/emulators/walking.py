"""Rows sent through a tree of nested nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Node = Any
Rows = NDArray[np.intp]


def walk(
    root: Node,
    n_rows: int,
    *,
    leaf: Callable[[Node], Any],
    left: Callable[[Node, Rows], NDArray[np.bool_]],
    children: Callable[[Node], tuple[Node, Node]],
    dtype: Any,
) -> NDArray[Any]:
    """The leaf's value of each row; `leaf` gives None for a node that asks, `left` who goes left."""
    out = np.zeros(n_rows, dtype=dtype)
    todo: list[tuple[Node, Rows]] = [(root, np.arange(n_rows))]
    while todo:
        node, rows = todo.pop()
        value = leaf(node)
        if value is not None:
            out[rows] = value
            continue
        goes = left(node, rows)
        yes, no = children(node)
        todo += [(yes, rows[goes]), (no, rows[~goes])]
    return out
