"""Interventions: impressions and clicks of the same unit at several ranks, and what they identify.

A unit is what stays the same while its rank changes: a document of a query (intervention harvesting,
AllPairs: Agarwal et al., WSDM 2019), or, if the logger randomises and says so, a position before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from podium.clicks.click_sessions import ClickSessions
from podium.clicks.fit_tables import sums_by_code
from podium.typing import Bools, Floats, Ints

NO_INTERVENTION = (
    "one ranker, no swaps: positions and relevance cannot be told apart; serve with --swap 0.05 for a week, "
    "or log two rankers that serve the same queries"
)
"""What to do if no unit has been at two ranks."""


MAX_RANKS = 50
"""Propensities are estimated for so many ranks at most; few users look further."""


@dataclass(frozen=True, eq=False)
class InterventionTable:
    """Impressions and clicks by unit and rank (from 0); `unit` has the unit of each row of the sessions."""

    unit: Ints
    impressions: Floats
    clicks: Floats

    @classmethod
    def of_documents(cls, sessions: ClickSessions) -> InterventionTable:
        """Return the table whose units are documents of queries."""
        pairs, unit = sessions.pairs
        return cls.of(sessions, unit, len(pairs))

    @classmethod
    def of_slots(cls, sessions: ClickSessions, base_positions: Ints) -> InterventionTable:
        """Return the table whose units are positions before the randomisation, by list length and variant.

        The last document of a list cannot move down, so lists of other lengths are other units.
        """
        length = np.asarray(sessions.groups.spread(sessions.groups.sizes))
        variant = np.asarray(sessions.groups.spread(sessions.variant.codes)) + 1
        depth = max(sessions.depth, int(base_positions.max(initial=0))) + 1
        keys = (variant * depth + length) * depth + base_positions
        units, number = np.unique(keys, return_inverse=True)
        return cls.of(sessions, number.reshape(-1), len(units))

    @classmethod
    def of(cls, sessions: ClickSessions, unit: Ints, n_units: int) -> InterventionTable:
        """Count the impressions and clicks of these units."""
        depth = min(sessions.depth, MAX_RANKS)
        is_used = sessions.groups.places < depth
        cell = unit[is_used] * depth + sessions.groups.places[is_used]
        counts = [
            sums_by_code(cell, values, n_units * depth).reshape(n_units, depth)
            for values in (np.ones(len(cell)), sessions.clicked[is_used].astype(np.float64))
        ]
        return cls(unit, counts[0], counts[1])

    @property
    def is_informative(self) -> Bools:
        """Whether each unit has been at two ranks or more, and was clicked."""
        several = (self.impressions > 0).sum(axis=1) > 1
        return np.asarray(several & (self.clicks.sum(axis=1) > 0))

    def identification(self) -> Identification:
        """Return which ranks can be compared.

        A unit that has been at ranks j and k, and was clicked at k, bounds theta_k / theta_j from below. So
        the likelihood has a maximum for the ranks that such bounds join to rank 1 in both directions
        (Ford, American Mathematical Monthly 64, 1957); units without clicks join nothing.
        """
        is_at_rank = (self.impressions > 0).astype(np.float64)
        links = np.einsum("uj,uk->jk", is_at_rank, is_at_rank)
        np.fill_diagonal(links, 0.0)
        used = self.is_informative
        bounds = np.einsum(
            "uj,uk->jk", is_at_rank[used], (self.clicks[used] > 0).astype(np.float64)
        )
        np.fill_diagonal(bounds, 0.0)
        _, component = connected_components(bounds > 0, directed=True, connection="strong")
        comparable = component == component[0]
        part = InterventionTable(self.unit, self.impressions * comparable, self.clicks * comparable)
        return Identification(links, comparable, part.clicks[part.is_informative].sum(axis=0))


@dataclass(frozen=True, eq=False)
class Identification:
    """What a log can identify, by rank.

    Parameters
    ----------
    links
        For each two ranks, the number of units that have been at both.
    comparable
        Whether each rank can be compared with rank 1, through clicks on units that link them.
    clicks
        The clicks at each rank that carry the comparison.
    """

    links: Floats
    comparable: Bools
    clicks: Floats

    @property
    def messages(self) -> list[str]:
        """What the log cannot say, and what to do.

        Examples
        --------
        >>> nothing = Identification(np.zeros((2, 2)), np.zeros(2, dtype=bool), np.zeros(2))
        >>> nothing.messages[0].partition(';')[0]
        'one ranker, no swaps: positions and relevance cannot be told apart'
        """
        if not self.comparable[1:].any():
            if not self.links.any():
                return [NO_INTERVENTION]
            return [_WITHOUT_CLICKS if self.links[0].any() else _WITHOUT_RANK_1]
        lines = []
        if not self.comparable.all():
            ranks = rank_list(np.flatnonzero(~self.comparable) + 1)
            lines.append(
                f"ranks {ranks} have no propensity: no clicked document has been there and also at a "
                "rank that is compared with rank 1, or all clicks on such documents are at one of both"
            )
        few = np.flatnonzero(self.comparable & (self.clicks < MIN_CLICKS)) + 1
        if len(few):
            lines.append(
                f"ranks {rank_list(few)} have fewer than {MIN_CLICKS} clicks that can be compared: their "
                "intervals are rough; collect more sessions"
            )
        return lines


MIN_CLICKS = 30
"""With fewer clicks than this at a rank, the normal approximation of its interval is rough."""

_WITHOUT_RANK_1 = (
    "no document has been at rank 1 and also at another rank, so nothing can be compared with rank 1; "
    "serve with --swap 0.05 for a week"
)
_WITHOUT_CLICKS = (
    "documents have been at rank 1 and at other ranks, but without clicks at both to compare; collect "
    "more sessions"
)


def rank_list(ranks: Sequence[int] | Ints) -> str:
    """Return ranks as text, with runs in short.

    Examples
    --------
    >>> rank_list([2, 3, 4, 9])
    '2-4, 9'
    """
    runs: list[list[int]] = []
    for rank in map(int, ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in runs)
