"""Aggregators that give points for places: Borda and reciprocal rank fusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.aggregation.aggregator import Points
from podium.aggregation.rankings import Floats, Rankings


@dataclass(frozen=True)
class Borda(Points):
    """Of n documents, the one in place r gets n - r points; those not ranked share the places left.

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
        """Documents below."""
        n = rankings.groups.spread(rankings.groups.sizes)[:, None]
        return np.asarray(n - rankings.filled)


@dataclass(frozen=True)
class ReciprocalRank(Points):
    """A document in place r gets 1 / (k + r) points, one that is not ranked none.

    r is the place in the ranker's whole list where that is known (`Rankings.positions`).

    Cormack, Clarke, Büttcher, Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods, SIGIR 2009.

    Parameters
    ----------
    k
        The higher, the less the first places stand out.

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
        """1 / (k + place)."""
        return np.where(rankings.ranked, 1 / (self.k + rankings.listed_at), 0.0)
