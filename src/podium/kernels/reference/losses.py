"""Losses of scores: one value per query, and per row the gradient and the diagonal of the Hessian.

Each loss also has a product of its Hessian with a direction; the hinge has a generalised Hessian.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from podium.typing import Bools, Derivatives, Floats, Rows

_MASK = (1 << 64) - 1


def _pairs(levels: Rows, offsets: Rows) -> Iterator[tuple[int, int, Rows]]:
    """Yield each document u with all v of a lower level: query, u, rows of v."""
    for q, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
        for u in range(a, b):
            v = a + np.flatnonzero(levels[a:b] < levels[u])
            if len(v):
                yield q, u, v


def _empty(scores: Floats, offsets: Rows) -> Derivatives:
    return np.zeros(len(offsets) - 1), np.zeros(len(scores)), np.zeros(len(scores))


def hinge_pairs(
    scores: Floats, levels: Rows, order: Rows, offsets: Rows, power: int, curved: bool = True
) -> Derivatives:
    """sum over pairs with level_u > level_v of max(0, 1 - (s_u - s_v))^power.

    order holds the rows by score, best first (the native twin needs it). The curvature is empty
    unless `curved`.
    """
    values, gradient, curvature = _empty(scores, offsets)
    for q, u, lower in _pairs(levels, offsets):
        v = lower[scores[u] - scores[lower] < 1]
        missing = 1 - (scores[u] - scores[v])
        slope = power * missing ** (power - 1)
        values[q] += np.sum(missing**power)
        gradient[u] -= np.sum(slope)
        gradient[v] += slope
        curvature[u] += 2 * len(v) * (power == 2)
        curvature[v] += 2 * (power == 2)
    return values, gradient, curvature if curved else np.empty(0)


def hinge_pairs_product(
    scores: Floats, levels: Rows, order: Rows, offsets: Rows, direction: Floats
) -> Floats:
    """The generalised Hessian of the squared hinge times a direction."""
    out = np.zeros(len(scores))
    for _, u, lower in _pairs(levels, offsets):
        v = lower[scores[u] - scores[lower] < 1]
        change = 2 * (direction[u] - direction[v])
        out[u] += np.sum(change)
        out[v] -= change
    return out


def hinge_pairs_products(
    scores: Floats, levels: Rows, order: Rows, offsets: Rows, directions: Floats
) -> Floats:
    """Return the generalised Hessian times each column of a matrix."""
    out = np.empty(directions.shape)
    for j, direction in enumerate(directions.T):
        out[:, j] = hinge_pairs_product(scores, levels, order, offsets, direction)
    return out


def _logistic(x: Floats) -> tuple[Floats, Floats]:
    """log(1 + exp(-x)) and sigma(-x) = 1 / (1 + exp(x))."""
    e = np.exp(-np.abs(x))
    return np.log1p(e) + np.maximum(-x, 0), np.where(x >= 0, e, 1) / (1 + e)


def logistic_pairs(
    scores: Floats, levels: Rows, by_level: Rows, offsets: Rows, curved: bool = True
) -> Derivatives:
    """sum over pairs with level_u > level_v of log(1 + exp(-(s_u - s_v))).

    by_level holds the rows by level, highest first (the native twin needs it). The curvature is
    empty unless `curved`.
    """
    values, gradient, curvature = _empty(scores, offsets)
    for q, u, v in _pairs(levels, offsets):
        loss, sigma = _logistic(scores[u] - scores[v])
        values[q] += np.sum(loss)
        gradient[u] -= np.sum(sigma)
        gradient[v] += sigma
        curvature[u] += np.sum(sigma * (1 - sigma))
        curvature[v] += sigma * (1 - sigma)
    return values, gradient, curvature if curved else np.empty(0)


def logistic_pairs_product(
    scores: Floats, levels: Rows, by_level: Rows, offsets: Rows, direction: Floats
) -> Floats:
    """The Hessian of logistic_pairs times a direction."""
    out = np.zeros(len(scores))
    for _, u, v in _pairs(levels, offsets):
        _, sigma = _logistic(scores[u] - scores[v])
        change = sigma * (1 - sigma) * (direction[u] - direction[v])
        out[u] += np.sum(change)
        out[v] -= change
    return out


def lambda_pairs(
    scores: Floats, gains: Floats, order: Rows, offsets: Rows, discount: Floats, truncation: int
) -> Derivatives:
    """Logistic losses of pairs with gain_u > gain_v, weighted as LambdaRank does.

    A pair weighs (gain_u - gain_v) |discount(pos_u) - discount(pos_v)|; at least one of the two is
    among the first `truncation` rows of the order.
    """
    values, gradient, curvature = _empty(scores, offsets)
    for q, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
        rows = order[a:b]
        for i, first in enumerate(rows[:truncation].tolist()):
            later = np.arange(i + 1, b - a)
            others = rows[later]
            sign = np.sign(gains[first] - gains[others])
            weight = np.abs(gains[first] - gains[others]) * np.abs(discount[i] - discount[later])
            loss, sigma = _logistic(sign * (scores[first] - scores[others]))
            values[q] += np.sum(weight * loss)
            gradient[first] -= np.sum(sign * weight * sigma)
            gradient[others] += sign * weight * sigma
            curvature[first] += np.sum(weight * sigma * (1 - sigma))
            curvature[others] += weight * sigma * (1 - sigma)
    return values, gradient, curvature


def _spread_bits(h: int) -> int:
    """The finaliser of splitmix64."""
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & _MASK
    return h ^ (h >> 31)


def _gumbel(keys: NDArray[np.uint64], round_number: int, draw: int) -> Floats:
    """Gumbel noise, which key, round and draw decide."""
    counter = _spread_bits(((round_number << 20) + draw + 1) & _MASK)
    bits = [_spread_bits(key ^ counter) >> 12 for key in keys.tolist()]
    return np.asarray(-np.log(-np.log((np.array(bits, dtype=np.float64) + 0.5) / 2**52)))


def _walk(rows: list[int], gains: Floats, stop: Floats, lift: Floats, discount: Floats) -> float:
    """What a list pays: sum of reach_i gain discount_i, reach_{i+1} = reach_i (1 - stop) + lift."""
    total, reach = 0.0, 1.0
    for row, factor in zip(rows, discount.tolist(), strict=False):
        total += reach * gains[row] * factor
        reach = reach * (1 - stop[row]) + lift[row]
    return float(total)


def _exchanges(
    rows: list[int], neighbours: int, walk: tuple[Floats, Floats, Floats, Floats]
) -> Iterator[tuple[int, int, float]]:
    """Yield better, worse and |change of the walk| for each pair of a permutation that is exchanged."""
    gains, depth, before = walk[0], len(walk[3]), _walk(rows, *walk)
    for i in range(min(depth, len(rows))):
        for j in range(i + 1, min(i + neighbours, len(rows) - 1) + 1):
            first, second = rows[i], rows[j]
            exchanged = [*rows[:i], second, *rows[i + 1 : j], first, *rows[j + 1 :]]
            change = abs(_walk(exchanged[:depth], *walk) - before)
            if gains[first] != gains[second]:
                leads = gains[first] > gains[second]
                yield (first, second, change) if leads else (second, first, change)


def exchanged_pairs(
    scores: Floats,
    gains: Floats,
    stop: Floats,
    lift: Floats,
    offsets: Rows,
    discount: Floats,
    neighbours: int,
    keys: NDArray[np.uint64],
    noise: float,
    draws: int,
    round: int,  # noqa: A002 - the native kernel's name
) -> Derivatives:
    """Logistic losses of pairs in drawn permutations, averaged over the draws.

    A permutation sorts by score plus noise times Gumbel noise, which key, round and draw decide. A
    pair weighs what its exchange changes in the sum over places of reach_i gain discount_i, with
    reach_{i+1} = reach_i (1 - stop) + lift from 1 on. One of the pair is at a place with a discount,
    the other up to `neighbours` places below it.
    """
    values, gradient, curvature = _empty(scores, offsets)
    for q, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
        for draw in range(draws):
            perturbed = scores[a:b] + noise * _gumbel(keys[a:b], round, draw)
            rows = (a + np.argsort(-perturbed, kind="stable")).tolist()
            for u, v, change in _exchanges(rows, neighbours, (gains, stop, lift, discount)):
                weight = change / draws
                loss, sigma = _logistic(scores[u] - scores[v])
                values[q] += weight * loss
                gradient[[u, v]] += weight * sigma * np.array([-1, 1])
                curvature[[u, v]] += weight * sigma * (1 - sigma)
    return values, gradient, curvature


def _softmax(scores: Floats) -> tuple[Floats, Floats]:
    """exp(s_j) / sum_l exp(s_l), and its logarithm."""
    shifted = scores - scores.max(initial=-np.inf)
    log_q = shifted - np.log(np.sum(np.exp(shifted))) if len(scores) else shifted
    return np.exp(log_q), log_q


def _softmax_product(q: Floats, direction: Floats) -> Floats:
    """(diag(q) - q q') d."""
    return np.asarray(q * (direction - np.sum(q * direction)))


def softmax_cross_entropy(scores: Floats, target: Floats, offsets: Rows) -> Derivatives:
    """-sum_j target_j log softmax_j(s). The target may have any weights; zeros add nothing."""
    values, gradient, curvature = _empty(scores, offsets)
    for query, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
        p, (q, log_q) = target[a:b], _softmax(scores[a:b])
        mass = np.sum(p)
        values[query] = -np.sum(p * log_q)
        gradient[a:b] = mass * q - p
        curvature[a:b] = mass * q * (1 - q)
    return values, gradient, curvature


def softmax_cross_entropy_product(
    scores: Floats, target: Floats, offsets: Rows, direction: Floats
) -> Floats:
    """The Hessian of softmax_cross_entropy times a direction."""
    out = np.zeros(len(scores))
    for a, b in itertools.pairwise(offsets.tolist()):
        q, _ = _softmax(scores[a:b])
        out[a:b] = np.sum(target[a:b]) * _softmax_product(q, direction[a:b])
    return out


PairChoice = Callable[[int, slice, Bools, float, Floats, Floats, Floats], None]


def _each_choice(
    scores: Floats, labels: Floats, mass: Floats, offsets: Rows, depth: int, visit: PairChoice
) -> None:
    """Call visit(query, rows, left, P_y(prefix), p, q, log q) for each prefix shorter than depth.

    p and q are the probabilities of the next choice among the remaining documents, by labels and scores.
    """
    for query, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
        rows = slice(a, b)
        prefixes: list[tuple[tuple[int, ...], float]] = [((), float(mass[query]))]
        for length in range(min(depth, b - a) if mass[query] > 0 else 0):
            longer: list[tuple[tuple[int, ...], float]] = []
            for prefix, weight in prefixes:
                left = ~np.isin(np.arange(b - a), prefix)
                p, _ = _softmax(labels[rows][left])
                q, log_q = _softmax(scores[rows][left])
                visit(query, rows, left, weight, p, q, log_q)
                if length + 1 < depth:
                    chosen = zip(np.flatnonzero(left).tolist(), p.tolist(), strict=True)
                    longer += [((*prefix, j), weight * pj) for j, pj in chosen if weight * pj > 0]
            prefixes = longer


def top_cross_entropy(
    scores: Floats, labels: Floats, mass: Floats, offsets: Rows, depth: int
) -> Derivatives:
    """-sum over ordered prefixes of `depth` documents of P_y(prefix) log P_s(prefix).

    P is the Plackett-Luce probability; the sum decomposes into P_y(shorter prefix) times the cross
    entropy of the next choice. mass is the weight of each query.
    """
    values, gradient, curvature = _empty(scores, offsets)

    def visit(
        query: int, rows: slice, left: Bools, weight: float, p: Floats, q: Floats, log_q: Floats
    ) -> None:
        values[query] -= weight * np.sum(p[p > 0] * log_q[p > 0])
        gradient[rows][left] += weight * (q - p)
        curvature[rows][left] += weight * q * (1 - q)

    _each_choice(scores, labels, mass, offsets, depth, visit)
    return values, gradient, curvature


def top_cross_entropy_product(
    scores: Floats, labels: Floats, mass: Floats, offsets: Rows, depth: int, direction: Floats
) -> Floats:
    """The Hessian of top_cross_entropy times a direction."""
    out = np.zeros(len(scores))

    def visit(
        query: int, rows: slice, left: Bools, weight: float, p: Floats, q: Floats, log_q: Floats
    ) -> None:
        out[rows][left] += weight * _softmax_product(q, direction[rows][left])

    _each_choice(scores, labels, mass, offsets, depth, visit)
    return out


def _stages(order: Rows, stages: Rows, offsets: Rows) -> Iterator[tuple[int, Rows]]:
    """Yield the rows that each stage chooses from; it chooses the first of them."""
    for q, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
        for i in range(min(int(stages[q]), b - a)):
            yield q, order[a + i : b]


def plackett_luce(scores: Floats, order: Rows, stages: Rows, offsets: Rows) -> Derivatives:
    """-sum_{i <= stages} log of the probability of choosing order[i] among order[i:]."""
    values, gradient, curvature = _empty(scores, offsets)
    for query, rows in _stages(order, stages, offsets):
        q, log_q = _softmax(scores[rows])
        values[query] -= log_q[0]
        gradient[rows] += q
        gradient[rows[0]] -= 1
        curvature[rows] += q * (1 - q)
    return values, gradient, curvature


def plackett_luce_product(
    scores: Floats, order: Rows, stages: Rows, offsets: Rows, direction: Floats
) -> Floats:
    """The Hessian of plackett_luce times a direction."""
    out = np.zeros(len(scores))
    for _, rows in _stages(order, stages, offsets):
        out[rows] += _softmax_product(_softmax(scores[rows])[0], direction[rows])
    return out
