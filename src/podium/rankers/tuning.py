"""Settings chosen on validation queries, each fit started where the last one ended."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone

from podium.data import RankingData
from podium.errors import UsageError
from podium.metrics import Metric, evaluate
from podium.metrics.naming import resolve
from podium.rankers.history import Callback
from podium.rankers.models import Model
from podium.rankers.ranker import Ranker

Settings = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """One setting and what it came to on the validation queries."""

    settings: Settings
    value: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Tuning:
    """The best ranker, and every setting that was tried."""

    ranker: Ranker
    settings: Settings
    value: float
    metric: str
    trace: tuple[Trial, ...] = field(repr=False)
    finished: bool = True
    """False where ctrl-C ended it: the best of the settings tried until then."""

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
    grid: Mapping[str, Sequence[Any]] | None = None,
    *,
    warm: bool = True,
    callback: Callback | None = None,
    each: Callable[[Trial, int], object] | None = None,
) -> Tuning:
    """Fit a ranker with every setting of a grid; validation queries choose.

    Along the ranker's path (C, l2, beta) each fit starts from the last one's model where that is
    the optimum (SVMs; networks' linear cousins with ``early_stopping=False``), so a path costs
    little more than its hardest fit. Settings of the scores alone (``rpc-mtl``: combine, c) come last,
    each fit of them ending where it starts. Of equal values the first one wins.

    Parameters
    ----------
    ranker
        Its other parameters stay as they are; the ranker itself is not changed.
    train, valid
        RankingData, or (X, y, qid).
    metric
        What is maximised on the validation queries, equal scores averaged over; iterations are
        chosen by it too, in rankers that choose them.
    grid
        Parameter -> values; None is the ranker's own, its paper's.
    warm
        Whether a fit starts from the last one on its path. The optimum of a convex problem is the
        same either way; topslack and topmargin may end elsewhere than a fit by itself does.
    callback, each
        Called after each iteration, and after each setting with the number of settings in all.

    Examples
    --------
    >>> from podium.data import make_synthetic, split
    >>> from podium.rankers import RankSVM
    >>> train, valid = split(make_synthetic(n_queries=60, seed=0), [0.7, 0.3])
    >>> found = tune(RankSVM(), train, valid, grid={"C": [1e-4, 1e-2]})
    >>> [trial.settings for trial in found.trace], found.ranker.name
    ([{'C': 0.0001}, {'C': 0.01}], 'ranksvm')
    """
    if not isinstance(ranker, Ranker):
        raise UsageError(f"expected a ranker to tune, as in tune(RankSVM(), ...), got {ranker!r}")
    train, valid, asked = ranker.ranking_data(train), ranker.ranking_data(valid), resolve(metric)
    wanted = asked.averaging_ties()
    grid = ranker.grid if grid is None else grid
    known = ranker.get_params(deep=False)
    for name in grid:
        if name not in known:
            raise ranker.unknown_parameter(name)
    total = 1
    for name, values in grid.items():
        if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
            raise UsageError(f"expected values to try for {name}, got {values!r}")
        total *= len(values)
    for path in _paths(grid, ranker.warm_start_along, ranker.score_only):
        for settings in path:  # before the first fit, not after an hour
            _set(clone(ranker), settings, asked)._check(train)
    best: tuple[Trial, Ranker] | None = None
    trace: list[Trial] = []
    for path in _paths(grid, ranker.warm_start_along, ranker.score_only):
        start = None
        for settings in path:
            candidate = _set(clone(ranker), settings, asked)
            try:
                _fit(candidate, train, valid, callback, start)
            except KeyboardInterrupt:
                if best is None:
                    raise
                return _tuning(best, wanted, trace, finished=False)
            # Where validation chose the iteration, the model is not the optimum the path goes along.
            start = None if candidate.keeps_best or not warm else candidate.model_
            value = evaluate(valid, candidate.predict(valid), wanted)[wanted].mean
            trial = Trial(settings, value, len(candidate.history_), candidate.converged_)
            trace.append(trial)
            if best is None or value > best[0].value:
                best = trial, candidate
            if each is not None:
                each(trial, total)
            if candidate.stopped_ == "interrupted":
                return _tuning(best, wanted, trace, finished=False)
    return _tuning(best, wanted, trace)


def _fit(
    ranker: Ranker,
    train: RankingData,
    valid: RankingData,
    callback: Callback | None,
    start: Model | None,
) -> None:
    """A fit along a path; a `fit` of one's own is called as it stands, and knows nothing of paths."""
    if type(ranker).fit.__module__.partition(".")[0] == "podium":
        ranker.fit_data(train, valid, callback, start)
    else:
        ranker.fit(train, valid=valid)


def _tuning(
    best: tuple[Trial, Ranker] | None, metric: Metric, trace: list[Trial], *, finished: bool = True
) -> Tuning:
    assert best is not None
    trial, chosen = best
    return Tuning(chosen, trial.settings, trial.value, str(metric), tuple(trace), finished)


def _set(ranker: Ranker, settings: Settings, metric: Metric) -> Ranker:
    ranker.set_params(**settings)
    if "metric" in ranker.get_params(deep=False) and "metric" not in settings:
        ranker.set_params(metric=str(metric))
    return ranker


def _paths(
    grid: Mapping[str, Sequence[Any]], path: str | None, after: Sequence[str]
) -> Iterator[Iterator[Settings]]:
    """The settings, the path's parameter changing fast: one walk for each setting of the others.

    Faster still change those that come after a fit.
    """
    along = [name for name in (path, *after) if name is not None and name in grid]
    others = [name for name in grid if name not in along]
    for values in itertools.product(*(grid[name] for name in others)):
        fixed = dict(zip(others, values, strict=True))
        steps = itertools.product(*(grid[name] for name in along))
        yield ({**fixed, **dict(zip(along, step, strict=True))} for step in steps)
