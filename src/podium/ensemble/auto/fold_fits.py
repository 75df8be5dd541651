"""Fold fits: one candidate, fitted without one fold of the queries and measured on it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from podium.data import RankingData, concatenate
from podium.ensemble.auto.budget import CLOCKS, ClockName
from podium.ensemble.auto.cross_stopping import CrossStopping
from podium.ensemble.combined_models import offset_and_scale
from podium.errors import NotConvergedWarning, PodiumError
from podium.metrics import Metric, evaluate
from podium.rankers import FitStep, Ranker
from podium.rankers.models import Model
from podium.typing import Floats


@dataclass(frozen=True)
class FitTask:
    """The fit of one candidate, by its number, without one fold; each division has other folds."""

    number: int
    division: int
    fold: int


@dataclass(frozen=True, eq=False)
class FoldFit:
    """What a fit learned and how it ranks the queries that it did not see.

    Parameters
    ----------
    model
        The model; None if the fit failed.
    scores
        Standardised scores of the held-out rows, none of which chose its own iteration.
    per_query
        The metric of each held-out query.
    offset, scale
        The mean of the model's held-out scores, and their spread within queries.
    is_cut
        Whether the time limit ended the fit.
    error
        Why the fit failed; empty if it did not.
    """

    model: Model | None
    scores: Floats
    per_query: Floats
    offset: float
    scale: float
    seconds: float = 0.0
    is_cut: bool = False
    error: str = ""

    @classmethod
    def failed(cls, error: str, seconds: float) -> Self:
        """Return a fit without a model."""
        return cls(None, np.empty(0), np.empty(0), 0.0, 1.0, seconds, error=error)


class FitObserver:
    """A callback that follows the held-out scores and ends a fit when its time is over.

    A fit that is ended so keeps its best model so far.
    """

    def __init__(
        self, stopping: CrossStopping | None, seconds: float | None, clock: ClockName = "wall"
    ) -> None:
        self._stopping = stopping
        self._now = CLOCKS[clock]
        self._end = None if seconds is None else self._now() + seconds
        self.is_time_over = False

    def __call__(self, step: FitStep) -> None:
        """Take a step; raise KeyboardInterrupt, which ends a fit, if the time is over."""
        if self._stopping is not None and step.scores is not None:
            self._stopping.add(np.asarray(step.scores))
        if self._end is not None and self._now() > self._end:
            self.is_time_over = True
            raise KeyboardInterrupt


def fit_fold(
    ranker: Ranker,
    data: RankingData,
    held_out: NDArray[np.bool_],
    valid: RankingData | None,
    metric: Metric,
    seconds: float | None = None,
    clock: ClockName = "wall",
) -> FoldFit:
    """Fit a clone of the ranker to the queries that are not held out; the others stop the fit.

    An error of podium is part of the result.

    Parameters
    ----------
    held_out
        Which queries are held out.
    valid
        Validation queries, which stop the fit, too; their ids differ from those of the data.
    seconds
        The time limit; at its end, the fit keeps its best model so far.
    clock
        What counts the time of the fit and its limit.
    """
    now = CLOCKS[clock]
    started = now()
    train = data.subset(np.flatnonzero(~held_out))
    test = data.subset(np.flatnonzero(held_out))
    stopping_queries = test if valid is None else concatenate([test, valid])
    stopping = CrossStopping(stopping_queries, metric, test.n_queries)
    observer = FitObserver(stopping if ranker.keeps_best else None, seconds, clock)
    try:
        model = fit_model(ranker, train, stopping_queries, observer)
    except PodiumError as error:
        return FoldFit.failed(str(error), now() - started)
    final = model.scores(test.X, test.groups)
    if not np.isfinite(final).all():
        return FoldFit.failed("its scores are not finite", now() - started)
    fit = measure_fit(model, test, metric, stopping.chosen_scores(final))
    return replace(fit, seconds=now() - started, is_cut=observer.is_time_over)


def fit_model(
    ranker: Ranker, train: RankingData, valid: RankingData, observer: FitObserver
) -> Model:
    """Return the model of a clone; raise if it was interrupted, but not by the observer."""
    fitted: Ranker = clone(ranker)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        try:
            fitted.fit_data(train, valid, observer)
        except KeyboardInterrupt:
            if observer.is_time_over:  # before there was a model to keep
                raise PodiumError("the time was over before the first iteration") from None
            raise
    if fitted.stopped_ == "interrupted" and not observer.is_time_over:
        raise KeyboardInterrupt
    return fitted.model_


def measure_fit(model: Model, test: RankingData, metric: Metric, scores: Floats) -> FoldFit:
    """Return the fit of a model with these scores of held-out queries."""
    per_query = evaluate(test, scores, metric)[metric].per_query
    offset, scale = offset_and_scale(model.scores(test.X, test.groups), test.groups)
    return FoldFit(model, scores, per_query, offset, scale)
