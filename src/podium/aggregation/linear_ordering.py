"""The order that goes against the least weight of votes, with a proof: the linear ordering problem.

x_ij = 1 where i comes before j, for i < j. Minimise sum over i < j of votes[j, i] x_ij +
votes[i, j] (1 - x_ij), subject to 0 <= x_ij + x_jk - x_ik <= 1 for i < j < k: no cycle of three, and
so no cycle at all. Few of the triangles bind, and they enter when they are violated; the programme
without whole numbers mostly ends in an order (Grötschel, Jünger, Reinelt, A cutting plane algorithm
for the linear ordering problem, Operations Research 1984).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from podium import kernels

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

TIE = 1e-12
"""Weights add up to 1; a lead this small is rounding, not a majority (as in the kernels)."""
LARGE = 500
"""Beyond so many documents there are too many triangles to look at: the order stays as it is."""
SMALL = 12
"""Up to so many documents the best orders of all subsets are faster than a linear programme."""
VIOLATED = 1e-6
CLOSE = 1e-9
"""Costs this close, relative to 1 or the larger, are equal."""


@dataclass(frozen=True)
class Effort:
    """When to stop: at a relative gap, at a time; `step` divides every difference of costs, or is 0."""

    gap: float
    deadline: float
    step: float

    def left(self) -> float:
        """Seconds."""
        return self.deadline - time.monotonic()


def least_votes_against(
    places: Floats, weights: Floats, start: Rows, effort: Effort
) -> tuple[Rows, float]:
    """The best order found from `start` on, and by how much its cost may be above the least.

    A majority never pays to be gone against between strongly connected components of the majority
    graph: they are solved one by one (Truchon, An extension of the Condorcet criterion and Kemeny
    orders, 1998).
    """
    n = len(start)
    if n == 0:
        return start, 0.0
    votes = kernels.majority_tables(places, weights, np.array([0, n]), False).reshape(n, n)
    found, slack = [], 0.0
    for piece in components(votes, start):
        if len(piece) == 1:
            found.append(piece)
            continue
        order, above = _solve(places[piece], weights, votes[np.ix_(piece, piece)], effort)
        found.append(piece[order])
        slack += above
    return np.concatenate(found), slack


def components(votes: Floats, start: Rows) -> list[Rows]:
    """Strongly connected components, winners first, where there is no winner as in `start`.

    Documents within a component are in the order of `start`.
    """
    beats = votes - votes.T > TIE
    n, labels = connected_components(beats.astype(np.float64), connection="strong")
    by_piece = start[np.argsort(labels[start], kind="stable")]
    pieces = np.split(by_piece, np.cumsum(np.bincount(labels, minlength=n))[:-1])
    place = np.argsort(start)
    first = np.array([place[piece[0]] for piece in pieces])
    over = np.zeros((n, n), dtype=np.int64)
    i, j = np.nonzero(beats)
    over[labels[i], labels[j]] = 1
    np.fill_diagonal(over, 0)
    above, out = over.sum(axis=0), []
    for _ in range(n):
        c = int(np.where(above == 0, first, len(start)).argmin())
        out.append(pieces[c])
        above -= over[c]
        above[c] = -1
    return out


def cost_of(votes: Floats, order: Rows) -> float:
    """The weight of the votes that the order goes against."""
    return float(np.tril(votes[np.ix_(order, order)], -1).sum())


def _solve(places: Floats, weights: Floats, votes: Floats, effort: Effort) -> tuple[Rows, float]:
    """One component, its documents in the order to start from."""
    start = np.arange(len(votes))
    if len(votes) <= SMALL:
        best = kernels.best_order(votes)
        as_good = cost_of(votes, start) <= cost_of(votes, best) + TIE * len(votes)
        return (start if as_good else best), 0.0
    if len(votes) > LARGE:
        agreed = np.minimum(votes, votes.T)
        return start, cost_of(votes, start) - float((agreed.sum() - np.trace(agreed)) / 2)
    programme = _Programme(places, weights, votes, effort)
    programme.relax()
    programme.branch()
    return programme.order, programme.cost - programme.bound


class _Programme:
    """One component: the cuts so far, the best order so far and the bound so far."""

    def __init__(self, places: Floats, weights: Floats, votes: Floats, effort: Effort) -> None:
        self.places, self.weights, self.votes, self.effort = places, weights, votes, effort
        n = len(votes)
        self.i, self.j = np.triu_indices(n, 1)
        self.index = np.zeros((n, n), dtype=np.int64)
        self.index[self.i, self.j] = np.arange(len(self.i))
        self.c = (votes.T - votes)[self.i, self.j]
        self.constant = float(votes[self.i, self.j].sum())
        self.A: Any = csr_array((0, len(self.c)))
        self.b = np.empty(0)
        self.order = np.arange(n)
        self.cost = cost_of(votes, self.order)
        self.bound = float(np.minimum(votes, votes.T)[self.i, self.j].sum())
        self.reduced, self.proved = self.c, self.bound
        # HiGHS's tolerances, 1e-6 or 1e-7, are small next to costs of this size.
        self.scale = 1e3 / np.abs(self.c).max()
        self.scaled = self.c * self.scale

    @property
    def is_closed(self) -> bool:
        """Whether the best order is proved to be as good as asked for."""
        return self.cost - self.bound <= max(
            self.effort.gap * self.cost, CLOSE * max(1.0, self.cost)
        )

    def relax(self) -> None:
        """Solve without whole numbers, adding violated triangles, until none is left."""
        x = np.where(np.abs(self.c) <= TIE, 0.5, self.c < 0)
        while not self.is_closed and self.add_cuts(x) and self.effort.left() > 0:
            result = linprog(
                self.scaled, self.A, self.b, bounds=(0, 1), method="highs-ds",
                options={"time_limit": self.effort.left()},
            )  # fmt: skip
            if result.status != 0:
                return
            x = np.asarray(result.x)
            self.use_duals(-np.asarray(result.ineqlin.marginals) / self.scale)
            self.improve(x)

    def branch(self) -> None:
        """Solve with whole numbers, those fixed whose change costs more than the best order."""
        while not self.is_closed and self.effort.left() > 0:
            gap = self.cost - self.proved + CLOSE
            fixed = Bounds(np.where(self.reduced < -gap, 1, 0), np.where(self.reduced > gap, 0, 1))
            result = milp(
                self.scaled, integrality=np.ones(len(self.c), dtype=np.int64), bounds=fixed,
                constraints=LinearConstraint(self.A, -np.inf, self.b),
                options={"time_limit": self.effort.left(), "mip_rel_gap": self.effort.gap},
            )  # fmt: skip
            if result.status == 2:  # what is fixed leaves nothing better
                self.bound = self.cost
                return
            if result.mip_dual_bound is not None:
                self.raise_bound(result.mip_dual_bound / self.scale + self.constant)
            if result.x is None or self.is_closed:
                return
            self.improve(np.asarray(result.x))
            if not self.add_cuts(np.asarray(result.x)):
                return

    def use_duals(self, y: Floats) -> None:
        """The bound that multipliers y >= 0 of the cuts prove, however they were found.

        min c.x >= min over 0 <= x <= 1 of c.x + y.(A x - b); with r = c + A'y, a solution that
        differs in x_ij from that minimum costs |r_ij| more.
        """
        y = np.maximum(y, 0)
        reduced = self.c + self.A.T @ y
        bound = float(np.minimum(reduced, 0).sum() - (y * self.b).sum()) + self.constant
        if bound > self.proved:
            self.reduced, self.proved = reduced, bound
            self.raise_bound(bound)

    def raise_bound(self, bound: float) -> None:
        """Costs lie on a grid where all weights do: a gap below its step is none."""
        self.bound = min(self.cost, max(self.bound, bound))
        if self.cost - self.bound < 0.999 * self.effort.step:
            self.bound = self.cost

    def improve(self, x: Floats) -> None:
        """The order that x, whole or not, says, and what insertions make of it."""
        X = np.zeros_like(self.votes)
        X[self.i, self.j], X[self.j, self.i] = x, 1 - x
        start = np.argsort(-X.sum(axis=1).round(9), kind="stable")
        bounds = np.array([0, len(start)])
        order = kernels.kemeny_search(self.places, self.weights, start, bounds)
        cost = cost_of(self.votes, order)
        if cost < self.cost - TIE * len(order):
            self.order, self.cost = order, cost
        self.raise_bound(self.bound)

    def add_cuts(self, x: Floats) -> bool:
        """Triangles that x violates; whether there are any."""
        found = []
        for i in range(len(self.votes) - 2):
            if self.effort.left() < 0:  # some cuts are as true as all of them
                break
            found.append(self._violated(x, i))
        if not found:
            return False
        variables = np.concatenate([v for v, _ in found])
        signs = np.concatenate([s for _, s in found])
        m = len(signs)
        if m == 0:
            return False
        data = signs[:, None] * np.array([1.0, 1.0, -1.0])
        # Older versions of SciPy hand HiGHS indices of 32 bits only.
        columns, ends = (
            variables.ravel().astype(np.int32),
            np.arange(0, 3 * m + 1, 3, dtype=np.int32),
        )
        cuts = csr_array((data.ravel(), columns, ends), (m, len(self.c)))
        self.A = _stack(self.A, cuts)
        self.b = np.append(self.b, (1 + signs) / 2)
        return True

    def _violated(self, x: Floats, i: int) -> tuple[Rows, Floats]:
        """Of the triangles i < j < k, s (x_ij + x_jk - x_ik) <= (1 + s) / 2 with s = +-1."""
        own, rest = self.index[i, i + 1 :], self.index[i + 1 :, i + 1 :]
        sums = x[own][:, None] + x[rest] - x[own][None, :]
        broken = np.triu((sums > 1 + VIOLATED) | (sums < -VIOLATED), 1)
        j, k = np.nonzero(broken)
        return np.stack([own[j], rest[j, k], own[k]], axis=1), np.where(sums[j, k] > 1, 1.0, -1.0)


def _stack(A: Any, more: Any) -> Any:
    """Rows under rows."""
    return csr_array(
        (
            np.append(A.data, more.data),
            np.append(A.indices, more.indices),
            np.append(A.indptr, A.indptr[-1] + more.indptr[1:]),
        ),
        (A.shape[0] + more.shape[0], A.shape[1]),
    )
