"""Bradley-Terry scores: the original order and soft rules as one convex problem (Wu et al., CIKM 2014)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.errors import UsageError
from podium.postranking.methods.preferences import Preferences
from podium.postranking.methods.problem import Method, PostRankingProblem, Solution, by_score
from podium.postranking.rules.rule import BoundRule
from podium.typing import Floats
from podium.work_budget import check_time, seconds_left

MARGIN_FLOOR = 0.1
"""The weight of a pair of equal scores with ``base="margin"``."""
EPS = float(np.finfo(np.float64).eps)


class Minimiser(Method):
    """A method that minimises f over the scores."""

    def solve(self, problems: Sequence[PostRankingProblem]) -> list[Solution]:
        """Return the minimum for every list.

        Some rules choose documents: AtMost, AtLeast and Apart. They choose from the minimum without
        them, and then their lists are solved again. A rule that holds without its preferences adds
        none, unless hard rules move documents later.
        """
        preferences = [Preferences(p.n, p.pairs, p.scale) for p in problems]
        # The last bit of a sum depends on the order of its terms. Sorted rules give the same sums,
        # whatever the order of the user's rules.
        rules = [sorted(p.rules, key=BoundRule.sort_key) for p in problems]
        for own, preference in zip(rules, preferences, strict=True):
            for bound_rule in own:
                bound_rule.rule.prefer(bound_rule, preference)
        solutions = self.minimise(problems, preferences)
        waiting = [[b for b in own if b.rule.chooses] for own in rules]
        orders = {q: by_score(solutions[q].scores).tolist() for q, own in enumerate(waiting) if own}
        choosers = list(orders)
        while choosers := [
            q
            for q in choosers
            if _choose(problems[q], waiting[q], orders[q], solutions[q], preferences[q])
        ]:
            again = self.minimise(
                [problems[q] for q in choosers], [preferences[q] for q in choosers]
            )
            for q, solution in zip(choosers, again, strict=True):
                solutions[q] = solution
        return solutions

    @abstractmethod
    def minimise(
        self, problems: Sequence[PostRankingProblem], preferences: Sequence[Preferences]
    ) -> list[Solution]:
        """Return the scores of every list under these preferences."""


def _choose(
    problem: PostRankingProblem,
    waiting: list[BoundRule],
    order: Sequence[int],
    solution: Solution,
    preferences: Preferences,
) -> bool:
    """Let the waiting rules that do not hold choose from an order; return whether there were any.

    They wait no longer. The choice of one rule may break another one, which chooses next time.
    """
    broken = [*waiting]
    if waiting and not problem.moves_later:
        place = np.empty(problem.n, dtype=np.int64)
        place[by_score(solution.scores)] = np.arange(1, problem.n + 1)
        places = place.tolist()
        broken = [b for b in waiting if b.slack(places)]
    for bound_rule in broken:
        bound_rule.rule.choose(bound_rule, order, preferences)
        waiting.remove(bound_rule)
    return bool(broken)


@dataclass(frozen=True)
class BradleyTerry(Minimiser):
    """Bradley-Terry scores s that explain the original order and the soft rules best.

    f(s) = sum_{i before j} w_ij l(s_i - s_j) + sum_c rho_c sum_{(i,j) in P_c} l(s_i - s_j) +
    (tau/2) |s|^2 with l(x) = log(1 + e^-x) and tau = prior * n. As printed (eq. 5, tau = 0), f has
    a minimum only if the preferences are strongly connected; it is then unique up to a constant.
    With tau there is always a unique minimum, which keeps the original order if there are no rules.

    Parameters
    ----------
    tol
        The method has converged if no element of the gradient is larger. If weights are so large
        that this is below their rounding, the limit is 64 eps of the weight on a document.
    max_iter
        The maximum number of Newton steps.
    """

    name: ClassVar[str] = "bradley-terry"
    tol: float = 1e-8
    max_iter: int = 100

    def minimise(
        self, problems: Sequence[PostRankingProblem], preferences: Sequence[Preferences]
    ) -> list[Solution]:
        """Minimise f for all lists in one call of the kernel."""
        if not problems:
            return []
        for problem, preference in zip(problems, preferences, strict=True):
            _check_prior(problem, preference)
        limits = (self.tol, self.max_iter, seconds_left())
        everything: tuple[Any, ...] = (*kernel_arguments(problems, preferences), *limits)
        s, value, norm, iterations = kernels.bradley_terry(*everything)
        check_time()
        offsets = everything[1]
        return [
            Solution(
                s[offsets[q] : offsets[q + 1]],
                value[q],
                norm[q],
                iterations[q],
                norm[q] <= self.tol
                or norm[q] <= 64 * EPS * _largest_weight(problems[q], preferences[q]),
            )
            for q in range(len(problems))
        ]


def _check_prior(problem: PostRankingProblem, preference: Preferences) -> None:
    """Raise if there is no prior; the error says whether f has a minimum without one."""
    if problem.prior > 0:
        return
    if preference.is_strongly_connected():
        why = "without a prior, the scores of this list are determined only up to a constant"
        advice = "use a small prior, or {} with more steps, which finds one minimum"
    else:
        why = (
            "without a prior, f has no minimum for this list, because no chain of rules leads "
            "from the last document back to the first"
        )
        advice = "use a prior above 0; {} stops without a minimum"
    raise UsageError(f"expected a prior above 0 for bradley-terry, got 0: {why}").advise(
        python=advice.format("method='paper'"), command_line=advice.format("--method paper")
    )


def kernel_arguments(
    problems: Sequence[PostRankingProblem], preferences: Sequence[Preferences]
) -> tuple[Any, ...]:
    """Return the arguments of the kernel: the lists one after the other."""
    offsets = _offsets(p.n for p in problems)
    b = np.zeros(offsets[-1])
    floor, slope = np.ones(len(problems)), np.zeros(len(problems))
    for q, problem in enumerate(problems):
        if problem.base == "margin" and problem.scores is not None:
            scores = scale_to_one(problem.scores)
            b[offsets[q] : offsets[q + 1]] = scores
            floor[q], slope[q] = margin_weights(scores)
    springs = [spring for preference in preferences for spring in preference.springs]
    return (
        b,
        offsets,
        floor,
        slope,
        np.array([p.prior * p.n for p in problems]),
        _concatenate(np.int64, (w.doc for w in preferences)),
        _concatenate(np.int64, (w.lo for w in preferences)),
        _concatenate(np.int64, (w.hi for w in preferences)),
        _concatenate(np.float64, (w.weight for w in preferences)),
        _offsets(len(w.doc) for w in preferences),
        _concatenate(np.int64, (rows for rows, _ in springs)),
        _offsets(len(rows) for rows, _ in springs),
        np.array([kappa for _, kappa in springs], dtype=np.float64),
        _offsets(len(w.springs) for w in preferences),
    )


def scale_to_one(scores: Floats) -> Floats:
    """Divide scores by the largest absolute value: only ratios of margins count, and nothing overflows."""
    largest = np.abs(scores).max(initial=0.0)
    return scores / largest if largest > 0 else scores


def margin_weights(scores: Floats) -> tuple[float, float]:
    """Return floor and slope of w_ij = 0.1 + 0.9 (b_i - b_j) / mean margin, for scores best first.

    Examples
    --------
    >>> margin_weights(np.array([3.0, 2.0, 1.0]))  # margins 1, 1 and 2
    (0.1, 0.675)
    """
    n = len(scores)
    # b_i is ahead of n-1-i documents and behind i.
    total = float(np.sum((n - 1 - 2 * np.arange(n)) * scores))
    if total <= 0:
        return 1.0, 0.0
    return MARGIN_FLOOR, (1 - MARGIN_FLOOR) * (n * (n - 1) / 2) / total


def _largest_weight(problem: PostRankingProblem, preference: Preferences) -> float:
    """Return the largest total weight of pairs and springs on a document, plus n for the original order."""
    total: dict[int, float] = {}
    for doc, lo, hi, weight in zip(
        preference.doc, preference.lo, preference.hi, preference.weight, strict=True
    ):
        total[doc] = total.get(doc, 0.0) + abs(weight) * (hi - lo)
    for rows, kappa in preference.springs:
        for row in rows:
            total[row] = total.get(row, 0.0) + kappa
    return problem.n + max(total.values(), default=0.0)


def _offsets(sizes: Iterable[int]) -> NDArray[np.int64]:
    return np.array([0, *accumulate(sizes)])


def _concatenate(kind: Any, parts: Iterable[Sequence[Any]]) -> NDArray[Any]:
    return np.array([value for part in parts for value in part], dtype=kind)
