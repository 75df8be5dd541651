"""Rankings: the order by score, ties of scores, and the sums that ranking metrics consist of."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from podium.kernels.reference.lines import unpack
from podium.typing import Bools, Floats, Rows, Singles


def _queries(offsets: Rows) -> Iterator[tuple[int, int]]:
    bounds = offsets.tolist()
    return itertools.pairwise(bounds)


def order(scores: Floats, tie_keys: Floats | None, offsets: Rows) -> Rows:
    """Return rows by score descending; ties by tie key ascending (if there are keys), then by row."""
    out = np.empty(len(scores), dtype=np.int64)
    for a, b in _queries(offsets):
        keys = [-scores[a:b]] if tie_keys is None else [tie_keys[a:b], -scores[a:b]]
        out[a:b] = a + np.lexsort(keys)
    return out


def is_order(scores: Floats, rows: Rows, offsets: Rows) -> bool:
    """Return whether these are the rows in the order of `order` without tie keys."""
    before, after = scores[rows[:-1]], scores[rows[1:]]
    follows = (before > after) | ((before == after) & (rows[:-1] < rows[1:]))
    starts = np.isin(np.arange(1, len(rows)), offsets)
    return bool((follows | starts).all())


def string_places(bytes: NDArray[np.uint8], bounds: Rows, offsets: Rows) -> Floats:  # noqa: A002
    """Return the place (from 0) of each row in its query if packed strings sort in descending order."""
    text, cuts = bytes.tobytes(), bounds.tolist()
    out = np.empty(len(bounds) - 1)
    for a, b in _queries(offsets):
        rows = sorted(range(a, b), key=lambda row: text[cuts[row] : cuts[row + 1]], reverse=True)
        out[rows] = np.arange(b - a)
    return out


def trec_order(scores: Singles, bytes: NDArray[np.uint8], bounds: Rows, offsets: Rows) -> Rows:  # noqa: A002
    """Return rows by score descending; ties by packed string, largest first, then by row."""
    return order(scores.astype(np.float64), string_places(bytes, bounds, offsets), offsets)


def match_strings(
    bytes: NDArray[np.uint8],  # noqa: A002
    bounds: Rows,
    offsets: Rows,
    other_bytes: NDArray[np.uint8],
    other_bounds: Rows,
    other_offsets: Rows,
) -> Rows:
    """Return for each row the first row with the same string in the same query of others, or -1."""
    strings, others = unpack(bytes, bounds), unpack(other_bytes, other_bounds)
    out = np.empty(len(strings), dtype=np.int64)
    for (a, b), (c, d) in zip(_queries(offsets), _queries(other_offsets), strict=True):
        first = {others[row]: row for row in reversed(range(c, d))}
        out[a:b] = [first.get(string, -1) for string in strings[a:b]]
    return out


def discounted_sum(values: Floats | Bools, order: Rows, offsets: Rows, discount: Floats) -> Floats:
    """Return sum_i discount[i] * values[order[i]], over the first len(discount) places."""
    out = []
    for a, b in _queries(offsets):
        total = 0.0  # not sum(): from Python 3.12 on it compensates roundings
        for d, v in zip(discount.tolist(), values[order[a:b]].tolist(), strict=False):
            total += d * v
        out.append(total)
    return np.array(out, dtype=np.float64)


def tied_discounted_sum(
    values: Floats | Bools, scores: Floats, offsets: Rows, discount: Floats
) -> Floats:
    """Return discounted_sum averaged over all orders by score: ties share the mean of their group."""
    weights, rows, out = discount.tolist(), order(scores, None, offsets).tolist(), []
    for a, b in _queries(offsets):
        means: list[float] = []
        for _, tied in itertools.groupby(rows[a:b], key=lambda row: scores[row]):
            group = [float(values[row]) for row in tied]
            mean = 0.0
            for value in group:  # divided first: the sum of the largest values may overflow
                mean += value / len(group)
            means += [mean] * len(group)
        total = 0.0
        for d, v in zip(weights, means, strict=False):
            total += d * v
        out.append(total)
    return np.array(out, dtype=np.float64)


def ideal_sum(values: Floats, offsets: Rows, discount: Floats) -> Floats:
    """Return the largest discounted_sum over all orders, which the sorted values have."""
    return discounted_sum(values, order(values, None, offsets), offsets, discount)


def find_relevant(labels: Floats, threshold: float, offsets: Rows) -> tuple[Bools, Rows]:
    """Return whether each label reaches the threshold, and how many do in each query."""
    relevant = labels >= threshold
    counts = [np.count_nonzero(relevant[a:b]) for a, b in _queries(offsets)]
    return relevant, np.array(counts, dtype=np.int64)


def label_levels(labels: Floats, order: Rows, offsets: Rows) -> tuple[Rows, Floats]:
    """Return the level of each label in its query, 0 for the lowest, and each query's pairs of levels.

    `order` has the rows by label, largest first. A pair is two documents with different labels.
    """
    levels, pairs = np.empty(len(labels), dtype=np.int64), np.zeros(len(offsets) - 1)
    for query, (a, b) in enumerate(_queries(offsets)):
        rows = order[a:b]
        _, levels[rows], counts = np.unique(labels[rows], return_inverse=True, return_counts=True)
        pairs[query] = ((b - a) ** 2 - int(np.sum(counts**2))) // 2
    return levels, pairs


def precision_sum(relevant: Bools, order: Rows, offsets: Rows, depth: int) -> Floats:
    """Return the sum over relevant places i <= depth of (relevant among the first i) / i."""
    out = []
    for a, b in _queries(offsets):
        hits, total = 0, 0.0
        for place, row in enumerate(order[a:b][:depth].tolist(), start=1):
            if relevant[row]:
                hits += 1
                total += hits / place
        out.append(total)
    return np.array(out, dtype=np.float64)


def tied_precision_sum(
    relevant: Bools, order: Rows, scores: Floats, offsets: Rows, depth: int
) -> Floats:
    """Return precision_sum averaged over all orders of tied documents.

    In a tied group of m with r relevant, behind s places with h hits: place s + j is relevant with
    probability r / m, and then r - 1 of the other m - 1 are spread over the j - 1 before it
    (McSherry and Najork, ECIR 2008).
    """
    out = []
    for a, b in _queries(offsets):
        total, place, hits = 0.0, 0, 0
        for _, tied in itertools.groupby(order[a:b].tolist(), key=lambda row: scores[row]):
            group = [bool(relevant[row]) for row in tied]
            m, r = len(group), sum(group)
            others = (r - 1) / max(m - 1, 1)
            for j in range(min(m, depth - place) if r else 0):
                total += r / m * (hits + 1 + j * others) / (place + j + 1)
            place, hits = place + m, hits + r
        out.append(total)
    return np.array(out, dtype=np.float64)


def first_place(relevant: Bools, order: Rows, offsets: Rows, depth: int) -> Rows:
    """Return the 1-based place of the first relevant document within depth, else 0."""
    out = []
    for a, b in _queries(offsets):
        hits = np.flatnonzero(relevant[order[a:b][:depth]])
        out.append(int(hits[0]) + 1 if len(hits) else 0)
    return np.array(out, dtype=np.int64)


def cascade(stop: Floats, order: Rows, offsets: Rows, depth: int) -> Floats:
    """sum_i (1 / i) stop_i prod_{j < i} (1 - stop_j)."""
    out = []
    for a, b in _queries(offsets):
        total, reading = 0.0, 1.0
        for place, s in enumerate(stop[order[a:b][:depth]].tolist(), start=1):
            total += reading * s / place
            reading *= 1 - s
        out.append(total)
    return np.array(out, dtype=np.float64)


def pair_counts(a: Floats, b: Floats, offsets: Rows) -> Rows:
    """Return per query: concordant pairs, discordant pairs, ties in a only, ties in b only."""
    out = np.zeros((len(offsets) - 1, 4), dtype=np.int64)
    for q, (first, last) in enumerate(_queries(offsets)):
        i, j = np.triu_indices(last - first, 1)
        da, db = (_compare(v[first:last][i], v[first:last][j]) for v in (a, b))
        out[q] = (
            np.count_nonzero(da * db > 0),
            np.count_nonzero(da * db < 0),
            np.count_nonzero((da == 0) & (db != 0)),
            np.count_nonzero((da != 0) & (db == 0)),
        )
    return out


def _compare(x: Floats, y: Floats) -> Rows:
    return (x > y).astype(np.int64) - (x < y)


def exp2_gain(labels: Floats) -> Floats:
    """Return 2^label - 1, or infinity if it exceeds a double."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp2(labels) - 1)
