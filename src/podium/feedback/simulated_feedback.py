"""Simulated feedback, normal by the size of blocks, and uniform feedback: alpha without a log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from podium.data import check_seed
from podium.errors import UsageError
from podium.feedback.alpha import check_sizes
from podium.typing import Floats


class FeedbackSource(Protocol):
    """A source of feedback on compositions."""

    def alpha(self, sizes: Sequence[int] | ArrayLike) -> float:
        """Return alpha in [0, 1] of the composition with blocks of these sizes."""
        ...


@dataclass(frozen=True)
class UniformFeedback:
    """The same feedback for every composition: the paper's baseline.

    Examples
    --------
    >>> UniformFeedback().alpha([5, 5, 36])
    1.0
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 1:
            raise UsageError(f"expected uniform feedback in [0, 1], got {self.value}")

    def alpha(self, sizes: Sequence[int] | ArrayLike) -> float:
        """Return the same value for any blocks."""
        check_sizes(sizes)
        return self.value

    def by_size(self, n_features: int) -> Floats:
        """Return the same value for blocks of every size 1..n_features."""
        return np.full(_check_features(n_features), self.value)


@dataclass(frozen=True)
class SimulatedFeedback:
    """Simulated feedback as in the paper: users prefer block sizes with many subsets.

    alpha(n) ~ N(C(d, n) / max_m C(d, m), variance), clipped to [0, 1], for blocks of n of d features:
    highest for the middle size, lowest for the extremes. The feedback on a composition is the mean over
    its features: sum_k n_k / N alpha(n_k).

    Parameters
    ----------
    variance
        The variance of the normal distributions; 0 gives their means.
    seed
        The same seed gives the same feedback; there is one draw per size.

    Examples
    --------
    >>> SimulatedFeedback(variance=0).by_size(5).tolist()      # 5, 10, 10, 5, 1 subsets
    [0.5, 1.0, 1.0, 0.5, 0.1]
    >>> SimulatedFeedback(variance=0).alpha([1, 4])            # 1/5 * 0.5 + 4/5 * 0.5
    0.5
    """

    variance: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.variance < math.inf:
            raise UsageError(f"expected a variance of 0 or more, got {self.variance}")
        check_seed(self.seed)

    def by_size(self, n_features: int) -> Floats:
        """Return alpha of blocks of each size 1..n_features."""
        d = _check_features(n_features)
        most = math.comb(d, d // 2)
        mean = np.array([math.comb(d, n) / most for n in range(1, d + 1)])
        noise = np.random.default_rng(self.seed).standard_normal(d)
        return np.clip(mean + math.sqrt(self.variance) * noise, 0.0, 1.0)

    def alpha(self, sizes: Sequence[int] | ArrayLike) -> float:
        """Return alpha of the composition with blocks of these sizes."""
        n = check_sizes(sizes)
        return min(1.0, float((n * self.by_size(int(n.sum()))[n - 1]).sum() / n.sum()))


def _check_features(n_features: int) -> int:
    if n_features < 1:
        raise UsageError(f"expected 1 feature or more, got {n_features}")
    return int(n_features)
