"""Greedy ensemble selection with replacement.

Caruana, Niculescu-Mizil, Crew, Ksikes, Ensemble selection from libraries of models, ICML 2004.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from podium.typing import Floats

MAX_STEPS = 25
MEMBER_DIGITS = 9
"""Values that differ less are equal: the order of rows must not choose a member."""


def select_greedily(
    scores: Floats, measure: Callable[[Floats], float], max_steps: int = MAX_STEPS
) -> Floats:
    """Return the share of each member among those that a greedy search added one at a time.

    Step t adds the member j of the largest measure(S + z_j), S being the sum so far; a member may be
    added again, so that it counts more. The shortest sum of the largest measure wins.

    Parameters
    ----------
    scores
        Standardised scores, one column per member.
    measure
        Scores -> the metric to maximise.

    Examples
    --------
    >>> scores = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> select_greedily(scores, lambda s: -abs(s[0] - 2 * s[1]) / s.sum()).round(3).tolist()
    [0.667, 0.333]
    """
    counts = np.zeros(scores.shape[1])
    total = np.zeros(len(scores))
    best, best_counts = -np.inf, counts
    for _ in range(max_steps):
        values = [round(measure(total + column), MEMBER_DIGITS) for column in scores.T]
        if np.isnan(values).any():  # no query has a value: nothing can be chosen
            return np.full(scores.shape[1], 1 / scores.shape[1])
        j = int(np.argmax(values))  # of equal values, the first
        counts = counts + (np.arange(len(counts)) == j)
        total = total + scores[:, j]
        if values[j] > best:
            best, best_counts = values[j], counts
    return np.asarray(best_counts / best_counts.sum())
