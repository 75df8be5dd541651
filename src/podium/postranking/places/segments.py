"""How many documents of a kind stand in each part of the list: an integer programme for counts.

The places at which windows and counts change cut the list into segments. With y_cs documents of kind
c in segment s: sum_s y_cs = size_c, sum_c y_cs <= length_s, and for every count
least <= sum over its kinds and the segments up to k of y_cs <= most. Documents side by side are cut
into segments in one of few ways. Necessary for every order; enough where all rules are windows and
counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from podium.postranking.places.demands import Demands
from podium.postranking.places.windows import (
    ApartDemand,
    BeforeDemand,
    Choice,
    CountDemand,
    Narrowing,
    NoRoom,
    SymmetryDemand,
    TogetherDemand,
    Windows,
)
from podium.postranking.work_budget import check_time, search_seconds

MAX_VARIABLES = 20_000
"""Beyond so many numbers y_cs the programme is not worth its time."""
MOST_TERMS = 5_000_000
"""Nor is it beyond so many terms in its rows."""
ANY_GAP = 1e6
"""A gap that every solution closes: the first will do."""
NODES_PER_STEP = 2e-4
SECONDS_PER_STEP = 5e-6
"""How far HiGHS may go for each step of the limit. The seconds are a guard: mostly the nodes end first,
so that what is found does not depend on the machine."""


def solve_segments(
    demands: Demands,
    windows: Windows,
    scores: Sequence[float],
    narrowing: Narrowing,
    by_place: bool,
) -> Choice:
    """Return the segment of each named document; nothing if the programme is too large or too hard.

    `by_place` makes every place a segment. Raises `NoRoom` if it has no solution.
    """
    programme = _SegmentProgramme(demands, windows, scores, by_place)
    if len(programme.cost) > MAX_VARIABLES:
        return []
    narrowing.spend(len(programme.cost))
    try:
        return programme.solve(narrowing.limit)
    except _TooLarge:
        return []


class _TooLarge(Exception):  # noqa: N818 - an answer, not an error
    """The programme has too many terms."""


class _SegmentProgramme:
    """Rows lower <= A y <= upper, collected one by one."""

    def __init__(
        self, demands: Demands, windows: Windows, scores: Sequence[float], by_place: bool
    ) -> None:
        self.demands, self.windows, self.n = demands, windows, len(scores)
        self.ends = list(range(1, self.n + 1)) if by_place else self._ends()
        self.kinds = self._kinds()
        self.kind = {i: c for c, rows in enumerate(self.kinds) for i in rows}
        self.cost: list[float] = []
        self.sizes: list[int] = []
        self.at: list[dict[int, int]] = []
        worth = self._worth(scores)
        for rows in self.kinds:
            own = {}
            mean = sum(worth[i] for i in rows) / len(rows)
            for s in range(self._segment(windows.first[rows[0]]),
                           self._segment(windows.last[rows[0]]) + 1):  # fmt: skip
                own[s] = len(self.cost)
                self.cost.append(mean * (self._start(s) + self.ends[s]) / 2)
                self.sizes.append(len(rows))
            self.at.append(own)
        self.columns: list[int] = []
        self.values: list[float] = []
        self.starts = [0]
        self.lower: list[float] = []
        self.upper: list[float] = []

    def _ends(self) -> list[int]:
        """The last place of every segment."""
        count_ends = [d.k for d in self.demands.demands if isinstance(d, CountDemand)]
        opens = [first - 1 for first in self.windows.first]
        ends = {end for end in (*count_ends, *opens, *self.windows.last) if 0 < end < self.n}
        return [*sorted(ends), self.n]

    def _start(self, s: int) -> int:
        return self.ends[s - 1] + 1 if s else 1

    def _segment(self, place: int) -> int:
        return bisect_left(self.ends, place)

    def _kinds(self) -> list[list[int]]:
        """Documents that are alike in all constraints and windows, best first."""
        like = list(range(len(self.demands.named)))
        for demand in self.demands.demands:
            if isinstance(demand, SymmetryDemand):
                for i in demand.rows:
                    like[i] = demand.rows[0]
        kinds: dict[tuple[int, int, int], list[int]] = {}
        for i, key in enumerate(zip(like, self.windows.first, self.windows.last, strict=True)):
            kinds.setdefault(key, []).append(i)
        return list(kinds.values())

    def _worth(self, scores: Sequence[float]) -> list[float]:
        """Scores; those of documents that stand side by side are their mean."""
        worth = [scores[rank] for rank in self.demands.named]
        for demand in self.demands.demands:
            if isinstance(demand, TogetherDemand):
                mean = sum(worth[i] for i in demand.rows) / len(demand.rows)
                for i in demand.rows:
                    worth[i] = mean
        return worth

    def _row(self, terms: dict[int, float], lower: float, upper: float) -> None:
        self.columns += terms
        self.values += terms.values()
        self.starts.append(len(self.columns))
        self.lower.append(lower)
        self.upper.append(upper)
        if len(self.columns) > MOST_TERMS:
            raise _TooLarge
        check_time()

    def _up_to(self, kinds: set[int], place: int, sign: float = 1.0) -> dict[int, float]:
        return {y: sign for c in kinds for s, y in self.at[c].items() if self.ends[s] <= place}

    def _collect(self) -> None:
        for own, rows in zip(self.at, self.kinds, strict=True):
            self._row(dict.fromkeys(own.values(), 1.0), len(rows), len(rows))
        within: list[dict[int, float]] = [{} for _ in self.ends]
        for own in self.at:
            for s, y in own.items():
                within[s][y] = 1.0
        for s, terms in enumerate(within):
            self._row(terms, 0, self.ends[s] - self._start(s) + 1)
        for demand in self.demands.demands:
            kinds = {self.kind[i] for i in demand.rows}
            if isinstance(demand, CountDemand):
                self._row(self._up_to(kinds, demand.k), demand.least, demand.most)
            elif isinstance(demand, TogetherDemand):
                self._add_together(demand, kinds)
            elif isinstance(demand, ApartDemand):
                self._add_apart(demand, kinds)
            elif isinstance(demand, BeforeDemand):
                self._add_before(demand)

    def _add_apart(self, apart: ApartDemand, kinds: set[int]) -> None:
        """As many as fit in every segment, and one in neighbours that are short together."""
        for s in range(len(self.ends)):
            length = self.ends[s] - self._start(s) + 1
            near = bisect_left(self.ends, self._start(s) + apart.step) - 1
            segments = range(s, max(near, s) + 1)
            ours = {self.at[c][e]: 1.0 for c in kinds for e in segments if e in self.at[c]}
            if len(ours) > 1:
                self._row(ours, 0, -(-length // apart.step) if near <= s else 1)

    def _add_before(self, before: BeforeDemand) -> None:
        """Up to every place as many of a as of b, where there is one of each."""
        above, below = ({self.kind[i] for i in side} for side in (before.above, before.below))
        for a in above:
            for b in below:
                if len(self.kinds[a]) == len(self.kinds[b]) == 1:
                    for end in self.ends[:-1]:
                        self._row(self._up_to({a}, end) | self._up_to({b}, end, -1.0), 0, 1)

    def _add_together(self, together: TogetherDemand, kinds: set[int]) -> None:
        """Exactly one u_t says where it starts: it has one number in each segment, which is that of
        its documents there. Starts with the same numbers are one."""
        size = len(together.rows)
        numbers: dict[tuple[tuple[int, int], ...], int] = {}
        earliest, latest = together.starts(self.windows)
        for start in range(earliest, latest + 1):
            end = start + size - 1
            numbers.setdefault(
                tuple(
                    (s, min(end, self.ends[s]) - max(start, self._start(s)) + 1)
                    for s in range(self._segment(start), self._segment(end) + 1)
                ),
                len(self.cost) + len(numbers),
            )
        self.cost += [0.0] * len(numbers)
        self.sizes += [1] * len(numbers)
        self._row(dict.fromkeys(numbers.values(), 1.0), 1, 1)
        occupied: dict[int, dict[int, float]] = {}
        for pattern, u in numbers.items():
            for s, number in pattern:
                occupied.setdefault(s, {})[u] = -float(number)
        for s in range(len(self.ends)):
            ours = {self.at[c][s]: 1.0 for c in kinds if s in self.at[c]}
            if ours or s in occupied:
                self._row(ours | occupied.get(s, {}), 0, 0)

    def solve(self, limit: int) -> Choice:
        """HiGHS, for some nodes and seconds at most."""
        self._collect()
        shape = (len(self.lower), len(self.cost))
        # Older versions of SciPy hand HiGHS indices of 32 bits only.
        A = csr_array(
            (np.array(self.values), np.array(self.columns, dtype=np.int32),
             np.array(self.starts, dtype=np.int32)), shape,
        )  # fmt: skip
        result = milp(
            np.array(self.cost), integrality=np.ones(shape[1], dtype=np.int64), bounds=Bounds(0, self.sizes),
            constraints=LinearConstraint(A, self.lower, self.upper),
            options={
                "node_limit": max(int(limit * NODES_PER_STEP), 1),
                "time_limit": min(limit * SECONDS_PER_STEP, search_seconds()),
                "mip_rel_gap": ANY_GAP,
            },
        )  # fmt: skip
        if result.status == 2:
            raise NoRoom
        return [] if result.x is None else self._choice(np.rint(result.x).astype(int).tolist())

    def _choice(self, y: list[int]) -> Choice:
        """The best of a kind to its first segment."""
        out = []
        for own, rows in zip(self.at, self.kinds, strict=True):
            rest = iter(rows)
            for s, variable in own.items():
                out += [(next(rest), self._start(s), self.ends[s]) for _ in range(y[variable])]
        return out
