"""Rank-preserving clustering: clusters 0..K-1 that follow one another along every list."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

ROUNDING = 1e-13  # a move must save more than rounding may pretend: see _best_move
LISTS_AT_ONCE = 64
LANES = 8


def rank_clusters(
    x: Floats, offsets: Rows, bounds: Rows, max_sweeps: int
) -> tuple[Rows, Floats, Rows, Floats, Rows]:
    """Clusters of a small sum of |x - centre|^2 whose index never falls along a list (pLocalsearch).

    Lists have their objects best first; in list i cluster c begins at row bounds[i, c - 1], cluster
    0 with the list. A sweep visits all lists in turn: of the objects with a neighbour in another
    cluster the one whose change to that cluster costs least changes, if the cost is below 0, and
    centres follow at once. Of equal costs the first along the list counts, the object before a
    border before the one behind it.

    Returns bounds, centres (0 where a cluster has no object), counts, the objective at the start and
    after each sweep, and the moves of each sweep: 0 in the last, unless `max_sweeps` came first.
    """
    edges = np.column_stack([offsets[:-1], bounds, offsets[1:]])
    now = _Clusters(x, edges)
    objective, moves = [now.objective(x, edges)], []
    length = now.length(objective[0])
    for _ in range(max_sweeps):
        value, moved = objective[-1], 0
        for edge in edges:
            cost, row, start, to = _best_move(x, edge, now, length)
            if cost < 0:
                edge[start + 1 : to + 1] -= 1
                edge[to + 1 : start + 1] += 1
                now.move(x[row], start, to)
                value, moved = value + cost, moved + 1
        objective.append(value)
        moves.append(moved)
        if moved == 0:
            break
    found = np.ascontiguousarray(edges[:, 1:-1])
    return found, now.centres, now.counts, np.array(objective), np.array(moves, dtype=np.int64)


class _Clusters:
    """The clusters of all lists together: sums, counts and centres."""

    def __init__(self, x: Floats, edges: Rows) -> None:
        k = edges.shape[1] - 1
        self.sums, self.centres = np.zeros((k, x.shape[1])), np.zeros((k, x.shape[1]))
        self.counts = np.diff(edges, axis=1).sum(axis=0)
        for first in range(0, len(edges), LISTS_AT_ONCE):
            part = np.zeros_like(self.sums)
            for edge in edges[first : first + LISTS_AT_ONCE].tolist():
                for c, (a, b) in enumerate(itertools.pairwise(edge)):
                    for row in x[a:b]:
                        part[c] += row
            self.sums += part
        for c in range(k):
            self._settle(c)

    def _settle(self, c: int) -> None:
        n = float(self.counts[c])
        self.centres[c] = self.sums[c] * (1 / n if n > 0 else 0.0)

    def move(self, x: Floats, start: int, to: int) -> None:
        self.sums[start] -= x
        self.sums[to] += x
        self.counts[start] -= 1
        self.counts[to] += 1
        self._settle(start)
        self._settle(to)

    def cost(self, x: Floats, start: int, to: int) -> tuple[float, float]:
        """What a change adds to the objective, and the distance to the centre that is left.

        m/(m+1) |x - centre[to]|^2 - n/(n-1) |x - centre[start]|^2; who is alone saves nothing.
        """
        n, m = float(self.counts[start]), float(self.counts[to])
        leave = n / (n - 1) if n > 1 else 0.0
        stay = _squared(x - self.centres[start])
        return m / (m + 1) * _squared(x - self.centres[to]) - leave * stay, math.sqrt(stay)

    def objective(self, x: Floats, edges: Rows) -> float:
        scatter = []
        for edge in edges.tolist():
            clusters = enumerate(itertools.pairwise(edge))
            steps = [row - self.centres[c] for c, (a, b) in clusters for row in x[a:b]]
            scatter.append(_sum_in_turn(_squared(step) for step in steps))
        return _sum_in_turn(scatter)

    def length(self, objective: float) -> float:
        """The root of the mean |x|^2 = (objective + sum n |centre|^2) / sum n."""
        counts = self.counts.tolist()
        norms = [_sum_in_turn(centre * centre) for centre in self.centres]
        parts = (float(n) * norm for n, norm in zip(counts, norms, strict=True))
        return math.sqrt(_sum_in_turn([objective, *parts]) / max(sum(counts), 1))


def _best_move(x: Floats, edge: Rows, now: _Clusters, length: float) -> tuple[float, int, int, int]:
    """(cost, row, from, to); a cost of 0 where no move saves anything.

    What x - centre loses by rounding is a share of the length of both; so of equally good clusters
    none is left for the other, back and forth.
    """
    best = (0.0, -1, 0, 0)
    for row, start, to in _candidates(edge.tolist()):
        cost, stay = now.cost(x[row], start, to)
        if cost < best[0] and cost < -ROUNDING * stay * (stay + length):
            best = (cost, row, start, to)
    return best


def _candidates(edge: list[int]) -> Iterator[tuple[int, int, int]]:
    """Rows with a neighbour in another cluster, their own and the neighbour's cluster."""
    filled = [c for c, (a, b) in enumerate(itertools.pairwise(edge)) if a < b]
    for a, b in itertools.pairwise(filled):
        yield edge[b] - 1, a, b
        yield edge[b], b, a


def _squared(step: Floats) -> float:
    """|step|^2 in eight running sums; the last d % 8 numbers go to the last of them."""
    squares = step * step
    whole = len(step) // LANES * LANES
    lanes = np.zeros(LANES)
    for block in squares[:whole].reshape(-1, LANES):
        lanes += block
    if whole < len(step):
        lanes[whole - len(step) :] += squares[whole:]
    a, b, c, d, e, f, g, h = lanes.tolist()
    return float(((a + e) + (c + g)) + ((b + f) + (d + h)))


def _sum_in_turn(values: Iterable[float]) -> float:
    """One after the other, neither in pairs as NumPy does nor compensated as newer Pythons do."""
    total = 0.0
    for value in values:
        total += float(value)
    return total
