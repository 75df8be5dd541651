"""Adam: steps scaled by running means of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium.typing import Floats


class Adam:
    """The optimiser Adam. Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015.

    Parameters
    ----------
    parameters
        The arrays that `step` changes in place.
    learning_rate
        The size of a step.

    Examples
    --------
    >>> x = np.array([5.0])
    >>> adam = Adam([x], learning_rate=0.1)
    >>> for _ in range(200):
    ...     adam.step([2 * x])
    >>> bool(abs(x[0]) < 0.05)
    True
    """

    def __init__(
        self,
        parameters: Sequence[Floats],
        learning_rate: float = 1e-3,
        *,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
    ) -> None:
        self.parameters = list(parameters)
        self.learning_rate, self.beta1, self.beta2, self.eps = learning_rate, beta1, beta2, eps
        self._mean = [np.zeros_like(p) for p in parameters]
        self._square = [np.zeros_like(p) for p in parameters]
        self._steps = 0

    def step(self, gradients: Sequence[Floats]) -> None:
        """Take one step against the gradients."""
        self._steps += 1
        rate = (
            self.learning_rate
            * np.sqrt(1 - self.beta2**self._steps)
            / (1 - self.beta1**self._steps)
        )
        for p, g, m, v in zip(self.parameters, gradients, self._mean, self._square, strict=True):
            m += (1 - self.beta1) * (g - m)
            v += (1 - self.beta2) * (g * g - v)
            p -= rate * m / (np.sqrt(v) + self.eps)
