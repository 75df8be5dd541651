"""Simulated assessors: how many judgments a strategy needs, and which documents it finds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.data import check_seed
from podium.errors import UsageError
from podium.labelling.judgments import Answer, DocumentId, JudgedTopK, Question
from podium.labelling.strategies.strategy_run import StrategyRun, strategy_named

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Simulation:
    """The number of judgments and the recall of many simulated runs.

    Parameters
    ----------
    strategy, n, k, noise, ties, seed, skip_implied, runs, prior_tau
        The arguments of `simulate`.
    judgments
        The number of judgments in each run.
    recalls
        The share of the true top k that each run found.
    """

    strategy: str
    n: int
    k: int
    noise: float
    ties: float
    seed: int
    skip_implied: bool
    runs: int
    prior_tau: float | None
    judgments: NDArray[np.int64]
    recalls: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean number of judgments."""
        return float(self.judgments.mean())

    @property
    def quantiles(self) -> dict[float, float]:
        """The numbers of judgments that 5, 25, 50, 75 and 95 % of the runs do not exceed."""
        values = np.quantile(self.judgments, QUANTILES, method="inverted_cdf")
        return dict(zip(QUANTILES, map(float, values), strict=True))

    @property
    def bound(self) -> int:
        """The number of judgments that no run can exceed."""
        return strategy_named(self.strategy).bound(self.n, self.k, self.prior_tau is not None)

    @property
    def recall(self) -> float:
        """The mean share of the true top k that the runs found."""
        return float(self.recalls.mean())

    def __repr__(self) -> str:
        spread = self.quantiles
        return (
            f"Simulation({self.strategy}, top {self.k} of {self.n}: {self.mean:.1f} judgments, "
            f"{spread[0.05]:.0f} to {spread[0.95]:.0f} in nine of ten runs, "
            f"recall {self.recall:.3f})"
        )


@dataclass(frozen=True)
class Assessor:
    """A simulated assessor who answers by true levels and errs with probability `noise`.

    An error is the opposite preference; for two tied documents, it is a preference for either one.

    Parameters
    ----------
    levels
        The level of each document, 0 the best.
    noise
        The probability of an error.
    rng
        The source of errors.

    Examples
    --------
    >>> Assessor({"a": 0, "b": 1}).answer(Question("b", "a"))
    '<'
    """

    levels: Mapping[DocumentId, int]
    noise: float = 0.0
    rng: np.random.Generator | None = None

    def answer(self, question: Question) -> Answer:
        """Return the true answer or an error."""
        lead = self.levels[question.b] - self.levels[question.a]
        if self.noise and self.rng is not None and self.rng.random() < self.noise:
            lead = -lead or (1 if self.rng.random() < 0.5 else -1)
        return ">" if lead > 0 else "<" if lead < 0 else "~"

    def judge(self, run: StrategyRun) -> JudgedTopK:
        """Answer all questions of a run; return its top k."""
        while not isinstance(run.step, JudgedTopK):
            run.judge(self.answer(run.step))
        return run.step

    def top(self, k: int) -> set[DocumentId]:
        """Return the true top k: documents with fewer than k strictly better ones."""
        by_level = sorted(self.levels.values())
        last = by_level[min(k, len(by_level)) - 1]
        return {document for document, level in self.levels.items() if level <= last}


def simulate(
    strategy: str,
    n: int,
    k: int,
    noise: float = 0.0,
    ties: float = 0.0,
    seed: int = 0,
    skip_implied: bool = True,
    runs: int = 100,
    prior_tau: float | None = None,
) -> Simulation:
    """Simulate how many judgments a strategy needs for the top k of n documents.

    Parameters
    ----------
    strategy
        A name of `STRATEGIES`.
    n
        The number of documents, which come in random order.
    k
        How many documents to find.
    noise
        The probability that the assessor errs: prefers the worse document, or one of two tied ones.
    ties
        The probability that a document is as good as the next one in the true order.
    seed
        The seed; the same seed gives the same runs, and more runs begin with the same ones.
    skip_implied
        Whether pairs whose answer is implied are not asked.
    runs
        The number of runs.
    prior_tau
        The expected Kendall's tau of a prior order with the true one; None for no prior.
        True and prior qualities are normal with correlation sin(pi tau / 2).

    Examples
    --------
    >>> simulation = simulate("tournament", n=50, k=10)
    >>> simulation
    Simulation(tournament, top 10 of 50: 90.7 judgments, 88 to 93 in nine of ten runs, recall 1.000)
    >>> simulation.bound, int(simulation.judgments.max())
    (94, 93)
    """
    strategy_named(strategy)
    check_seed(seed)
    n, k, runs = _check_counts(n, k, runs)
    _check_shares(noise, ties, prior_tau)
    judged, recalls = [], []
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        documents = [f"d{i}" for i in range(1, n + 1)]
        quality = rng.standard_normal(n)
        levels = _levels(quality, rng.random(n) < ties)
        prior = None if prior_tau is None else _prior(documents, quality, prior_tau, rng)
        assessor = Assessor(dict(zip(documents, levels, strict=True)), noise, rng)
        top = assessor.judge(StrategyRun(strategy, documents, k, prior, skip_implied))
        truth = assessor.top(k)
        judged.append(top.judged)
        recalls.append(len(truth.intersection(top.order)) / len(truth))
    return Simulation(
        strategy, n, k, noise, ties, seed, skip_implied, runs, prior_tau,
        np.array(judged, dtype=np.int64), np.array(recalls),
    )  # fmt: skip


def _levels(quality: NDArray[np.float64], tied: NDArray[np.bool_]) -> list[int]:
    """Return the level of each document by quality, best 0; a `tied` place shares the level before it."""
    levels = np.empty(len(quality), dtype=np.int64)
    levels[np.argsort(-quality)] = np.cumsum(~tied)
    by_document: list[int] = levels.tolist()
    return by_document


def _prior(
    documents: list[DocumentId], quality: NDArray[np.float64], tau: float, rng: np.random.Generator
) -> list[DocumentId]:
    # Greiner's relation: normal variables of correlation r have tau = 2 / pi arcsin r.
    r = math.sin(math.pi * tau / 2)
    prior_quality = r * quality + math.sqrt(max(0.0, 1 - r * r)) * rng.standard_normal(len(quality))
    return [documents[i] for i in np.argsort(-prior_quality).tolist()]


def _check_counts(n: int, k: int, runs: int) -> tuple[int, int, int]:
    for name, value in (("n", n), ("k", k), ("runs", runs)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise UsageError(f"expected {name} of 1 or more, got {value!r}")
    return int(n), int(k), int(runs)


def _check_shares(noise: float, ties: float, prior_tau: float | None) -> None:
    for name, value in (("noise", noise), ("ties", ties)):
        if not 0 <= value <= 1:
            raise UsageError(f"expected {name} as a probability in [0, 1], got {value}")
    if prior_tau is not None and not -1 <= prior_tau <= 1:
        raise UsageError(f"expected prior_tau in [-1, 1], got {prior_tau}")
