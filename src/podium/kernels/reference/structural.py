"""Most violated rankings of structural SVMs: max over z of Delta(z) + s.Psi(z) - s.Psi(ideal).

Each returns the maximum for each query and, for each row, its subgradient with respect to the
scores, Psi(z) - Psi(ideal) as coefficients of the documents. Queries that order nothing get 0.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Bools = NDArray[np.bool_]


def violated_ap(scores: Floats, relevant: Bools, offsets: Rows) -> tuple[Floats, Floats]:
    """SVM-MAP: Delta = 1 - AP, Psi = 1/(R N) sum over (relevant i, other j) of +-(x_i - x_j).

    Both kinds keep their order by score; each other document goes where it wins most, above
    the relevant documents i, i+1, ... (Yue, Finley, Radlinski, Joachims, SIGIR 2007).
    """
    values, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    for q, (first, last) in enumerate(itertools.pairwise(offsets.tolist())):
        rows = first + np.argsort(-scores[first:last], kind="stable")
        good, other = rows[relevant[rows]], rows[~relevant[rows]]
        R, N = len(good), len(other)
        if R == 0 or N == 0:
            continue
        i, above = np.arange(1, R + 1), np.zeros(R)  # other documents above relevant i
        for j, row in enumerate(other.tolist(), start=1):
            lift = i / ((i + j) * (i + j - 1)) - 2 / N * (scores[good] - scores[row])
            won = np.append(lift[::-1].cumsum()[::-1], 0.0)
            place = R - int(won[::-1].argmax())  # of equal ones the lowest
            above[place:] += 1
            gradient[row] = 2 * (R - place) / (R * N)
        gradient[good] = -2 * above / (R * N)
        values[q] = (above / (i + above)).mean() + _along_scores(gradient, scores, rows)
    return values, gradient


def violated_order(
    scores: Floats, labels: Floats, member: Bools, offsets: Rows, discount: Floats
) -> tuple[Floats, Floats]:
    """Delta = 1 - DCG / M, M the ideal DCG, Psi = sum_j l(place of j) x_j, over the members.

    l is the discount (never rising; 0 past its end). Delta is linear in the same l, so the
    maximum is a sort by s_j - y_j / M.
    """
    values, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    for q, ideal in enumerate(_ideal_orders(labels, member, offsets)):
        l = np.zeros(len(ideal))  # noqa: E741
        l[: len(discount)] = discount[: len(ideal)]
        M = float((l * labels[ideal]).sum())
        if not M > 0:
            continue
        worst = ideal[np.argsort(-(scores[ideal] - labels[ideal] / M), kind="stable")]
        gradient[worst] += l
        gradient[ideal] -= l
        loss = float((l * (labels[ideal] - labels[worst])).sum()) / M
        values[q] = loss + _along_scores(gradient, scores, ideal)
    return values, gradient


def violated_cuts(
    scores: Floats, labels: Floats, member: Bools, offsets: Rows
) -> tuple[Floats, Floats]:
    """Delta = 1 - mean over cuts c < k of AP with the c best of the k members relevant.

    Psi is the pair map over all pairs of members, sum_j (k + 1 - 2 place_j) x_j / (k (k - 1) / 2).
    What a document adds depends on the set above it alone: a programme over the 2^k sets of
    documents already placed.
    """
    values, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    for q, ideal in enumerate(_ideal_orders(labels, member, offsets)):
        k = len(ideal)
        if k < 2:
            continue
        step, s = 4 / (k * (k - 1)), scores[ideal] - scores[ideal[0]]
        best: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {frozenset(): (0.0, ())}
        for place in range(k):
            longer: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {}
            for placed, (value, ranking) in best.items():
                for d in set(range(k)) - placed:
                    missed = sum(  # 1 - precision at this place, for each cut
                        (1 - (1 + sum(e < c for e in placed)) / (place + 1)) / c
                        for c in range(d + 1, k)
                    )
                    won = value + missed / (k - 1) + step * (d - place) * float(s[d])
                    key = placed | {d}
                    if key not in longer or won > longer[key][0]:
                        longer[key] = won, (*ranking, d)
            best = longer
        [(values[q], worst)] = best.values()
        gradient[ideal[list(worst)]] = step * (np.array(worst) - np.arange(k))
    return values, gradient


def _ideal_orders(labels: Floats, member: Bools, offsets: Rows) -> list[Rows]:
    """The members by label, then by row; none of a query where their labels are equal."""
    orders = []
    for first, last in itertools.pairwise(offsets.tolist()):
        rows = first + np.flatnonzero(member[first:last])
        rows = rows[np.argsort(-labels[rows], kind="stable")]
        orders.append(rows if len(np.unique(labels[rows])) > 1 else rows[:0])
    return orders


def _along_scores(gradient: Floats, scores: Floats, rows: Rows) -> float:
    """gradient.scores; gradients sum to 0, so scores count from the first row's."""
    return float((gradient[rows] * (scores[rows] - scores[rows[0]])).sum())


def violated_head(
    scores: Floats,
    worth: Floats,
    ideal: Floats,
    offsets: Rows,
    cuts: Rows,
    discount: Floats,
    search: str,
    known: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Where only the head counts: Delta(z) = 1 - sum_j l(place of j) worth_j.

    Psi has the same discount l, 0 from the cut on, and `ideal` the l of the ideal ranking's places.
    By "margin" the maximum of Delta(z) - w.dPsi(z); by "hull" that of Delta (1 - w.dPsi) over
    mixtures of rankings; by "golden" the largest Delta(z) (1 - w.dPsi(z)) that the paper's search
    meets, given what is `known` to be reached. The third result is what a single ranking is known
    to violate. A query with cut 0 says nothing.
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
            z = query.golden_section(float(known[q]))
            values[q] = vertices[q] = max(0.0, z.loss * z.lead)
            gradient[first:last] = z.loss * (z.psi - query.ideal)
    return values, gradient, vertices


@dataclass
class _Head:
    """A ranking: l of each document's place, its loss Delta and its lead 1 - w.dPsi."""

    psi: Floats
    loss: float
    lead: float


@dataclass
class _HeadQuery:
    scores: Floats
    worth: Floats
    ideal: Floats
    l: Floats  # noqa: E741

    def sort(self, trade: float) -> _Head:
        """The maximum of lead + trade * loss."""
        psi = np.empty(len(self.l))
        psi[np.argsort(-(self.scores - trade * self.worth), kind="stable")] = self.l
        lead = 1 + float(((psi - self.ideal) * (self.scores - self.scores[0])).sum())
        return _Head(psi, max(0.0, 1 - float((psi * self.worth).sum())), lead)

    def hull_edge(self) -> tuple[_Head, _Head]:
        """Neighbours on the hull of all (loss, lead) between which loss * lead is largest.

        There trade = lead / loss, and lead / loss of the sort for a trade falls as that rises.
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
            above = (c.lead - a.lead) + slope * (c.loss - a.loss)
            if not above > 1e-12 * (1 + abs(a.lead) + slope):
                break
            if c.lead > slope * c.loss:
                a = c
            else:
                b = c
        return a, b

    def golden_section(self, xi: float) -> _Head:
        """Of the rankings met in minimising F(trade), the one with the largest loss * lead."""
        met: list[_Head] = []

        def F(trade: float) -> float:  # noqa: N802
            met.append(self.sort(trade))
            return met[-1].lead + trade * met[-1].loss - 2 * float(np.sqrt(xi * trade))

        golden, high = 0.6180339887498949, 1.0
        F(high)
        while met[-1].loss ** 2 * high < xi and high < 1e300:
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
        return max(met, key=lambda z: z.loss * z.lead)


def _best_mixture(a: _Head, b: _Head) -> float:
    """The share of b in the mixture of a and b with the largest loss * lead."""
    loss, lead = b.loss - a.loss, b.lead - a.lead
    if not (loss > 0 > lead):
        return float(b.loss * b.lead > a.loss * a.lead)
    return float(np.clip(-(loss * a.lead + a.loss * lead) / (2 * loss * lead), 0.0, 1.0))
