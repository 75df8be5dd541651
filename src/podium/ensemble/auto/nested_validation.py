"""Nested validation: each combination method is measured on queries that did not weigh it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium.data.row_selection import select_queries
from podium.ensemble.auto.combinations import COMBINATION_METHODS, CombinationMethod
from podium.ensemble.auto.greedy_selection import MEMBER_DIGITS
from podium.ensemble.auto.out_of_fold import OutOfFold
from podium.metrics import Metric, evaluate
from podium.rankers.selection_report import CombinationResult
from podium.typing import Floats

SMALL_DIFFERENCE = 0.001
"""A difference that is not worth a less simple model, even if it is measured exactly."""


@dataclass(frozen=True, eq=False)
class ChosenCombination:
    """The method that won, its weights learned from all queries, and how all methods did."""

    method: CombinationMethod
    weights: Floats
    results: tuple[CombinationResult, ...]


def nested_values(method: CombinationMethod, out_of_fold: OutOfFold, metric: Metric) -> Floats:
    """Return the metric of each query; weights are learned from the other folds."""
    data, combined = out_of_fold.data, np.empty(len(out_of_fold.data))
    for fold in np.unique(out_of_fold.folds):
        inside = out_of_fold.folds == fold
        rows = data.groups.spread(inside)
        learn, test = (select_queries(data, np.flatnonzero(q)) for q in (~inside, inside))
        weights = method.weigh(out_of_fold.scores[~rows], learn, metric)
        combined[rows] = method.combine(out_of_fold.scores[rows], weights, test.groups)
    return np.asarray(evaluate(data, combined, metric)[metric].per_query)


def choose_combination(
    out_of_fold: OutOfFold,
    metric: Metric,
    methods: Sequence[CombinationMethod] = COMBINATION_METHODS,
    standard_errors: float = 1.0,
) -> ChosenCombination:
    """Return the simplest method within one standard error of the best by nested validation.

    The standard error is that of the mean difference per query, because all methods are measured on the
    same queries.

    Parameters
    ----------
    methods
        The methods, the simplest first.
    standard_errors
        How many standard errors a simpler method may be behind.
    """
    values = np.array([nested_values(method, out_of_fold, metric) for method in methods])
    weight = out_of_fold.data.query_weight
    is_usable = np.isfinite(values).all(axis=0) & (True if weight is None else weight > 0)
    values = values[:, is_usable]
    weight = np.ones(values.shape[1]) if weight is None else weight[is_usable]
    weight = weight / max(weight.sum(), 1e-300)
    means = [round(float((row * weight).sum()), MEMBER_DIGITS) for row in values]
    gaps = values[int(np.argmax(means))] - values
    behind = [round(float((row * weight).sum()), MEMBER_DIGITS) for row in gaps]
    errors = [_standard_error(row, weight) for row in gaps]
    chosen = next(
        i
        for i in range(len(methods))
        if behind[i] <= max(standard_errors * errors[i], SMALL_DIFFERENCE)
    )
    results = tuple(
        CombinationResult(
            method.name, means[i], behind[i], round(errors[i], MEMBER_DIGITS), i == chosen
        )
        for i, method in enumerate(methods)
    )
    return ChosenCombination(
        methods[chosen],
        methods[chosen].weigh(out_of_fold.scores, out_of_fold.data, metric),
        results,
    )


def _standard_error(values: Floats, weight: Floats) -> float:
    """Return the standard error of a weighted mean: sqrt(sum_q weight_q^2 (value_q - mean)^2)."""
    mean = (values * weight).sum()
    return float(np.sqrt((weight**2 * (values - mean) ** 2).sum()))
