"""Rounds of LightGBM: a tree along a gradient of podium, the scores after it, the gains of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.errors import GainOverflowError
from podium.metrics.gain_and_discount import MAX_EXPONENT
from podium.rankers.training_objective import TrainingObjective
from podium.typing import Floats


def follow(booster: Any, objective: TrainingObjective) -> tuple[bool, float]:
    """Add a tree along the gradient of a loss; return whether no split was possible, and the loss."""
    values: list[float] = []

    def gradient_of(scores: Floats, _: Any) -> tuple[Floats, Floats]:
        value, gradient, curvature = objective.derivatives(scores)
        values.append(value)
        return gradient, np.maximum(curvature, 1e-9)

    return bool(booster.update(fobj=gradient_of)), values[0]


def kept_scores(eval_scores: Any) -> Floats:
    """Return the scores that LightGBM keeps for the training or the validation queries."""
    calls: list[Floats] = []

    def record(scores: Floats, _: Any) -> tuple[str, float, bool]:
        calls.append(scores)
        return "scores", 0.0, False

    eval_scores(record)
    return calls[0]


def label_gains(levels: Floats) -> list[float]:
    """Return the gain 2^y - 1 of each label; raises if one does not fit a double.

    Examples
    --------
    >>> label_gains(np.array([0.0, 1.0, 3.0]))
    [0.0, 1.0, 7.0]
    """
    largest = float(levels.max())
    if largest > MAX_EXPONENT:
        raise GainOverflowError(
            f"expected labels up to {MAX_EXPONENT} for the gain 2^label - 1, got {largest:g}"
        ).advise(
            python="use smaller labels, or a loss without gains, as in loss='ranknet'",
            command_line="use smaller labels, or a loss without gains, as in --set loss=ranknet",
        )
    gains: list[float] = (np.exp2(levels) - 1).tolist()
    return gains
