"""Most violated rankings of SVM-MAP and FocusedSVM: max over z of Delta(z) + s.Psi(z) - s.Psi(ideal).

Each kernel returns the maximum for each query and, for each row, its subgradient with respect to the
scores: Psi(z) - Psi(ideal) as coefficients of the documents. Queries without an order get 0.
"""

from __future__ import annotations

import itertools

import numpy as np

from podium.typing import Bools, Floats, Rows


def violated_ap(scores: Floats, relevant: Bools, offsets: Rows) -> tuple[Floats, Floats]:
    """SVM-MAP: Delta = 1 - AP, Psi = 1/(R N) sum over (relevant i, other j) of +-(x_i - x_j).

    Both kinds keep their order by score. Each other document goes where it gains most, above the
    relevant documents i, i+1, ... (Yue, Finley, Radlinski, Joachims, SIGIR 2007).
    """
    values, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    for q, (first, last) in enumerate(itertools.pairwise(offsets.tolist())):
        rows = first + np.argsort(-scores[first:last], kind="stable")
        good, other = rows[relevant[rows]], rows[~relevant[rows]]
        R, N = len(good), len(other)
        if R == 0 or N == 0:
            continue
        i, n_ahead = np.arange(1, R + 1), np.zeros(R)  # n_ahead: other documents above relevant i
        for j, row in enumerate(other.tolist(), start=1):
            lift = i / ((i + j) * (i + j - 1)) - 2 / N * (scores[good] - scores[row])
            won = np.append(lift[::-1].cumsum()[::-1], 0.0)
            place = R - int(won[::-1].argmax())  # among equal gains, the lowest place
            n_ahead[place:] += 1
            gradient[row] = 2 * (R - place) / (R * N)
        gradient[good] = -2 * n_ahead / (R * N)
        values[q] = (n_ahead / (i + n_ahead)).mean() + _score_difference(gradient, scores, rows)
    return values, gradient


def violated_order(
    scores: Floats, labels: Floats, member: Bools, offsets: Rows, discount: Floats
) -> tuple[Floats, Floats]:
    """Delta = 1 - DCG / M with the ideal DCG M, Psi = sum_j l(place of j) x_j, over the members.

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
        values[q] = loss + _score_difference(gradient, scores, ideal)
    return values, gradient


def violated_cuts(
    scores: Floats, labels: Floats, member: Bools, offsets: Rows
) -> tuple[Floats, Floats]:
    """Delta = 1 - mean over cuts c < k of AP with the c best of the k members relevant.

    Psi is the pair map over all pairs of members, sum_j (k + 1 - 2 place_j) x_j / (k (k - 1) / 2).
    A document's part of the sum depends only on the set above it. So dynamic programming over the 2^k
    sets of placed documents finds the maximum.
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
    """Return the members by label, then by row; an empty array if all labels are equal."""
    orders = []
    for first, last in itertools.pairwise(offsets.tolist()):
        rows = first + np.flatnonzero(member[first:last])
        rows = rows[np.argsort(-labels[rows], kind="stable")]
        orders.append(rows if len(np.unique(labels[rows])) > 1 else rows[:0])
    return orders


def _score_difference(gradient: Floats, scores: Floats, rows: Rows) -> float:
    """Return gradient.scores; gradients sum to 0, so the first row's score is subtracted."""
    return float((gradient[rows] * (scores[rows] - scores[rows[0]])).sum())
