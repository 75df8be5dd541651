"""Accelerated EM: squared extrapolation of fixed-point steps (SQUAREM) that never lowers the objective.

Varadhan and Roland, "Simple and globally convergent methods for accelerating the convergence of any EM
algorithm", Scandinavian Journal of Statistics 35(2), 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podium.typing import Floats

EmStep = Callable[[Floats], tuple[Floats, float]]
"""Parameters -> the parameters of one EM step, and the objective of the parameters before it."""


@dataclass(frozen=True, eq=False)
class EmMaximum:
    """The end of EM: parameters, their objective, the number of steps, and whether it converged."""

    parameters: Floats
    objective: float
    steps: int
    converged: bool


def accelerated_em(
    step: EmStep, start: Floats, *, tolerance: float, max_steps: int, margin: float = 1e-12
) -> EmMaximum:
    """Maximise by EM over probabilities, from a start in (0, 1).

    Two steps x0 -> x1 -> x2 give r = x1 - x0 and v = (x2 - x1) - r. The next point is
    x0 + 2 a r + a^2 v with a = |r| / |v|, kept in [margin, 1 - margin]; if the objective is lower there
    than at x1, the next round begins at x1. It has converged if a round of steps gains less than
    ``tolerance * |objective|``.

    Examples
    --------
    >>> flip = lambda x: (0.5 * (x + 0.3), -float(((x - 0.3) ** 2).sum()) - 1)
    >>> maximum = accelerated_em(flip, np.array([0.9]), tolerance=1e-9, max_steps=100)
    >>> maximum.parameters.round(4).tolist(), maximum.converged
    ([0.3], True)
    """
    x0, steps = start, 0
    x1, objective = step(x0)
    while True:
        x2, middle = step(x1)
        steps += 2
        if middle - objective <= tolerance * abs(middle) or steps >= max_steps:
            return EmMaximum(x1, middle, steps, middle - objective <= tolerance * abs(middle))
        jump = _extrapolate(x0, x1, x2, margin)
        after_jump, jump_objective = step(jump)
        steps += 1
        if jump_objective >= middle:
            x0, x1, objective = jump, after_jump, jump_objective
        else:
            x0, objective = x1, middle
            x1 = x2


def _extrapolate(x0: Floats, x1: Floats, x2: Floats, margin: float) -> Floats:
    r = x1 - x0
    v = (x2 - x1) - r
    change = float(np.sqrt((v * v).sum()))
    length = max(1.0, float(np.sqrt((r * r).sum())) / change) if change > 0 else 1.0
    return np.asarray(np.clip(x0 + 2 * length * r + length**2 * v, margin, 1 - margin))
