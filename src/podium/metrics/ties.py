"""Tie handling: documents with equal scores, and expected values over all their orders.

Documents with equal scores get a uniformly random order. For sums of a value times a discount, the
expectation uses the mean of the tied values (`RankedRows.tie_means`). Average precision has its own
kernel. The formulas here are for measures that are not such sums (McSherry and Najork, Computing
information retrieval performance measures efficiently in the presence of tied scores, ECIR 2008;
ERR by the same argument). They take a list as groups of tied documents, best first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import Groups
from podium.typing import Bools, Floats, Rows


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows best first, query by query; `scores` (one per row) decide which places are tied."""

    order: Rows
    groups: Groups
    scores: Floats

    def tie_starts(self) -> NDArray[np.bool_]:
        """Whether each place begins a new group of equal scores."""
        return self.groups.run_starts(self.scores[self.order])

    def tie_means(self, values: Floats) -> Floats:
        """Return, for each place, the mean of the values of the places with the same score."""
        starts = self.tie_starts()
        ranked = values[self.order]
        if starts.all():
            return ranked
        first = np.flatnonzero(starts)
        sizes = np.diff(first, append=len(ranked))
        # Divide first, because the sum of large values may overflow.
        shares = ranked / np.repeat(sizes, sizes)
        return np.asarray(np.repeat(np.add.reduceat(shares, first), sizes))


def expect_over_ties(
    values: Floats,
    ranking: RankedRows,
    per_row: NDArray[Any],
    expected: Callable[[list[NDArray[Any]]], float],
) -> Floats:
    """Replace the value of each query with tied scores by its expectation over the ties."""
    starts = ranking.tie_starts()
    tied = np.unique(ranking.groups.codes[~starts])
    out = values.copy()
    for q in tied.tolist():
        rows = slice(*ranking.groups.offsets[q : q + 2])
        cuts = np.flatnonzero(starts[rows])[1:]
        out[q] = expected(np.split(per_row[ranking.order[rows]], cuts))
    return out


def first_hit_probabilities(groups: Sequence[Bools], depth: int) -> Floats:
    """Return the probability that the first relevant document is at each place up to depth."""
    out: list[float] = []
    for relevant in groups:
        m, r = len(relevant), int(relevant.sum())
        none = 1.0  # the probability that none of the first j - 1 of the group is relevant
        for j in range(1, m + 1):
            out.append(none * r / (m - j + 1))
            none *= (m - j + 1 - r) / (m - j + 1)
        if r or len(out) >= depth:
            break
    return np.array(out[:depth])


def expected_cascade(groups: Sequence[Floats], depth: int) -> float:
    """Return the expected ERR, E sum_i (1 / i) stop_i prod_{j < i} (1 - stop_j).

    E_j is the mean of prod (1 - stop) over all j-subsets of the group: the probability that the user
    still reads after j of its places. So place j ends the search with probability E_{j-1} - E_j.
    """
    total, place, reading = 0.0, 0, 1.0
    for stop in groups:
        m = len(stop)
        means = subset_product_means(1 - stop)
        for j in range(1, min(m, depth - place) + 1):
            total += reading * (means[j - 1] - means[j]) / (place + j)
        place, reading = place + m, reading * means[m]
        if place >= depth:
            break
    return total


def subset_product_means(values: Floats) -> Floats:
    """Return the mean over all j-subsets of the product of their values, for j = 0..m.

    E_j over i values = (i - j) / i E_j over i - 1 + j / i v_i E_{j-1} over i - 1. These are
    averages of averages, so no digits cancel.
    """
    means = np.zeros(len(values) + 1)
    means[0] = 1.0
    for i, value in enumerate(values.tolist(), start=1):
        j = np.arange(1, i + 1)
        means[1 : i + 1] = ((i - j) * means[1 : i + 1] + j * value * means[:i]) / i
    return means
