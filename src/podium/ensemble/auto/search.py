"""The search: a race of candidates, then more fits of the finalists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from podium.counted_nouns import count_text
from podium.ensemble.auto.candidates import Family
from podium.ensemble.auto.fit_runner import FitRunner
from podium.ensemble.auto.fold_fits import FitTask, FoldFit
from podium.ensemble.auto.out_of_fold import OutOfFold
from podium.ensemble.auto.racing import (
    MAX_FINALISTS,
    far_behind,
    pilots,
    plan_race,
    rung_sizes,
    survivors,
)
from podium.metrics.query_mean import mean_over_queries
from podium.typing import Floats

MAX_DIVISIONS = 4
"""The finalists are fitted on at most this many divisions of the queries into folds."""
FIRST_RUNG_SHARE, RACE_SHARE, DIVISIONS_SHARE = 0.3, 0.85, 0.95
"""The first rung ends when 30% of the time is used, the race at 85%, the fits of finalists at 95%."""
CANDIDATE_DIGITS = 6
"""Values that differ less are equal: the order of rows must not choose a candidate."""


@dataclass
class CandidateSearch:
    """The state of a search: who is still in the race, and why others are not.

    Parameters
    ----------
    on_stage
        Called with the name of each stage that begins.
    """

    runner: FitRunner
    on_stage: Callable[[str], object]
    finalists: list[int] = field(default_factory=list)
    outcomes: dict[int, str] = field(default_factory=dict)
    divisions: int = 0

    # --- the race ---

    def race(self) -> None:
        """Fit the candidates fold by fold; each fold halves their number."""
        n_folds, runner = self.runner.n_folds, self.runner
        n_racing, n_finalists = len(runner.candidates), MAX_FINALISTS
        if runner.clock.budget.fits is not None:
            n_racing, n_finalists = plan_race(n_racing, n_folds, runner.clock.budget.fits)
        running = self._first_fold(n_racing)
        # Only now is it known how many candidates were in time.
        sizes = rung_sizes(max(1, len(running)), n_folds, n_finalists)
        for fold in range(1, n_folds):
            size = self._affordable_size(running, sizes[fold:])
            running = self._halve(running, size, fold)
            self.on_stage(f"fold {fold + 1} of {n_folds}, {count_text(len(running), 'candidate')}")
            # A finalist without its last fold would be lost, so that it may take longer.
            share = RACE_SHARE if fold < n_folds - 1 else DIVISIONS_SHARE
            runner.run([FitTask(number, 0, fold) for number in running], share)
            running = self._finished(running, fold)
        running = self._halve(running, len(running) - len(self._far_behind(running)), n_folds - 1)
        self.finalists = sorted(running, key=lambda number: (-self.value(number), number))
        self.divisions = 1 if running else 0

    def _first_fold(self, n_racing: int) -> list[int]:
        """Fit the pilots of each family, then others of the families that are not far behind."""
        runner = self.runner
        first = pilots(runner.candidates, n_racing)
        self.on_stage(f"fold 1 of {runner.n_folds}, {count_text(len(first), 'candidate')}")
        runner.measure_sample_times(first, FIRST_RUNG_SHARE)
        runner.run([FitTask(number, 0, 0) for number in first], FIRST_RUNG_SHARE)
        families = self._families_far_behind(self._finished(first, 0))
        others = [n for n in range(len(runner.candidates)) if n not in first]
        worthy = [n for n in others if runner.candidates[n].family not in families]
        entering = sorted([*first, *worthy[: n_racing - len(first)]])
        for number in others:
            self.outcomes[number] = (
                "left out: budget" if number in worthy else "left out: its family is far behind"
            )
        self.on_stage(f"fold 1 of {runner.n_folds}, {count_text(len(entering), 'candidate')}")
        runner.measure_sample_times(entering, FIRST_RUNG_SHARE)
        runner.run([FitTask(number, 0, 0) for number in entering], FIRST_RUNG_SHARE)
        return self._finished(entering, 0) or self._fit_quickest(n_racing)

    def _families_far_behind(self, running: Sequence[int]) -> set[Family]:
        """Return the families whose candidates are all far behind; a family without a fit is not."""
        candidates, weak = self.runner.candidates, self._far_behind(running)
        leading = {candidates[number].family for number in running if number not in weak}
        return {candidates[number].family for number in weak} - leading

    def _far_behind(self, running: Sequence[int]) -> set[int]:
        """Return the candidates that are far behind, by the folds that all of these have."""
        results = {number: self.per_query(number) for number in running}
        weight = next((weights for _, weights in results.values()), None)
        return far_behind({number: values for number, (values, _) in results.items()}, weight)

    def _fit_quickest(self, n_racing: int) -> list[int]:
        """Fit the candidate that takes the shortest time, whatever the prediction: a search has a result."""
        runner = self.runner
        order = sorted(range(n_racing), key=lambda n: (runner.predicted_seconds(n), n))
        for number in order:
            runner.run([FitTask(number, 0, 0)], RACE_SHARE, starts_all=True)
            if finished := self._finished([number], 0):
                return finished
        return []

    def _affordable_size(self, running: Sequence[int], sizes: Sequence[int]) -> int:
        """Return how many candidates go on, so that the rest of the race is predicted to be in time."""
        runner = self.runner
        order = sorted(running, key=lambda number: (-self.value(number), number))
        left = runner.clock.seconds_left(RACE_SHARE) * runner.n_workers()
        seconds = [runner.predicted_seconds(number) for number in order]
        size = sizes[0]
        while size > 1 and sum(sum(seconds[: min(size, n)]) for n in sizes) > left:
            size -= 1
        return size

    def _finished(self, running: Sequence[int], fold: int) -> list[int]:
        """Return the candidates whose fit of this fold succeeded."""
        finished = []
        for number in running:
            fit = self.runner.fits.get(FitTask(number, 0, fold))
            if fit is None:
                self.outcomes[number] = "left out: budget"
            elif fit.model is None:
                self.outcomes[number] = f"failed: {fit.error}"
            else:
                finished.append(number)
        return finished

    def _halve(self, running: Sequence[int], size: int, fold: int) -> list[int]:
        values = {number: self.value(number) for number in running}
        weak = self._far_behind(running)
        remaining = survivors(values, self.runner.candidates, size, weak)
        for number in running:
            if number not in remaining:
                self.outcomes[number] = f"dropped after fold {fold + 1}"
        return remaining

    # --- other divisions of the queries ---

    def fit_more_divisions(self) -> None:
        """Fit the finalists on other divisions of the queries while the budget lasts, the best first."""
        runner = self.runner
        while 0 < self.divisions < MAX_DIVISIONS:
            chosen = self._finalists_in_budget()
            if not chosen:
                break
            self.on_stage(f"repeat {self.divisions + 1}, {len(chosen)} finalists")
            tasks = [
                FitTask(number, self.divisions, fold)
                for number in chosen
                for fold in range(runner.n_folds)
            ]
            runner.run(tasks, DIVISIONS_SHARE)
            self.divisions += 1

    def fit_more_bags(self, members: Sequence[int]) -> None:
        """Fit members once more, as far as the budget allows: a division that need not be complete.

        These models join the mean of the member. They do not change the weights.
        """
        runner = self.runner
        if not 0 < self.divisions < MAX_DIVISIONS:
            return
        folds = range(runner.n_folds)
        tasks = [FitTask(number, self.divisions, fold) for fold in folds for number in members]
        tasks = tasks[: int(min(runner.clock.fits_left(), len(tasks)))]
        if tasks:
            self.on_stage("more fits of the members")
            runner.run(tasks, DIVISIONS_SHARE)

    def _finalists_in_budget(self) -> list[int]:
        """Return the best finalists whose fits on one more division are in the budget."""
        runner, n_folds = self.runner, self.runner.n_folds
        n = min(len(self.finalists), int(min(runner.clock.fits_left(), 2**31) // n_folds))
        left = runner.clock.seconds_left(DIVISIONS_SHARE) * runner.n_workers()
        seconds = [runner.predicted_seconds(number) * n_folds for number in self.finalists]
        while n > 0 and sum(seconds[:n]) > left:
            n -= 1
        return self.finalists[:n]

    # --- results ---

    def fits_of(self, number: int) -> list[FoldFit]:
        """Return the fits of a candidate, whose mean it is."""
        divisions = range(self.divisions + 1)
        return [fit for division in divisions for fit in self._fits_of_division(number, division)]

    def _fits_of_division(self, number: int, division: int) -> list[FoldFit]:
        tasks = (FitTask(number, division, fold) for fold in range(self.runner.n_folds))
        fits = (self.runner.fits.get(task) for task in tasks)
        return [fit for fit in fits if fit is not None and fit.model is not None]

    def per_query(self, number: int) -> tuple[Floats, Floats | None]:
        """Return the metric of each query that the candidate did not see, and the queries' weights."""
        folds, weight = self.runner.folds(0), self.runner.queries.raw.query_weight
        values, weights = [], []
        for fold in range(self.runner.n_folds):
            fit = self.runner.fits.get(FitTask(number, 0, fold))
            if fit is not None and fit.model is not None:
                values.append(fit.per_query)
                weights.append(None if weight is None else weight[folds == fold])
        joined = np.concatenate([np.empty(0), *values])
        return joined, None if weight is None else np.concatenate([np.empty(0), *weights])

    def value(self, number: int) -> float:
        """Return the mean metric of a candidate; minus infinity without a fit."""
        value = mean_over_queries(*self.per_query(number))
        return round(value, CANDIDATE_DIGITS) if np.isfinite(value) else -np.inf

    def best(self) -> int | None:
        """Return the candidate with the most folds, of these the best; None if nothing is fitted."""
        n_fits = {n: len(self._fits_of_division(n, 0)) for n in range(len(self.runner.candidates))}
        fitted = [number for number, n in n_fits.items() if n > 0]
        return max(fitted, key=lambda n: (n_fits[n], self.value(n), -n), default=None)

    def out_of_fold(self) -> OutOfFold:
        """Return the standardised out-of-fold scores of the finalists."""
        columns = [self._column(number) for number in self.finalists]
        return OutOfFold.of(self.runner.queries.raw, self.runner.folds(0), columns)

    def _column(self, number: int) -> Floats:
        """Return the mean over divisions of a finalist's scores."""
        data = self.runner.queries.raw
        columns = []
        for division in range(self.divisions):
            if len(self._fits_of_division(number, division)) < self.runner.n_folds:
                continue
            column = np.empty(len(data))
            for fold in range(self.runner.n_folds):
                rows = data.groups.spread(self.runner.folds(division) == fold)
                column[rows] = self.runner.fits[FitTask(number, division, fold)].scores
            columns.append(column)
        return np.asarray(np.mean(columns, axis=0))
