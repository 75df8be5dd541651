"""Stopping rules: a small gradient, and patience, which is early stopping on validation queries."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SmallGradient:
    """Stop if the gradient is small relative to the first one: |g| <= tol |g_0|.

    `first` is |g_0|, the norm of the gradient at w = 0.

    Examples
    --------
    >>> stop = SmallGradient(1e-3, first=10.0)
    >>> stop(0.1), stop(0.01)
    (False, True)
    """

    tol: float
    first: float

    def __call__(self, gradient_norm: float) -> bool:
        """Return whether to stop."""
        return gradient_norm <= self.tol * self.first


@dataclass
class Patience:
    """Stop if a value to maximise has not risen for a number of steps.

    Examples
    --------
    >>> stop = Patience(2)
    >>> [stop(value) for value in (0.1, 0.3, 0.2, 0.3)]
    [False, False, False, True]
    """

    steps: int
    best: float = field(default=-float("inf"), init=False)
    waited: int = field(default=0, init=False)

    def __call__(self, value: float) -> bool:
        """Return whether to stop after this value."""
        if value > self.best:
            self.best, self.waited = value, 0
        else:
            self.waited += 1
        return self.waited >= self.steps
