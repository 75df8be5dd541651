"""Simulated assessors: how many judgments a strategy needs, and which documents it finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.data import check_seed
from podium.errors import UsageError
from podium.labelling.judgments import Answer, DocumentId, JudgedTopK, Question
from podium.labelling.simulated_errors import ErrorModel, SimulatedErrors, expected_gain
from podium.labelling.strategies.strategy_run import (
    StrategyRun,
    check_confidence,
    strategy_named,
)

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
NEAR_NINETY_PERCENT = (0.87, 0.93)
"""The probabilities whose truth is counted: a calibrated run is right in 87 to 93 of 100 cases."""
WATCHED_JUDGMENTS = 10
"""Beliefs are counted at every so many judgments."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """The number of judgments and the recall of many simulated runs.

    Parameters
    ----------
    strategy, n, k, noise, ties, seed, skip_implied, runs, prior_tau, errors, left_share, confidence
        The arguments of `simulate`.
    judgments
        The number of judgments in each run.
    recalls
        The share of the true top k in each run's result.
    overlaps
        The mean over j = 1..k of the share of the true top j among the first j of each run's result.
    gains
        The sum of the qualities in each run's result, as a share of the best sum.
    certainties
        The recall that each run expected at its end; NaN for a strategy without a belief.
    stated, true
        How often a run called a document 87 to 93 % sure to be in the top k (counted at every tenth
        judgment), and how often it was.
    """

    strategy: str
    n: int
    k: int
    noise: float | tuple[float, ...]
    ties: float
    seed: int
    skip_implied: bool
    runs: int
    prior_tau: float | None
    errors: ErrorModel
    left_share: float
    confidence: float | None
    judgments: NDArray[np.int64]
    recalls: NDArray[np.float64]
    overlaps: NDArray[np.float64]
    gains: NDArray[np.float64]
    certainties: NDArray[np.float64]
    stated: NDArray[np.int64]
    true: NDArray[np.int64]

    @property
    def calibration(self) -> float:
        """The share of documents in the top k among those that runs called 87 to 93 % sure."""
        return float(self.true.sum() / self.stated.sum()) if self.stated.any() else math.nan

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

    @property
    def overlap(self) -> float:
        """The mean of `overlaps`, which also measures the order."""
        return float(self.overlaps.mean())

    @property
    def gain(self) -> float:
        """The mean of `gains`."""
        return float(self.gains.mean())

    @property
    def certainty(self) -> float:
        """The mean of `certainties`."""
        return float(self.certainties.mean())

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
    Other models of errors are in `SimulatedErrors`.

    Parameters
    ----------
    levels
        The level of each document, 0 the best.
    noise
        The probability of an error.
    rng
        The source of errors.
    errors
        A model of errors, instead of `noise`.
    qualities
        The quality of each document, for the model ``"close"``.

    Examples
    --------
    >>> Assessor({"a": 0, "b": 1}).answer(Question("b", "a"))
    '<'
    """

    levels: Mapping[DocumentId, int]
    noise: float = 0.0
    rng: np.random.Generator | None = None
    errors: SimulatedErrors | None = None
    qualities: Mapping[DocumentId, float] | None = None

    def answer(self, question: Question, is_a_left: bool = True, turn: int = 0) -> Answer:
        """Return the true answer or an error; `turn` is the number of the judgment."""
        a, b = question.a, question.b
        lead, qualities = self.levels[b] - self.levels[a], self.qualities
        if self.rng is None:
            return ">" if lead > 0 else "<" if lead < 0 else "~"
        errors = self.errors or SimulatedErrors("uniform", (self.noise,))
        quality_lead = 0.0 if qualities is None else qualities[a] - qualities[b]
        return errors.answer(lead, quality_lead, is_a_left, turn, self.rng)

    def judge(
        self, run: StrategyRun, watch: Callable[[StrategyRun], object] | None = None
    ) -> JudgedTopK:
        """Answer all questions of a run, with random sides; return its top k.

        `watch` sees the run at every tenth judgment.
        """
        sides, n_assessors = np.random.default_rng(0), len(self.errors.noise) if self.errors else 1
        turn = 0
        while isinstance(run.step, Question):
            question, is_a_left = run.step, bool(sides.random() < 0.5)
            left = question.a if is_a_left else question.b
            answer = self.answer(question, is_a_left, turn)
            run.judge(answer, left, f"assessor {turn % n_assessors + 1}")
            turn += 1
            if watch is not None and turn % WATCHED_JUDGMENTS == 0:
                watch(run)
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
    noise: float | Sequence[float] = 0.0,
    ties: float = 0.0,
    seed: int = 0,
    skip_implied: bool = True,
    runs: int = 100,
    prior_tau: float | None = None,
    errors: ErrorModel = "uniform",
    left_share: float = 0.5,
    confidence: float | None = None,
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
        Several probabilities are those of assessors who take turns.
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
    errors
        ``"uniform"``; ``"close"``: close documents are confused, and `noise` is the scale; ``"side"``:
        wrong answers are guesses, of which `left_share` are for the left document. See
        `SimulatedErrors`.
    left_share
        The share of guesses for the left document.
    confidence
        The expected recall at which runs end; None for the strategy's own rule. Only for strategies that
        do not trust single answers.

    Examples
    --------
    >>> simulation = simulate("tournament", n=50, k=10)
    >>> simulation
    Simulation(tournament, top 10 of 50: 90.7 judgments, 88 to 93 in nine of ten runs, recall 1.000)
    >>> simulation.bound, int(simulation.judgments.max())
    (94, 93)
    """
    check_confidence(confidence, strategy)
    check_seed(seed)
    n, k, runs = _check_counts(n, k, runs)
    rates = (noise,) if isinstance(noise, int | float | np.number) else tuple(noise)
    model = SimulatedErrors(errors, tuple(map(float, rates)), left_share)
    _check_shares(ties, prior_tau)
    columns = []
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        documents = [f"d{i}" for i in range(1, n + 1)]
        quality = rng.standard_normal(n)
        levels = _levels(quality, rng.random(n) < ties)
        prior = None if prior_tau is None else _prior(documents, quality, prior_tau, rng)
        qualities = dict(zip(documents, quality.tolist(), strict=True))
        assessor = Assessor(
            dict(zip(documents, levels, strict=True)), rng=rng, errors=model, qualities=qualities
        )
        strategy_run = StrategyRun(strategy, documents, k, prior, skip_implied, confidence)
        calibration = CalibrationCount(assessor.top(k))
        top = assessor.judge(strategy_run, calibration.add)
        measures = _measure(assessor, strategy_run, top, qualities)
        columns.append((*measures, calibration.stated, calibration.true))
    judged, *shares = zip(*columns, strict=True)
    return Simulation(
        strategy, n, k, noise if isinstance(noise, int | float) else rates, ties, seed, skip_implied,
        runs, prior_tau, errors, left_share, confidence,
        np.array(judged, dtype=np.int64), *map(np.array, shares),
    )  # fmt: skip


@dataclass
class CalibrationCount:
    """Counts how often a run is 87 to 93 % sure of a document, and how often it is right."""

    top: Set[DocumentId]
    stated: int = 0
    true: int = 0

    def add(self, run: StrategyRun) -> None:
        """Count what a run believes now."""
        low, high = NEAR_NINETY_PERCENT
        chances = run.memberships or {}
        sure = [document for document, chance in chances.items() if low <= chance <= high]
        self.stated += len(sure)
        self.true += len(self.top & set(sure))


def _measure(
    assessor: Assessor, run: StrategyRun, top: JudgedTopK, qualities: Mapping[DocumentId, float]
) -> tuple[float, ...]:
    """Return the judgments of a run, its recall, overlap and gain, and its own certainty."""
    order, truth = top.order, assessor.top(top.k)
    k = min(top.k, len(qualities))
    firsts = [assessor.top(j) for j in range(1, k + 1)]
    overlap = [len(first.intersection(order[:j])) / j for j, first in enumerate(firsts, start=1)]
    certainty = math.nan if run.certainty is None else run.certainty
    recall = len(truth.intersection(order)) / len(truth)
    return top.judged, recall, sum(overlap) / k, expected_gain(qualities, order, k), certainty


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


def _check_shares(ties: float, prior_tau: float | None) -> None:
    if not 0 <= ties <= 1:
        raise UsageError(f"expected ties as a probability in [0, 1], got {ties}")
    if prior_tau is not None and not -1 <= prior_tau <= 1:
        raise UsageError(f"expected prior_tau in [-1, 1], got {prior_tau}")
