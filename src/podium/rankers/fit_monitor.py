"""The monitor of a fit: it validates each iteration and keeps the best model or the last."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData
from podium.metrics import Metric
from podium.metrics.repeated_metric import RepeatedMetric
from podium.rankers.learning_curve import Callback, FitStep, History
from podium.rankers.models import Linear, Model

LazyModel = Model | Callable[[], Model]
"""A model, or a function that builds it if that is expensive."""


@dataclass
class FitMonitor:
    """Follows a fit: records steps, evaluates validation queries, keeps the best model or the last one."""

    ranker: str
    metric: Metric
    valid: RankingData | None = None
    callback: Callback | None = None
    total: int | None = None
    keep_best: bool = True
    steps: list[FitStep] = field(default_factory=list)
    kept_iteration: int | None = None
    """The iteration of the kept model: the best one, or the last."""
    stage: str = ""
    _best_quality: float = -float("inf")
    _kept_model: LazyModel | None = None

    @property
    def model(self) -> Model | None:
        """The kept model."""
        return None if self._kept_model is None else _make_model(self._kept_model)

    def __call__(self, objective: float, model: LazyModel, scores: Any = None) -> float | None:
        """Record an iteration and return the validation metric.

        `scores` are the model's scores of the validation queries, if the ranker has them already.
        """
        value = None
        if self.valid is not None:
            if scores is None:
                scores = _make_model(model).score_documents(self.valid)
            value = self._measure(scores)
        self.record(objective, value, model, scores)
        return value

    def record(
        self, objective: float, value: float | None, model: LazyModel, scores: Any = None
    ) -> None:
        """Record an iteration whose validation metric is known, or None without validation data."""
        step = FitStep(
            self.ranker, len(self.steps) + 1, self.total, float(objective), self._metric_name, value,
            self.stage,
        )  # fmt: skip
        self.steps.append(step)
        quality = -objective if value is None else value
        if self._is_kept(value, quality):
            self._kept_model, self.kept_iteration = model, step.iteration
            self._best_quality = quality
        if self.callback is not None:
            self.callback(step if value is None else replace(step, scores=scores))

    def _is_kept(self, value: float | None, quality: float) -> bool:
        """Whether this iteration replaces the kept one; without validation the lowest objective counts."""
        if not self.keep_best:
            return True
        if math.isnan(quality) or math.isnan(self._best_quality):
            return True  # no validation query has a value, so that the last iteration is kept
        if value is None:
            return quality >= self._best_quality  # of equal objectives, the last
        return quality > self._best_quality  # of equal metrics, the first: the shortest fit

    @cached_property
    def _metric_name(self) -> str:
        return str(self.metric)

    @cached_property
    def _measure(self) -> RepeatedMetric:
        assert self.valid is not None
        return RepeatedMetric(self.valid, self.metric)

    def begin(self, stage: str) -> None:
        """Begin a stage of the fit."""
        self.stage = stage
        if self.callback is not None:
            name = self._metric_name
            self.callback(FitStep(self.ranker, 0, None, float("nan"), name, None, stage))

    def record_weights(self, _: int, w: NDArray[np.float64], objective: float) -> None:
        """Record an iteration of an optimiser of linear models."""
        self(objective, Linear(w.copy()))

    def history(self) -> History:
        """Return the curve so far."""
        return History(tuple(self.steps), self.kept_iteration)


def _make_model(model: LazyModel) -> Model:
    return model if isinstance(model, Model) else model()
