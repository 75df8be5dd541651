"""Composition sums: sums and maxima over all compositions, without listing them."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from podium.ensemble.cfbrs.compositions import BlockSpan, Composition, Compositions
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class CompositionSums:
    """Sums and maxima over all compositions, by recurrences over the cut points.

    Cut points are nodes, blocks are edges, and compositions are paths from 0 to n. The share of a
    block is the weighted share of the compositions that contain it:

        share(b) = sum_{c with b in c} W(c) / sum_c W(c),   W(c) = prod_{b in c} g(b) sum_{b in c} h(b)

    An ensemble is a sum over compositions and their blocks, sum_c W(c) sum_{b in c} u(b) s_b(x) /
    sum_c W(c). It equals sum_b share(b) u(b) s_b(x), which takes one forward and one backward pass
    for any number of compositions.

    Examples
    --------
    >>> sums = CompositionSums.of(Compositions(6, 2))
    >>> dict(zip(sums.blocks, (5 * sums.shares()).round().astype(int).tolist()))
    {(0, 2): 2, (0, 3): 1, (0, 4): 1, (0, 6): 1, (2, 4): 1, (2, 6): 1, (3, 6): 1, (4, 6): 2}
    """

    blocks: tuple[BlockSpan, ...]

    @classmethod
    def of(cls, compositions: Compositions) -> CompositionSums:
        """Return the sums over these compositions."""
        return cls(compositions.blocks)

    @property
    def end(self) -> int:
        """The last cut point."""
        return self.blocks[-1][1]

    def shares(self, products: Floats | None = None, sums: Floats | None = None) -> Floats:
        """Return the share of each block among the compositions.

        Parameters
        ----------
        products, sums
            g > 0 and h >= 0, one value per block. None: all g are 1, and the sum of h is left out.
        """
        log_g, h = self._log_g_and_h(products, sums)
        forward = self._pass(log_g, h, backward=False)
        backward = self._pass(log_g, h, backward=True)
        log_total, mean_total = forward[self.end]
        shares = np.empty(len(self.blocks))
        for i, (a, b) in enumerate(self.blocks):
            (log_a, mean_a), (log_b, mean_b) = forward[a], backward[b]
            shares[i] = math.exp(log_a + log_g[i] + log_b - log_total)
            if sums is not None:
                shares[i] *= (mean_a + h[i] + mean_b) / mean_total
        return shares

    def log_total(self, products: Floats | None = None, sums: Floats | None = None) -> float:
        """Return log sum_c W(c); without weights, the log of the number of compositions.

        Examples
        --------
        >>> round(math.exp(CompositionSums.of(Compositions(6, 2)).log_total()))
        5
        """
        log_g, h = self._log_g_and_h(products, sums)
        log_total, mean_total = self._pass(log_g, h, backward=False)[self.end]
        if sums is None:
            return log_total
        return log_total + math.log(mean_total) if mean_total > 0 else -math.inf

    def _log_g_and_h(self, products: Floats | None, sums: Floats | None) -> tuple[Floats, Floats]:
        """Return log g and h of each block."""
        log_g = np.zeros(len(self.blocks)) if products is None else np.log(products)
        h = np.zeros(len(self.blocks)) if sums is None else np.asarray(sums, dtype=np.float64)
        return log_g, h

    def _pass(self, log_g: Floats, h: Floats, *, backward: bool) -> dict[int, tuple[float, float]]:
        """Return, for each cut point, log sum prod g over the paths to it, and the mean of their sums of h.

        Logs and means stay within the range of doubles, which the sums themselves may exceed.
        """
        source, target = (1, 0) if backward else (0, 1)
        start = self.end if backward else 0
        totals = {start: (0.0, 0.0)}
        for place, edges in sorted(self._edges(target).items(), reverse=backward):
            into = [i for i in edges if self.blocks[i][source] in totals]
            sources = [totals[self.blocks[i][source]] for i in into]
            logs = np.array([log for log, _ in sources]) + log_g[into]
            total = float(np.logaddexp.reduce(logs))
            means = np.array([mean for _, mean in sources]) + h[into]
            totals[place] = total, float(np.sum(np.exp(logs - total) * means))
        return totals

    def _edges(self, side: int) -> dict[int, list[int]]:
        """Return the numbers of the blocks that start (side 0) or end (side 1) at each cut point."""
        edges: dict[int, list[int]] = {}
        for i, block in enumerate(self.blocks):
            edges.setdefault(block[side], []).append(i)
        return edges

    def best(self, gains: Floats, k: int = 1) -> list[Composition]:
        """Return the k compositions with the highest sums of gains, best first.

        Compositions with equal sums are in lexicographic order.

        Examples
        --------
        >>> sums = CompositionSums.of(Compositions(6, 2))
        >>> sums.best(np.array([b - a == 3 for a, b in sums.blocks], dtype=float), 2)
        [(3, 3), (2, 2, 2)]
        """
        # The k best paths to each cut point, by their negative sums of gains.
        paths: dict[int, list[tuple[float, Composition]]] = {0: [(0.0, ())]}
        for place, edges in sorted(self._edges(1).items()):
            ways = (
                (loss - float(gains[i]), (*sizes, place - self.blocks[i][0]))
                for i in edges
                for loss, sizes in paths.get(self.blocks[i][0], ())
            )
            paths[place] = heapq.nsmallest(k, ways)
        return [sizes for _, sizes in paths[self.end]]
