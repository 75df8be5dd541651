"""The linear ordering problem: find the order that opposes the least weight of votes, with a proof.

x_ij = 1 if i comes before j, for i < j. Minimise sum over i < j of votes[j, i] x_ij + votes[i, j]
(1 - x_ij), subject to 0 <= x_ij + x_jk - x_ik <= 1 for i < j < k: no cycle of three, and so no
cycle at all. Few of these triangle inequalities are tight, so they are added only when they are
violated. Without integrality, the solution of the programme is usually an order (Grötschel, Jünger,
Reinelt, A cutting plane algorithm for the linear ordering problem, Operations Research 1984).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from podium import kernels
from podium.typing import Floats, Rows

MAX_TIE_LEAD = 1e-12
"""Weights add up to 1; a lead this small is a rounding error, not a majority (as in the kernels)."""
MAX_PROGRAMME_DOCUMENTS = 500
"""Larger components have too many triangles to check, so their order does not change."""
MAX_SUBSET_DOCUMENTS = 12
"""Up to this size, dynamic programming over subsets is faster than a linear programme."""
VIOLATION_TOLERANCE = 1e-6
COST_TOLERANCE = 1e-9
"""Costs this close, relative to 1 or the larger, are equal."""


@dataclass(frozen=True)
class SearchLimits:
    """The limits of the search: a relative gap and a time. Costs differ by multiples of `step` (or 0)."""

    gap: float
    deadline: float
    step: float

    def seconds_left(self) -> float:
        """Return the seconds until the deadline."""
        return self.deadline - time.monotonic()


def minimise_opposing_votes(
    places: Floats, weights: Floats, start: Rows, limits: SearchLimits
) -> tuple[Rows, float]:
    """Return the best order, and a bound on the difference of its cost from the minimum.

    An optimal order never opposes a majority between strongly connected components of the majority
    graph, so components are solved one by one (Truchon, An extension of the Condorcet criterion and
    Kemeny orders, 1998).
    """
    n = len(start)
    if n == 0:
        return start, 0.0
    votes = kernels.majority_tables(places, weights, np.array([0, n]), False).reshape(n, n)
    orders, total_gap = [], 0.0
    for component in components(votes, start):
        if len(component) == 1:
            orders.append(component)
            continue
        component_votes = votes[np.ix_(component, component)]
        order, gap = _solve(places[component], weights, component_votes, limits)
        orders.append(component[order])
        total_gap += gap
    return np.concatenate(orders), total_gap


def components(votes: Floats, start: Rows) -> list[Rows]:
    """Return strongly connected components, winners first; components without a winner are as in `start`.

    Documents within a component have the order of `start`.
    """
    beats = votes - votes.T > MAX_TIE_LEAD
    n, labels = connected_components(beats.astype(np.float64), connection="strong")
    by_component = start[np.argsort(labels[start], kind="stable")]
    pieces = np.split(by_component, np.cumsum(np.bincount(labels, minlength=n))[:-1])
    place = np.argsort(start)
    first = np.array([place[piece[0]] for piece in pieces])
    wins = np.zeros((n, n), dtype=np.int64)
    i, j = np.nonzero(beats)
    wins[labels[i], labels[j]] = 1
    np.fill_diagonal(wins, 0)
    # Kahn's algorithm: each step takes a component that no remaining component beats.
    n_winners, out = wins.sum(axis=0), []
    for _ in range(n):
        c = int(np.where(n_winners == 0, first, len(start)).argmin())
        out.append(pieces[c])
        n_winners -= wins[c]
        n_winners[c] = -1
    return out


def opposing_votes(votes: Floats, order: Rows) -> float:
    """Return the weight of the votes that the order opposes."""
    return float(np.tril(votes[np.ix_(order, order)], -1).sum())


def _solve(
    places: Floats, weights: Floats, votes: Floats, limits: SearchLimits
) -> tuple[Rows, float]:
    """Solve one component, whose documents are in the order to start from."""
    start = np.arange(len(votes))
    if len(votes) <= MAX_SUBSET_DOCUMENTS:
        best = kernels.best_order(votes)
        as_good = opposing_votes(votes, start) <= opposing_votes(votes, best) + MAX_TIE_LEAD * len(
            votes
        )
        return (start if as_good else best), 0.0
    if len(votes) > MAX_PROGRAMME_DOCUMENTS:
        minority = np.minimum(votes, votes.T)
        return start, opposing_votes(votes, start) - float(
            (minority.sum() - np.trace(minority)) / 2
        )
    programme = _Programme(places, weights, votes, limits)
    programme.relax()
    programme.branch()
    return programme.order, programme.cost - programme.bound


class _Programme:
    """The linear programme of one component, with its cuts, and the best order and bound so far."""

    def __init__(
        self, places: Floats, weights: Floats, votes: Floats, limits: SearchLimits
    ) -> None:
        self.places, self.weights, self.votes, self.limits = places, weights, votes, limits
        n = len(votes)
        self.i, self.j = np.triu_indices(n, 1)
        self.index = np.zeros((n, n), dtype=np.int64)
        self.index[self.i, self.j] = np.arange(len(self.i))
        self.c = (votes.T - votes)[self.i, self.j]
        self.constant = float(votes[self.i, self.j].sum())
        self.A: Any = csr_array((0, len(self.c)))
        self.b = np.empty(0)
        self.order = np.arange(n)
        self.cost = opposing_votes(votes, self.order)
        self.bound = float(np.minimum(votes, votes.T)[self.i, self.j].sum())
        self.reduced, self.proved = self.c, self.bound
        # HiGHS's tolerances, 1e-6 or 1e-7, are small next to costs of this size.
        self.scale = 1e3 / np.abs(self.c).max()
        self.scaled = self.c * self.scale

    @property
    def is_closed(self) -> bool:
        """Whether the best order is proved to be within the gap."""
        return self.cost - self.bound <= max(
            self.limits.gap * self.cost, COST_TOLERANCE * max(1.0, self.cost)
        )

    def relax(self) -> None:
        """Solve without integrality, adding violated triangles, until none is left."""
        x = np.where(np.abs(self.c) <= MAX_TIE_LEAD, 0.5, self.c < 0)
        while not self.is_closed and self.add_cuts(x) and self.limits.seconds_left() > 0:
            result = linprog(
                self.scaled, self.A, self.b, bounds=(0, 1), method="highs-ds",
                options={"time_limit": self.limits.seconds_left()},
            )  # fmt: skip
            if result.status != 0:
                return
            x = np.asarray(result.x)
            self.use_duals(-np.asarray(result.ineqlin.marginals) / self.scale)
            self.improve(x)

    def branch(self) -> None:
        """Solve in whole numbers; variables whose change would cost more than the best order are fixed."""
        while not self.is_closed and self.limits.seconds_left() > 0:
            gap = self.cost - self.proved + COST_TOLERANCE
            fixed = Bounds(np.where(self.reduced < -gap, 1, 0), np.where(self.reduced > gap, 0, 1))
            result = milp(
                self.scaled, integrality=np.ones(len(self.c), dtype=np.int64), bounds=fixed,
                constraints=LinearConstraint(self.A, -np.inf, self.b),
                options={"time_limit": self.limits.seconds_left(), "mip_rel_gap": self.limits.gap},
            )  # fmt: skip
            if result.status == 2:  # infeasible: no better order exists
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
        """Raise the bound by the multipliers y >= 0 of the cuts; any such y proves a bound.

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
        """Raise the bound; a gap below the step of costs counts as 0, because costs are multiples of it."""
        self.bound = min(self.cost, max(self.bound, bound))
        if self.cost - self.bound < 0.999 * self.limits.step:
            self.bound = self.cost

    def improve(self, x: Floats) -> None:
        """Turn x (whole or fractional) into an order, improve it by insertions, keep it if it is better."""
        X = np.zeros_like(self.votes)
        X[self.i, self.j], X[self.j, self.i] = x, 1 - x
        start = np.argsort(-X.sum(axis=1).round(9), kind="stable")
        bounds = np.array([0, len(start)])
        order = kernels.kemeny_search(self.places, self.weights, start, bounds)
        cost = opposing_votes(self.votes, order)
        if cost < self.cost - MAX_TIE_LEAD * len(order):
            self.order, self.cost = order, cost
        self.raise_bound(self.bound)

    def add_cuts(self, x: Floats) -> bool:
        """Add the triangles that x violates; return whether there are any."""
        violations = []
        for i in range(len(self.votes) - 2):
            if self.limits.seconds_left() < 0:  # any subset of the cuts is valid
                break
            violations.append(self._violated_triangles(x, i))
        if not violations:
            return False
        variables = np.concatenate([v for v, _ in violations])
        signs = np.concatenate([s for _, s in violations])
        m = len(signs)
        if m == 0:
            return False
        data = signs[:, None] * np.array([1.0, 1.0, -1.0])
        # Older versions of SciPy pass only 32-bit indices to HiGHS.
        columns, ends = (
            variables.ravel().astype(np.int32),
            np.arange(0, 3 * m + 1, 3, dtype=np.int32),
        )
        cuts = csr_array((data.ravel(), columns, ends), (m, len(self.c)))
        self.A = _stack(self.A, cuts)
        self.b = np.append(self.b, (1 + signs) / 2)
        return True

    def _violated_triangles(self, x: Floats, i: int) -> tuple[Rows, Floats]:
        """Return variables and signs s of the violated s (x_ij + x_jk - x_ik) <= (1 + s) / 2, i < j < k."""
        with_i, without_i = self.index[i, i + 1 :], self.index[i + 1 :, i + 1 :]
        sums = x[with_i][:, None] + x[without_i] - x[with_i][None, :]
        broken = np.triu((sums > 1 + VIOLATION_TOLERANCE) | (sums < -VIOLATION_TOLERANCE), 1)
        j, k = np.nonzero(broken)
        return np.stack([with_i[j], without_i[j, k], with_i[k]], axis=1), np.where(
            sums[j, k] > 1, 1.0, -1.0
        )


def _stack(A: Any, more: Any) -> Any:
    """Return the rows of A and then the other rows."""
    return csr_array(
        (
            np.append(A.data, more.data),
            np.append(A.indices, more.indices),
            np.append(A.indptr, A.indptr[-1] + more.indptr[1:]),
        ),
        (A.shape[0] + more.shape[0], A.shape[1]),
    )
