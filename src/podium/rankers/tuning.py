"""Tuning: validation queries choose the settings, and each fit starts where the last one ended."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joblib import delayed
from sklearn.base import clone

from podium.data import RankingData
from podium.errors import UsageError
from podium.metrics import Metric, evaluate
from podium.metrics.naming import resolve
from podium.rankers.learning_curve import Callback
from podium.rankers.models import Model
from podium.rankers.ranker import Ranker
from podium.rankers.remote_rows import remote_rows
from podium.rankers.shared_preparations import shared_features
from podium.rankers.wrapped_ranker import innermost_ranker
from podium.task_runner import TaskRunner, current_runner

GridSettings = dict[str, Any]
"""Parameter -> value."""
Grid = Mapping[str, Sequence[Any]]
"""Parameter -> values to try."""

SettingsRanker = tuple[GridSettings, Ranker]
"""Settings, and the ranker that has them."""


@dataclass(frozen=True)
class Trial:
    """One setting and its value on the validation queries."""

    settings: GridSettings
    value: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Tuning:
    """The best ranker, and all settings that were tried."""

    ranker: Ranker
    settings: GridSettings
    value: float
    metric: str
    trace: tuple[Trial, ...] = field(repr=False)
    finished: bool = True
    """False if ctrl-C ended the search; the result is then the best of the settings tried so far."""

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return (
            f"Tuning({self.ranker.name}: {chosen}, {self.metric} = {self.value:.4f} on validation, "
            f"{len(self.trace)} settings)"
        )


def tune(
    ranker: Ranker,
    train: Any,
    valid: Any,
    metric: str | Metric = "NDCG@10",
    grid: Grid | None = None,
    *,
    warm: bool = True,
    callback: Callback | None = None,
    trial_callback: Callable[[Trial, int], object] | None = None,
) -> Tuning:
    """Fit a ranker with every setting of a grid; validation queries choose.

    Each fit along the ranker's path (C, l2, beta) starts from the model of the last fit, if that is
    the optimum (SVMs; linear gradient rankers with ``early_stopping=False``). So a path costs
    little more than its hardest fit. Settings that change only scores (``rpc-mtl``: combine, c)
    change fastest, because their fits end where they start. If values are equal, the first setting
    wins.

    Parameters
    ----------
    ranker
        The ranker to tune. Its other parameters keep their values; the ranker itself does not
        change.
    train, valid
        RankingData, or (X, y, qid).
    metric
        The metric to maximise on the validation queries, as a mean over ties. Rankers that choose
        an iteration choose it by this metric, too.
    grid
        Parameter -> values; None means the grid of the ranker's paper.
    warm
        Whether a fit starts from the last one on its path. The optimum of a convex problem is the
        same either way; topslack and topmargin may end at another model than a single fit.
    callback
        Called after each iteration; on a cluster, for all iterations of a fit when it has ended.
    trial_callback
        Called after each setting with its trial and the total number of settings.

    Examples
    --------
    >>> from podium.data import make_synthetic, split
    >>> from podium.rankers import RankSVM
    >>> train, valid = split(make_synthetic(n_queries=60, seed=0), [0.7, 0.3])
    >>> tuning = tune(RankSVM(), train, valid, grid={"C": [1e-4, 1e-2]})
    >>> [trial.settings for trial in tuning.trace], tuning.ranker.name
    ([{'C': 0.0001}, {'C': 0.01}], 'ranksvm')
    """
    if not isinstance(ranker, Ranker):
        raise UsageError(f"expected a ranker to tune, as in tune(RankSVM(), ...), got {ranker!r}")
    train, metric = ranker.ranking_data(train), resolve(metric)
    valid = ranker.ranking_data(valid, scaled=train.scaled)
    grid = ranker.grid if grid is None else grid
    total = _count_settings(ranker, grid)
    for path in _paths(grid, ranker.warm_start_along, ranker.score_only):
        for settings in path:  # raise errors before the first fit, not after an hour
            _with_settings(ranker, settings, metric).check_fit(train)
    search = _Search(train, valid, metric.averaging_ties(), warm, trial_callback, total)
    paths = (
        ((settings, _with_settings(ranker, settings, metric)) for settings in path)
        for path in _paths(grid, ranker.warm_start_along, ranker.score_only)
    )
    # If rows are on workers, each fit uses the whole cluster.
    if (runner := current_runner()) is not None and remote_rows(train) is None:
        return search.tuning(finished=search.run_on(runner, paths, callback))
    with shared_features():
        return search.tuning(finished=search.run(paths, callback))


def _next_start(candidate: Ranker, warm: bool) -> Model | None:
    """Return the model that the next fit of a path starts from."""
    # If validation chose the iteration, the model is not the optimum that the path follows.
    return None if candidate.keeps_best or not warm else candidate.model_


def _measure(settings: GridSettings, ranker: Ranker, valid: RankingData, metric: Metric) -> Trial:
    """Measure a fitted ranker on the validation queries; a search measures its result itself.

    A search may have learned from the validation queries, but knows how it ranks queries it did not see.
    """
    own = ranker.history_.steps[-1].valid if innermost_ranker(ranker).is_search else None
    value = evaluate(valid, ranker.predict(valid), metric)[metric].mean if own is None else own
    return Trial(settings, value, len(ranker.history_), ranker.converged_)


def _chains(path: Iterable[SettingsRanker], warm: bool) -> Iterator[list[SettingsRanker]]:
    """Yield the parts of a path that do not depend on each other."""
    chain: list[SettingsRanker] = []
    for settings, candidate in path:
        chain.append((settings, candidate))
        if candidate.keeps_best or not warm:
            yield chain
            chain = []
    if chain:
        yield chain


def _fit_chain(
    chain: list[SettingsRanker], train: RankingData, valid: RankingData, metric: Metric, warm: bool
) -> list[tuple[Trial, Ranker]]:
    """Fit rankers one after the other, and measure each; a worker of a cluster does so."""
    start, trials = None, []
    with shared_features():
        for settings, candidate in chain:
            _fit(candidate, train, valid, None, start)
            start = _next_start(candidate, warm)
            trials.append((_measure(settings, candidate, valid, metric), candidate))
    return trials


class _Search:
    """The trials so far, and the best ranker."""

    def __init__(
        self, train: RankingData, valid: RankingData, metric: Metric, warm: bool,
        trial_callback: Callable[[Trial, int], object] | None, total: int,
    ) -> None:  # fmt: skip
        self.train, self.valid, self.metric, self.warm = train, valid, metric, warm
        self.trial_callback, self.total = trial_callback, total
        self.trials: list[Trial] = []
        self.best: tuple[Trial, Ranker] | None = None

    def run(self, paths: Iterable[Iterable[SettingsRanker]], callback: Callback | None) -> bool:
        """Fit and measure every candidate; return False if the search was interrupted."""
        for path in paths:
            start = None
            for settings, candidate in path:
                try:
                    _fit(candidate, self.train, self.valid, callback, start)
                except KeyboardInterrupt:
                    if not self.trials:
                        raise
                    return False
                start = _next_start(candidate, self.warm)
                self.add(_measure(settings, candidate, self.valid, self.metric), candidate)
                if candidate.stopped_ == "interrupted":
                    return False
        return True

    def run_on(
        self,
        runner: TaskRunner,
        paths: Iterable[Iterable[SettingsRanker]],
        callback: Callback | None,
    ) -> bool:
        """Fit and measure every candidate on a cluster, at a time those that do not depend on others.

        The callback gets the steps of a fit when it has ended. Returns False if the search was interrupted.
        """
        calls = (
            delayed(_fit_chain)(chain, self.train, self.valid, self.metric, self.warm)
            for path in paths
            for chain in _chains(path, self.warm)
        )
        try:
            for trials in runner.run(calls):
                for trial, candidate in trials:
                    if callback is not None:
                        for step in candidate.history_:
                            callback(step)
                    self.add(trial, candidate)
        except KeyboardInterrupt:
            if not self.trials:
                raise
            return False
        return True

    def add(self, trial: Trial, ranker: Ranker) -> None:
        """Add a trial and its fitted ranker."""
        self.trials.append(trial)
        if self.best is None or trial.value > self.best[0].value:
            self.best = trial, ranker
        if self.trial_callback is not None:
            self.trial_callback(trial, self.total)

    def tuning(self, *, finished: bool = True) -> Tuning:
        """Return the best ranker and all trials."""
        assert self.best is not None
        trial, ranker = self.best
        trace = tuple(self.trials)
        return Tuning(ranker, trial.settings, trial.value, str(self.metric), trace, finished)


def _count_settings(ranker: Ranker, grid: Grid) -> int:
    """Check the parameters and values of a grid; return the number of its settings."""
    for name in grid:
        ranker.parameter_path(name)  # raises if there is no such parameter
    for name, values in grid.items():
        if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
            raise UsageError(f"expected values to try for {name}, got {values!r}")
    return math.prod(len(values) for values in grid.values())


def _with_settings(ranker: Ranker, settings: GridSettings, metric: Metric) -> Ranker:
    """Return a clone with these settings, which validates by the metric."""
    candidate: Ranker = clone(ranker)
    candidate.set_params(**{candidate.parameter_path(name): v for name, v in settings.items()})
    if candidate.has_parameter("metric") and "metric" not in settings:
        candidate.set_params(**{candidate.parameter_path("metric"): str(metric)})
    return candidate


def _fit(
    ranker: Ranker,
    train: RankingData,
    valid: RankingData,
    callback: Callback | None,
    start: Model | None,
) -> None:
    """Fit from a start; a class of another package that defines `fit` is fitted without one."""
    if type(ranker).fit.__module__.partition(".")[0] == "podium":
        ranker.fit_data(train, valid, callback, start)
    else:
        ranker.fit(train, valid=valid)


def _paths(
    grid: Grid, warm_start_along: str | None, score_only: Sequence[str]
) -> Iterator[Iterator[GridSettings]]:
    """Yield one path per setting of the other parameters; the warm-start parameter changes along it.

    Parameters that change only scores change fastest of all.
    """
    path_names = [name for name in (warm_start_along, *score_only) if name and name in grid]
    fixed_names = [name for name in grid if name not in path_names]
    for fixed_values in itertools.product(*(grid[name] for name in fixed_names)):
        fixed = dict(zip(fixed_names, fixed_values, strict=True))
        steps = itertools.product(*(grid[name] for name in path_names))
        yield ({**fixed, **dict(zip(path_names, step, strict=True))} for step in steps)
