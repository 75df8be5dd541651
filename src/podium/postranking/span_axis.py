"""A span axis: spans of numbers as nodes of a binary tree, so that a number finds its spans by its path."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from podium.postranking.rules.index_keys import Span


class SpanAxis:
    """Spans on the numbers of one kind, such as prices.

    The ends of all spans cut the axis into cells, the leaves of a binary tree. A span is some nodes
    of the tree, at most two on each level. A number has the nodes on the path from its cell to the
    root, and lies in a span if they share a node.

    Examples
    --------
    >>> axis = SpanAxis([Span(1, 5), Span(3, None)])
    >>> [[set(axis.nodes_of(span)) & set(axis.path_of(at)) != set() for span in (Span(1, 5), Span(3, None))]
    ...     for at in (0, 1, 4, 6)]
    [[False, False], [True, False], [True, True], [False, True]]
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        self.cuts = sorted({end for span in spans for end in span if end is not None})
        # Each cut is a cell, and so is the room before, between and after the cuts.
        self.n_cells = 2 * len(self.cuts) + 1
        self.size = 1 << (self.n_cells - 1).bit_length()

    def _cell(self, number: float) -> int:
        at = bisect_left(self.cuts, number)
        return 2 * at + (at < len(self.cuts) and self.cuts[at] == number)

    def nodes_of(self, span: Span) -> list[int]:
        """Return the nodes whose cells are those of a span."""
        low = self.size + (0 if span.low is None else self._cell(span.low))
        high = self.size + (self.n_cells - 1 if span.high is None else self._cell(span.high)) + 1
        nodes = []
        while low < high:
            if low & 1:
                nodes.append(low)
                low += 1
            if high & 1:
                high -= 1
                nodes.append(high)
            low >>= 1
            high >>= 1
        return nodes

    def path_of(self, number: float) -> list[int]:
        """Return the nodes from the cell of a number to the root."""
        node = self.size + self._cell(number)
        path = []
        while node:
            path.append(node)
            node >>= 1
        return path
