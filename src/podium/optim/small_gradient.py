"""The stopping rule of minimisers: a gradient that is small relative to the first one."""

from __future__ import annotations

from dataclasses import dataclass


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
