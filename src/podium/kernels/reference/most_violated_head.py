"""The slack search (golden section, hull) of TopSlack and TopMargin: the most violated ranking.

Only the head counts. Delta(z) = 1 - sum_j l(place of j) worth_j is the loss of ranking z, and
Psi(z) = sum_j l(place of j) x_j has the same discount l. Sorting by score - trade * worth maximises
lead + trade * loss, so each trade gives one ranking. The searches differ in the trades that they try.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from podium.typing import Floats, Rows


def violated_head(
    scores: Floats,
    worth: Floats,
    ideal: Floats,
    offsets: Rows,
    cuts: Rows,
    discount: Floats,
    search: str,
    lower_bounds: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Return the violation of each query, its gradient, and the violation by a single ranking.

    The discount l is 0 from the cut on, and `ideal` has l of the ideal ranking's places. "margin":
    the maximum of Delta(z) - w.dPsi(z). "hull": the maximum of Delta (1 - w.dPsi) over mixtures.
    "golden": the largest Delta(z) (1 - w.dPsi(z)) that the golden section search of the paper meets;
    `lower_bounds` has a lower bound of it for each query. A query with cut 0 gets 0.
    """
    n_queries = len(offsets) - 1
    values, vertices, gradient = np.zeros(n_queries), np.zeros(n_queries), np.zeros(len(scores))
    for q, (first, last) in enumerate(itertools.pairwise(offsets.tolist())):
        if cuts[q] == 0:
            continue
        l = np.zeros(last - first)  # noqa: E741
        l[: cuts[q]] = discount[: min(cuts[q], last - first)]
        query = _HeadQuery(scores[first:last], worth[first:last], ideal[first:last], l)
        if search == "hull":
            a, b = query.hull_edge()
            t = _best_mixture(a, b)
            loss, psi = (1 - t) * a.loss + t * b.loss, (1 - t) * a.psi + t * b.psi
            vertices[q] = max(0.0, a.loss * a.lead, b.loss * b.lead)
            values[q] = max(vertices[q], loss * ((1 - t) * a.lead + t * b.lead))
            gradient[first:last] = loss * (psi - query.ideal)
        elif search == "margin":
            z = query.sort(1.0)
            values[q] = vertices[q] = max(0.0, z.loss + z.lead - 1)
            gradient[first:last] = z.psi - query.ideal
        else:
            z = query.golden_section(float(lower_bounds[q]))
            values[q] = vertices[q] = max(0.0, z.loss * z.lead)
            gradient[first:last] = z.loss * (z.psi - query.ideal)
    return values, gradient, vertices


@dataclass
class _HeadRanking:
    """A ranking: l of each document's place, its loss Delta and its lead 1 - w.dPsi."""

    psi: Floats
    loss: float
    lead: float


@dataclass
class _HeadQuery:
    """One query: l has the discount of each place, 0 from the cut on."""

    scores: Floats
    worth: Floats
    ideal: Floats
    l: Floats  # noqa: E741

    def sort(self, trade: float) -> _HeadRanking:
        """Return the ranking with the largest lead + trade * loss."""
        psi = np.empty(len(self.l))
        psi[np.argsort(-(self.scores - trade * self.worth), kind="stable")] = self.l
        lead = 1 + float(((psi - self.ideal) * (self.scores - self.scores[0])).sum())
        return _HeadRanking(psi, max(0.0, 1 - float((psi * self.worth).sum())), lead)

    def hull_edge(self) -> tuple[_HeadRanking, _HeadRanking]:
        """Return the neighbours on the hull of all (loss, lead) between which loss * lead is largest.

        At the maximum trade = lead / loss. The ratio lead / loss of the sort falls as the trade rises,
        so a and b bracket the maximum: the sort for the slope of their edge replaces one of them.
        """
        trade = 1.0
        a = self.sort(trade)
        while a.loss == 0 and trade < 1e300:
            trade *= 4
            a = self.sort(trade)
        ratio = a.lead / a.loss
        b = self.sort(max(0.0, ratio))
        if ratio < trade:
            a, b = b, a
        for _ in range(200):
            if not b.loss > a.loss:
                break
            slope = (a.lead - b.lead) / (b.loss - a.loss)
            c = self.sort(slope)
            height = (c.lead - a.lead) + slope * (c.loss - a.loss)
            if not height > 1e-12 * (1 + abs(a.lead) + slope):
                break
            if c.lead > slope * c.loss:
                a = c
            else:
                b = c
        return a, b

    def golden_section(self, xi: float) -> _HeadRanking:
        """Minimise F(trade); return the ranking with the largest loss * lead that the search visits."""
        visited: list[_HeadRanking] = []

        def F(trade: float) -> float:  # noqa: N802
            visited.append(self.sort(trade))
            return visited[-1].lead + trade * visited[-1].loss - 2 * float(np.sqrt(xi * trade))

        golden, high = 0.6180339887498949, 1.0
        F(high)
        while visited[-1].loss ** 2 * high < xi and high < 1e300:
            high *= 4
            F(high)
        low = 1e-6
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = F(left), F(right)
        for _ in range(40):
            if not high - low > 1e-4 * high:
                break
            if at_left < at_right:
                high, right, at_right = right, left, at_left
                left = high - golden * (high - low)
                at_left = F(left)
            else:
                low, left, at_left = left, right, at_right
                right = low + golden * (high - low)
                at_right = F(right)
        return max(visited, key=lambda z: z.loss * z.lead)


def _best_mixture(a: _HeadRanking, b: _HeadRanking) -> float:
    """Return the share of b in the mixture of a and b with the largest loss * lead."""
    loss, lead = b.loss - a.loss, b.lead - a.lead
    if not (loss > 0 > lead):
        return float(b.loss * b.lead > a.loss * a.lead)
    return float(np.clip(-(loss * a.lead + a.loss * lead) / (2 * loss * lead), 0.0, 1.0))
