"""Boosting rankers: binned features, RankBoost's pair distribution, what every stump is worth.

A stump is [code > t]; codes lie feature by feature, ``codes[f, i]`` the bin of document i.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Codes = NDArray[np.uint8]


def bin_features(
    x: NDArray[np.float32] | Floats, thresholds: Floats, bounds: Rows
) -> NDArray[np.uint8]:
    """Thresholds of each feature below each value, so x > threshold[t] where code > t; NaN has 0."""
    out = np.empty(x.shape[::-1], dtype=np.uint8)
    for f, (a, b) in enumerate(itertools.pairwise(bounds.tolist())):
        column = x[:, f].astype(np.float64)
        below = np.searchsorted(thresholds[a:b], column, side="left")
        out[f] = np.where(np.isnan(column), 0, below)
    return out


def rankboost_potentials(
    scores: Floats, labels: Floats, order: Rows, weight: Floats, offsets: Rows
) -> tuple[Floats, float]:
    """pi(x) = sum_v D(x, v) - sum_u D(u, x), and log sum of weight_q exp(F_v - F_u).

    D(u, v) prop. to weight_q exp(F_v - F_u) over the pairs of a query with labels u > v.
    ``order`` (rows by label, descending) is what the native kernel saves itself a sort by.
    """
    with np.errstate(divide="ignore"):
        log_weight = np.log(weight)
    queries = list(itertools.pairwise(offsets.tolist()))
    pairs = []
    for q, (a, b) in enumerate(queries):
        u, v = np.nonzero(labels[a:b, None] > labels[None, a:b])
        pairs.append((a + u, a + v, log_weight[q] + scores[a + v] - scores[a + u]))
    logs = np.concatenate([np.zeros(0), *(log for _, _, log in pairs)])
    log_total = float(np.logaddexp.reduce(logs)) if len(logs) else -np.inf
    out = np.zeros(len(scores))
    for u, v, log in pairs:
        D = np.exp(log - log_total) if log_total > -np.inf else np.zeros(len(log))
        np.add.at(out, u, D)
        np.subtract.at(out, v, D)
    return out, log_total


def stump_sums(codes: Codes, weights: Floats, values: Floats | None) -> Floats:
    """Sum of weight_i (times value[f, i], where given) by feature and code."""
    out = np.zeros((len(codes), 256))
    for f, code in enumerate(codes):
        terms = weights if values is None else weights * values[f]
        out[f] = np.bincount(code, weights=terms, minlength=256)
    return out


def stump_dcg(
    codes: Codes, gains: Floats, offsets: Rows, discount: Floats
) -> tuple[Floats, Floats]:
    """How the DCG of a query's order by [code > t], and by [code <= t], jumps at t = code.

    Ties averaged, DCG less that of a random order. The whole jump stands at the first document
    of a code, 0 at the others: sums by bin, added up over t, are the DCGs of all stumps.
    """
    above, below = np.zeros(codes.shape), np.zeros(codes.shape)
    for a, b in itertools.pairwise(offsets.tolist()):
        for f, code in enumerate(codes[:, a:b]):
            before = np.zeros(2)
            for t in np.unique(code).tolist():
                first = a + int(np.argmax(code == t))
                now = np.array([_tied_dcg(gains[a:b], h, discount) for h in (code > t, code <= t)])
                above[f, first], below[f, first] = now - before
                before = now
    return above, below


def _tied_dcg(gains: Floats, h: NDArray[np.bool_], discount: Floats) -> float:
    """DCG of the order by h, ties averaged, less that of a random order."""
    n, n_above = len(h), int(h.sum())
    places = np.zeros(n)
    places[: len(discount)] = discount[:n]
    dcg = sum(
        float(gains[part].mean() * spread.sum())
        for part, spread in ((h, places[:n_above]), (~h, places[n_above:]))
        if part.any()
    )
    return dcg - float(gains.mean() * places.sum())
