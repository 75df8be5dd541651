"""Results of a search: the report of what was tried, what it cost and what the budget left out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from podium.ensemble.auto.candidates import Candidate
from podium.ensemble.auto.final_model import FinalMember
from podium.ensemble.auto.nested_validation import ChosenCombination
from podium.ensemble.auto.racing import whole_race
from podium.ensemble.auto.search import CandidateSearch
from podium.ensemble.auto.search_progress import interval
from podium.rankers.selection_report import CandidateResult, SelectionReport


def make_report(
    search: CandidateSearch,
    combination: ChosenCombination | None,
    members: Sequence[FinalMember],
) -> SelectionReport:
    """Return the report of a search that ended with these members."""
    runner, clock = search.runner, search.runner.clock
    weights = {member.label: member.weight for member in members}
    results = [
        _candidate_result(search, number, candidate, weights.get(candidate.label, 0.0))
        for number, candidate in enumerate(runner.candidates)
    ]
    return SelectionReport(
        metric=str(runner.metric),
        budget=str(clock.budget),
        folds=runner.n_folds,
        repeats=search.divisions,
        fits=clock.fits,
        seconds=round(clock.seconds, 3),
        counts_fits=clock.budget.fits is not None,
        candidates=tuple(results),
        combinations=() if combination is None else combination.results,
        left_out=tuple(_left_out(search, results)),
    )


def _left_out(search: CandidateSearch, results: Sequence[CandidateResult]) -> list[str]:
    """Return what the budget did not allow, and how much would do."""
    n_folds, texts = search.runner.n_folds, []
    if n := sum(result.outcome == "left out: budget" for result in results):
        n_fits = whole_race(len(results), n_folds)
        texts.append(
            f"{n} of {len(results)} candidates were not fitted on all their folds; a race of all takes about "
            f"{n_fits} fits{_duration(search, n_fits)}"
        )
    if not search.finalists:
        texts.append(
            f"no candidate was fitted on all {n_folds} folds, so that nothing was combined and the model is "
            f"that of one candidate; {2 * n_folds} fits allow a combination"
            f"{_duration(search, 2 * n_folds)}"
        )
    return texts


def _duration(search: CandidateSearch, n_fits: int) -> str:
    """Return how long so many fits take if they take as long as those so far; empty for a budget in fits."""
    runner = search.runner
    budget, seconds = runner.clock.budget, [fit.seconds for fit in runner.fits.values()]
    if budget.seconds is None or not seconds:
        return ""
    # A fit that was cut would have taken longer.
    least = "at least " if any(fit.is_cut for fit in runner.fits.values()) else ""
    time = describe_seconds(n_fits * float(np.mean(seconds)) / runner.n_workers())
    return f", {least}{time}" + (" of processor time" if budget.clock == "processor" else "")


def describe_seconds(seconds: float) -> str:
    """Return a duration in round numbers, as a budget takes it, but never too short.

    Examples
    --------
    >>> [describe_seconds(value) for value in (0.2, 61, 1000, 7300)]
    ['1s', '70s', '17m', '3h']
    """
    if seconds <= 100:
        return f"{math.ceil(seconds) if seconds <= 10 else 10 * math.ceil(seconds / 10)}s"
    return f"{math.ceil(seconds / 60)}m" if seconds <= 6000 else f"{math.ceil(seconds / 3600)}h"


def _candidate_result(
    search: CandidateSearch, number: int, candidate: Candidate, weight: float
) -> CandidateResult:
    own = [fit for task, fit in search.runner.fits.items() if task.number == number]
    value, low, high = interval(*search.per_query(number))
    has_value = bool(np.isfinite(value))
    default = (
        "finalist" if number in search.finalists else ("interrupted" if own else "left out: budget")
    )
    return CandidateResult(
        label=candidate.label,
        family=candidate.family,
        settings=repr(candidate.ranker),
        value=round(value, 6) if has_value else None,
        low=round(low, 6) if has_value and np.isfinite(low) else None,
        high=round(high, 6) if has_value and np.isfinite(high) else None,
        fits=len(own),
        seconds=round(sum(fit.seconds for fit in own), 3),
        weight=weight,
        outcome="member" if weight > 0 else search.outcomes.get(number, default),
    )
