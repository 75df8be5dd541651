"""Early stopping: end a fit when a value on validation queries has not risen for some steps."""

from __future__ import annotations

from dataclasses import dataclass, field


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
