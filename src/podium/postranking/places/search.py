"""The search for an order: windows alone are easy, and what they break is decided step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from podium import kernels
from podium.errors import UndecidedError
from podium.postranking.places.demands import Demands
from podium.postranking.places.precedences import fill_precedences
from podium.postranking.places.segments import settle
from podium.postranking.places.windows import (
    Choice,
    Likeness,
    Narrowing,
    NoRoom,
    Precedence,
    Quota,
    Windows,
)

Floats = NDArray[np.float64]

ASSIGNED = 50
"""Up to so many documents an assignment is cheap enough to be exact about windows."""
PATIENCE = 2000
"""Steps before the search starts anew; doubled each time."""
FEW = 10
"""With more precedences than these they are met all at once."""
BETTERED = 3000
"""Steps for a better order once there is one, divided by the length of the list."""

Branch = tuple[Windows, Choice, float]
"""Windows, what to narrow them to, and what every order there costs at least."""


@dataclass
class Found:
    """Places of the documents that rules name, what the order costs, and a bound of every order."""

    place: list[int] | None = None
    cost: float = np.inf
    bound: float = np.inf


@dataclass
class Search:
    """Branch and bound on windows.

    Documents within their windows, each rule but the windows forgotten, are an assignment problem,
    close to solved by `kernels.fill_windows`; its cost bounds every order within these windows. Where
    the order it gives breaks a demand, the demand splits the windows. Depth first: an order is found
    early, and other branches that cannot be better are cut.
    """

    scores: Floats
    demands: Demands
    limit: int
    found: Found = field(default_factory=Found)

    def __post_init__(self) -> None:
        self.n, m = len(self.scores), len(self.demands.named)
        self.rows = np.array(self.demands.named, dtype=np.int64)
        self.narrowing = Narrowing(self.demands.demands, m, self.limit)
        self.turn = list(range(len(self.demands.demands)))
        precedences = sum(isinstance(d, Precedence) for d in self.demands.demands)
        self.in_trouble = precedences > FEW
        # Sums of n products carry this much rounding.
        self.close = 1e-12 * (1.0 + float(np.abs(self.scores).sum()) * self.n)

    def run(self) -> Found:
        """The best order found and what is known of it; without places where there is none.

        A search that gets lost among early choices starts anew, each time for longer, with the
        demands that were in the way settled first.
        """
        windows = self.demands.windows
        try:
            self.narrowing.start(windows)
        except NoRoom:
            return self.found
        patience = PATIENCE
        try:
            while not self._descend(windows, [], patience):
                if patience in (PATIENCE, 16 * PATIENCE):
                    self._settle(windows, by_place=patience > PATIENCE)
                if self.found.place is not None:
                    break
                patience *= 2
                self.in_trouble = True
                trouble = self.narrowing.trouble
                self.turn = sorted(self.turn, key=lambda number: -trouble[number])
        except NoRoom:
            pass
        except UndecidedError:
            if self.found.place is None:
                raise
            self.found.bound = -np.inf
        return self.found

    def _settle(self, windows: Windows, by_place: bool) -> None:
        """Depth first where a programme settled counts: for all, or those that only counts name."""
        scores = self.scores.tolist()
        settled = settle(self.demands, windows, scores, self.narrowing, by_place)
        named = {
            i for d in self.demands.demands if not isinstance(d, Quota | Likeness) for i in d.rows
        }
        for choice in (settled, [one for one in settled if one[0] not in named]):
            if choice and self.found.place is None:
                self._descend(windows, choice, PATIENCE)
        if self.found.place is not None:
            self.found.bound = -np.inf  # there may be better orders elsewhere

    def _descend(self, windows: Windows, choice: Choice, patience: int) -> bool:
        """Depth first from a choice; whether it came to an end."""
        todo: list[Branch] = [(windows, choice, -np.inf)]
        stop = self.narrowing.steps + patience
        while todo and self.narrowing.steps < stop:
            had = self.found.place is not None
            branch = todo.pop()
            if branch[2] < self.found.cost - self.close:
                todo += reversed(self._open(*branch))
            if not had and self.found.place is not None:
                stop = self.narrowing.steps + max(BETTERED // self.n, self.n // 4, 40)
        if todo and self.found.place is None:
            return False
        self.found.bound = min([self.found.bound, *(bound for _, _, bound in todo)])
        return True

    def _open(self, windows: Windows, choice: Choice, bound: float) -> list[Branch]:
        """The branches below a choice; none where it leaves no order, or one is found."""
        windows = Windows(windows.first, windows.last)
        try:
            for i, first, last in choice:
                windows.at_least(i, first)
                windows.at_most(i, last)
            self.narrowing.follow(windows)
        except NoRoom:
            return []
        self.narrowing.spend(1 + (self.n + len(self.rows)) // 64)
        place, cost, below = self._fill(windows)
        bound = max(bound, below)
        if cost == np.inf or bound >= self.found.cost - self.close:
            return []
        for number in self.turn:
            demand = self.demands.demands[number]
            choices = demand.choices(place, windows)
            if choices:
                if self.in_trouble and isinstance(demand, Precedence):
                    self._try(fill_precedences(self.demands, windows, self.n), windows)
                return [(windows, choice, bound) for choice in choices]
        if cost > bound + self.close:
            self.found.bound = min(self.found.bound, bound)
        if cost < self.found.cost:
            self.found.place, self.found.cost = place, cost
        return []

    def _try(self, place: list[int] | None, windows: Windows) -> None:
        """Keep places that meet all demands, if they are better."""
        if place and not any(demand.choices(place, windows) for demand in self.demands.demands):
            at = np.array(place)
            _, cost = kernels.fill_windows(self.scores, self.rows, at, at)
            if cost < self.found.cost:
                self.found.place, self.found.cost = place, cost

    def _fill(self, windows: Windows) -> tuple[list[int], float, float]:
        """Places within windows, what they cost, and what all such places cost at least."""
        first, last = np.array(windows.first), np.array(windows.last)
        place, cost = kernels.fill_windows(self.scores, self.rows, first, last)
        if cost == np.inf:
            return [], cost, cost
        free = first != last
        if not (free & (first > 1)).any() or not (free & (last < self.n)).any():
            return place.tolist(), cost, cost
        if self.n <= ASSIGNED:
            place = self._assign(first, last)
            _, cost = kernels.fill_windows(self.scores, self.rows, place, place)
            return place.tolist(), cost, cost
        late = np.where(free, self.n, last)
        soon = np.where(free, 1, first)
        _, without_last = kernels.fill_windows(self.scores, self.rows, first, late)
        _, without_first = kernels.fill_windows(self.scores, self.rows, soon, last)
        return place.tolist(), cost, max(without_last, without_first)

    def _assign(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cheapest places within windows."""
        ladder = np.arange(1, self.n + 1)
        cost = self.scores[:, None] * ladder
        cost[self.rows] = np.where(
            (ladder >= first[:, None]) & (ladder <= last[:, None]), cost[self.rows], np.inf
        )
        return np.asarray(linear_sum_assignment(cost)[1])[self.rows] + 1


def in_order(named: Sequence[int], place: Sequence[int], n: int) -> list[int]:
    """Ranks best first: the named at their places, the others by rank in the places left."""
    order = [-1] * n
    for rank, at in zip(named, place, strict=True):
        order[at - 1] = rank
    taken = set(named)
    rest = (rank for rank in range(n) if rank not in taken)
    return [next(rest) if rank < 0 else rank for rank in order]
