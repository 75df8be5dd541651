"""Peers of the field at finding the top 10 of 100 by answers that may be wrong.

``python -m benchmarks.quality_judges [--draws N]``. The draws and the errors are those of
`podium.labelling.simulate`. Crowd-BT (Chen et al., WSDM 2013) asks the pair with the largest expected gain
of information; TrueSkill asks the least known document with its best match. Both stop after a given number
of questions. A tournament that asks each question three times takes the majority.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, ndtr

from podium.labelling import Assessor, Question, StrategyRun
from podium.labelling.simulated_errors import SimulatedErrors
from podium.typing import Floats

N, K = 100, 10
ROWS: tuple[tuple[str, SimulatedErrors, int], ...] = (
    ("--noise .1", SimulatedErrors("uniform", (0.1,)), 300),
    ("--noise .2", SimulatedErrors("uniform", (0.2,)), 500),
    ("--noise .3 --errors close", SimulatedErrors("close", (0.3,)), 450),
)
"""Options of ``podium judge simulate``, errors, and how many questions peers ask: as bayesian does."""


@dataclass
class CrowdBT:
    """Gaussian strengths and the reliability of one assessor (Beta), by moment matching."""

    mean: Floats = field(default_factory=lambda: np.zeros(N))
    variance: Floats = field(default_factory=lambda: np.ones(N))
    right: float = 10.0
    wrong: float = 1.0

    def next_pair(self) -> tuple[int, int]:
        """Return the pair with the largest expected gain of information about strengths."""
        i, j = np.triu_indices(N, 1)
        share = self._chance(i, j)
        gain = share * self._gain(i, j) + (1 - share) * self._gain(j, i)
        best = int(np.argmax(gain))
        return int(i[best]), int(j[best])

    def add(self, i: int, j: int) -> None:
        """Learn that i was preferred to j."""
        winner, loser = np.array([i]), np.array([j])
        step, shrink_winner, shrink_loser = self._update(winner, loser)
        self._learn_reliability(float(self._expected_win(winner, loser)[0]))
        self.mean[i] += self.variance[i] * step[0]
        self.mean[j] -= self.variance[j] * step[0]
        self.variance[i] *= shrink_winner[0]
        self.variance[j] *= shrink_loser[0]

    def _expected_win(self, i: np.ndarray, j: np.ndarray) -> Floats:
        """Return the probability that i is better, with the strengths' spread to second order."""
        p = expit(self.mean[i] - self.mean[j])
        spread = self.variance[i] + self.variance[j]
        return np.asarray(np.clip(p + spread / 2 * p * (1 - p) * (1 - 2 * p), 1e-6, 1 - 1e-6))

    def _chance(self, i: np.ndarray, j: np.ndarray) -> Floats:
        win, total = self._expected_win(i, j), self.right + self.wrong
        return np.asarray((win * self.right + (1 - win) * self.wrong) / total)

    def _update(self, i: np.ndarray, j: np.ndarray) -> tuple[Floats, Floats, Floats]:
        """Return the step of the means per variance, and the factors of both variances."""
        lead = self.mean[i] - self.mean[j]
        p, q = expit(lead), expit(lead + np.log(self.right / self.wrong))
        bend = q * (1 - q) - p * (1 - p)
        return (
            q - p,
            np.maximum(1e-4, 1 + self.variance[i] * bend),
            np.maximum(1e-4, 1 + self.variance[j] * bend),
        )

    def _gain(self, i: np.ndarray, j: np.ndarray) -> Floats:
        """Return the divergence of the strengths after "i is better" from those before."""
        step, *shrinks = self._update(i, j)
        total = np.zeros(len(i))
        for at, shrink in zip((i, j), shrinks, strict=True):
            total += (shrink - 1 - np.log(shrink) + self.variance[at] * step**2) / 2
        return total

    def _learn_reliability(self, win: float) -> None:
        a, b = self.right, self.wrong
        n, chance = a + b, (win * a + (1 - win) * b) / (a + b)
        first = (win * (a + 1) * a + (1 - win) * a * b) / (chance * (n + 1) * n)
        second = (win * (a + 2) * (a + 1) * a + (1 - win) * (a + 1) * a * b) / (
            chance * (n + 2) * (n + 1) * n
        )
        scale = (first - second) / (second - first**2)
        self.right, self.wrong = scale * first, scale * (1 - first)


@dataclass
class TrueSkill:
    """Gaussian skills without draws; the least known document meets its best match."""

    mean: Floats = field(default_factory=lambda: np.full(N, 25.0))
    variance: Floats = field(default_factory=lambda: np.full(N, (25 / 3) ** 2))
    beta: float = 25 / 6

    def next_pair(self) -> tuple[int, int]:
        """Return the least known document, and the one with which the outcome is most open."""
        i = int(np.argmax(self.variance))
        spread = 2 * self.beta**2 + self.variance[i] + self.variance
        quality = np.sqrt(2 * self.beta**2 / spread) * np.exp(
            -((self.mean[i] - self.mean) ** 2) / (2 * spread)
        )
        quality[i] = -1
        return i, int(np.argmax(quality))

    def add(self, i: int, j: int) -> None:
        """Learn that i won against j."""
        c = float(np.sqrt(2 * self.beta**2 + self.variance[i] + self.variance[j]))
        t = float(self.mean[i] - self.mean[j]) / c
        v = float(np.exp(-t * t / 2) / np.sqrt(2 * np.pi) / max(1e-12, float(ndtr(t))))
        w = v * (v + t)
        self.mean[i] += self.variance[i] / c * v
        self.mean[j] -= self.variance[j] / c * v
        for at in (i, j):
            self.variance[at] *= max(1e-6, 1 - self.variance[at] / c**2 * w)


def draw_assessor(run: int, errors: SimulatedErrors) -> tuple[Assessor, list[str]]:
    """Return the assessor of a draw, as in `podium.labelling.simulate` with seed 0, and the documents."""
    rng = np.random.default_rng([0, run])
    documents = [f"d{i}" for i in range(1, N + 1)]
    quality = rng.standard_normal(N)
    rng.random(N)  # the draws of ties
    levels = np.empty(N, dtype=np.int64)
    levels[np.argsort(-quality)] = np.arange(N)
    qualities = dict(zip(documents, quality.tolist(), strict=True))
    places = dict(zip(documents, levels.tolist(), strict=True))
    return Assessor(places, rng=rng, errors=errors, qualities=qualities), documents


def peer_recall(peer: CrowdBT | TrueSkill, run: int, errors: SimulatedErrors, most: int) -> float:
    """Return the recall of a peer after so many questions."""
    assessor, documents = draw_assessor(run, errors)
    for turn in range(most):
        i, j = peer.next_pair()
        is_better = assessor.answer(Question(documents[i], documents[j]), turn=turn) == ">"
        peer.add(*((i, j) if is_better else (j, i)))
    best = {documents[i] for i in np.argsort(-peer.mean, kind="stable")[:K]}
    return len(best & assessor.top(K)) / K


def three_times(run: int, errors: SimulatedErrors) -> tuple[int, float]:
    """Return the questions and the recall of a tournament that asks each of them three times."""
    assessor, documents = draw_assessor(run, errors)
    strategy, turn = StrategyRun("tournament", documents, K), 0
    while isinstance(question := strategy.step, Question):
        firsts = sum(assessor.answer(question, turn=turn + i) == ">" for i in range(3))
        turn += 3
        strategy.judge(">" if firsts >= 2 else "<")
    return turn, len(set(strategy.step.order) & assessor.top(K)) / K


def main() -> None:
    """Print questions and recall of every peer in every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=60)
    draws = range(parser.parse_args().draws)
    for options, errors, most in ROWS:
        for kind in (CrowdBT, TrueSkill):
            recall = np.mean([peer_recall(kind(), run, errors, most) for run in draws])
            print(f"{options}: {kind.__name__} {most} questions, recall {recall:.3f}", flush=True)
        questions, recalls = zip(*(three_times(run, errors) for run in draws), strict=True)
        print(
            f"{options}: tournament, three times {np.mean(questions):.0f} questions, "
            f"recall {np.mean(recalls):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
