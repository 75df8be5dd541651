"""Orders of lists: rows best first, list after list, and how many places of each list are ordered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData, cut_truth, draw_order
from podium.data.groups import Groups
from podium.errors import DataError, LengthMismatchError, UsageError
from podium.typing import Rows


@dataclass(frozen=True, eq=False, repr=False)
class Orders:
    """Lists of rows, best first.

    Parameters
    ----------
    rows
        Row numbers of the data, best first, list after list; each row at most once.
    offsets
        List i is ``rows[offsets[i]:offsets[i + 1]]``.
    depth
        How many places of each list are ordered: all in a total order, k in top-k truth. The other
        rows follow in no particular order.
    n_rows
        The number of rows of the data; None: as many as the lists have.

    Examples
    --------
    >>> orders = Orders(rows=[2, 0, 1, 3, 4], offsets=[0, 3, 5], depth=[3, 1])
    >>> orders
    Orders(2 lists, 5 objects)
    >>> orders.arrange(np.array([10, 11, 12, 13, 14])).tolist()
    [12, 10, 11, 13, 14]
    >>> orders.restore(np.array([0, 0, 1, 0, 1])).tolist()
    [0, 1, 0, 0, 1]
    """

    rows: Rows
    offsets: Rows
    depth: Rows
    n_rows: int | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "offsets", "depth"):
            values = np.array(getattr(self, name), dtype=np.int64)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        groups = Groups(self.offsets)
        groups.check(self.rows, "rows")
        n = len(self.rows) if self.n_rows is None else self.n_rows
        object.__setattr__(self, "n_rows", n)
        in_data = self.rows[(self.rows >= 0) & (self.rows < n)]
        if len(np.unique(in_data)) != len(self.rows):
            raise DataError(f"rows of the orders must be different numbers from 0 to {n - 1}")
        if self.depth.shape != (len(groups),):
            raise LengthMismatchError(
                f"expected {len(groups)} depths, one per list, got an array of shape "
                f"{self.depth.shape}"
            )
        if ((self.depth < 0) | (self.depth > groups.sizes)).any():
            raise DataError("a depth is below 0 or above the length of its list")

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        return f"Orders({len(self)} lists, {len(self.rows)} objects)"

    @cached_property
    def groups(self) -> Groups:
        """The lists as groups of rows."""
        return Groups(self.offsets)

    def arrange(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the data's rows in the order of the lists."""
        if len(values) != self.n_rows:
            raise LengthMismatchError(f"expected {self.n_rows} values, got {len(values)}")
        return np.ascontiguousarray(values[self.rows])

    def restore(self, values: NDArray[Any], rest: Any = 0) -> NDArray[Any]:
        """Return values of the lists' rows in the order of the data's rows; `rest` for rows in no list."""
        self.groups.check(values, "values")
        out = np.full((self.n_rows, *values.shape[1:]), rest, dtype=values.dtype)
        out[self.rows] = values
        return out


def draw_orders(lists: RankingData, k: int | None = None, seed: int = 0) -> Orders:
    """Return the orders of the lists; equal labels get a random order, by seed, query and document.

    With top-k truth, or with k, the first k places are ordered.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 4, [0, 2, 1, 0], qid=[1] * 4, topk=2)
    >>> orders = draw_orders(data)
    >>> orders.rows[:2].tolist(), orders.depth.tolist()
    ([1, 2], [2])
    """
    if not isinstance(lists, RankingData):
        raise UsageError(f"draw_orders needs RankingData, got {type(lists).__name__}")
    if k is not None and k < 1:
        raise UsageError(f"expected k of 1 or more, or None for whole lists, got {k}")
    rows = lists.groups.order(-draw_order(lists, seed).astype(np.float64))
    return Orders(rows, lists.groups.offsets, ordered_depths(lists, k))


def ordered_depths(lists: RankingData, k: int | None) -> Rows:
    """Return how many places of each list are ordered."""
    sizes = lists.groups.sizes
    if lists.topk is not None:
        truth = cut_truth(lists, lists.topk if k is None else k)
        return np.asarray(lists.groups.reduce(np.add, (truth.y > 0).astype(np.int64)))
    return sizes if k is None else np.minimum(sizes, k)
