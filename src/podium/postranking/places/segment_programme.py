"""The segment programme: an integer programme for how many documents stand in each part of the list.

A search by single documents takes too long for counts (AtMost, AtLeast), because it must refute
every way to fill a part of the list. The programme counts instead. The places at which windows and
counts change cut the list into segments. Documents that all demands treat the same form a class.
With y_cs documents of class c in segment s:

    minimise sum_cs (mean score of c) (middle place of s) y_cs
    sum_s y_cs = size of c                     every document stands somewhere
    sum_c y_cs <= length of s                  a segment has a limited number of places
    least <= sum of y_cs over the classes of a count and the segments up to k <= most

`Together` adds a binary u_t for each way to cut its block into segments; `Apart` and `Before` add
bounds that every order meets. So if there is no solution, there is no order. A solution gives an
order if all rules are windows and counts; for other rules it is only a good start.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from podium.postranking.places.demand_set import DemandSet
from podium.postranking.places.demands import (
    ApartDemand,
    BeforeDemand,
    CountDemand,
    SymmetryDemand,
    TogetherDemand,
)
from podium.postranking.places.propagation import Propagation
from podium.postranking.places.windows import Choice, NoRoom, Windows
from podium.work_budget import check_time, search_seconds

MAX_VARIABLES = 20_000
"""With more variables y_cs than this, the programme takes too long."""
MAX_TERMS = 5_000_000
"""With more terms in its inequalities than this, the programme takes too long."""
ANY_GAP = 1e6
"""A relative gap so large that the first solution is enough."""
NODES_PER_STEP = 2e-4
SECONDS_PER_STEP = 5e-6
"""Nodes and seconds of HiGHS per step of the limit. Usually the nodes run out first, on every machine."""


def solve_segments(
    demands: DemandSet,
    windows: Windows,
    scores: Sequence[float],
    propagation: Propagation,
    by_place: bool,
) -> Choice:
    """Return the segment of each named document; None if the programme is too large or too hard.

    `by_place` makes every place a segment. Raises `NoRoom` if it has no solution.
    """
    programme = _SegmentProgramme(demands, windows, scores, by_place)
    if len(programme.cost) > MAX_VARIABLES:
        return []
    propagation.count_steps(len(programme.cost))
    try:
        return programme.solve(propagation.limit)
    except _TooLarge:
        return []


class _TooLarge(Exception):  # noqa: N818 - an answer, not an error
    """The programme has too many terms."""


class _SegmentProgramme:
    """The inequalities lower <= A y <= upper, collected one by one.

    `at[c][s]` is the variable y_cs; `ends[s]` is the last place of segment s.
    """

    def __init__(
        self, demands: DemandSet, windows: Windows, scores: Sequence[float], by_place: bool
    ) -> None:
        self.demands, self.windows, self.n = demands, windows, len(scores)
        self.ends = list(range(1, self.n + 1)) if by_place else self._ends()
        self.classes = self._classes()
        self.class_of = {i: c for c, members in enumerate(self.classes) for i in members}
        self.cost: list[float] = []
        self.sizes: list[int] = []
        self.at: list[dict[int, int]] = []
        worth = self._worth(scores)
        for members in self.classes:
            own = {}
            mean = sum(worth[i] for i in members) / len(members)
            for s in range(self._segment(windows.first[members[0]]),
                           self._segment(windows.last[members[0]]) + 1):  # fmt: skip
                own[s] = len(self.cost)
                self.cost.append(mean * (self._start(s) + self.ends[s]) / 2)
                self.sizes.append(len(members))
            self.at.append(own)
        self.columns: list[int] = []
        self.values: list[float] = []
        self.starts = [0]
        self.lower: list[float] = []
        self.upper: list[float] = []

    def _ends(self) -> list[int]:
        """Return the last place of every segment: a segment ends where a window or a count does."""
        count_ends = [d.k for d in self.demands.demands if isinstance(d, CountDemand)]
        opens = [first - 1 for first in self.windows.first]
        ends = {end for end in (*count_ends, *opens, *self.windows.last) if 0 < end < self.n}
        return [*sorted(ends), self.n]

    def _start(self, s: int) -> int:
        return self.ends[s - 1] + 1 if s else 1

    def _segment(self, place: int) -> int:
        return bisect_left(self.ends, place)

    def _classes(self) -> list[list[int]]:
        """Return the classes: documents with the same demands and windows, best first."""
        like = list(range(len(self.demands.ranks)))  # the first document of each symmetric group
        for demand in self.demands.demands:
            if isinstance(demand, SymmetryDemand):
                for i in demand.members:
                    like[i] = demand.members[0]
        classes: dict[tuple[int, int, int], list[int]] = {}
        for i, key in enumerate(zip(like, self.windows.first, self.windows.last, strict=True)):
            classes.setdefault(key, []).append(i)
        return list(classes.values())

    def _worth(self, scores: Sequence[float]) -> list[float]:
        """Return the scores; documents that must stand side by side get their mean."""
        worth = [scores[rank] for rank in self.demands.ranks]
        for demand in self.demands.demands:
            if isinstance(demand, TogetherDemand):
                mean = sum(worth[i] for i in demand.members) / len(demand.members)
                for i in demand.members:
                    worth[i] = mean
        return worth

    def _add_inequality(self, terms: dict[int, float], lower: float, upper: float) -> None:
        """Add lower <= sum of value * variable <= upper."""
        self.columns += terms
        self.values += terms.values()
        self.starts.append(len(self.columns))
        self.lower.append(lower)
        self.upper.append(upper)
        if len(self.columns) > MAX_TERMS:
            raise _TooLarge
        check_time()

    def _up_to(self, classes: set[int], place: int, sign: float = 1.0) -> dict[int, float]:
        return {y: sign for c in classes for s, y in self.at[c].items() if self.ends[s] <= place}

    def _collect(self) -> None:
        """Collect all inequalities: sizes of classes, lengths of segments, and demands."""
        for own, members in zip(self.at, self.classes, strict=True):
            self._add_inequality(dict.fromkeys(own.values(), 1.0), len(members), len(members))
        in_segment: list[dict[int, float]] = [{} for _ in self.ends]
        for own in self.at:
            for s, y in own.items():
                in_segment[s][y] = 1.0
        for s, terms in enumerate(in_segment):
            self._add_inequality(terms, 0, self.ends[s] - self._start(s) + 1)
        for demand in self.demands.demands:
            classes = {self.class_of[i] for i in demand.members}
            if isinstance(demand, CountDemand):
                self._add_inequality(self._up_to(classes, demand.k), demand.least, demand.most)
            elif isinstance(demand, TogetherDemand):
                self._add_together(demand, classes)
            elif isinstance(demand, ApartDemand):
                self._add_apart(demand, classes)
            elif isinstance(demand, BeforeDemand):
                self._add_before(demand)

    def _add_apart(self, apart: ApartDemand, classes: set[int]) -> None:
        """Add: a segment of length l holds at most ceil(l / step); short neighbouring segments hold one."""
        for s in range(len(self.ends)):
            length = self.ends[s] - self._start(s) + 1
            # Segments s..near lie within fewer than `step` places, so only one document fits in
            # them.
            near = bisect_left(self.ends, self._start(s) + apart.step) - 1
            segments = range(s, max(near, s) + 1)
            ours = {self.at[c][e]: 1.0 for c in classes for e in segments if e in self.at[c]}
            if len(ours) > 1:
                self._add_inequality(ours, 0, -(-length // apart.step) if near <= s else 1)

    def _add_before(self, before: BeforeDemand) -> None:
        """Add: a stands no later than b. Up to every place, 0 <= (a is there) - (b is there) <= 1.

        Only for classes of one document each, whose y are 0 or 1.
        """
        upper, lower = ({self.class_of[i] for i in side} for side in (before.upper, before.lower))
        for a in upper:
            for b in lower:
                if len(self.classes[a]) == len(self.classes[b]) == 1:
                    for end in self.ends[:-1]:
                        self._add_inequality(
                            self._up_to({a}, end) | self._up_to({b}, end, -1.0), 0, 1
                        )

    def _add_together(self, together: TogetherDemand, classes: set[int]) -> None:
        """Add one binary u_t for each way to cut the block into segments; exactly one of them is 1.

        The chosen way gives the number of the block's documents in each segment. Starts that cut
        the block in the same way share a variable.
        """
        size = len(together.members)
        variables: dict[tuple[tuple[int, int], ...], int] = {}
        earliest, latest = together.starts(self.windows)
        for start in range(earliest, latest + 1):
            end = start + size - 1
            variables.setdefault(
                tuple(
                    (s, min(end, self.ends[s]) - max(start, self._start(s)) + 1)
                    for s in range(self._segment(start), self._segment(end) + 1)
                ),
                len(self.cost) + len(variables),
            )
        self.cost += [0.0] * len(variables)
        self.sizes += [1] * len(variables)
        self._add_inequality(dict.fromkeys(variables.values(), 1.0), 1, 1)
        occupied: dict[int, dict[int, float]] = {}
        for pattern, u in variables.items():
            for s, number in pattern:
                occupied.setdefault(s, {})[u] = -float(number)
        for s in range(len(self.ends)):
            ours = {self.at[c][s]: 1.0 for c in classes if s in self.at[c]}
            if ours or s in occupied:
                self._add_inequality(ours | occupied.get(s, {}), 0, 0)

    def solve(self, limit: int) -> Choice:
        """Solve the programme by HiGHS; return None if it finds no solution within its nodes and seconds."""
        self._collect()
        shape = (len(self.lower), len(self.cost))
        # Older versions of SciPy pass only 32-bit indices to HiGHS.
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
        if result.status == 2:  # infeasible
            raise NoRoom
        return [] if result.x is None else self._choice(np.rint(result.x).astype(int).tolist())

    def _choice(self, y: list[int]) -> Choice:
        """Return the segment of each document as its window; the best of a class get the first segments."""
        out = []
        for own, members in zip(self.at, self.classes, strict=True):
            rest = iter(members)
            for s, variable in own.items():
                out += [(next(rest), self._start(s), self.ends[s]) for _ in range(y[variable])]
        return out
