"""Fold results: one ranker on one fold, tuned on the validation queries, measured on the test queries."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium import kernels
from podium.data import Fold, RankingData
from podium.errors import NotConvergedWarning, NothingLearnedWarning, PodiumError
from podium.experiments.contestants import Contestant
from podium.experiments.text_escapes import escape_text
from podium.metrics import Metric, MetricResult, evaluate
from podium.metrics.naming import resolve
from podium.rankers import History, Ranker, Tuning, feature_importance, feature_weights, tune
from podium.rankers.importance import feature_names_of
from podium.rankers.imported_ranker import ImportedRanker
from podium.typing import Floats

Setting = str | int | float | bool | None
MAX_PLACES = 10
"""The number of places in curves and heads."""
MAX_CURVE_STEPS, MAX_FEATURES_KEPT = 200, 200
"""The number of learning-curve steps and of model features that a result keeps."""


@dataclass(frozen=True)
class TriedSetting:
    """A setting that was tried, and its metric on the validation queries."""

    settings: Mapping[str, Setting]
    value: float | None


@dataclass(frozen=True)
class LearningCurve:
    """A learning curve: the validation metric by iteration, and the best iteration."""

    iteration: tuple[int, ...] = ()
    objective: tuple[float | None, ...] = ()
    valid: tuple[float | None, ...] = ()
    best: int | None = None


@dataclass(frozen=True)
class FoldResult:
    """The result of one ranker on one fold.

    `error` says why the ranker failed; everything else is then empty. `values` has one value per
    test query for each metric, None if a query is skipped. `curve` has the means at 1, 2, ... 10
    places, and `counted` has the weight or number of their queries. `features` are those that the
    model uses most, with weights if `signed`. `heads` has the first places of each test query as
    positions among its documents; equal scores are ordered by id.
    """

    ranker: str
    fold: int
    error: str | None = None
    chosen: str = ""
    validation: float | None = None
    stopped: str = ""
    """Why the fit ended early, if it did."""
    values: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    curve: tuple[float | None, ...] = ()
    counted: tuple[float, ...] = ()
    tried: tuple[TriedSetting, ...] = ()
    learning: LearningCurve = LearningCurve()
    features: Mapping[str, float] = field(default_factory=dict)
    signed: bool = False
    heads: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Seconds:
    """The time of a ranker on a fold: to train with all settings, and to predict."""

    ranker: str
    fold: int
    training: float
    prediction: float


@dataclass(frozen=True)
class TimedFoldResult:
    """A fold result and its times, which are kept separately because they differ from run to run."""

    cell: FoldResult
    seconds: Seconds


def run_fold(
    contestant: Contestant, fold: Fold, number: int, measures: Mapping[str, Metric], curve: Metric
) -> TimedFoldResult:
    """Choose settings by validation queries, then measure on test queries; the result names failures."""
    started = time.perf_counter()
    try:
        tuning = choose_settings(contestant, fold.train, fold.valid, next(iter(measures)))
        trained = time.perf_counter()
        scores = tuning.ranker.predict(fold.test)
        predicted = time.perf_counter()
        cell = FoldResult(
            contestant.label, number, **_describe_tuning(tuning, contestant),
            **_measure(fold.test, scores, measures, curve),
        )  # fmt: skip
        return TimedFoldResult(
            cell, Seconds(contestant.label, number, trained - started, predicted - trained)
        )
    except Exception as error:
        took = time.perf_counter() - started
        return TimedFoldResult(
            FoldResult(contestant.label, number, error=_error_text(error)),
            Seconds(contestant.label, number, took, 0.0),
        )


def choose_settings(
    contestant: Contestant, train: RankingData, valid: RankingData, metric: str
) -> Tuning:
    """Return the ranker with the setting that is best on the validation queries."""
    if isinstance(contestant.ranker, ImportedRanker):
        return _evaluate_imported(contestant.ranker, valid, metric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # the result has the warning
        warnings.simplefilter("ignore", NothingLearnedWarning)
        tuning = tune(contestant.ranker, train, valid, metric, contestant.grid)
    if not tuning.finished or tuning.ranker.stopped_ == "interrupted":
        raise KeyboardInterrupt  # interrupted rankers cannot be compared
    return tuning


def _evaluate_imported(ranker: ImportedRanker, valid: RankingData, metric: str) -> Tuning:
    """Return the tuning of an imported model, which has nothing to learn or to choose."""
    averaged = resolve(metric).averaging_ties()
    value = evaluate(valid, ranker.predict(valid), averaged)[averaged].mean
    return Tuning(ranker, {}, value, str(averaged), ())


def _describe_tuning(tuning: Tuning, contestant: Contestant) -> dict[str, Any]:
    ranker = tuning.ranker
    return {
        "chosen": " ".join(repr(ranker).split()),
        "validation": _finite_or_none(tuning.value),
        "stopped": "" if ranker.converged_ else ranker.stopped_ or "not converged",
        "tried": tuple(
            TriedSetting(
                {name: _plain_setting(v) for name, v in trial.settings.items()},
                _finite_or_none(trial.value),
            )
            for trial in tuning.trace
            if contestant.grid
        ),
        "learning": _thin_curve(ranker.history_),
        "features": _strongest_features(ranker),
        "signed": _is_linear(ranker),
    }


def _measure(
    test: RankingData, scores: Any, measures: Mapping[str, Metric], curve: Metric
) -> dict[str, Any]:
    places = [curve @ k for k in range(1, MAX_PLACES + 1)]
    result = evaluate(test, scores, list(dict.fromkeys([*measures.values(), *places])))
    order = test.groups.order(scores, id_order_key(test))
    heads = (order[rows][:MAX_PLACES] - rows.start for rows in test.groups.slices())
    return {
        "values": {
            name: tuple(map(_finite_or_none, result[metric].per_query.tolist()))
            for name, metric in measures.items()
        },
        "curve": tuple(_finite_or_none(result[m].mean) for m in places),
        "counted": tuple(_counted_weight(result[m]) for m in places),
        "heads": tuple(tuple(head.tolist()) for head in heads),
    }


def id_order_key(data: RankingData) -> Floats | None:
    """Return a key that orders documents of equal score by their ids; None without ids."""
    ids = data.docid_column
    if ids is None:
        return None
    return -kernels.string_places(ids.bytes, ids.offsets, data.groups.offsets)


def _counted_weight(result: MetricResult) -> float:
    has_value = ~np.isnan(result.per_query)
    return float(has_value.sum() if result.weight is None else result.weight[has_value].sum())


def _thin_curve(history: History) -> LearningCurve:
    """Return the curve with as many steps as a picture shows, including the first, last and best."""
    n = len(history)
    indices = {round(i) for i in np.linspace(0, n - 1, min(n, MAX_CURVE_STEPS)).tolist()}
    if history.best is not None and history.best <= n:
        indices.add(history.best - 1)
    steps = [history.steps[i] for i in sorted(indices)]
    return LearningCurve(
        tuple(step.iteration for step in steps),
        tuple(_finite_or_none(step.objective) for step in steps),
        tuple(None if step.valid is None else _finite_or_none(step.valid) for step in steps),
        history.best,
    )


def _is_linear(ranker: Ranker) -> bool:
    return ranker.model_.linear_weights(feature_names_of(ranker)) is not None


def _strongest_features(ranker: Ranker) -> dict[str, float]:
    """Return the features that a model uses most, with the weights of linear models."""
    try:
        used = feature_weights(ranker) if _is_linear(ranker) else feature_importance(ranker)
    except PodiumError:  # models whose votes alone explain them
        return {}
    strongest = [name for name, value in used.items() if value][:MAX_FEATURES_KEPT]
    return {escape_text(name): used[name] for name in strongest}


def _plain_setting(value: Any) -> Setting:
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


def _finite_or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _error_text(error: Exception) -> str:
    text = " ".join(escape_text(error).split())
    if not (isinstance(error, PodiumError) and text):
        text = f"{type(error).__name__}: {text}"
    return text.rstrip(": ")[:500]
