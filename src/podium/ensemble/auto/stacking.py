"""Non-negative stacking: the weights of members by least squares.

Breiman, Stacked regressions, 1996.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from podium.data.groups import Groups
from podium.typing import Floats


def stack(scores: Floats, gains: Floats, groups: Groups) -> Floats:
    """Return weights that add up to 1: argmin_{w >= 0} sum_q |Z_q w - g_q|^2.

    Z_q and g_q are the scores and gains of one query, each minus its mean, because only the order
    within a query counts. If no member has a positive weight, all weights are equal.

    Parameters
    ----------
    scores
        Standardised scores, one column per member.
    gains
        The gain of each document.

    Examples
    --------
    >>> scores = np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> stack(scores, np.array([3.0, 3.0, 0.0]), Groups.from_sizes([3])).round(3).tolist()
    [0.25, 0.75]
    """
    Z, g = center_by_query(scores, groups), center_by_query(gains, groups)
    # The normal equations have one row per member: the cost does not grow with the rows.
    gram = Z.T @ Z
    ridge = 1e-9 * max(float(np.trace(gram)), 1e-300) / len(gram)
    root = np.linalg.cholesky(gram + ridge * np.eye(len(gram)))
    weights, _ = nnls(root.T, np.linalg.solve(root, Z.T @ g))
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))


def center_by_query(values: Floats, groups: Groups) -> Floats:
    """Return the values minus their mean in each query.

    Examples
    --------
    >>> center_by_query(np.array([1.0, 3.0, 5.0]), Groups.from_sizes([2, 1])).tolist()
    [-1.0, 1.0, 0.0]
    """
    sizes = np.maximum(groups.sizes, 1).reshape((-1,) + (1,) * (values.ndim - 1))
    return np.asarray(values - groups.spread(groups.reduce(np.add, values) / sizes))
