"""What a loss sees of the data: labels by query, and an order drawn among equal ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from podium.data import Groups, RankingData, draw_order, position_labels

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabelledLists:
    """Labelled documents by query.

    Parameters
    ----------
    groups
        The queries; one may be empty.
    labels
        One a document.
    draw
        Makes the positions (smaller is better) in a total order that agrees with the labels. Only
        some losses ask for it.
    topk
        Where labels are positions: the k of y = k + 1 - position.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 4, [3, 0, 2, 1], qid=[1, 1, 1, 2])
    >>> judged = LabelledLists.of(data)
    >>> judged.contrast.tolist(), judged.order().tolist()
    ([True, False], [0, 2, 1, 3])
    >>> judged.take(judged.labels > 0).groups.sizes.tolist()
    [2, 1]
    """

    groups: Groups
    labels: Floats
    draw: Callable[[], Rows]
    topk: int | None = None

    @classmethod
    def of(cls, data: RankingData, seed: int = 0) -> LabelledLists:
        """All documents of the data."""
        return cls(data.groups, data.y, partial(draw_order, data, seed), data.topk)

    @cached_property
    def contrast(self) -> Bools:
        """Queries whose labels are not all equal; the others say nothing about an order."""
        highest = self.groups.reduce(np.maximum, self.labels)
        return np.asarray(highest > self.groups.reduce(np.minimum, self.labels))

    def order(self) -> Rows:
        """Rows best first, query by query, equal labels in the drawn order."""
        return self.groups.order(-self.draw().astype(np.float64))

    def take(self, member: Bools) -> LabelledLists:
        """These documents only."""
        rows = np.flatnonzero(member)
        sizes = np.bincount(self.groups.codes[rows], minlength=len(self.groups))
        return LabelledLists(
            Groups.from_sizes(sizes), self.labels[rows], lambda: self.draw()[rows], self.topk
        )

    def truth(self, k: int) -> LabelledLists:
        """Top-k truth: position labels y = k + 1 - position, 0 below the top k.

        Graded labels get the drawn order (none where they are all equal). Truth of a larger k is
        cut, that of a smaller one stays as it is.
        """
        if self.topk is not None:
            return replace(self, labels=np.maximum(self.labels - max(self.topk - k, 0), 0))
        positions = self.draw()
        drawn = position_labels(positions, k) * self.groups.spread(self.contrast)
        return LabelledLists(self.groups, drawn, lambda: positions, k)


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """The pairs of each query: every document with every one of a lower level.

    Parameters
    ----------
    groups
        The queries.
    levels
        The rank of each document's label within its query: 0, 1, 2, ..., the highest best.
    by_level
        Rows by level, highest first, query by query.
    counts
        Pairs of each query.

    Examples
    --------
    >>> pairs = LabelledPairs.of(Groups.from_sizes([4, 1]), np.array([0.5, 7.0, 0.5, -2.0, 1.0]))
    >>> pairs.levels.tolist(), pairs.counts.tolist()
    ([1, 2, 1, 0, 0], [5.0, 0.0])
    """

    groups: Groups
    levels: Rows
    by_level: Rows
    counts: Floats

    @classmethod
    def of(cls, groups: Groups, labels: Floats) -> LabelledPairs:
        """Return the pairs of documents with different labels."""
        order = groups.order(np.ascontiguousarray(labels, dtype=np.float64))
        starts = groups.run_starts(labels[order])
        run = np.cumsum(starts)
        last = np.asarray(groups.reduce(np.maximum, run)).astype(np.int64)
        levels = np.empty(len(order), dtype=np.int64)
        levels[order] = groups.spread(last) - run
        alike = np.bincount(run)[1:].astype(np.float64)
        tied = np.bincount(groups.codes[starts], weights=alike**2, minlength=len(groups))
        return cls(groups, levels, order, (groups.sizes.astype(np.float64) ** 2 - tied) / 2)
