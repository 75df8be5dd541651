"""Agreement of answers with intervals by query: shares, kappa and alpha of any pairs of assessors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from podium.labelling.judging_statistics.agreement import none_if_nan
from podium.labelling.judging_statistics.kappa_alpha import Level, krippendorff_alpha
from podium.labelling.judging_statistics.shared_judgments import (
    SharedJudgments,
    count_answer_pairs,
)
from podium.typing import Bools, Floats, Ints

LEVEL = 0.95
"""The level of all intervals."""

_NAN = float("nan")
_MAX_NUMBERS_AT_ONCE = 1 << 22  # bounds the memory of resampled tables


class Estimate(NamedTuple):
    """A value with a 95% interval by query; nan where it is not defined."""

    value: float = _NAN
    low: float = _NAN
    high: float = _NAN

    @property
    def is_defined(self) -> bool:
        """Whether there is a value."""
        return self.value == self.value

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2

    def to_dict(self) -> dict[str, float | None]:
        """Return JSON, with None for what is not defined."""
        return {name: none_if_nan(value) for name, value in self._asdict().items()}

    def __str__(self) -> str:
        if not self.is_defined:
            return "-"
        interval = f" ({self.low:.3f} to {self.high:.3f})" if self.low == self.low else ""
        return f"{self.value:.3f}{interval}"


@dataclass(frozen=True, eq=False, repr=False)
class AnswerPairs:
    """Two assessors' answers to the same questions, counted for each query and each two assessors.

    Parameters
    ----------
    queries
        All queries of the judgments.
    query
        The query of each row, a place in `queries`.
    between
        The two assessors of each row, by number.
    counts
        How often the first answered with the row and the second with the column.
    """

    queries: tuple[str, ...]
    query: Ints
    between: Ints
    counts: Ints

    def __len__(self) -> int:
        return int(self.counts.sum())

    @property
    def table(self) -> Ints:
        """The sum of all counts."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def present(self) -> Bools:
        """Which queries have rows."""
        return np.isin(np.arange(len(self.queries)), self.query)

    def by_query(self) -> dict[str, tuple[int, int]]:
        """Return equal answers and all answers of every query that has any."""
        agreed = np.bincount(self.query, np.trace(self.counts, axis1=1, axis2=2), len(self.queries))
        total = np.bincount(self.query, self.counts.sum(axis=(1, 2)), len(self.queries))
        return {
            query: (int(agreed[i]), int(total[i]))
            for i, query in enumerate(self.queries)
            if total[i] > 0
        }


@dataclass(frozen=True, eq=False, repr=False)
class AnswerAgreement:
    """How well assessors agree on the questions that both answered.

    Parameters
    ----------
    answers, queries
        The number of pairs of answers, and of queries that have any.
    same
        The share of equal answers.
    kappa
        The mean of Cohen's kappa over each two assessors, weighted by their answers.
    alpha
        Krippendorff's alpha of all pairs of answers: nominal for preferences, ordinal for grades.
    table
        How often the first assessor answered with the row and the second with the column.
    by_query
        Equal answers and all answers of each query.
    """

    answers: int
    queries: int
    same: Estimate
    kappa: Estimate
    alpha: Estimate
    table: Ints
    by_query: Mapping[str, tuple[int, int]]

    @property
    def shares(self) -> Floats:
        """The share of the second assessor's answers (column), given the answer of the first (row)."""
        table = self.table.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return np.asarray(table / table.sum(axis=1, keepdims=True))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON, with None for what is not defined."""
        return {
            "answers": self.answers,
            "queries": self.queries,
            "same": self.same.to_dict(),
            "kappa": self.kappa.to_dict(),
            "alpha": self.alpha.to_dict(),
            "table": self.table.tolist(),
            "by_query": {q: list(counts) for q, counts in self.by_query.items()},
        }


def pair_answers(judged: SharedJudgments, first: set[str], second: set[str]) -> AnswerPairs:
    """Return the answers of assessors in `first` beside those of assessors in `second`.

    If both sets are the same, each two assessors count once, the one with the smaller id first.
    """
    standing = judged.first_standing()
    between, counts, query, _ = count_answer_pairs(standing)
    names = np.array(standing.assessors, dtype=object)
    is_first = np.isin(names, list(first))[between] if len(names) else np.zeros((0, 2), bool)
    is_second = np.isin(names, list(second))[between] if len(names) else np.zeros((0, 2), bool)
    straight = is_first[:, 0] & is_second[:, 1]
    swapped = ~straight & is_first[:, 1] & is_second[:, 0]
    counts = np.where(swapped[:, None, None], counts.transpose(0, 2, 1), counts)
    between = np.where(swapped[:, None], between[:, ::-1], between)
    rows = straight | swapped
    return AnswerPairs(standing.queries, query[rows], between[rows], counts[rows])


def measure_agreement(
    pairs: AnswerPairs, level: Level = "nominal", *, resamples: int = 1_000, seed: int = 0
) -> AnswerAgreement:
    """Return the agreement of pairs of answers; intervals come from a bootstrap over queries."""
    by_query = pairs.by_query()
    measures: dict[str, Callable[[Floats], Floats]] = {
        "same": _same,
        "kappa": _kappa,
        "alpha": lambda tables: _alpha(tables, level),
    }
    estimates = estimate_measures(pairs, measures, resamples=resamples, seed=seed)
    return AnswerAgreement(
        len(pairs), len(by_query), estimates["same"], estimates["kappa"], estimates["alpha"],
        pairs.table, by_query,
    )  # fmt: skip


def estimate_measures(
    pairs: AnswerPairs, measures: Mapping[str, Callable[[Floats], Floats]], *,
    resamples: int, seed: int,
) -> dict[str, Estimate]:  # fmt: skip
    """Return measures of tables (sample, two assessors, answer, answer), with bootstrap intervals."""
    present = np.flatnonzero(pairs.present)
    if not len(pairs):
        return dict.fromkeys(measures, Estimate())
    groups, place = np.unique(pairs.between, axis=0, return_inverse=True)
    n_values = pairs.counts.shape[1]
    tables = np.zeros((len(present), len(groups), n_values, n_values))
    at = np.searchsorted(present, pairs.query)
    np.add.at(tables, (at, place.reshape(-1)), pairs.counts)
    flat = tables.reshape(len(present), -1)
    weights = resample_queries(len(present), resamples, seed)
    step = max(1, _MAX_NUMBERS_AT_ONCE // max(1, flat.shape[1]))
    shape = (-1, *tables.shape[1:])
    samples: dict[str, list[Floats]] = {name: [] for name in measures}
    for start in range(0, len(weights), step):
        drawn = (weights[start : start + step] @ flat).reshape(shape)
        for name, measure in measures.items():
            samples[name].append(measure(drawn))
    whole = flat.sum(axis=0).reshape(shape)
    return {
        name: interval_of(float(measure(whole)[0]), np.concatenate([*samples[name], np.empty(0)]))
        for name, measure in measures.items()
    }


def resample_queries(n_queries: int, resamples: int, seed: int) -> Floats:
    """Return how often each query is drawn, one row per resample; no row for fewer than two queries."""
    if n_queries < 2:
        return np.zeros((0, n_queries))
    random = np.random.default_rng(seed)
    return random.multinomial(n_queries, np.full(n_queries, 1 / n_queries), resamples).astype(float)


def interval_of(value: float, samples: Floats) -> Estimate:
    """Return a value with the percentile interval of its resamples.

    Examples
    --------
    >>> str(interval_of(0.5, np.linspace(0, 1, 1001)))
    '0.500 (0.025 to 0.975)'
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined) or value != value:
        return Estimate(value)
    tail = (1 - LEVEL) / 2
    return Estimate(value, float(np.quantile(defined, tail)), float(np.quantile(defined, 1 - tail)))


def estimate_share(
    query: Ints, hits: Floats, totals: Floats, *, resamples: int = 1_000, seed: int = 0
) -> Estimate:
    """Return a share, or a mean, with its bootstrap interval over queries.

    Parameters
    ----------
    query
        The number of the query of each row.
    hits, totals
        What is counted in each row, and of how many.

    Examples
    --------
    >>> estimate_share(np.array([0, 0, 1]), np.array([1.0, 0, 1]), np.ones(3)).value
    0.6666666666666666
    """
    total = float(np.sum(totals))
    if total == 0:
        return Estimate()
    _, place = np.unique(query, return_inverse=True)
    n_queries = int(place.max()) + 1
    weights = resample_queries(n_queries, resamples, seed)
    with np.errstate(invalid="ignore"):
        samples = (weights @ np.bincount(place, hits, n_queries)) / (
            weights @ np.bincount(place, totals, n_queries)
        )
    return interval_of(float(np.sum(hits)) / total, samples)


def _same(tables: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        equal = np.trace(tables, axis1=2, axis2=3).sum(axis=1)
        return np.asarray(equal / tables.sum(axis=(1, 2, 3)))


def _kappa(tables: Floats) -> Floats:
    """Return `mean_kappa` of each sample: assessors for whom it is not defined are left out."""
    total = tables.sum(axis=(2, 3))
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = (tables.sum(axis=3) * tables.sum(axis=2)).sum(axis=2) / total**2
        agreed = np.trace(tables, axis1=2, axis2=3) / total
        kappas = np.where(chance < 1, (agreed - chance) / (1 - chance), np.nan)
        weights = np.where(np.isnan(kappas), 0.0, total)
        return np.asarray(np.nansum(kappas * weights, axis=1) / weights.sum(axis=1))


def _alpha(tables: Floats, level: Level) -> Floats:
    once = tables.sum(axis=1)
    both = once + once.transpose(0, 2, 1)
    return np.array([krippendorff_alpha(table, level) for table in both])
