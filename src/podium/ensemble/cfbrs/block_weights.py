"""Block weights: the weight of each block, by how well it ranks for some users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData, shuffled_queries
from podium.ensemble.cfbrs.feature_blocks import BlockVotes
from podium.metrics import Metric, evaluate
from podium.rankers.models import Model
from podium.rankers.training_queries import contrasting_queries
from podium.typing import Floats

BlockModels = tuple[Model, ...]
"""One model per block."""

TEMPERATURES = (np.inf, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
FALLBACK_TEMPERATURE = 0.05
"""The temperature if there are too few queries to choose one."""
TRIAL_FOLDS = 5
"""The number of folds of the queries on which temperatures are tried."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Labelled queries of some users, and how much each query counts: its alpha, or 1."""

    data: RankingData
    alpha: Floats

    @classmethod
    def of(cls, data: RankingData, alpha: Floats | None = None) -> Evidence | None:
        """Return the queries with documents of different labels; None if there are none."""
        weight = np.ones(data.n_queries) if alpha is None else np.asarray(alpha, dtype=np.float64)
        if data.query_weight is not None:
            weight = weight * data.query_weight
        counts = contrasting_queries(data) & (weight > 0)
        return cls(data.subset(counts), weight[counts]) if counts.any() else None

    def training_data(self) -> RankingData:
        """Return the queries weighted by alpha / mean alpha, so that the scale of alpha does not matter."""
        weight = self.data.query_weight
        scale = (1.0 if weight is None else float(np.mean(weight))) / float(np.mean(self.alpha))
        same = weight is None and np.ptp(self.alpha) == 0
        return self.data if same else replace(self.data, query_weight=self.alpha * scale)

    def gains(self, scores: Floats, metric: Metric) -> Floats:
        """Return the metric of each query (row) under each block alone (column)."""
        columns = (np.ascontiguousarray(column) for column in scores.T)
        values = [evaluate(self.data, column, metric)[metric].per_query for column in columns]
        return np.nan_to_num(np.stack(values, axis=1))

    def mean(self, scores: Floats, metric: Metric) -> float:
        """Return the mean metric, each query weighted by its alpha."""
        values = np.nan_to_num(evaluate(self.data, scores, metric)[metric].per_query)
        return float(np.sum(values * self.alpha) / np.sum(self.alpha))


@dataclass(frozen=True, eq=False)
class BlockWeights:
    """The weight of each block for some users, and the sums behind it.

    weight(b) = prior(b) exp(value(b) / T), value(b) = sum_q alpha_q NDCG_q(b) / sum_q alpha_q. The
    sums are kept, so more feedback only adds to them and nothing is fitted again. T = inf gives the
    prior.

    Parameters
    ----------
    name
        The class of users; None: all users.
    gains, mass
        The sums over queries: of alpha_q NDCG_q(b) for each block, and of alpha_q.
    temperature
        T.
    queries
        The number of queries.
    error
        1 - NDCG of the ensemble for these users on these queries.
    models
        The blocks' models, fitted for these users alone; None: the models of all users.
    trial_sums
        The sum of alpha_q NDCG_q under each of TEMPERATURES, on queries outside the weights that
        were tried; None: no trial yet.
    n_trial_queries
        The number of these queries.
    """

    name: str | None
    gains: Floats
    mass: float = 0.0
    temperature: float = np.inf
    queries: int = 0
    error: float = float("nan")
    models: BlockModels | None = None
    trial_sums: Floats | None = None
    n_trial_queries: int = 0

    @classmethod
    def empty(
        cls,
        n_blocks: int,
        name: str | None = None,
        temperature: float = np.inf,
        models: BlockModels | None = None,
    ) -> BlockWeights:
        """Return weights without any query: the prior."""
        return cls(name, np.zeros(n_blocks), temperature=temperature, models=models)

    def shares(self, prior: Floats) -> Floats:
        """Return the weight of each block; the weights add up to 1."""
        if self.mass <= 0 or not np.isfinite(self.temperature):
            return np.asarray(prior / prior.sum())
        return tempered_weights(prior, self.gains / self.mass, self.temperature)

    def add_queries(self, gains: Floats, alpha: Floats) -> BlockWeights:
        """Return these weights with more queries; gains have one row per query."""
        return replace(
            self,
            gains=self.gains + np.sum(gains * alpha[:, None], axis=0),
            mass=self.mass + float(np.sum(alpha)),
            queries=self.queries + len(alpha),
        )

    def add_trials(self, sums: Floats, n_queries: int) -> BlockWeights:
        """Return these weights with more trials; all trials choose T once there are enough."""
        trial_sums = sums if self.trial_sums is None else self.trial_sums + sums
        n_trial_queries = self.n_trial_queries + n_queries
        is_enough = n_trial_queries >= TRIAL_FOLDS
        T = best_temperature(trial_sums) if is_enough else self.temperature
        return replace(self, trial_sums=trial_sums, n_trial_queries=n_trial_queries, temperature=T)


def tempered_weights(prior: Floats, values: Floats, temperature: float) -> Floats:
    """Return prior exp(values / T), divided by its sum.

    Examples
    --------
    >>> tempered_weights(np.ones(2), np.array([0.5, 0.5 + np.log(3)]), 1.0).round(6).tolist()
    [0.25, 0.75]
    """
    positive = prior > 0
    best = float(np.max(values[positive]))
    # Round the values to six digits, because the order of rows must not change a weight.
    weights = prior * np.exp(np.where(positive, np.round(values - best, 6), 0.0) / temperature)
    return np.asarray(weights / weights.sum())


def mean_gains(gains: Floats, alpha: Floats) -> Floats:
    """Return sum_q alpha_q NDCG_q(b) / sum_q alpha_q for each block."""
    return np.asarray(np.sum(gains * alpha[:, None], axis=0) / np.sum(alpha))


# --- the temperature ---


@dataclass(frozen=True, eq=False)
class TemperatureTrial:
    """The blocks' values on some queries, and other queries on which the resulting weights are tried.

    Parameters
    ----------
    values
        The mean gain of each block.
    queries
        Whether each query is tried.
    """

    values: Floats
    queries: NDArray[np.bool_]


def make_trials(
    evidence: Evidence, gains: Floats, seed: int, earlier: BlockWeights, folds: int = TRIAL_FOLDS
) -> list[TemperatureTrial]:
    """Return one trial per fold: its queries, with the blocks' values on the other folds and earlier queries.

    Too few queries for folds make one trial with the earlier values, or none if there are no such
    values.
    """
    n = evidence.data.n_queries
    if n < folds:
        if earlier.mass <= 0:
            return []
        return [TemperatureTrial(earlier.gains / earlier.mass, np.ones(n, dtype=bool))]
    fold = np.empty(n, dtype=np.int64)
    fold[shuffled_queries(evidence.data, seed)] = np.arange(n) % folds
    others = (
        earlier.add_queries(gains[fold != k], evidence.alpha[fold != k]) for k in range(folds)
    )
    return [TemperatureTrial(rest.gains / rest.mass, fold == k) for k, rest in enumerate(others)]


def choose_temperature(
    prior: Floats,
    trials: Sequence[TemperatureTrial],
    evidence: Evidence,
    votes: BlockVotes,
    metric: Metric,
    temperatures: Sequence[float] = TEMPERATURES,
) -> float:
    """Return the T that ranks queries best in their trials; if several are equal, the highest."""
    sums = try_temperatures(prior, trials, evidence, votes, metric, temperatures)
    return best_temperature(sums, temperatures) if trials else FALLBACK_TEMPERATURE


def try_temperatures(
    prior: Floats,
    trials: Sequence[TemperatureTrial],
    evidence: Evidence,
    votes: BlockVotes,
    metric: Metric,
    temperatures: Sequence[float] = TEMPERATURES,
) -> Floats:
    """Return the sum of alpha_q NDCG_q over the queries in their trials, under each T."""
    sums = np.zeros(len(temperatures))
    for t, temperature in enumerate(temperatures):
        for trial in trials:
            scores = votes(tempered_weights(prior, trial.values, temperature))
            per_query = np.nan_to_num(evaluate(evidence.data, scores, metric)[metric].per_query)
            sums[t] += float(np.sum(per_query * evidence.alpha * trial.queries))
    return sums


def best_temperature(sums: Floats, temperatures: Sequence[float] = TEMPERATURES) -> float:
    """Return the T with the highest sum, to nine digits, because the order of rows must not decide.

    Examples
    --------
    >>> best_temperature(np.array([2.0, 3.0, 3.0 + 1e-15]), (1.0, 0.1, 0.01))
    0.1
    """
    size = float(np.max(np.abs(sums))) or 1.0
    return temperatures[int(np.argmax(np.round(sums / size, 9)))]
