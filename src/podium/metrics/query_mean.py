"""The mean of a metric over queries."""

from __future__ import annotations

import numpy as np

from podium.typing import Floats


def mean_over_queries(per_query: Floats, weight: Floats | None = None) -> float:
    """Return the mean over queries that have a value (not NaN), weighted if queries have weights.

    Examples
    --------
    >>> mean_over_queries(np.array([0.5, np.nan, 1.0]))
    0.75
    """
    has_value = ~np.isnan(per_query)
    weights = np.ones(len(per_query)) if weight is None else weight
    total = weights[has_value].sum()
    # Not a dot product: with many threads BLAS adds in another order.
    return (
        float((per_query[has_value] * weights[has_value]).sum() / total)
        if total > 0
        else float("nan")
    )
