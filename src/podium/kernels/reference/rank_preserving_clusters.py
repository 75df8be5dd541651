"""pLocalsearch, rank-preserving clustering: clusters 0..K-1 follow one another along every list."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np

from podium.typing import Floats, Rows

ROUNDING_SHARE = 1e-13
"""A move must save more than the rounding error: see _best_move."""
LISTS_PER_BLOCK = 64
LANES = 8
"""The running sums of a squared distance, as in the native kernel."""


def rank_clusters(
    x: Floats, offsets: Rows, bounds: Rows, max_sweeps: int
) -> tuple[Rows, Floats, Rows, Floats, Rows]:
    """Search clusters with a small sum of |x - centre|^2 whose index never falls along a list.

    Lists have their objects best first. In list i cluster c begins at row bounds[i, c - 1], and cluster
    0 with the list. A sweep visits all lists in turn. An object at a border may change to the cluster
    of its neighbour; the cheapest change of a list is made if its cost is below 0, and centres follow
    at once. Among equal costs the first along the list wins.

    Returns bounds, centres (0 for an empty cluster), counts, the objective at the start and after each
    sweep, and the moves of each sweep: 0 in the last one, unless `max_sweeps` ended the search.
    """
    edges = np.column_stack([offsets[:-1], bounds, offsets[1:]])
    clusters = _Clusters(x, edges)
    objective, moves = [clusters.objective(x, edges)], []
    length = clusters.length(objective[0])
    for _ in range(max_sweeps):
        value, moved = objective[-1], 0
        for edge in edges:
            cost, row, start, to = _best_move(x, edge, clusters, length)
            if cost < 0:
                edge[start + 1 : to + 1] -= 1
                edge[to + 1 : start + 1] += 1
                clusters.move(x[row], start, to)
                value, moved = value + cost, moved + 1
        objective.append(value)
        moves.append(moved)
        if moved == 0:
            break
    final_bounds = np.ascontiguousarray(edges[:, 1:-1])
    n_moves = np.array(moves, dtype=np.int64)
    return final_bounds, clusters.centres, clusters.counts, np.array(objective), n_moves


class _Clusters:
    """The clusters of all lists together: sums, counts and centres."""

    def __init__(self, x: Floats, edges: Rows) -> None:
        k = edges.shape[1] - 1
        self.sums, self.centres = np.zeros((k, x.shape[1])), np.zeros((k, x.shape[1]))
        self.counts = np.diff(edges, axis=1).sum(axis=0)
        for first in range(0, len(edges), LISTS_PER_BLOCK):
            part = np.zeros_like(self.sums)
            for edge in edges[first : first + LISTS_PER_BLOCK].tolist():
                for c, (a, b) in enumerate(itertools.pairwise(edge)):
                    for row in x[a:b]:
                        part[c] += row
            self.sums += part
        for c in range(k):
            self._update_centre(c)

    def _update_centre(self, c: int) -> None:
        n = float(self.counts[c])
        self.centres[c] = self.sums[c] * (1 / n if n > 0 else 0.0)

    def move(self, x: Floats, start: int, to: int) -> None:
        self.sums[start] -= x
        self.sums[to] += x
        self.counts[start] -= 1
        self.counts[to] += 1
        self._update_centre(start)
        self._update_centre(to)

    def cost(self, x: Floats, start: int, to: int) -> tuple[float, float]:
        """Return what a change adds to the objective, and the distance to the old centre.

        m/(m+1) |x - centre[to]|^2 - n/(n-1) |x - centre[start]|^2; a lone object saves nothing.
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
        """Return the root of the mean |x|^2 = (objective + sum n |centre|^2) / sum n."""
        counts = self.counts.tolist()
        norms = [_sum_in_turn(centre * centre) for centre in self.centres]
        parts = (float(n) * norm for n, norm in zip(counts, norms, strict=True))
        return math.sqrt(_sum_in_turn([objective, *parts]) / max(sum(counts), 1))


def _best_move(
    x: Floats, edge: Rows, clusters: _Clusters, length: float
) -> tuple[float, int, int, int]:
    """Return (cost, row, from, to); the cost is 0 if no move saves anything.

    The rounding of x - centre is a share of the length of both. A move must save more; otherwise
    objects would move between equally good clusters forever.
    """
    best = (0.0, -1, 0, 0)
    for row, start, to in _candidates(edge.tolist()):
        cost, stay = clusters.cost(x[row], start, to)
        if cost < best[0] and cost < -ROUNDING_SHARE * stay * (stay + length):
            best = (cost, row, start, to)
    return best


def _candidates(edge: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield rows with a neighbour in another cluster, their own cluster and the neighbour's."""
    filled = [c for c, (a, b) in enumerate(itertools.pairwise(edge)) if a < b]
    for a, b in itertools.pairwise(filled):
        yield edge[b] - 1, a, b
        yield edge[b], b, a


def _squared(step: Floats) -> float:
    """Return |step|^2 in eight running sums; the last d % 8 numbers go to the last sums."""
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
    """Sum one after the other: NumPy sums in pairs, and newer Pythons compensate roundings."""
    total = 0.0
    for value in values:
        total += float(value)
    return total
