"""Sums and maxima over all compositions by recurrences over the cut points: nothing is enumerated."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.compositions import Block, Composition, Compositions

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lattice:
    """Cut points as nodes, blocks as edges, compositions as paths from 0 to n.

    The share of a block is that of the compositions that contain it, each weighted:

        share(b) = sum_{c with b in c} W(c) / sum_c W(c),   W(c) = prod_{b in c} g(b) sum_{b in c} h(b)

    so an ensemble whose score is a sum over compositions of sums over their blocks,
    sum_c W(c) sum_{b in c} u(b) s_b(x) / sum_c W(c), is sum_b share(b) u(b) s_b(x): one forward
    and one backward pass, whatever the number of compositions.

    Examples
    --------
    >>> lattice = Lattice.of(Compositions(6, 2))
    >>> dict(zip(lattice.blocks, (5 * lattice.shares()).round().astype(int).tolist()))
    {(0, 2): 2, (0, 3): 1, (0, 4): 1, (0, 6): 1, (2, 4): 1, (2, 6): 1, (3, 6): 1, (4, 6): 2}
    """

    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, compositions: Compositions) -> Lattice:
        """The blocks of these compositions."""
        return cls(compositions.blocks)

    @property
    def end(self) -> int:
        """The last cut point."""
        return self.blocks[-1][1]

    def shares(self, products: Floats | None = None, sums: Floats | None = None) -> Floats:
        """The share of each block among the compositions.

        Parameters
        ----------
        products, sums
            g > 0 and h >= 0, one a block; 1 and left out unless given.
        """
        log_g, h = self._weights(products, sums)
        ahead = self._pass(log_g, h, backward=False)
        behind = self._pass(log_g, h, backward=True)
        log_total, mean_total = ahead[self.end]
        shares = np.empty(len(self.blocks))
        for i, (a, b) in enumerate(self.blocks):
            (log_a, mean_a), (log_b, mean_b) = ahead[a], behind[b]
            shares[i] = math.exp(log_a + log_g[i] + log_b - log_total)
            if sums is not None:
                shares[i] *= (mean_a + h[i] + mean_b) / mean_total
        return shares

    def log_total(self, products: Floats | None = None, sums: Floats | None = None) -> float:
        """log sum_c W(c): of how many compositions there are, without weights.

        Examples
        --------
        >>> round(math.exp(Lattice.of(Compositions(6, 2)).log_total()))
        5
        """
        log_total, mean_total = self._pass(*self._weights(products, sums), backward=False)[self.end]
        if sums is None:
            return log_total
        return log_total + math.log(mean_total) if mean_total > 0 else -math.inf

    def _weights(self, products: Floats | None, sums: Floats | None) -> tuple[Floats, Floats]:
        """log g and h of each block."""
        log_g = np.zeros(len(self.blocks)) if products is None else np.log(products)
        h = np.zeros(len(self.blocks)) if sums is None else np.asarray(sums, dtype=np.float64)
        return log_g, h

    def _pass(self, log_g: Floats, h: Floats, *, backward: bool) -> dict[int, tuple[float, float]]:
        """At each cut point: log sum prod g over the ways there, and the mean of their sum h."""
        source, target = (1, 0) if backward else (0, 1)
        start = self.end if backward else 0
        found = {start: (0.0, 0.0)}
        edges: dict[int, list[int]] = {}
        for i, block in enumerate(self.blocks):
            edges.setdefault(block[target], []).append(i)
        for place in sorted(edges, reverse=backward):
            into = [i for i in edges[place] if self.blocks[i][source] in found]
            before = [found[self.blocks[i][source]] for i in into]
            logs = np.array([log for log, _ in before]) + log_g[into]
            total = float(np.logaddexp.reduce(logs))
            means = np.array([mean for _, mean in before]) + h[into]
            found[place] = total, float(np.sum(np.exp(logs - total) * means))
        return found

    def best(self, gains: Floats, k: int = 1) -> list[Composition]:
        """The k compositions with the highest sums of gains, best first.

        Of equal sums the one whose sizes are smaller from the front comes first.

        Examples
        --------
        >>> lattice = Lattice.of(Compositions(6, 2))
        >>> lattice.best(np.array([b - a == 3 for a, b in lattice.blocks], dtype=float), 2)
        [(3, 3), (2, 2, 2)]
        """
        found: dict[int, list[tuple[float, Composition]]] = {0: [(0.0, ())]}
        edges: dict[int, list[int]] = {}
        for i, block in enumerate(self.blocks):
            edges.setdefault(block[1], []).append(i)
        for place in sorted(edges):
            ways = (
                (loss - float(gains[i]), (*sizes, place - self.blocks[i][0]))
                for i in edges[place]
                for loss, sizes in found.get(self.blocks[i][0], ())
            )
            found[place] = heapq.nsmallest(k, ways)
        return [sizes for _, sizes in found[self.end]]
