"""Reciprocal rank fusion (RRF): a document at place r gets 1 / (k + r) points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.aggregation.aggregator import PointAggregator
from podium.aggregation.rankings import Rankings
from podium.typing import Floats


@dataclass(frozen=True)
class ReciprocalRank(PointAggregator):
    """Reciprocal rank fusion: a document at place r gets 1 / (k + r) points, an unranked one gets 0.

    r is the place in the ranker's whole list, if that is known (`Rankings.positions`).

    Cormack, Clarke, Büttcher, Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods, SIGIR 2009.

    Parameters
    ----------
    k
        With a higher k, the first places stand out less.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> scores = ReciprocalRank(k=1)(Rankings.of([["a", "b"], ["a"]])).scores
    >>> bool(np.allclose(scores, [(1 / 2 + 1 / 2) / 2, (1 / 3 + 0) / 2]))
    True
    """

    name: ClassVar[str] = "rrf"
    paper: ClassVar[str] = "Cormack, Clarke, Büttcher, SIGIR 2009"

    k: float = 60.0

    def points(self, rankings: Rankings) -> Floats:
        """Return 1 / (k + place)."""
        return np.where(rankings.ranked, 1 / (self.k + rankings.listed_at), 0.0)
