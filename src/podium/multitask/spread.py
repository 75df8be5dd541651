"""Far pairs as far apart as can be: max F(N) = mean of sqrt(z' N z), N >= 0, trace N = 1.

N = B B', so that it is positive semidefinite whatever B is, diagonal where B is. With G the mean of
z z' / d_N(z), twice the gradient of F:

step        B <- G^p B / |G^p B|. For p = 1, F never falls: d = |B' z| is convex in B, so its
            linearisation bounds it from below, and that is largest at G B. p grows as long as F rises.
proof       F is concave, so F(best) <= F + <G/2, N_best - N> <= F + (lambda_max(G) - F) / 2.

Steps come near soon and put right what is far too small, but may creep in the end; L-BFGS on the
factor, |B|^2 - log F, does not creep, but leaves what is nearly 0. They take turns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from podium.optim.lbfgs import lbfgs

Floats = NDArray[np.float64]

STEPS, DESCENT = 20, 200
"""Steps, and iterations of L-BFGS, in one turn."""
ROUNDING = 1e-13
"""What may be lost of a sum of many distances."""


class Spread(Protocol):
    """The problem on diagonal matrices, or on all; B and G are then vectors, or matrices."""

    def start(self) -> Floats:
        """The Euclidean metric."""

    def value(self, B: Floats) -> tuple[float, Floats]:
        """F and G."""

    def product(self, G: Floats, B: Floats) -> Floats:
        """G B."""

    def largest(self, G: Floats) -> float:
        """The largest eigenvalue of G."""

    def step(self, B: Floats, G: Floats, power: float) -> Floats:
        """G^p B, of norm 1."""


@dataclass(frozen=True, eq=False)
class DiagonalSpread:
    """B = diag(b); the squares of the far pairs' differences are all that counts."""

    squares: Floats

    def start(self) -> Floats:
        """The Euclidean metric."""
        d = self.squares.shape[1]
        return np.full(d, d**-0.5)

    def value(self, B: Floats) -> tuple[float, Floats]:
        """F and G."""
        distance = _roots(self.squares @ B**2)
        return float(distance.mean()), (1 / distance) @ self.squares / len(distance)

    def product(self, G: Floats, B: Floats) -> Floats:
        """G B."""
        return G * B

    def largest(self, G: Floats) -> float:
        """The largest number on the diagonal."""
        return float(G.max())

    def step(self, B: Floats, G: Floats, power: float) -> Floats:
        """G^p B, of norm 1, and not quite 0: what falls to 0 could never rise again."""
        b = np.maximum(np.abs(B) * (G / G.max()) ** power, 1e-15)
        return np.asarray(b / np.linalg.norm(b))


@dataclass(frozen=True, eq=False)
class FullSpread:
    """Any B; the differences of the far pairs, one a row."""

    apart: Floats

    def start(self) -> Floats:
        """The Euclidean metric."""
        d = self.apart.shape[1]
        return np.asarray(np.eye(d) * d**-0.5)

    def value(self, B: Floats) -> tuple[float, Floats]:
        """F and G."""
        mapped = self.apart @ B
        distance = _roots(np.einsum("ij,ij->i", mapped, mapped))
        return float(distance.mean()), self.apart.T @ (self.apart / distance[:, None]) / len(mapped)

    def product(self, G: Floats, B: Floats) -> Floats:
        """G B."""
        return np.asarray(G @ B)

    def largest(self, G: Floats) -> float:
        """The largest eigenvalue."""
        return float(np.linalg.eigvalsh(G)[-1])

    def step(self, B: Floats, G: Floats, power: float) -> Floats:
        """G^p B, of norm 1."""
        values, axes = np.linalg.eigh(G)
        there = axes * (np.maximum(values, 0.0) / values.max()) ** power @ (axes.T @ B)
        return np.asarray(there / np.linalg.norm(there))


def _roots(squared: Floats) -> Floats:
    """Distances; of what has fallen to 0 on the way, one so small that its slope pulls it back."""
    return np.sqrt(np.maximum(squared, 1e-100))


@dataclass(frozen=True, eq=False)
class Widest:
    """Where the search is: B, F and G there, and the iterations so far."""

    B: Floats
    value: float
    G: Floats
    gap: float
    """The proved (F(best) - F) / F."""
    iterations: int


def widest(spread: Spread, tol: float, max_iter: int) -> Widest:
    """The N of the largest F; its gap is at most `tol`, unless `max_iter` or rounding ended it.

    Examples
    --------
    Pairs apart in the first direction, and half as far in the second:

    >>> found = widest(DiagonalSpread(np.array([[1.0, 0.0], [0.0, 0.25]])), 1e-9, 100)
    >>> (found.B**2).round(6).tolist()
    [0.8, 0.2]
    """
    here, last = _at(spread, spread.start(), 0), None
    while True:
        here = _steps(spread, here, tol, min(STEPS, max_iter - here.iterations))
        if here.gap <= tol or here.iterations >= max_iter:
            return here
        if last is not None and here.gap >= last.gap and here.value <= last.value * (1 + ROUNDING):
            return replace(last, iterations=here.iterations)  # as far as doubles go
        last = here
        here = _descent(spread, here, tol, min(DESCENT, max_iter - here.iterations))


def _at(spread: Spread, B: Floats, iterations: int) -> Widest:
    value, G = spread.value(B)
    gap = max(0.5 * (spread.largest(G) / value - 1), 0.0)
    return Widest(B, value, G, gap, iterations)


def _steps(spread: Spread, here: Widest, tol: float, n: int) -> Widest:
    """Steps as long as they rise, each bolder than the last one."""
    power, last = 1.0, here.iterations + n
    while here.gap > tol and here.iterations < last:
        there = _at(spread, spread.step(here.B, here.G, power), here.iterations + 1)
        # Near the top F is flat, and rounding may take away what a step of power 1 has added.
        rises = there.value >= here.value * (1 - ROUNDING * (power == 1.0))
        if rises and np.isfinite(there.G).all():
            here, power = there, 1.5 * power
        else:
            here, power = replace(here, iterations=there.iterations), 1.0
    return here


def _descent(spread: Spread, here: Widest, tol: float, n: int) -> Widest:
    """L-BFGS on |B|^2 - log F, which is least where |B|^2 = 1/2 and F is largest for its size."""

    def function(flat: Floats) -> tuple[float, Floats]:
        B = flat.reshape(here.B.shape)
        value, G = spread.value(B)
        slope = 2 * flat - spread.product(G, B).ravel() / value
        return float(np.sum(flat * flat) - np.log(value)), slope

    start = np.ascontiguousarray(here.B).ravel() * 0.5**0.5
    found = lbfgs(function, start, tol=0.01 * tol, steepest=1.0, max_iter=n)
    B = found.x.reshape(here.B.shape)
    there = _at(spread, B / np.linalg.norm(B), here.iterations + max(found.iterations, 1))
    return there if there.value >= here.value else replace(here, iterations=there.iterations)
