"""Simulated errors: how assessors err in simulations, from coin flips to a habit of choosing one side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from podium.errors import UnknownNameError, UsageError
from podium.labelling.judgments import Answer, DocumentId

ErrorModel = Literal["uniform", "close", "side"]
ERROR_MODELS: tuple[ErrorModel, ...] = get_args(ErrorModel)
"""How assessors may err; see `SimulatedErrors`."""


@dataclass(frozen=True)
class SimulatedErrors:
    """How simulated assessors err.

    Parameters
    ----------
    model
        ``"uniform"``: the answer is wrong with probability `noise`. ``"close"``: close documents are
        confused; a is preferred with probability 1 / (1 + exp((q_b - q_a) / noise)), by qualities that
        are normal with variance 1 (Bradley-Terry). ``"side"``: wrong answers come from guesses, with
        probability 2 `noise`, of which `left_share` choose the left document.
    noise
        The rate, or the scale of ``"close"``; several for assessors who take turns.
    left_share
        The share of guesses for the left document.

    Examples
    --------
    >>> SimulatedErrors("uniform", (0.05, 0.25)).rate(3)
    0.25
    """

    model: ErrorModel = "uniform"
    noise: tuple[float, ...] = (0.0,)
    left_share: float = 0.5

    def __post_init__(self) -> None:
        if self.model not in ERROR_MODELS:
            raise UnknownNameError("error model", self.model, ERROR_MODELS)
        most = {"uniform": 1.0, "close": math.inf, "side": 0.5}[self.model]
        for rate in self.noise:
            if not 0 <= rate <= most:
                expected = "a probability in [0, 1]" if most == 1 else f"a number from 0 to {most}"
                raise UsageError(f"expected noise as {expected}, got {rate}")
        if not self.noise:
            raise UsageError("expected noise of at least one assessor, got none")
        if not 0 <= self.left_share <= 1:
            raise UsageError(
                f"expected left_share as a probability in [0, 1], got {self.left_share}"
            )

    def rate(self, turn: int) -> float:
        """Return the noise of the assessor whose turn it is."""
        return self.noise[turn % len(self.noise)]

    def answer(
        self, lead: int, quality_lead: float, is_a_left: bool, turn: int, rng: np.random.Generator
    ) -> Answer:
        """Return an answer about a and b.

        Parameters
        ----------
        lead
            Above 0 if a is better, below 0 if b is, 0 for a tie.
        quality_lead
            The quality of a minus that of b.
        is_a_left
            Whether a is on the left.
        turn
            The number of the judgment, which decides who judges.
        rng
            The source of errors.
        """
        rate = self.rate(turn)
        if rate and self.model == "close":
            z = min(700.0, -quality_lead / rate)
            return ">" if rng.random() < 1 / (1 + math.exp(z)) else "<"
        if rate and self.model == "side":
            if rng.random() < 2 * rate:
                return ">" if (rng.random() < self.left_share) == is_a_left else "<"
        elif rate and rng.random() < rate:
            lead = -lead or (1 if rng.random() < 0.5 else -1)
        return ">" if lead > 0 else "<" if lead < 0 else "~"


def expected_gain(
    qualities: Mapping[DocumentId, float], chosen: Sequence[DocumentId], k: int
) -> float:
    """Return the quality of the first k chosen documents, as a share of the best k's.

    Examples
    --------
    >>> expected_gain({"a": 2.0, "b": 1.0, "c": -1.0}, ["a", "c"], 2)
    0.3333333333333333
    """
    best = sum(sorted(qualities.values(), reverse=True)[:k])
    return sum(qualities[document] for document in chosen[:k]) / best
