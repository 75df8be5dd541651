"""Borda count: a document gets one point per document below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.aggregation.aggregator import PointAggregator
from podium.aggregation.rankings import Rankings
from podium.typing import Floats


@dataclass(frozen=True)
class Borda(PointAggregator):
    """Borda count: the document at place r of n gets n - r points.

    Documents that a ranker leaves out share the remaining places.

    Borda, Mémoire sur les élections au scrutin, 1781.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> Borda()(Rankings.of([["a", "b", "c"], ["a", "c"]])).scores.tolist()
    [2.0, 0.5, 0.5]
    """

    name: ClassVar[str] = "borda"
    paper: ClassVar[str] = "Borda, 1781"

    def points(self, rankings: Rankings) -> Floats:
        """Return the number of documents below each document."""
        n = rankings.groups.spread(rankings.groups.sizes)[:, None]
        return np.asarray(n - rankings.filled)
