"""Experiments: false positives under daily looks, and the sessions that a decision needs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import podium
from benchmarks.kept_parts import Part
from benchmarks.measure import Row
from podium.clicks import anytime_estimate
from podium.clicks.experiment_result import weighted_outcomes
from podium.clicks.interleaving import INTERLEAVING_METHODS, outcome_of_rows
from podium.clicks.true_models import relevance
from podium.data import RankingData, SyntheticData

DAYS, SESSIONS_A_DAY = 28, 40
MAX_FALSE_POSITIVES = 0.05
METHODS = (*INTERLEAVING_METHODS, "ab")
N_DOCS = 8
MAX_SESSIONS, BOUNDS = {"ab": 300_000}, {"ab": 2.0}
LOOK_GROWTH = 1.05
"""The power is measured with a look whenever the number of sessions has grown by this factor."""


def parts(draws: int) -> dict[str, Callable[[], Part]]:
    """Return the parts by name."""
    measured: dict[str, Callable[[], Part]] = {
        f"false positives, {method}": partial(_false_positives, method, draws) for method in METHODS
    }
    for name, feature in (("strong", 1), ("slight", 2)):
        measured[f"power, {name}"] = partial(_power, name, feature, min(draws, 100))
    return measured


class Users:
    """Users of the position-based model, for two rankings of each query."""

    def __init__(self, data: RankingData, first: Any, second: Any) -> None:
        attraction = relevance(data, 0.1).reshape(data.n_queries, -1)
        examined = 1 / np.arange(1.0, attraction.shape[1] + 1)
        orders = [np.argsort(-np.asarray(s).reshape(attraction.shape), axis=1, kind="stable")
                  for s in (first, second)]  # fmt: skip
        self.attraction, self.examined = attraction.tolist(), examined.tolist()
        self.rankings = [[tuple(order) for order in own.tolist()] for own in orders]
        clicks = [np.take_along_axis(attraction, order, axis=1) * examined for order in orders]
        self.any_click = np.stack([1 - np.prod(1 - own, axis=1) for own in clicks])

    def outcomes(self, method: str, seed: int, is_fair: bool = False) -> Iterator[float]:
        """Yield the outcome of one session after the other, of an interleaved list.

        If it is fair, a coin says in each session which ranking counts as the first.
        """
        rng = random.Random(seed)
        place, draw, n_queries = INTERLEAVING_METHODS[method], rng.random, len(self.attraction)
        while True:
            query = int(draw() * n_queries)
            first, second = (ranking[query] for ranking in self.rankings)
            if is_fair and draw() < 0.5:
                first, second = second, first
            listing = place(first, second, len(first), draw)
            chances = self.attraction[query]
            rows = [row for row, (doc, e) in enumerate(zip(listing.docs, self.examined, strict=True))
                    if draw() < chances[doc] * e]  # fmt: skip
            yield outcome_of_rows(listing, rows)

    def ab_outcomes(self, n: int, seed: int) -> Any:
        """Return the outcomes of n sessions of an A/B test of lists with a click."""
        rng = np.random.default_rng(seed)
        arm, query = rng.integers(2, size=n), rng.integers(self.any_click.shape[1], size=n)
        clicks = (rng.random(n) < self.any_click[arm, query]).astype(np.float64)
        return weighted_outcomes(clicks, arm, 0.5)


def _data(n_queries: int) -> SyntheticData:
    return podium.make_synthetic(n_queries=n_queries, n_docs=N_DOCS, n_features=4, seed=5)


def _false_positives(method: str, draws: int) -> Part:
    """Look every day at an experiment without a winner.

    The rankings differ, but a coin says in each session which one is the first. Both arms of the A/B test
    have the same ranking.
    """
    data, n = _data(500), DAYS * SESSIONS_A_DAY
    first = data.X[:, 0]
    users = Users(data, first, first if method == "ab" else np.asarray(data.truth(data.X)))
    wrong = 0
    for seed in range(draws):
        fair = users.outcomes(method, seed, is_fair=True) if method != "ab" else iter(())
        outcomes = users.ab_outcomes(n, seed) if method == "ab" else np.fromiter(fair, float, n)
        looks = (
            anytime_estimate(outcomes[: day * SESSIONS_A_DAY], BOUNDS.get(method, 1.0))
            for day in range(1, DAYS + 1)
        )
        wrong += any(look.is_decided for look in looks)
    what = f"false positives of {method}, {DAYS} daily looks, {SESSIONS_A_DAY} sessions a day"
    row = Row(what, 100 * wrong / draws, unit="% of experiments", at_most=100 * MAX_FALSE_POSITIVES)
    return Part([row])


def _power(name: str, feature: int, draws: int) -> Part:
    """Count the sessions until a decision, for users who prefer the second ranking."""
    data = _data(2000)
    truth = np.asarray(data.truth(data.X))
    better = truth if name == "strong" else data.X[:, 0] + 0.1 * truth
    users = Users(data, data.X[:, 0], better)
    rates = users.any_click.mean(axis=1)
    rows = []
    for method in METHODS:
        needed = [_needed(users, method, seed) for seed in range(draws)]
        right = np.mean([sign > 0 for _, sign in needed])
        sizes = np.array([n for n, _ in needed], dtype=float)
        quantiles = np.quantile(sizes, [0.5, 0.8])
        rows.append([name, f"{rates[0]:.3f}", f"{rates[1]:.3f}", method, f"{draws}",
                     *(f"{q:,.0f}" for q in quantiles), f"{right:.0%}"])  # fmt: skip
    head = ["difference", "lists with a click, first", "second", "method", "draws",
            "sessions until a decision, median", "80% of draws", "decided for the better"]  # fmt: skip
    return Part(tables=[[head, *rows]])


def _needed(users: Users, method: str, seed: int) -> tuple[int, int]:
    """Return the number of sessions at the first look that decides, and the sign of the decision."""
    most = MAX_SESSIONS.get(method, 100_000)
    draws = None if method == "ab" else users.outcomes(method, seed)
    outcomes = users.ab_outcomes(most, seed) if draws is None else np.zeros(0)
    n = 50
    while n < most:
        if draws is not None:
            outcomes = np.concatenate([outcomes, [next(draws) for _ in range(n - len(outcomes))]])
        estimate = anytime_estimate(outcomes[:n], BOUNDS.get(method, 1.0))
        if estimate.is_decided:
            return n, int(estimate.low > 0) - int(estimate.high < 0)
        n = int(n * LOOK_GROWTH) + 1
    return most, 0
