"""Branch and bound on windows: the search for the cheapest order that meets all demands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from podium import kernels
from podium.errors import UndecidedError
from podium.postranking.places.deadline_scheduling import schedule
from podium.postranking.places.demand_set import DemandSet
from podium.postranking.places.demands import BeforeDemand, CountDemand, SymmetryDemand
from podium.postranking.places.propagation import Propagation, check_search_time
from podium.postranking.places.segment_programme import solve_segments
from podium.postranking.places.windows import Choice, NoRoom, Windows
from podium.typing import Floats

MAX_ASSIGNED_DOCUMENTS = 50
"""Up to this many documents, the Hungarian method finds an exact assignment cheaply: it takes O(n^3)."""
FIRST_RESTART_STEPS = 2000
"""The number of steps before the search restarts; it doubles each time."""
MAX_BEFORES_ONE_BY_ONE = 10
"""With more `Before` rules than this, the search tries to meet them all at once by deadlines."""
IMPROVEMENT_STEPS = 3000
"""The number of steps to improve on a first order, divided by the length n; at least n / 4 and 40."""

Branch = tuple[Windows, Choice, float]
"""Windows, what to narrow them to, and a lower bound on the cost of every order within them."""


@dataclass
class BestPlaces:
    """The places of the documents that rules name, the cost of the order, and a lower bound on the cost."""

    place: list[int] | None = None
    cost: float = np.inf
    lower_bound: float = np.inf


@dataclass
class BranchAndBound:
    """Branch and bound on windows.

    The cost of an order is sum_i s_i place_i; lower is better. Without other demands, the cheapest
    places within windows are an assignment problem. `kernels.fill_windows` solves it nearly or
    exactly; its cost is a lower bound for every order within these windows. If its order breaks a
    demand, the demand splits the windows into branches. The search goes depth first, so that it
    finds an order early and cuts branches whose bound is no better.
    """

    scores: Floats
    demands: DemandSet
    limit: int
    best: BestPlaces = field(default_factory=BestPlaces)

    def __post_init__(self) -> None:
        self.n, m = len(self.scores), len(self.demands.ranks)
        self.ranks = np.array(self.demands.ranks, dtype=np.int64)
        self.propagation = Propagation(self.demands.demands, m, self.limit)
        self.demand_order = list(range(len(self.demands.demands)))
        n_befores = sum(isinstance(d, BeforeDemand) for d in self.demands.demands)
        # Whether to try deadline scheduling: from the start, or after the first restart.
        self.uses_deadlines = n_befores > MAX_BEFORES_ONE_BY_ONE
        # The rounding error of a sum of n products is about this large: costs that differ by less
        # are equal.
        self.tolerance = 1e-12 * (1.0 + float(np.abs(self.scores).sum()) * self.n)

    def run(self) -> BestPlaces:
        """Return the best order and a lower bound on the cost; without places if there is no order.

        An early wrong choice can cost the whole time. So the search restarts after a number of
        steps that doubles each time, and then branches first on the demands that failed most often.
        """
        windows = self.demands.windows
        try:
            self.propagation.start(windows)
        except NoRoom:
            return self.best
        max_steps = FIRST_RESTART_STEPS
        try:
            while not self._descend(windows, [], max_steps):
                # An integer programme decides counts on which a search by single documents takes
                # too long: first with coarse segments, and with one segment per place when the
                # search is long.
                if max_steps in (FIRST_RESTART_STEPS, 16 * FIRST_RESTART_STEPS):
                    by_place = max_steps > FIRST_RESTART_STEPS
                    self._descend_by_segments(windows, by_place)
                if self.best.place is not None:
                    break
                max_steps *= 2
                self.uses_deadlines = True
                failures = self.propagation.failures
                self.demand_order = sorted(self.demand_order, key=lambda at: -failures[at])
        except NoRoom:
            pass  # the programme has no solution, so no order meets the constraints
        except UndecidedError:
            if self.best.place is None:
                raise
            self.best.lower_bound = -np.inf  # an order, but no proof that it is the best
        return self.best

    def _descend_by_segments(self, windows: Windows, by_place: bool) -> None:
        """Search within the segments that an integer programme assigns to documents.

        First all documents stay in their segments, then only those that only counts name. The
        programme is exact for counts, but only a necessary condition for other rules.
        """
        scores = self.scores.tolist()
        segments = solve_segments(self.demands, windows, scores, self.propagation, by_place)
        named_by_others = {
            i
            for demand in self.demands.demands
            if not isinstance(demand, CountDemand | SymmetryDemand)
            for i in demand.members
        }
        counted_only = [window for window in segments if window[0] not in named_by_others]
        for choice in (segments, counted_only):
            if choice and self.best.place is None:
                self._descend(windows, choice, FIRST_RESTART_STEPS)
        if self.best.place is not None:
            self.best.lower_bound = -np.inf  # there may be better orders elsewhere

    def _descend(self, windows: Windows, choice: Choice, max_steps: int) -> bool:
        """Search depth first below a choice; return whether the search was complete."""
        stack: list[Branch] = [(windows, choice, -np.inf)]
        stop = self.propagation.steps + max_steps
        while stack and self.propagation.steps < stop:
            had_order = self.best.place is not None
            branch = stack.pop()
            # A branch whose orders all cost as much as the best one is cut.
            if branch[2] < self.best.cost - self.tolerance:
                stack += reversed(self._open(*branch))  # the likeliest choice on top
            if not had_order and self.best.place is not None:
                # Now there is an order: spend a few more steps on a better one.
                stop = self.propagation.steps + max(IMPROVEMENT_STEPS // self.n, self.n // 4, 40)
        if stack and self.best.place is None:
            return False
        # Orders in unopened branches cost at least the lowest of their bounds.
        self.best.lower_bound = min([self.best.lower_bound, *(bound for *_, bound in stack)])
        return True

    def _open(self, windows: Windows, choice: Choice, lower_bound: float) -> list[Branch]:
        """Return the branches below a choice; none if the choice leaves no order or gives one."""
        windows = Windows(windows.first, windows.last)
        # 1. Narrow windows to the choice and to everything that follows from it.
        try:
            for i, first, last in choice:
                windows.at_least(i, first)
                windows.at_most(i, last)
            self.propagation.follow(windows)
        except NoRoom:
            return []
        self.propagation.count_steps(1 + (self.n + len(self.ranks)) // 64)
        # 2. Place documents by windows alone: no order within them costs less than the bound.
        place, cost, least_cost = self._fill(windows)
        lower_bound = max(lower_bound, least_cost)
        if cost == np.inf or lower_bound >= self.best.cost - self.tolerance:
            return []
        # 3. Branch on the first demand that these places break.
        for number in self.demand_order:
            demand = self.demands.demands[number]
            check_search_time()
            choices = demand.choices(place, windows)
            if choices:
                if self.uses_deadlines and isinstance(demand, BeforeDemand):
                    self._keep_better(schedule(self.demands, windows, self.n), windows)
                return [(windows, choice, lower_bound) for choice in choices]
        # 4. They break none, so this is an order. If it costs more than the bound, there may be a
        # better one.
        if cost > lower_bound + self.tolerance:
            self.best.lower_bound = min(self.best.lower_bound, lower_bound)
        if cost < self.best.cost:
            self.best.place, self.best.cost = place, cost
        return []

    def _keep_better(self, place: list[int] | None, windows: Windows) -> None:
        """Keep places that meet all demands, if they are better than the best so far."""
        if place and not any(demand.choices(place, windows) for demand in self.demands.demands):
            at = np.array(place)
            _, cost = kernels.fill_windows(self.scores, self.ranks, at, at)
            if cost < self.best.cost:
                self.best.place, self.best.cost = place, cost

    def _fill(self, windows: Windows) -> tuple[list[int], float, float]:
        """Return places within windows, their cost, and a lower bound on the cost of all such places."""
        first, last = np.array(windows.first), np.array(windows.last)
        place, cost = kernels.fill_windows(self.scores, self.ranks, first, last)
        if cost == np.inf:
            return [], cost, cost
        free = first != last
        # The kernel is exact if free windows have only starts, or only ends.
        if not (free & (first > 1)).any() or not (free & (last < self.n)).any():
            return place.tolist(), cost, cost
        if self.n <= MAX_ASSIGNED_DOCUMENTS:
            place = self._assign(first, last)
            _, cost = kernels.fill_windows(self.scores, self.ranks, place, place)
            return place.tolist(), cost, cost
        # Else drop the ends of free windows, then their starts instead. Each relaxed problem has an
        # exact cost, which is a lower bound, because fewer limits cannot cost more. Take the larger
        # of the two.
        open_last = np.where(free, self.n, last)
        open_first = np.where(free, 1, first)
        _, without_last = kernels.fill_windows(self.scores, self.ranks, first, open_last)
        _, without_first = kernels.fill_windows(self.scores, self.ranks, open_first, last)
        return place.tolist(), cost, max(without_last, without_first)

    def _assign(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cheapest places within windows, by the assignment of documents to places."""
        places = np.arange(1, self.n + 1)
        cost = self.scores[:, None] * places
        cost[self.ranks] = np.where(
            (places >= first[:, None]) & (places <= last[:, None]), cost[self.ranks], np.inf
        )
        return np.asarray(linear_sum_assignment(cost)[1])[self.ranks] + 1


def full_order(ranks: Sequence[int], place: Sequence[int], n: int) -> list[int]:
    """Return all ranks best first: named documents at their places, the others in order at the free places.

    The others cost least in their order, because no rule names them.
    """
    order = [-1] * n
    for rank, at in zip(ranks, place, strict=True):
        order[at - 1] = rank
    with_place = set(ranks)
    rest = (rank for rank in range(n) if rank not in with_place)
    return [next(rest) if rank < 0 else rank for rank in order]
