"""Fit times: how long fits took, and how long the next one will take."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class FitTimes:
    """Mean seconds of fits by candidate and by kind of ranker.

    A thread of joblib asks for predictions while fits come in. It needs no lock: each mean is replaced
    whole.

    Examples
    --------
    >>> times = FitTimes()
    >>> times.add(0, "trees", 2.0)
    >>> times.add(1, "trees", 6.0)
    >>> times.predict(1, "trees"), times.predict(2, "trees"), times.predict(3, "linear")
    (6.0, 4.0, 0.0)
    """

    samples: dict[str, float] = field(default_factory=dict)
    """Predicted seconds by kind, from fits on samples; a fit on all queries replaces them."""
    _of_candidate: dict[int, tuple[float, int]] = field(default_factory=dict)
    _of_kind: dict[str, tuple[float, int]] = field(default_factory=dict)

    def add(self, number: int, kind: str, seconds: float) -> None:
        """Count a fit of a candidate of this kind."""
        self._of_candidate[number] = _add(self._of_candidate.get(number), seconds)
        self._of_kind[kind] = _add(self._of_kind.get(kind), seconds)

    def predict(self, number: int, kind: str) -> float:
        """Return the mean time of the candidate's fits, or of its kind; 0 if none is known."""
        mean = self._of_candidate.get(number) or self._of_kind.get(kind)
        return self.samples.get(kind, 0.0) if mean is None else mean[0] / mean[1]


def _add(mean: tuple[float, int] | None, seconds: float) -> tuple[float, int]:
    total, n = (0.0, 0) if mean is None else mean
    return total + seconds, n + 1
