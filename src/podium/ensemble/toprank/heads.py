"""Heads: the first t documents of each query; `place_on_top` puts an order of them above the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.data.groups import Groups
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class Heads:
    """The first t documents of each query by their scores: their rows, best first, by query.

    Documents with equal scores are all in the head, or all below it if they do not fit, because the
    order of rows must not matter.

    Examples
    --------
    >>> groups = Groups.from_sizes([4, 2])
    >>> heads = Heads.of(groups, np.array([0.1, 0.4, 0.3, 0.2, 1.0, 2.0]), 3)
    >>> heads.rows.tolist(), heads.groups.sizes.tolist()
    ([1, 2, 3, 5, 4], [3, 2])
    >>> Heads.of(groups, np.array([0.1, 0.4, 0.3, 0.3, 1.0, 2.0]), 2).rows.tolist()
    [1, 5, 4]
    """

    rows: NDArray[np.int64]
    groups: Groups

    @classmethod
    def of(cls, groups: Groups, scores: Floats, t: int) -> Heads:
        """Return the heads of lists ordered by these scores."""
        order = groups.order(scores)
        first, sizes = _find_ties(groups, scores[order])
        fits = np.repeat(first + sizes, sizes) <= t
        sizes = groups.reduce(np.add, fits.astype(np.int64))
        return cls(order[fits], Groups.from_sizes(sizes))

    def place_on_top(self, groups: Groups, consensus: Floats, scores: Floats) -> Floats:
        """Return minus the place of each row: first the heads by consensus, then the others by score.

        Scores order documents that the consensus ties. Documents with equal consensus and scores
        share a place.

        Examples
        --------
        >>> groups = Groups.from_sizes([4])
        >>> scores = np.array([0.1, 0.4, 0.3, 0.2])
        >>> heads = Heads.of(groups, scores, 2)
        >>> heads.place_on_top(groups, np.array([1.0, 5.0]), scores).tolist()
        [-4.0, -2.0, -1.0, -3.0]
        """
        key = np.full(groups.n_rows, -np.inf)
        key[self.rows] = consensus
        order = np.lexsort((-scores, -key, groups.codes))
        first, sizes = _find_ties(groups, key[order], scores[order])
        minus_places = np.empty(groups.n_rows)
        minus_places[order] = -1.0 - np.repeat(first, sizes)
        return minus_places


def _find_ties(groups: Groups, *keys: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ties among rows sorted by these keys: the first place (from 0) and the size of each."""
    is_new = np.asarray(groups.places == 0)
    for key in keys:
        is_new[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(is_new)
    return groups.places[starts], np.diff(np.append(starts, groups.n_rows))
