"""What each block counts, for all users or for one class of them, learned from how it ranks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData, shuffled_queries
from podium.ensemble.votes import Votes
from podium.metrics import Metric, evaluate
from podium.rankers.inputs import contrasting_queries
from podium.rankers.models import Floats, Model

TEMPERATURES = (np.inf, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
FALLBACK = 0.05
"""The temperature where there are too few queries to choose one."""
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Evidence:
    """Queries with labels that speak for some users, and how much each counts: alpha, or 1."""

    data: RankingData
    alpha: Floats

    @classmethod
    def of(cls, data: RankingData, alpha: Floats | None = None) -> Evidence | None:
        """The queries with documents of different labels; None where there is none."""
        weight = np.ones(data.n_queries) if alpha is None else np.asarray(alpha, dtype=np.float64)
        if data.query_weight is not None:
            weight = weight * data.query_weight
        speaks = contrasting_queries(data) & (weight > 0)
        return cls(data.subset(speaks), weight[speaks]) if speaks.any() else None

    def weighted(self) -> RankingData:
        """The queries weighted by alpha against its mean: how much there is of it scales no loss."""
        given = self.data.query_weight
        scale = (1.0 if given is None else float(np.mean(given))) / float(np.mean(self.alpha))
        same = given is None and np.ptp(self.alpha) == 0
        return self.data if same else replace(self.data, query_weight=self.alpha * scale)

    def gains(self, scores: Floats, metric: Metric) -> Floats:
        """The metric of each query (row) under each block alone (column)."""
        columns = (np.ascontiguousarray(column) for column in scores.T)
        values = [evaluate(self.data, column, metric)[metric].per_query for column in columns]
        return np.nan_to_num(np.stack(values, axis=1))

    def mean(self, scores: Floats, metric: Metric) -> float:
        """The metric, each query weighted by its alpha."""
        values = np.nan_to_num(evaluate(self.data, scores, metric)[metric].per_query)
        return float(np.sum(values * self.alpha) / np.sum(self.alpha))


@dataclass(frozen=True, eq=False)
class Standing:
    """What each block counts for some users, and what that comes from.

    weight(b) = prior(b) exp(value(b) / T), value(b) = sum_q alpha_q NDCG_q(b) / sum_q alpha_q: the
    sums are kept, so more feedback adds to them and nothing is fitted again. T = inf: the prior.

    Parameters
    ----------
    name
        The class of users; None: all of them.
    gains, mass
        The sums over queries, of each block and of the alphas.
    temperature
        T.
    queries
        Queries that were seen.
    error
        1 - NDCG of the ensemble for them on these queries.
    models
        The blocks' models fitted for these users alone; None: they have everybody's.
    trials, tried
        The sum of alpha_q NDCG_q under each of TEMPERATURES, on queries that had not been seen when
        they were tried, and how many those were; None: none.
    """

    name: str | None
    gains: Floats
    mass: float = 0.0
    temperature: float = np.inf
    queries: int = 0
    error: float = float("nan")
    models: tuple[Model, ...] | None = None
    trials: Floats | None = None
    tried: int = 0

    @classmethod
    def blank(
        cls,
        n_blocks: int,
        name: str | None = None,
        temperature: float = np.inf,
        models: tuple[Model, ...] | None = None,
    ) -> Standing:
        """Nothing seen yet."""
        return cls(name, np.zeros(n_blocks), temperature=temperature, models=models)

    def weights(self, prior: Floats) -> Floats:
        """What each block counts; they add up to 1."""
        if self.mass <= 0 or not np.isfinite(self.temperature):
            return np.asarray(prior / prior.sum())
        return softened(prior, self.gains / self.mass, self.temperature)

    def adding(self, gains: Floats, alpha: Floats) -> Standing:
        """With more queries seen: one row of gains a query."""
        return replace(
            self,
            gains=self.gains + np.sum(gains * alpha[:, None], axis=0),
            mass=self.mass + float(np.sum(alpha)),
            queries=self.queries + len(alpha),
        )

    def trying(self, totals: Floats, queries: int) -> Standing:
        """With more queries tried, and T by all of them, once they are enough."""
        trials, tried = (
            totals if self.trials is None else self.trials + totals,
            self.tried + queries,
        )
        T = best_temperature(trials) if tried >= FOLDS else self.temperature
        return replace(self, trials=trials, tried=tried, temperature=T)


def softened(prior: Floats, values: Floats, temperature: float) -> Floats:
    """prior exp(values / T), made to add up to 1.

    Examples
    --------
    >>> softened(np.ones(2), np.array([0.5, 0.5 + np.log(3)]), 1.0).round(6).tolist()
    [0.25, 0.75]
    """
    known = prior > 0
    best = float(np.max(values[known]))
    # Six digits of the values: the order of rows must not change a weight.
    weights = prior * np.exp(np.where(known, np.round(values - best, 6), 0.0) / temperature)
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True, eq=False)
class Trial:
    """What blocks were worth on some queries, and the queries on which weights by that are tried."""

    values: Floats
    tried: NDArray[np.bool_]


def in_folds(
    evidence: Evidence, gains: Floats, seed: int, known: Standing, folds: int = FOLDS
) -> list[Trial]:
    """Each fold of the queries tried with what the blocks were worth on the others, and before.

    Too few for folds are tried together with what was known before, where something was.
    """
    n = evidence.data.n_queries
    if n < folds:
        every = np.ones(n, dtype=bool)
        return [Trial(known.gains / known.mass, every)] if known.mass > 0 else []
    fold = np.empty(n, dtype=np.int64)
    fold[shuffled_queries(evidence.data, seed)] = np.arange(n) % folds
    others = (known.adding(gains[fold != k], evidence.alpha[fold != k]) for k in range(folds))
    return [Trial(seen.gains / seen.mass, fold == k) for k, seen in enumerate(others)]


def means(gains: Floats, alpha: Floats) -> Floats:
    """sum_q alpha_q NDCG_q(b) / sum_q alpha_q."""
    return np.asarray(np.sum(gains * alpha[:, None], axis=0) / np.sum(alpha))


def choose_temperature(
    prior: Floats,
    trials: Sequence[Trial],
    evidence: Evidence,
    votes: Votes,
    metric: Metric,
    temperatures: Sequence[float] = TEMPERATURES,
) -> float:
    """The T under which queries are ranked best in their trials; of equal ones the highest."""
    totals = try_temperatures(prior, trials, evidence, votes, metric, temperatures)
    return best_temperature(totals, temperatures) if trials else FALLBACK


def try_temperatures(
    prior: Floats,
    trials: Sequence[Trial],
    evidence: Evidence,
    votes: Votes,
    metric: Metric,
    temperatures: Sequence[float] = TEMPERATURES,
) -> Floats:
    """sum_q alpha_q NDCG_q of the queries in their trials, under each T."""
    totals = np.zeros(len(temperatures))
    for t, temperature in enumerate(temperatures):
        for trial in trials:
            scores = votes(softened(prior, trial.values, temperature))
            per_query = np.nan_to_num(evaluate(evidence.data, scores, metric)[metric].per_query)
            totals[t] += float(np.sum(per_query * evidence.alpha * trial.tried))
    return totals


def best_temperature(totals: Floats, temperatures: Sequence[float] = TEMPERATURES) -> float:
    """The T with the highest sum, to nine digits: the order of rows must not choose.

    Examples
    --------
    >>> best_temperature(np.array([2.0, 3.0, 3.0 + 1e-15]), (1.0, 0.1, 0.01))
    0.1
    """
    size = float(np.max(np.abs(totals))) or 1.0
    return temperatures[int(np.argmax(np.round(totals / size, 9)))]
