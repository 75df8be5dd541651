"""Boosting: binned features, the pair distribution of RankBoost, and sums of stumps.

A stump is [code > t]; ``codes[f, i]`` is the bin of document i by feature f.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from podium.typing import Floats, Rows

Codes = NDArray[np.uint8]


def bin_features(
    x: NDArray[np.float32] | Floats, thresholds: Floats, bounds: Rows
) -> NDArray[np.uint8]:
    """Return the number of thresholds below each value: code > t if x > threshold[t]; 0 for NaN."""
    out = np.empty(x.shape[::-1], dtype=np.uint8)
    for f, (a, b) in enumerate(itertools.pairwise(bounds.tolist())):
        column = x[:, f].astype(np.float64)
        code = np.searchsorted(thresholds[a:b], column, side="left")
        out[f] = np.where(np.isnan(column), 0, code)
    return out


def rankboost_potentials(
    scores: Floats, labels: Floats, order: Rows, weight: Floats, offsets: Rows
) -> tuple[Floats, float]:
    """Return pi(x) = sum_v D(x, v) - sum_u D(u, x), and log sum of weight_q exp(F_v - F_u).

    D(u, v) prop. to weight_q exp(F_v - F_u) over the pairs of a query with labels u > v.
    ``order`` (rows by label, descending) saves the native kernel a sort.
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
    """Return the sum of weight_i (times value[f, i], if there are values) by feature and code."""
    out = np.zeros((len(codes), 256))
    for f, code in enumerate(codes):
        terms = weights if values is None else weights * values[f]
        out[f] = np.bincount(code, weights=terms, minlength=256)
    return out


def stump_dcg(
    codes: Codes, gains: Floats, offsets: Rows, discount: Floats
) -> tuple[Floats, Floats]:
    """Return the jumps at t = code of the DCG of a query's order by [code > t] and by [code <= t].

    Ties are averaged, and the DCG of a random order is subtracted. The first document of a code has
    the whole jump, the others 0. So sums by bin, cumulated over t, are the DCGs of all stumps.
    """
    jumps, complement_jumps = np.zeros(codes.shape), np.zeros(codes.shape)
    for a, b in itertools.pairwise(offsets.tolist()):
        for f, code in enumerate(codes[:, a:b]):
            before = np.zeros(2)
            for t in np.unique(code).tolist():
                first = a + int(np.argmax(code == t))
                now = np.array([_tied_dcg(gains[a:b], h, discount) for h in (code > t, code <= t)])
                jumps[f, first], complement_jumps[f, first] = now - before
                before = now
    return jumps, complement_jumps


def _tied_dcg(gains: Floats, h: NDArray[np.bool_], discount: Floats) -> float:
    """Return the DCG of the order by h, ties averaged, minus that of a random order."""
    n, n_selected = len(h), int(h.sum())
    places = np.zeros(n)
    places[: len(discount)] = discount[:n]
    dcg = sum(
        float(gains[part].mean() * spread.sum())
        for part, spread in ((h, places[:n_selected]), (~h, places[n_selected:]))
        if part.any()
    )
    return dcg - float(gains.mean() * places.sum())
