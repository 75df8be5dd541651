"""The runner of fits: parallel, within the budget, and kept for a search that is interrupted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.externals.loky.process_executor import TerminatedWorkerError
from numpy.typing import NDArray

from podium.data import RankingData
from podium.ensemble.auto.budget import ClockName
from podium.ensemble.auto.candidates import Candidate
from podium.ensemble.auto.fit_store import FitStore, StoredFit
from podium.ensemble.auto.fit_times import FitTimes
from podium.ensemble.auto.fold_fits import FitTask, FoldFit, fit_fold, measure_fit
from podium.ensemble.auto.query_folds import query_folds
from podium.ensemble.auto.search_clock import SearchClock
from podium.errors import PodiumError
from podium.metrics import Metric
from podium.rankers.models import Model
from podium.rankers.preparation import Preparation
from podium.rankers.prepared_model import PreparedModel
from podium.task_runner import current_runner

SAMPLE_VALUES = 3_000_000
"""The time of a fit is measured on a sample first if there are more feature values."""
MIN_FITS_IN_TIME = 10
"""A fit may take this share of the budget, 1/10; a longer one is cut, and keeps its best iteration."""
MIN_TURNS_IN_TIME = 8
"""If several fits run at a time, each may take longer, up to 1/8 of the budget."""
SAMPLES_SHARE = 0.2
"""The share of the time of the first rung that samples may take."""


@dataclass(frozen=True, eq=False)
class PreparedQueries:
    """The queries of a search, as they are and as rankers that need preparation see them."""

    raw: RankingData
    raw_valid: RankingData | None
    preparation: Preparation | None
    prepared: RankingData
    prepared_valid: RankingData | None

    def of(self, candidate: Candidate) -> tuple[RankingData, RankingData | None]:
        """Return the training and the validation queries for a candidate."""
        if candidate.takes_raw_features:
            return self.raw, self.raw_valid
        return self.prepared, self.prepared_valid

    def wrap(self, candidate: Candidate, model: Model) -> Model:
        """Return the model that takes raw features."""
        if candidate.takes_raw_features or self.preparation is None:
            return model
        return PreparedModel(self.preparation, model)


@dataclass
class FitRunner:
    """Runs fits of candidates and keeps their results.

    Parameters
    ----------
    on_fit
        Called with each task that is finished.
    """

    queries: PreparedQueries
    candidates: Sequence[Candidate]
    metric: Metric
    n_folds: int
    seed: int
    clock: SearchClock
    store: FitStore
    n_jobs: int | None
    on_fit: Callable[[FitTask], object]
    fits: dict[FitTask, FoldFit] = field(default_factory=dict)
    times: FitTimes = field(default_factory=FitTimes)
    _folds: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    def folds(self, division: int) -> NDArray[np.int64]:
        """Return the fold of each query; each division has other folds."""
        if division not in self._folds:
            self._folds[division] = query_folds(
                self.queries.raw, self.n_folds, self.seed + division
            )
        return self._folds[division]

    def run(
        self, tasks: Sequence[FitTask], share: float = 1.0, *, starts_all: bool = False
    ) -> None:
        """Run the tasks that are not finished, in order, until a share of the time is used.

        A fit that is predicted to take longer than the time that is left is not started, unless
        `starts_all` is set; then it is cut when the time is over.
        """
        for task in tasks:
            if task not in self.fits:
                self._load(task)
        remaining = [task for task in tasks if task not in self.fits]
        if not remaining:
            return
        try:
            for task, fit in self._start(self._calls_in_time(remaining, share, starts_all)):
                self._finish(task, fit)
        except TerminatedWorkerError:
            folder = self.store.folder
            where = "" if folder is None else f"; finished fits are kept in {folder}"
            raise PodiumError(
                f"a process of the search was killed, perhaps out of memory{where}"
            ).advise(
                python="run fewer fits at a time, as in n_jobs=2",
                command_line="run fewer fits at a time, as in --jobs 2",
            ) from None

    def _start(self, calls: Iterator[Any]) -> Iterator[tuple[FitTask, FoldFit]]:
        """Return the results of calls as they finish: on the cluster in use, or by joblib."""
        if (runner := current_runner()) is not None:
            return runner.run(calls, in_order=False)
        parallel = Parallel(
            n_jobs=self.n_jobs, batch_size=1, pre_dispatch="n_jobs", return_as="generator_unordered"
        )
        results: Iterator[tuple[FitTask, FoldFit]] = parallel(calls)
        return results

    def n_workers(self) -> int:
        """Return the number of fits that run at a time."""
        runner = current_runner()
        return int(effective_n_jobs(self.n_jobs)) if runner is None else runner.n_workers()

    def _calls_in_time(
        self, tasks: Sequence[FitTask], share: float, starts_all: bool
    ) -> Iterator[Any]:
        """Yield the calls of fits that are in time; joblib asks for one when a process is free."""
        for task in tasks:
            left = self.clock.seconds_left(share)
            is_late = left <= 0 or self.predicted_seconds(task.number) > left
            if is_late and not starts_all:
                continue
            candidate = self.candidates[task.number]
            data, valid = self.queries.of(candidate)
            held_out = self.folds(task.division) == task.fold
            limit = self._fit_limit(left)
            yield delayed(_run_task)(
                task,
                candidate.ranker,
                data,
                held_out,
                valid,
                self.metric,
                limit,
                self.clock.budget.clock,
            )

    def _fit_limit(self, seconds_left: float) -> float | None:
        """Return the seconds after which a fit is cut, so that one fit cannot use the budget of all."""
        budget = self.clock.budget.seconds
        if budget is None:
            return None
        turns = max(MIN_FITS_IN_TIME / self.n_workers(), MIN_TURNS_IN_TIME)
        return min(max(seconds_left, 0.0), budget / turns)

    def _finish(self, task: FitTask, fit: FoldFit) -> None:
        if fit.model is not None:
            model = self.queries.wrap(self.candidates[task.number], fit.model)
            fit = replace(fit, model=model)
        self._record(task, fit)
        stored = StoredFit(
            fit.model, fit.scores, fit.seconds, self.clock.seconds, fit.is_cut, fit.error
        )
        self.store.save(self._name(task), stored)
        self.on_fit(task)

    def _load(self, task: FitTask) -> None:
        """Take a fit of an interrupted search, and the time that it had used."""
        stored = self.store.load(self._name(task))
        # A fit that was cut depends on the machine, which a number of fits must not.
        if stored is None or (stored.is_cut and self.clock.budget.seconds is None):
            return
        self.clock.continue_from(stored.elapsed)
        if stored.model is None:
            fit = FoldFit.failed(stored.error, stored.seconds)
        else:
            test = self.queries.raw.subset(np.flatnonzero(self.folds(task.division) == task.fold))
            fit = measure_fit(stored.model, test, self.metric, stored.scores)
            fit = replace(fit, seconds=stored.seconds, is_cut=stored.is_cut)
        self._record(task, fit)
        self.on_fit(task)

    def _record(self, task: FitTask, fit: FoldFit) -> None:
        self.fits[task] = fit
        self.clock.fits += 1
        self.times.add(task.number, self.timing_kind(task.number), fit.seconds)

    def predicted_seconds(self, number: int) -> float:
        """Return the mean time of the candidate's fits so far, or of its kind; 0 if none is known."""
        return self.times.predict(number, self.timing_kind(number))

    def timing_kind(self, number: int) -> str:
        """Return what decides the time of a fit: the ranker, its loss and its scorer."""
        ranker = self.candidates[number].ranker
        loss, scorer = getattr(ranker, "loss", ""), getattr(ranker, "scorer", "")
        return " ".join([ranker.name, loss if isinstance(loss, str) else "own", str(scorer)])

    def measure_sample_times(self, candidates: Sequence[int], share: float) -> None:
        """Predict the time of each kind of fit by a fit on a sample, if fits may be long."""
        data = self.queries.raw
        if self.clock.budget.seconds is None or data.X.size <= SAMPLE_VALUES:
            return
        n = max(2 * self.n_folds, round(data.n_queries * SAMPLE_VALUES / data.X.size / 10))
        sampled = np.sort(np.argsort(self.folds(0), kind="stable")[:n])
        for number in candidates:
            kind = self.timing_kind(number)
            if kind in self.times.samples or self.clock.seconds_left(SAMPLES_SHARE * share) <= 0:
                continue
            candidate = self.candidates[number]
            sample = self.queries.of(candidate)[0].subset(sampled)
            held_out = np.arange(len(sampled)) % self.n_folds == 0
            limit = self.clock.seconds_left(SAMPLES_SHARE * share)
            clock = self.clock.budget.clock
            fit = fit_fold(candidate.ranker, sample, held_out, None, self.metric, limit, clock)
            self.times.samples[kind] = fit.seconds * data.n_queries / len(sampled)

    def _name(self, task: FitTask) -> str:
        ranker = self.candidates[task.number].ranker
        return f"{ranker!r} repeat {task.division} fold {task.fold}"


def _run_task(
    task: FitTask,
    ranker: Any,
    data: RankingData,
    held_out: NDArray[np.bool_],
    valid: RankingData | None,
    metric: Metric,
    seconds: float | None,
    clock: ClockName,
) -> tuple[FitTask, FoldFit]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the search reports what failed
        return task, fit_fold(ranker, data, held_out, valid, metric, seconds, clock)
