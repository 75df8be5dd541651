"""Expected values under random tie-breaking, in closed form.

Documents with equal scores stand in an order drawn uniformly. For sums of a value times a
discount the expectation is that of the tied values' mean, and average precision has a kernel of
its own; the formulas here are for the other measures that are not such sums (McSherry and Najork,
Computing information retrieval performance measures efficiently in the presence of tied scores,
ECIR 2008; ERR by the same argument). A list comes as its groups of tied documents, best first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def first_hit_probabilities(groups: Sequence[Bools], depth: int) -> Floats:
    """The probability that the first relevant document stands at each place up to depth."""
    out: list[float] = []
    for relevant in groups:
        m, r = len(relevant), int(relevant.sum())
        none = 1.0  # that none of the first j - 1 of the group is relevant
        for j in range(1, m + 1):
            out.append(none * r / (m - j + 1))
            none *= (m - j + 1 - r) / (m - j + 1)
        if r or len(out) >= depth:
            break
    return np.array(out[:depth])


def expected_cascade(groups: Sequence[Floats], depth: int) -> float:
    """E sum_i (1 / i) stop_i prod_{j < i} (1 - stop_j).

    With E_j the mean of prod (1 - stop) over all j-subsets of the group, the user is still
    reading after j of its places with probability E_j, so place j ends the search with E_{j-1} - E_j.
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
    """The mean over all j-subsets of the product of their values, for j = 0..m.

    E_j over i values = (i - j) / i E_j over i - 1 + j / i v_i E_{j-1} over i - 1: averages of
    averages, so nothing cancels.
    """
    means = np.zeros(len(values) + 1)
    means[0] = 1.0
    for i, value in enumerate(values.tolist(), start=1):
        j = np.arange(1, i + 1)
        means[1 : i + 1] = ((i - j) * means[1 : i + 1] + j * value * means[:i]) / i
    return means
