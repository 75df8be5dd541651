"""Ensembles of the CFBRS paper, and those of all compositions, which the paper could not run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from podium.aggregation import Borda
from podium.ensemble import BlockCombination, ComposedModel, CompositionPlan, weigh_population
from podium.typing import Floats
from podium_papers.cfbrs.fitted_blocks import CHOICE_METRIC, FittedBlocks, choice_value

MAX_BOOSTING_ROUNDS = 30

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
"""Every ensemble, and its name in tables."""


class CfbrsTestResult(NamedTuple):
    """NDCG@10 of each test query, and the settings that validation chose."""

    values: tuple[float, ...]
    settings: str = ""


def evaluate_ensembles(
    blocks: FittedBlocks, smallest: int
) -> Iterator[tuple[str, CfbrsTestResult]]:
    """Yield the result of every ensemble of a fold; the shared model is the composition of one block."""
    d, n = blocks.plan.n_features, len(blocks.plan.blocks)
    votes = blocks.votes("test")

    def test_weights(weights: Floats, settings: str = "") -> CfbrsTestResult:
        return CfbrsTestResult(tuple(blocks.per_query("test", votes(weights)).tolist()), settings)

    shared_weights = np.zeros(n)
    shared_weights[blocks.plan.blocks.index(tuple(range(d)))] = 1.0
    yield SHARED, test_weights(shared_weights)
    first_plan, weights = blocks.draw(min_block=smallest, compositions="first")
    yield "first", test_weights(weights)
    yield "first-boosting", test_weights(*_best_boosting_round(blocks, first_plan))
    yield "all", test_weights(blocks.composed.prior)
    yield "all-validation", _score_weighted(blocks, blocks.composed)
    zscores = replace(blocks.composed, combination=BlockCombination(normalise="zscore"))
    yield "all-zscore", _score(blocks, zscores)
    yield "all-zscore-validation", _score_weighted(blocks, zscores)
    borda = replace(blocks.composed, combination=BlockCombination(Borda()))
    yield "all-borda", _score(blocks, borda)
    yield "all-boosting", test_weights(*_best_boosting_round(blocks, blocks.plan))


def _best_boosting_round(blocks: FittedBlocks, plan: CompositionPlan) -> tuple[Floats, str]:
    """Return the weights of the round that validates best, the first of equal ones, and its number."""
    votes = blocks.votes("valid")
    best, chosen, rounds = -np.inf, blocks.composed.prior, 0
    for number, weights in enumerate(blocks.boosting_rounds(plan, MAX_BOOSTING_ROUNDS), start=1):
        value = choice_value(blocks.fold.valid, votes(weights))
        if value > best:
            best, chosen, rounds = value, weights, number
    return chosen, f"{rounds} rounds"


def _score_weighted(blocks: FittedBlocks, composed: ComposedModel) -> CfbrsTestResult:
    ensemble = weigh_population(composed, blocks.fold.valid, CHOICE_METRIC)
    return _score(blocks, ensemble, f"T={ensemble.population.temperature:g}")


def _score(blocks: FittedBlocks, composed: ComposedModel, settings: str = "") -> CfbrsTestResult:
    scores = blocks.votes("test", composed.combination)(composed.shares)
    return CfbrsTestResult(tuple(blocks.per_query("test", scores).tolist()), settings)
