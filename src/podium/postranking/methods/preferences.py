"""Preferences of soft rules: the pairs and springs that they add to the objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from podium.work_budget import spend

STEPS_PER_STAR = 10
"""The number of `spend` steps for a star, or for a row of a spring, here and in the solver.

Each pair of a star takes one more step: the solver keeps 8 bytes for it and visits it in every
iteration.
"""

Pairs = Literal["without", "printed"]
Scale = Literal["rule", "pair"]


@dataclass
class Preferences:
    """Soft rules as pairs on the rows of a list in its original order, and springs between rows.

    A star compares a document with the rows lo..hi-1 except its own: it prefers the document if its
    weight is positive, the rows if it is negative. A spring pulls the scores of its rows to their
    mean, (kappa / 2) sum_i (s_i - mean)^2.

    Parameters
    ----------
    n
        The length of the list.
    pairs
        Whether ranks are counted without the documents that a rule moves, or with them, as printed
        in the paper; then a promoted document stops one place short.
    scale
        Whether rho is the weight of a rule, so that each document's pairs weigh rho (n - 1) / |P|,
        or the weight of every pair, as in the paper.
    """

    n: int
    pairs: Pairs = "without"
    scale: Scale = "rule"
    doc: list[int] = field(default_factory=list)
    lo: list[int] = field(default_factory=list)
    hi: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    springs: list[tuple[Sequence[int], float]] = field(default_factory=list)

    def promote(self, rows: Sequence[int], k: int, weight: float) -> None:
        """Prefer each of the rows to those at ranks k and below; several rows fit in the top k together."""
        if self.pairs == "printed":
            for row in rows:
                self._add_stars([row], [(k, row), (max(k, row + 1), self.n)], weight)
        else:
            first = max(k - len(rows) + 1, 1)
            self._add_stars(rows, self._other_rows(rows, first, self.n), weight)

    def demote(self, rows: Sequence[int], k: int, weight: float) -> None:
        """Prefer those at ranks up to k to each of the rows."""
        if self.pairs == "printed":
            for row in rows:
                self._add_stars([row], [(0, min(k, row)), (row + 1, min(k, self.n))], -weight)
        else:
            self._add_stars(rows, self._other_rows(rows, 1, k), -weight)

    def pin(self, rows: Sequence[int], position: int, weight: float) -> None:
        """Prefer documents at ranks before the position to each of the rows, and the rows to the rest.

        These are the pairs of a document at this position, all with the same weight, so they pull
        it there.
        """
        spend((2 * STEPS_PER_STAR + self.n) * len(rows))
        pair_weight = self._pair_weight(weight, self.n - 1) if self.n > 1 else 0.0
        for row in rows:
            for lo, hi in self._other_rows([row], 1, position - 1):
                self.add_star(row, lo, hi, -pair_weight)
            for lo, hi in self._other_rows([row], position, self.n):
                self.add_star(row, lo, hi, pair_weight)

    def before(self, first: Sequence[int], second: Sequence[int], weight: float) -> None:
        """Prefer each of the first rows to each of the second."""
        spend(STEPS_PER_STAR * len(first) * len(second))
        pairs = [(a, b) for a in first for b in second if a != b]
        if pairs:
            pair_weight = self._pair_weight(weight, len(pairs))
            for a, b in pairs:
                self.add_star(a, b, b + 1, pair_weight)

    def spring(self, rows: Sequence[int], weight: float) -> None:
        """Pull rows together: one spring with rho (s_i - s_j)^2 / 2 for every pair."""
        m = len(rows)
        spend(STEPS_PER_STAR * m)
        if m > 1 and weight > 0:
            pair_weight = self._pair_weight(weight, m * (m - 1) // 2)
            self.springs.append((rows, pair_weight * m))

    def is_strongly_connected(self) -> bool:
        """Return whether preferences lead from every document to every other one.

        An edge goes from i to j if "i before j" has a positive weight, in the original order or by
        a rule. A spring has edges both ways. Without a prior, f has a minimum exactly if the graph
        is strongly connected; it is then unique up to a constant (Ford, *Solution of a ranking
        problem from binary comparisons*, 1957).

        Examples
        --------
        >>> last_to_the_top = Preferences(n=3)
        >>> last_to_the_top.is_strongly_connected()
        False
        >>> last_to_the_top.promote([2], k=1, weight=1.0)
        >>> last_to_the_top.is_strongly_connected()
        True
        """
        # The original order has edges down from every row. So the graph is strongly connected if
        # some edge leads up across every border between neighbouring rows. An edge from row b up to
        # row a crosses the borders a to b - 1.
        upward = [
            (lo, doc) if weight > 0 else (doc, hi - 1)
            for doc, lo, hi, weight in zip(self.doc, self.lo, self.hi, self.weight, strict=True)
        ]
        upward += [(min(rows), max(rows)) for rows, _ in self.springs]
        crossed = {border for top, bottom in upward for border in range(top, bottom)}
        return len(crossed) >= self.n - 1

    def _pair_weight(self, weight: float, size: int) -> float:
        return weight * (self.n - 1) / size if self.scale == "rule" else weight

    def _other_rows(self, rows: Sequence[int], first: int, last: int) -> list[tuple[int, int]]:
        """Return the other rows at ranks first..last, counted without these rows, as half-open ranges."""
        spend(len(rows))
        runs = []
        start, rank = 0, 1
        for row in [*sorted(rows), self.n]:
            lo, hi = start + max(first - rank, 0), min(start + last - rank + 1, row)
            runs.append((lo, hi))
            rank += row - start
            start = row + 1
        return runs

    def _add_stars(
        self, rows: Sequence[int], runs: Sequence[tuple[int, int]], weight: float
    ) -> None:
        """Add a star for each of the rows against the same other rows; a row's pairs share rho."""
        filled = [(lo, hi) for lo, hi in runs if lo < hi]
        if filled:
            n_pairs = sum([hi - lo for lo, hi in filled])
            spend((STEPS_PER_STAR * len(filled) + n_pairs) * len(rows))
            pair_weight = self._pair_weight(weight, n_pairs)
            for row in rows:
                for lo, hi in filled:
                    self.add_star(row, lo, hi, pair_weight)

    def add_star(self, row: int, lo: int, hi: int, weight: float) -> None:
        """Add a star: a row against the rows lo..hi-1, below them if the weight is negative."""
        if lo < hi and weight != 0:
            self.doc.append(row)
            self.lo.append(lo)
            self.hi.append(hi)
            self.weight.append(weight)
