"""Weights of an ensemble's blocks by what they are worth, for all users and for each class of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from podium.data import RankingData
from podium.ensemble.composed import Composed
from podium.ensemble.standing import (
    FALLBACK,
    Evidence,
    Standing,
    Trial,
    choose_temperature,
    in_folds,
    means,
    try_temperatures,
)
from podium.ensemble.votes import Votes
from podium.metrics import Metric
from podium.rankers.models import Floats, Model

Models = tuple[Model, ...]


def votes_and_gains(composed: Composed, evidence: Evidence, metric: Metric) -> tuple[Votes, Floats]:
    """What the blocks say about the documents, and the metric of each query under each alone."""
    every, data = np.arange(len(composed.blocks)), evidence.data
    scores = composed.block_scores(data.X, data.groups, every)
    return composed.how.votes(scores, data.groups), evidence.gains(scores, metric)


def weigh_population(composed: Composed, valid: RankingData, metric: Metric) -> Composed:
    """Weights for all users by the metric of each block on validation queries, which choose T, too."""
    seen = Evidence.of(valid)
    if seen is None:
        return composed
    votes, gains = votes_and_gains(composed, seen, metric)
    trial = Trial(means(gains, seen.alpha), np.ones(seen.data.n_queries, dtype=bool))
    T = choose_temperature(composed.prior, [trial], seen, votes, metric)
    standing = replace(composed.population, temperature=T).adding(gains, seen.alpha)
    value = seen.mean(votes(standing.weights(composed.prior)), metric)
    return replace(composed, population=replace(standing, error=1 - value))


def add_to_population(composed: Composed, evidence: Evidence, metric: Metric) -> Composed:
    """The same with more queries seen; T stays."""
    _, gains = votes_and_gains(composed, evidence, metric)
    population = composed.population.adding(gains, evidence.alpha)
    return replace(composed, population=population)


def learn_classes(
    composed: Composed,
    evidence: Mapping[str | None, Evidence],
    metric: Metric,
    seed: int,
    models: Mapping[str, Models] | None = None,
) -> Composed:
    """Weights of each class from its evidence, added to what was known of it.

    Parameters
    ----------
    models
        The blocks' models of classes that have their own.
    """
    own_models = models or {}
    known = {standing.name: standing for standing in composed.classes}
    for name, own in evidence.items():
        if name is not None:
            before = known.get(name) or Standing.blank(
                len(composed.blocks), name, FALLBACK, own_models.get(name)
            )
            known[name] = _learned(composed, before, own, metric, seed)
    named = sorted(known.values(), key=lambda standing: str(standing.name))
    return replace(composed, classes=tuple(named))


def _learned(
    composed: Composed, known: Standing, own: Evidence, metric: Metric, seed: int
) -> Standing:
    """What is known of a class after this evidence; T is by all queries that were tried so far."""
    votes, gains = votes_and_gains(composed.serving(known), own, metric)
    trials = in_folds(own, gains, seed, known)
    totals = try_temperatures(composed.prior, trials, own, votes, metric)
    tried = sum(int(np.sum(trial.tried)) for trial in trials)
    standing = known.adding(gains, own.alpha).trying(totals, tried)
    error = 1 - own.mean(votes(standing.weights(composed.prior)), metric)
    if known.mass > 0:  # the mean over all queries seen
        error += (known.error - error) * known.mass / standing.mass
    return replace(standing, error=error)
