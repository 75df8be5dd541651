"""Convergence of the post-ranking methods: how many lists are done after 10 iterations.

The paper: "for most queries the algorithm converges within 10 iterations" (Wu, Xu, Li, Jiang, Ranking
optimization with constraints, CIKM 2014, section 5.4). It has top-5 and not-top-10 rules, those of
Table 2, and names neither tolerance nor weights.
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
from podium_papers.rankopt.drawn_rules import RuleCase
from podium_papers.rankopt.lists_under_rules import ListsUnderRules

CONVERGENCE_CASE = RuleCase(5, 10)
PAPER_STEPS, LONG_STEPS = 10, 50
"""Steps of the paper, and of a longer descent."""
RHOS = (1.0, 10.0)
"""Weights of the two rules, which are equal."""
TOLERANCES = (0.1, 0.01, 0.001)
"""A descent has converged if no element of the gradient is larger."""
PRINTED_SETTINGS = Settings(prior=0.0, pairs="printed", scale="pair")


@dataclass(frozen=True)
class Convergence:
    """Counts of a data set's lists that have converged after 10 steps, under rules of one weight.

    Parameters
    ----------
    lists
        Lists that are long enough for a rule.
    with_minimum
        Lists on which the printed objective has a minimum at all.
    within
        By tolerance, lists whose gradient is within it after Algorithm 1's 10 steps.
    settled
        Lists whose order is the same after 10 and after 50 steps.
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


def count_converged(ranked: ListsUnderRules, seed: int = 0) -> tuple[Convergence, ...]:
    """Count the lists that have converged, for each weight."""
    return tuple(_count(ranked, rho, seed) for rho in RHOS)


def _count(ranked: ListsUnderRules, rho: float, seed: int) -> Convergence:
    printed = list(ranked.problems(CONVERGENCE_CASE, PRINTED_SETTINGS, (rho, rho)).values())
    first, later = (
        PaperDescent(seed=seed, max_iter=steps, tol=0.0).solve(printed)
        for steps in (PAPER_STEPS, LONG_STEPS)
    )
    ours = list(ranked.problems(CONVERGENCE_CASE, Settings(), (rho, rho)).values())
    newton_results = BradleyTerry(max_iter=PAPER_STEPS).solve(ours)
    return Convergence(
        "", rho, len(printed), sum(map(_has_minimum, printed)),
        {f"{tol:g}": sum(bool(s.gradient_norm <= tol) for s in first) for tol in TOLERANCES},
        sum(
            np.array_equal(by_score(a.scores), by_score(b.scores))
            for a, b in zip(first, later, strict=True)
        ),
        sum(bool(s.converged) for s in newton_results),
    )  # fmt: skip


def _has_minimum(problem: PostRankingProblem) -> bool:
    wish = Preferences(problem.n, problem.pairs, problem.scale)
    for bound in problem.rules:
        bound.rule.prefer(bound, wish)
    return wish.is_strongly_connected()


def join_counts(data: str, folds: Iterable[Sequence[Convergence]]) -> list[Convergence]:
    """Add up the folds of a data set, for each weight.

    Examples
    --------
    >>> one = Convergence("", 1.0, 10, 0, {"0.1": 3}, 4, 10)
    >>> join_counts("MQ2008", [[one], [one]])
    [Convergence(data='MQ2008', rho=1.0, lists=20, with_minimum=0, within={'0.1': 6}, settled=8, newton=20)]
    """
    return [
        replace(
            fold_counts[0], data=data,
            within={tol: sum(c.within[tol] for c in fold_counts) for tol in fold_counts[0].within},
            **{
                name: sum(getattr(c, name) for c in fold_counts)
                for name in ("lists", "with_minimum", "settled", "newton")
            },
        )
        for fold_counts in zip(*folds, strict=True)
    ]  # fmt: skip
