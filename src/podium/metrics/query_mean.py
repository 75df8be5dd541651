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
    is_missing = np.isnan(per_query)
    if is_missing.any():
        per_query = per_query[~is_missing]
        weight = None if weight is None else weight[~is_missing]
    total = len(per_query) if weight is None else weight.sum()
    # Not a dot product: with many threads BLAS adds in another order.
    values = per_query if weight is None else per_query * weight
    return float(values.sum() / total) if total > 0 else float("nan")
