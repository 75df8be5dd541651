"""How many iterations the methods take: "for most queries the algorithm converges within 10 iterations".

Wu, Xu, Li, Jiang, Ranking optimization with constraints, CIKM 2014, section 5.4, of top-5 and not-top-10
rules, those of Table 2. The paper says neither tolerance nor weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from podium.postranking import (
    BradleyTerry,
    PaperDescent,
    PostRankingProblem,
    Preferences,
    Settings,
    by_score,
)
from podium_papers.rankopt.lists import Ranked
from podium_papers.rankopt.rules import RuleCase

CASE = RuleCase(5, 10)
STEPS, MORE_STEPS = 10, 50
"""The paper's count, and a descent that goes on."""
RHOS = (1.0, 10.0)
"""Weights of both rules."""
TOLERANCES = (0.1, 0.01, 0.001)
"""A descent has converged where no element of the gradient is larger."""
PRINTED = Settings(prior=0.0, pairs="printed", scale="pair")


@dataclass(frozen=True)
class Convergence:
    """Lists of a data set under rules of one weight, and how many of them are done after 10 steps.

    Parameters
    ----------
    lists
        Those long enough for a rule.
    with_minimum
        Lists on which the printed objective has a minimum at all.
    within
        Tolerance -> lists whose gradient is within it after Algorithm 1's 10 steps.
    settled
        Lists whose order after 10 steps is that after 50.
    newton
        Lists on which Podium's method converges to 1e-8 within 10 iterations.
    """

    data: str
    rho: float
    lists: int
    with_minimum: int
    within: Mapping[str, int]
    settled: int
    newton: int


def count_converged(ranked: Ranked, seed: int = 0) -> tuple[Convergence, ...]:
    """Count on lists with their rules, for each weight."""
    return tuple(_counted(ranked, rho, seed) for rho in RHOS)


def _counted(ranked: Ranked, rho: float, seed: int) -> Convergence:
    printed = list(ranked.problems(CASE, PRINTED, (rho, rho)).values())
    first, later = (
        PaperDescent(seed=seed, max_iter=steps, tol=0.0).solve(printed)
        for steps in (STEPS, MORE_STEPS)
    )
    ours = list(ranked.problems(CASE, Settings(), (rho, rho)).values())
    own = BradleyTerry(max_iter=STEPS).solve(ours)
    return Convergence(
        "", rho, len(printed), sum(map(_has_minimum, printed)),
        {f"{tol:g}": sum(bool(s.gradient_norm <= tol) for s in first) for tol in TOLERANCES},
        sum(
            np.array_equal(by_score(a.scores), by_score(b.scores))
            for a, b in zip(first, later, strict=True)
        ),
        sum(bool(s.converged) for s in own),
    )  # fmt: skip


def _has_minimum(problem: PostRankingProblem) -> bool:
    wish = Preferences(problem.n, problem.pairs, problem.scale)
    for bound in problem.rules:
        bound.rule.prefer(bound, wish)
    return wish.is_strongly_connected()


def joined_counts(data: str, folds: Iterable[Sequence[Convergence]]) -> list[Convergence]:
    """Return the folds of a data set put together, for each weight.

    Examples
    --------
    >>> one = Convergence("", 1.0, 10, 0, {"0.1": 3}, 4, 10)
    >>> joined_counts("MQ2008", [[one], [one]])
    [Convergence(data='MQ2008', rho=1.0, lists=20, with_minimum=0, within={'0.1': 6}, settled=8, newton=20)]
    """
    return [
        replace(
            own[0], data=data, within={tol: sum(c.within[tol] for c in own) for tol in own[0].within},
            **{
                name: sum(getattr(c, name) for c in own)
                for name in ("lists", "with_minimum", "settled", "newton")
            },
        )
        for own in zip(*folds, strict=True)
    ]  # fmt: skip
