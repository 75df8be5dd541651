"""Thresholds of Solr's trees, to each of which Solr adds 1e-6 in float32."""

from __future__ import annotations

import numpy as np

from podium.typing import Singles

SOLR_SLACK = np.float32(1e-6)
"""The number that Solr adds to every threshold when it reads a tree."""
MAX_SOLR_POWER = 126
"""2^-126 is the smallest normal float32."""


def solr_thresholds(edges: Singles) -> Singles | None:
    """Return thresholds that equal these edges once Solr has added 1e-6; None if an edge has none.

    Examples
    --------
    >>> thresholds = solr_thresholds(np.array([0.5, 0.0], dtype=np.float32))
    >>> (thresholds + np.float32(1e-6)).tolist()
    [0.5, 0.0]
    >>> solr_thresholds(np.array([1e-10], dtype=np.float32)) is None
    True
    """
    # The difference is rounded, so the right threshold may be one of its two neighbours.
    guess = (edges - SOLR_SLACK).astype(np.float32)
    thresholds = np.full(edges.shape, np.nan, dtype=np.float32)
    with np.errstate(over="ignore"):  # infinity is the neighbour of the largest number
        for direction in (0.0, np.inf, -np.inf):
            near = guess if direction == 0.0 else np.nextafter(guess, np.float32(direction))
            is_right = near + SOLR_SLACK == edges
            thresholds = np.where(is_right, near, thresholds).astype(np.float32)
    return None if np.isnan(thresholds).any() else thresholds


def solr_power(edges: Singles) -> int | None:
    """Return the smallest k for which all edges times 2^k have thresholds in Solr; None without one.

    Near 0, the 1e-6 that Solr adds is larger than the distance between two numbers. A feature times
    a power of two is exact, and its thresholds are further away from 0.

    Examples
    --------
    >>> solr_power(np.array([0.5], dtype=np.float32)), solr_power(np.array([1e-10], dtype=np.float32))
    (0, 13)
    """
    for power in range(MAX_SOLR_POWER + 1):
        with np.errstate(over="ignore"):
            scaled = (edges * np.float32(2.0**power)).astype(np.float32)
        if not np.isfinite(scaled).all():
            return None
        if solr_thresholds(scaled) is not None:
            return power
    return None
