"""The feedback alpha on compositions, divided among their blocks and added up over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from podium.ensemble.lattice import Floats
from podium.ensemble.plan import Plan
from podium.ensemble.users import has_labels
from podium.errors import UsageError

MOST_LISTED = 200_000
"""Compositions that are gone through one by one, where their feedback is no sum over blocks."""


@dataclass(frozen=True, eq=False)
class Alpha:
    """What feedback makes of the blocks of a plan.

    Uniform and simulated feedback is a sum over a composition's blocks, alpha_c = sum_{b in c} n_b / N
    alpha(n_b), so compositions weighted by it add up by recurrence. A log does not say which
    composition made a list: its mean holds for all. Feedback of another kind is asked for each
    composition, while there are at most 200,000; so is any that differs, for boosting, which takes
    the best product of feedback and gain.

    Parameters
    ----------
    feedback
        With ``by_size(n_features)``, ``alpha(sizes)``, or a log; None: 1 for all.
    """

    feedback: Any
    plan: Plan

    @cached_property
    def by_size(self) -> Floats | None:
        """alpha of blocks of 1..N features, where it is known by size."""
        d = self.plan.n_features
        if self.feedback is None:
            return np.ones(d)
        if has_labels(self.feedback):
            return np.full(d, _checked(self.feedback.alpha([d])))
        if not hasattr(self.feedback, "alpha"):
            raise UsageError(
                "expected feedback with alpha(sizes), or a log as podium.feedback.read_ubi reads it, "
                f"got {self.feedback!r}"
            )
        if hasattr(self.feedback, "by_size"):
            values = [_checked(value) for value in np.ravel(self.feedback.by_size(d)).tolist()]
            if len(values) != d:
                raise UsageError(
                    f"expected feedback by_size for blocks of 1 to {d} features, got {len(values)} "
                    "values"
                )
            return np.array(values)
        return None

    @cached_property
    def of_compositions(self) -> Floats:
        """alpha of each composition of the plan."""
        n = self.plan.n_compositions
        if n > MOST_LISTED:
            needed = (
                "feedback that is known by the size of a block (by_size)"
                if self.by_size is None
                else "the same feedback on all, or ensemble='bagging',"
            )
            raise UsageError(
                f"expected {needed} for all {n:,} compositions, for it cannot be asked for each; got "
                f"{self.feedback!r}; or draw some compositions"
            )
        every = (sizes for _, sizes in self.plan.every())
        if self.by_size is None:
            return np.array([_checked(self.feedback.alpha(sizes)) for sizes in every])
        worth = np.arange(1, len(self.by_size) + 1) / len(self.by_size) * self.by_size
        return np.array([float(sum(worth[size - 1] for size in sizes)) for sizes in every])

    @property
    def differing(self) -> Floats | None:
        """alpha of each composition; None where it is the same for all, also where all is 0."""
        if self.by_size is not None and np.ptp(self.by_size) == 0:
            return None
        return self.of_compositions

    @cached_property
    def worth(self) -> Floats:
        """alpha(n_b) n_b / N of each block, where alpha is known by size."""
        assert self.by_size is not None
        sizes = np.array([len(block) for block in self.plan.blocks])
        return np.asarray(self.plan.sizes * self.by_size[sizes - 1])

    def prior(self) -> Floats:
        """sum over compositions with the block of alpha_c n_b / N, against the sum of alpha_c."""
        if self.by_size is None:
            if not self.of_compositions.any():
                raise UsageError("expected feedback above 0 on some composition, got 0 on all")
            every = list(self.plan.every())
            return self.plan.shares_among(every, self.of_compositions) * self.plan.sizes
        if np.ptp(self.by_size) == 0:  # also where all is 0: nobody likes anything better
            return self.plan.shares() * self.plan.sizes
        if not self.worth.any():
            raise UsageError("expected feedback above 0 on some block, got 0 on all")
        return self.plan.shares(sums=self.worth) * self.plan.sizes

    def strength(self, size: int) -> float:
        """N / (alpha n_k): how much more the loss of a block counts."""
        alpha = self.by_size[size - 1] if self.by_size is not None else self.of_compositions.mean()
        if alpha <= 0:
            raise UsageError(
                f"expected feedback above 0 to scale the loss by, got {alpha} for blocks of {size}"
            )
        return float(self.plan.n_features / (alpha * size))


def _checked(alpha: Any) -> float:
    try:
        found = float(alpha)
    except (TypeError, ValueError):
        found = float("nan")
    if isinstance(alpha, str) or not 0 <= found <= 1:
        raise UsageError(f"expected feedback alpha in [0, 1], got {alpha!r}")
    return found
