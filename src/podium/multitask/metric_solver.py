"""Solver of metric learning: max F(N) = mean of sqrt(z' N z) over far pairs z, N >= 0, trace N = 1.

N = B B' is positive semidefinite for any B, and diagonal if B is. G is the mean of z z' / d_N(z), twice
the gradient of F.

step        B <- G^p B / |G^p B|. For p = 1, F never falls: d = |B' z| is convex in B, so its
            linearisation is a lower bound, which is largest at G B. p grows as long as F rises.
proof       F is concave, so F(best) <= F + <G/2, N_best - N> <= F + (lambda_max(G) - F) / 2.

Steps approach the optimum quickly and enlarge entries that are far too small, but may become slow
at the end. L-BFGS on the factor, |B|^2 - log F, stays fast, but leaves entries near 0. The two take
turns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from podium.optim.lbfgs import lbfgs
from podium.typing import Floats

STEPS_PER_TURN = 20
LBFGS_ITERATIONS_PER_TURN = 200
ROUNDING = 1e-13
"""The relative rounding error of a sum of many distances."""


class FarDistance(Protocol):
    """F on diagonal matrices, with vectors B and G, or on all matrices, with matrices B and G."""

    def start(self) -> Floats:
        """Return B of the Euclidean metric."""

    def value(self, B: Floats) -> tuple[float, Floats]:
        """Return F and G."""

    def product(self, G: Floats, B: Floats) -> Floats:
        """Return G B."""

    def largest(self, G: Floats) -> float:
        """Return the largest eigenvalue of G."""

    def step(self, B: Floats, G: Floats, power: float) -> Floats:
        """Return G^p B, scaled to norm 1."""


@dataclass(frozen=True, eq=False)
class DiagonalFarDistance:
    """F with B = diag(b), from the squares of the far pairs' differences, one pair per row."""

    squares: Floats

    def start(self) -> Floats:
        """Return B of the Euclidean metric."""
        d = self.squares.shape[1]
        return np.full(d, d**-0.5)

    def value(self, B: Floats) -> tuple[float, Floats]:
        """Return F and G."""
        distance = _roots(self.squares @ B**2)
        return float(distance.mean()), (1 / distance) @ self.squares / len(distance)

    def product(self, G: Floats, B: Floats) -> Floats:
        """Return G B."""
        return G * B

    def largest(self, G: Floats) -> float:
        """Return the largest number on the diagonal of G."""
        return float(G.max())

    def step(self, B: Floats, G: Floats, power: float) -> Floats:
        """Return G^p B, scaled to norm 1; entries stay above 0, because they could not grow again from 0."""
        b = np.maximum(np.abs(B) * (G / G.max()) ** power, 1e-15)
        return np.asarray(b / np.linalg.norm(b))


@dataclass(frozen=True, eq=False)
class FullFarDistance:
    """F with any B, from the differences of the far pairs, one pair per row."""

    differences: Floats

    def start(self) -> Floats:
        """Return B of the Euclidean metric."""
        d = self.differences.shape[1]
        return np.asarray(np.eye(d) * d**-0.5)

    def value(self, B: Floats) -> tuple[float, Floats]:
        """Return F and G."""
        mapped = self.differences @ B
        distance = _roots(np.einsum("ij,ij->i", mapped, mapped))
        scaled = self.differences / distance[:, None]
        return float(distance.mean()), self.differences.T @ scaled / len(mapped)

    def product(self, G: Floats, B: Floats) -> Floats:
        """Return G B."""
        return np.asarray(G @ B)

    def largest(self, G: Floats) -> float:
        """Return the largest eigenvalue of G."""
        return float(np.linalg.eigvalsh(G)[-1])

    def step(self, B: Floats, G: Floats, power: float) -> Floats:
        """Return G^p B, scaled to norm 1."""
        values, axes = np.linalg.eigh(G)
        product = axes * (np.maximum(values, 0.0) / values.max()) ** power @ (axes.T @ B)
        return np.asarray(product / np.linalg.norm(product))


def _roots(squared: Floats) -> Floats:
    """Return distances, all above 0, so that the slope of a vanishing distance pulls it back."""
    return np.sqrt(np.maximum(squared, 1e-100))


@dataclass(frozen=True, eq=False)
class MetricSolution:
    """A point of the search: its B, F and G, and the number of iterations so far."""

    B: Floats
    value: float
    G: Floats
    gap: float
    """A proved upper bound on (F(best) - F) / F."""
    iterations: int


def maximise_far_distance(problem: FarDistance, tol: float, max_iter: int) -> MetricSolution:
    """Return the N with the largest F, within a gap of `tol` unless `max_iter` or rounding ends the search.

    Examples
    --------
    Pairs apart in the first direction, and half as far in the second:

    >>> problem = DiagonalFarDistance(np.array([[1.0, 0.0], [0.0, 0.25]]))
    >>> (maximise_far_distance(problem, 1e-9, 100).B ** 2).round(6).tolist()
    [0.8, 0.2]
    """
    here, last = _solution_at(problem, problem.start(), 0), None
    while True:
        here = _take_steps(problem, here, tol, min(STEPS_PER_TURN, max_iter - here.iterations))
        if here.gap <= tol or here.iterations >= max_iter:
            return here
        if last is not None and here.gap >= last.gap and here.value <= last.value * (1 + ROUNDING):
            return replace(last, iterations=here.iterations)  # as near as rounding allows
        last = here
        n = min(LBFGS_ITERATIONS_PER_TURN, max_iter - here.iterations)
        here = _descend_by_lbfgs(problem, here, tol, n)


def _solution_at(problem: FarDistance, B: Floats, iterations: int) -> MetricSolution:
    value, G = problem.value(B)
    gap = max(0.5 * (problem.largest(G) / value - 1), 0.0)
    return MetricSolution(B, value, G, gap, iterations)


def _take_steps(problem: FarDistance, here: MetricSolution, tol: float, n: int) -> MetricSolution:
    """Take up to n steps; each has a larger power than the last as long as F rises."""
    power, last = 1.0, here.iterations + n
    while here.gap > tol and here.iterations < last:
        B = problem.step(here.B, here.G, power)
        there = _solution_at(problem, B, here.iterations + 1)
        # Near the maximum F is flat, and rounding may hide the gain of a step of power 1.
        rises = there.value >= here.value * (1 - ROUNDING * (power == 1.0))
        if rises and np.isfinite(there.G).all():
            here, power = there, 1.5 * power
        else:
            here, power = replace(here, iterations=there.iterations), 1.0
    return here


def _descend_by_lbfgs(
    problem: FarDistance, here: MetricSolution, tol: float, n: int
) -> MetricSolution:
    """Minimise |B|^2 - log F; at its minimum |B|^2 = 1/2, and F is largest for that size."""

    def function(flat: Floats) -> tuple[float, Floats]:
        B = flat.reshape(here.B.shape)
        value, G = problem.value(B)
        slope = 2 * flat - problem.product(G, B).ravel() / value
        return float(np.sum(flat * flat) - np.log(value)), slope

    start = np.ascontiguousarray(here.B).ravel() * 0.5**0.5
    minimum = lbfgs(function, start, tol=0.01 * tol, steepest=1.0, max_iter=n)
    B = minimum.x.reshape(here.B.shape)
    iterations = here.iterations + max(minimum.iterations, 1)
    there = _solution_at(problem, B / np.linalg.norm(B), iterations)
    return there if there.value >= here.value else replace(here, iterations=there.iterations)
