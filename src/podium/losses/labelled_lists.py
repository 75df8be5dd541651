"""Labelled lists and pairs, the input of losses; equal labels get a random order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data import Groups, RankingData, document_noise, draw_order, position_labels
from podium.typing import Bools, Floats, Rows


@dataclass(frozen=True, eq=False)
class LabelledLists:
    """Labelled documents by query.

    Parameters
    ----------
    groups
        The queries; one may be empty.
    labels
        One label per document.
    draw
        Returns the positions (smaller is better) in a total order that agrees with the labels. Only
        some losses call it.
    topk
        If labels are positions: the k of y = k + 1 - position.
    noise
        Returns a uniform number in [0, 1) for each document, from which ``keys`` are made. None: the
        row number decides.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 4, [3, 0, 2, 1], qid=[1, 1, 1, 2])
    >>> lists = LabelledLists.from_data(data)
    >>> lists.contrast.tolist(), lists.order().tolist()
    ([True, False], [0, 2, 1, 3])
    >>> lists.take(lists.labels > 0).groups.sizes.tolist()
    [2, 1]
    """

    groups: Groups
    labels: Floats
    draw: Callable[[], Rows]
    topk: int | None = None
    noise: Callable[[], Floats] | None = None

    @classmethod
    def from_data(cls, data: RankingData, seed: int = 0) -> LabelledLists:
        """Return all documents of the data."""
        return cls(
            data.groups, data.y, partial(draw_order, data, seed), data.topk,
            partial(document_noise, data, seed),
        )  # fmt: skip

    def keys(self) -> NDArray[np.uint64]:
        """Return a whole number per document, the key of its random numbers."""
        if self.noise is None:
            return np.arange(self.groups.n_rows, dtype=np.uint64)
        return (self.noise() * 2**53).astype(np.uint64)

    @cached_property
    def contrast(self) -> Bools:
        """The queries with different labels; the others have no order to learn."""
        highest = self.groups.reduce(np.maximum, self.labels)
        return np.asarray(highest > self.groups.reduce(np.minimum, self.labels))

    def order(self) -> Rows:
        """Return rows best first, query by query; equal labels are in the drawn order."""
        positions = self.draw().astype(np.float64)
        np.negative(positions, out=positions)
        return self.groups.order(positions)

    def take(self, member: Bools) -> LabelledLists:
        """Return these documents only."""
        rows = np.flatnonzero(member)
        sizes = np.diff(np.searchsorted(rows, self.groups.offsets))
        noise = self.noise
        return LabelledLists(
            Groups.from_sizes(sizes), self.labels[rows], lambda: self.draw()[rows], self.topk,
            None if noise is None else lambda: noise()[rows],
        )  # fmt: skip

    def truth(self, k: int) -> LabelledLists:
        """Return top-k truth: position labels y = k + 1 - position, 0 below the top k.

        Graded labels get the drawn order, unless they are all equal. Truth of a larger k is cut;
        truth of a smaller k is not changed.
        """
        if self.topk is not None:
            return replace(self, labels=np.maximum(self.labels - max(self.topk - k, 0), 0))
        positions = self.draw()
        drawn = position_labels(positions, k)
        drawn *= self.groups.spread(self.contrast)
        return LabelledLists(self.groups, drawn, lambda: positions, k, self.noise)


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """The pairs of each query: every document with every document of a lower level.

    Parameters
    ----------
    groups
        The queries.
    levels
        The rank of each document's label within its query: 0, 1, 2, ..., where the highest is the
        best.
    by_level
        Rows by level, highest first, query by query.
    counts
        The number of pairs of each query.

    Examples
    --------
    >>> pairs = LabelledPairs.from_labels(Groups.from_sizes([4, 1]), np.array([0.5, 7.0, 0.5, -2.0, 1.0]))
    >>> pairs.levels.tolist(), pairs.counts.tolist()
    ([1, 2, 1, 0, 0], [5.0, 0.0])
    """

    groups: Groups
    levels: Rows
    by_level: Rows
    counts: Floats

    @classmethod
    def from_labels(cls, groups: Groups, labels: Floats) -> LabelledPairs:
        """Return the pairs of documents with different labels."""
        labels = np.ascontiguousarray(labels, dtype=np.float64)
        order = groups.order(labels)
        levels, counts = kernels.label_levels(labels, order, groups.offsets)
        return cls(groups, levels, order, counts)
