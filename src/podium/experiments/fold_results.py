"""One ranker on one fold: settings chosen on its validation queries, then measured on its test queries."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data import Fold, RankingData
from podium.errors import NotConvergedWarning, PodiumError
from podium.experiments.checkpoints import readable
from podium.experiments.contestants import Contestant
from podium.metrics import Metric, Result, evaluate
from podium.metrics.naming import resolve
from podium.rankers import History, Ranker, Tuning, feature_importance, tune
from podium.rankers.explanation import names_of
from podium.rankers.imported import Imported
from podium.rankers.models import Linear

Floats = NDArray[np.float64]
Setting = str | int | float | bool | None
DEPTH = 10
"""Places of a list that a curve and a head go down to."""
STEPS, FEATURES = 200, 200
"""Of a learning curve and of a model's features that are kept at most."""


@dataclass(frozen=True)
class Tried:
    """A setting, and the metric it came to on the validation queries."""

    settings: Mapping[str, Setting]
    value: float | None


@dataclass(frozen=True)
class Learning:
    """A learning curve: the validation metric by iteration, and the iteration that was kept."""

    iteration: tuple[int, ...] = ()
    objective: tuple[float | None, ...] = ()
    valid: tuple[float | None, ...] = ()
    best: int | None = None


@dataclass(frozen=True)
class FoldResult:
    """What one ranker came to on one fold.

    `error` says why it came to nothing, and all else is empty then. `values` has one value for each
    test query by metric (None where a query is skipped), `curve` the means at 1, 2, ... 10 places,
    `counted` the weight of the queries in them (their number, where none has a weight), `features`
    what the model uses most (weights, if `signed`), `heads` the first places of each test query as
    positions among its documents, equal scores by id.
    """

    ranker: str
    fold: int
    error: str | None = None
    chosen: str = ""
    validation: float | None = None
    stopped: str = ""
    """Why the fit ended before it was done, where it did."""
    values: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    curve: tuple[float | None, ...] = ()
    counted: tuple[float, ...] = ()
    tried: tuple[Tried, ...] = ()
    learning: Learning = Learning()
    features: Mapping[str, float] = field(default_factory=dict)
    signed: bool = False
    heads: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Seconds:
    """How long a ranker took on a fold: to train, all settings tried included, and to predict."""

    ranker: str
    fold: int
    training: float
    prediction: float


@dataclass(frozen=True)
class TimedFoldResult:
    """A cell and how long it took: apart, since times are never the same twice."""

    cell: FoldResult
    seconds: Seconds


def run_fold(
    contestant: Contestant, fold: Fold, number: int, measures: Mapping[str, Metric], curve: Metric
) -> TimedFoldResult:
    """Choose on train and validation, then measure on test; what fails is told in the cell."""
    started = time.perf_counter()
    try:
        tuning = choose(contestant, fold.train, fold.valid, next(iter(measures)))
        trained = time.perf_counter()
        scores = tuning.ranker.predict(fold.test)
        predicted = time.perf_counter()
        cell = FoldResult(
            contestant.label, number, **_told(tuning, contestant),
            **_measured(fold.test, scores, measures, curve),
        )  # fmt: skip
        return TimedFoldResult(
            cell, Seconds(contestant.label, number, trained - started, predicted - trained)
        )
    except Exception as error:
        took = time.perf_counter() - started
        return TimedFoldResult(
            FoldResult(contestant.label, number, error=_reason(error)),
            Seconds(contestant.label, number, took, 0.0),
        )


def choose(contestant: Contestant, train: RankingData, valid: RankingData, metric: str) -> Tuning:
    """The ranker with the setting that is best on the validation queries; the test is not in sight."""
    if isinstance(contestant.ranker, Imported):
        return _as_it_is(contestant.ranker, valid, metric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # told in the cell
        tuning = tune(contestant.ranker, train, valid, metric, contestant.grid)
    if not tuning.finished or tuning.ranker.stopped_ == "interrupted":
        raise KeyboardInterrupt  # a ranker keeps its best so far; a comparison of those is none
    return tuning


def _as_it_is(ranker: Imported, valid: RankingData, metric: str) -> Tuning:
    """A model that was trained elsewhere: nothing to learn, nothing to choose."""
    wanted = resolve(metric).averaging_ties()
    value = evaluate(valid, ranker.predict(valid), wanted)[wanted].mean
    return Tuning(ranker, {}, value, str(wanted), ())


def _told(tuning: Tuning, contestant: Contestant) -> dict[str, Any]:
    ranker = tuning.ranker
    return {
        "chosen": " ".join(repr(ranker).split()),
        "validation": _number(tuning.value),
        "stopped": "" if ranker.converged_ else ranker.stopped_ or "not converged",
        "tried": tuple(
            Tried({name: _setting(v) for name, v in trial.settings.items()}, _number(trial.value))
            for trial in tuning.trace
            if contestant.grid
        ),
        "learning": _thinned(ranker.history_),
        "features": _features(ranker),
        "signed": isinstance(ranker.model_, Linear),
    }


def _measured(
    test: RankingData, scores: Any, measures: Mapping[str, Metric], curve: Metric
) -> dict[str, Any]:
    places = [curve @ k for k in range(1, DEPTH + 1)]
    result = evaluate(test, scores, list(dict.fromkeys([*measures.values(), *places])))
    order = test.groups.order(scores, by_id(test))
    heads = (order[rows][:DEPTH] - rows.start for rows in test.groups.slices())
    return {
        "values": {
            name: tuple(map(_number, result[metric].per_query.tolist()))
            for name, metric in measures.items()
        },
        "curve": tuple(_number(result[m].mean) for m in places),
        "counted": tuple(_counted(result[m]) for m in places),
        "heads": tuple(tuple(head.tolist()) for head in heads),
    }


def by_id(data: RankingData) -> Floats | None:
    """A key that puts documents with equal scores in the order of their ids, where they have any."""
    ids = data.docid_column
    if ids is None:
        return None
    return -kernels.string_places(ids.bytes, ids.offsets, data.groups.offsets)


def _counted(result: Result) -> float:
    has_value = ~np.isnan(result.per_query)
    return float(has_value.sum() if result.weight is None else result.weight[has_value].sum())


def _thinned(history: History) -> Learning:
    """The curve, with as many steps as a picture shows; the first, the last and the best among them."""
    n = len(history)
    kept = {round(i) for i in np.linspace(0, n - 1, min(n, STEPS)).tolist()}
    if history.best is not None and history.best <= n:
        kept.add(history.best - 1)
    steps = [history.steps[i] for i in sorted(kept)]
    return Learning(
        tuple(step.iteration for step in steps),
        tuple(_number(step.objective) for step in steps),
        tuple(None if step.valid is None else _number(step.valid) for step in steps),
        history.best,
    )


def _features(ranker: Ranker) -> dict[str, float]:
    """The features a model uses most, by name; of linear models their weights."""
    try:
        used = feature_importance(ranker)
    except PodiumError:  # models that only their votes explain
        return {}
    strongest = [name for name, value in used.items() if value > 0][:FEATURES]
    if isinstance(ranker.model_, Linear):
        weights = dict(zip(names_of(ranker), ranker.model_.weights.tolist(), strict=True))
        return {readable(name): weights[name] for name in strongest}
    return {readable(name): used[name] for name in strongest}


def _setting(value: Any) -> Setting:
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _reason(error: Exception) -> str:
    text = " ".join(readable(error).split())
    named = text if isinstance(error, PodiumError) and text else f"{type(error).__name__}: {text}"
    return named.rstrip(": ")[:500]
