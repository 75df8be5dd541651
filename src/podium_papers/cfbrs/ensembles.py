"""The ensembles of the CFBRS paper, and the exhaustive one it could not run, against the shared model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from podium.aggregation import Borda
from podium.ensemble import Combination, Composed, Plan, weigh_population
from podium.metrics import evaluate
from podium_papers.cfbrs.blocks import CHOOSE, Bank, Floats

ROUNDS = 30

SHARED = "shared"
ENSEMBLES = {
    SHARED: "shared-feature model",
    "first": "first compositions, bagging",
    "first-boosting": "first compositions, boosting",
    "all": "all compositions",
    "all-validation": "all, block weights by validation",
    "all-zscore": "all, z-scores within queries",
    "all-zscore-validation": "all, z-scores, block weights by validation",
    "all-borda": "all, Borda",
    "all-boosting": "all, boosting",
}
"""Every ensemble, and what tables call it."""


class CfbrsTestResult(NamedTuple):
    """NDCG@10 of each test query, and what was chosen on validation."""

    values: tuple[float, ...]
    settings: str = ""


def ensembles(bank: Bank, smallest: int) -> Iterator[tuple[str, CfbrsTestResult]]:
    """Every ensemble of a fold; the shared model is the composition of one block."""
    d, n = bank.plan.n_features, len(bank.plan.blocks)
    votes = bank.votes("test")

    def raw(weights: Floats, settings: str = "") -> CfbrsTestResult:
        return CfbrsTestResult(tuple(bank.per_query("test", votes(weights)).tolist()), settings)

    whole = np.zeros(n)
    whole[bank.plan.blocks.index(tuple(range(d)))] = 1.0
    yield SHARED, raw(whole)
    listed, weights = bank.drawn(min_block=smallest, compositions="first")
    yield "first", raw(weights)
    yield "first-boosting", raw(*_best_round(bank, listed))
    yield "all", raw(bank.composed.prior)
    yield "all-validation", _weighed(bank, bank.composed)
    zscores = replace(bank.composed, how=Combination(normalise="zscore"))
    yield "all-zscore", _scored(bank, zscores)
    yield "all-zscore-validation", _weighed(bank, zscores)
    yield "all-borda", _scored(bank, replace(bank.composed, how=Combination(Borda())))
    yield "all-boosting", raw(*_best_round(bank, bank.plan))


def _best_round(bank: Bank, plan: Plan) -> tuple[Floats, str]:
    """The round of boosting that validates best, of equal ones the first."""
    votes = bank.votes("valid")
    best, chosen, rounds = -np.inf, bank.composed.prior, 0
    for number, weights in enumerate(bank.boosted(plan, ROUNDS), start=1):
        value = evaluate(bank.fold.valid, votes(weights), CHOOSE)[CHOOSE].mean
        if value > best:
            best, chosen, rounds = value, weights, number
    return chosen, f"{rounds} rounds"


def _weighed(bank: Bank, composed: Composed) -> CfbrsTestResult:
    weighed = weigh_population(composed, bank.fold.valid, CHOOSE)
    return _scored(bank, weighed, f"T={weighed.population.temperature:g}")


def _scored(bank: Bank, composed: Composed, settings: str = "") -> CfbrsTestResult:
    scores = bank.votes("test", composed.how)(composed.shares)
    return CfbrsTestResult(tuple(bank.per_query("test", scores).tolist()), settings)
