"""Algorithm 1 of Wu et al. (CIKM 2014) as printed: gradient descent from a random start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.postranking.methods.bradley_terry import Minimiser, margin_weights
from podium.postranking.methods.preferences import Preferences
from podium.postranking.methods.problem import PostRankingProblem, Solution
from podium.typing import Floats


@dataclass(frozen=True)
class PaperDescent(Minimiser):
    """Gradient descent with backtracking, for comparison with `BradleyTerry`.

    S <- S - gamma grad f with gamma = 1, alpha, alpha^2, ... until f falls by at least (gamma/2)
    |grad f|^2. As printed (``prior=0``), f has a minimum only if the original order and the rules
    form a strongly connected graph: see `Preferences.is_strongly_connected`. For other lists the
    result is the point where the descent stopped, and it is never marked as converged.

    Parameters
    ----------
    seed
        The seed of the random start, which is standard normal.
    alpha
        The shrinkage rate.
    max_iter
        The maximum number of steps; "for most queries the algorithm converges within 10
        iterations".
    tol
        The method has converged if f has a minimum and no element of the gradient is larger.

    Examples
    --------
    >>> from podium.postranking import TopK, postrank
    >>> method = PaperDescent(max_iter=1000)
    >>> result = postrank(list("abcdef"), [TopK("e", 2, weight=3)], method=method)
    >>> "".join(result), result.converged
    ('aebcdf', True)
    """

    name: ClassVar[str] = "paper"
    seed: int = 0
    alpha: float = 0.5
    max_iter: int = 10
    tol: float = 1e-3

    def minimise(
        self, problems: Sequence[PostRankingProblem], preferences: Sequence[Preferences]
    ) -> list[Solution]:
        """Descend for each list by itself, all from the same seed."""
        return [self._descend(p, w) for p, w in zip(problems, preferences, strict=True)]

    def _descend(self, problem: PostRankingProblem, preference: Preferences) -> Solution:
        f = PaperObjective(problem, preference)
        s = np.random.default_rng(self.seed).normal(size=problem.n)
        value, gradient = f.value(s), f.gradient(s)
        steps = 0
        while steps < self.max_iter and np.abs(gradient).max(initial=0.0) > self.tol:
            fall, gamma = float(gradient @ gradient) / 2, 1.0
            while (at := f.value(s - gamma * gradient)) > value - gamma * fall and gamma > 1e-18:
                gamma *= self.alpha
            s, value = s - gamma * gradient, at
            gradient = f.gradient(s)
            steps += 1
        norm = float(np.abs(gradient).max(initial=0.0))
        has_minimum = problem.prior > 0 or preference.is_strongly_connected()
        return Solution(s, value, norm, steps, has_minimum and norm <= self.tol)


class PaperObjective:
    """f(s) = sum_ij A_ij log(1 + e^-(s_i - s_j)) + s'Qs / 2 of a list, with one term for every pair.

    A_ij is the weight of i before j, by the original order and by rules; Q has springs and the prior.
    """

    def __init__(self, problem: PostRankingProblem, preference: Preferences) -> None:
        n = problem.n
        self.A = np.triu(_base(problem), 1)
        self.Q = problem.prior * n * np.eye(n)
        for doc, lo, hi, weight in zip(
            preference.doc, preference.lo, preference.hi, preference.weight, strict=True
        ):
            others = np.arange(lo, hi)
            others = others[others != doc]
            if weight > 0:
                self.A[doc, others] += weight
            else:
                self.A[others, doc] -= weight
        for rows, kappa in preference.springs:
            self.Q[np.ix_(rows, rows)] += kappa * (np.eye(len(rows)) - 1 / len(rows))

    def value(self, s: Floats) -> float:
        """Return f(s)."""
        gap = np.subtract.outer(s, s)
        loss = np.log1p(np.exp(-np.abs(gap))) - np.minimum(gap, 0.0)  # logaddexp, six times as fast
        return float(np.sum(self.A * loss) + s @ self.Q @ s / 2)

    def gradient(self, s: Floats) -> Floats:
        """Return the gradient: equation 6 and the quadratic terms."""
        gap = np.subtract.outer(s, s)
        small = np.exp(-np.abs(gap))
        pull = self.A * (np.where(gap > 0, small, 1.0) / (1 + small))
        gradient: Floats = pull.sum(axis=0) - pull.sum(axis=1) + self.Q @ s
        return gradient


def _base(problem: PostRankingProblem) -> Floats:
    """Return w_ij of the original order."""
    if problem.base == "uniform" or problem.scores is None:
        return np.ones((problem.n, problem.n))
    floor, slope = margin_weights(problem.scores)
    return floor + slope * np.subtract.outer(problem.scores, problem.scores)
