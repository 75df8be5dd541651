"""What soft rules add to the objective: preference pairs and springs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from podium.postranking.work_budget import spend

STEPS_OF_A_STAR = 10
"""What a star, or a row of a spring, takes here and in the solver, in steps of `spend`.

Each pair of a star takes one step more: the solver keeps 8 bytes for it and visits it in every iteration.
"""

Pairs = Literal["without", "printed"]
Scale = Literal["rule", "pair"]


@dataclass
class Preferences:
    """Soft rules as pairs on the rows of a list in its original order, and springs between rows.

    A star is a document against the rows lo..hi-1, never its own: above them where its weight is
    positive, below where it is negative. A spring pulls the scores of its rows to their mean,
    (kappa / 2) sum_i (s_i - mean)^2.

    Parameters
    ----------
    n
        The length of the list.
    pairs
        Whether ranks are counted without the documents a rule moves, or as printed in the paper, with
        them, where a promoted document stops one place short.
    scale
        Whether rho is the weight of a rule, rho (n - 1) / |P| a pair for each document, or that of
        every pair, as in the paper.
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
        """Each of the rows above those at ranks k and below: of several, all fit in the top k."""
        if self.pairs == "printed":
            for row in rows:
                self._stars([row], [(k, row), (max(k, row + 1), self.n)], weight)
        else:
            first = max(k - len(rows) + 1, 1)
            self._stars(rows, self._others(rows, first, self.n), weight)

    def demote(self, rows: Sequence[int], k: int, weight: float) -> None:
        """Those at ranks up to k above each of the rows."""
        if self.pairs == "printed":
            for row in rows:
                self._stars([row], [(0, min(k, row)), (row + 1, min(k, self.n))], -weight)
        else:
            self._stars(rows, self._others(rows, 1, k), -weight)

    def pin(self, rows: Sequence[int], position: int, weight: float) -> None:
        """Each of the rows below those at ranks before the position and above the rest.

        The pairs of a document that stands there by itself, all of one weight: so that is where
        they pull it.
        """
        spend((2 * STEPS_OF_A_STAR + self.n) * len(rows))
        each = self._weight(weight, self.n - 1) if self.n > 1 else 0.0
        for row in rows:
            for lo, hi in self._others([row], 1, position - 1):
                self._star(row, lo, hi, -each)
            for lo, hi in self._others([row], position, self.n):
                self._star(row, lo, hi, each)

    def before(self, first: Sequence[int], second: Sequence[int], weight: float) -> None:
        """Each of the first above each of the second."""
        spend(STEPS_OF_A_STAR * len(first) * len(second))
        pairs = [(a, b) for a in first for b in second if a != b]
        if pairs:
            each = self._weight(weight, len(pairs))
            for a, b in pairs:
                self._star(a, b, b + 1, each)

    def spring(self, rows: Sequence[int], weight: float) -> None:
        """The rows side by side: rho (s_i - s_j)^2 / 2 for every pair, all of them one spring."""
        m = len(rows)
        spend(STEPS_OF_A_STAR * m)
        if m > 1 and weight > 0:
            each = self._weight(weight, m * (m - 1) // 2)
            self.springs.append((rows, each * m))

    def is_strongly_connected(self) -> bool:
        """Return whether preferences lead from every document to every other one.

        An edge goes from i to j where i before j has a positive weight, in the original order or by a
        rule. A spring has edges both ways. Without a prior, f has a minimum exactly where the graph is
        strongly connected; it is then unique up to a constant (Ford, *Solution of a ranking problem from
        binary comparisons*, 1957).

        Examples
        --------
        >>> last_to_the_top = Preferences(n=3)
        >>> last_to_the_top.is_strongly_connected()
        False
        >>> last_to_the_top.promote([2], k=1, weight=1.0)
        >>> last_to_the_top.is_strongly_connected()
        True
        """
        # The original order leads downwards from every row. What is left is a way up over every border
        # between neighbouring rows: an upward edge from row b to row a crosses borders a to b - 1.
        upward = [
            (lo, doc) if weight > 0 else (doc, hi - 1)
            for doc, lo, hi, weight in zip(self.doc, self.lo, self.hi, self.weight, strict=True)
        ]
        upward += [(min(rows), max(rows)) for rows, _ in self.springs]
        crossed = {border for top, bottom in upward for border in range(top, bottom)}
        return len(crossed) >= self.n - 1

    def _weight(self, weight: float, size: int) -> float:
        return weight * (self.n - 1) / size if self.scale == "rule" else weight

    def _others(self, rows: Sequence[int], first: int, last: int) -> list[tuple[int, int]]:
        """The others at ranks first..last, counted without these rows, as half-open runs of rows."""
        spend(len(rows))
        runs = []
        start, rank = 0, 1
        for row in [*sorted(rows), self.n]:
            lo, hi = start + max(first - rank, 0), min(start + last - rank + 1, row)
            runs.append((lo, hi))
            rank += row - start
            start = row + 1
        return runs

    def _stars(self, rows: Sequence[int], runs: Sequence[tuple[int, int]], weight: float) -> None:
        """The rows against the same others, rho shared among each row's pairs."""
        filled = [(lo, hi) for lo, hi in runs if lo < hi]
        if filled:
            n_pairs = sum([hi - lo for lo, hi in filled])
            spend((STEPS_OF_A_STAR * len(filled) + n_pairs) * len(rows))
            each = self._weight(weight, n_pairs)
            for row in rows:
                for lo, hi in filled:
                    self._star(row, lo, hi, each)

    def _star(self, row: int, lo: int, hi: int, weight: float) -> None:
        if lo < hi and weight != 0:
            self.doc.append(row)
            self.lo.append(lo)
            self.hi.append(hi)
            self.weight.append(weight)
