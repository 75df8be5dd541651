"""Composition feedback: alpha divided among blocks, and the factor N / (alpha n) on a block's loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from podium.ensemble.cfbrs.composition_plan import CompositionPlan
from podium.ensemble.cfbrs.user_classes import is_feedback_log
from podium.errors import UsageError
from podium.typing import Floats

MAX_LISTED_COMPOSITIONS = 200_000
"""The maximum number of compositions that are listed if their feedback is not a sum over blocks."""


@dataclass(frozen=True, eq=False)
class CompositionFeedback:
    """The feedback alpha on the compositions of a plan, and on their blocks.

    Uniform and simulated feedback is a sum over a composition's blocks, alpha_c = sum_{b in c} n_b
    / N alpha(n_b), so a recurrence sums the weighted compositions. A log does not record which
    composition made a list, so its mean counts for all.

    Other feedback is computed for each composition, if there are at most 200,000. Boosting does
    this for all feedback that differs, because it takes the best product of feedback and gain.

    Parameters
    ----------
    feedback
        An object with ``by_size(n_features)`` or ``alpha(sizes)``, or a log; None: alpha is always
        1.
    """

    feedback: Any
    plan: CompositionPlan

    @cached_property
    def by_size(self) -> Floats | None:
        """alpha of blocks of 1..N features; None if it is not a sum over blocks."""
        d = self.plan.n_features
        if self.feedback is None:
            return np.ones(d)
        if is_feedback_log(self.feedback):
            return np.full(d, _check_alpha(self.feedback.alpha([d])))
        if not hasattr(self.feedback, "alpha"):
            raise UsageError(
                "expected feedback with a method alpha(sizes), or a log from "
                f"podium.feedback.read_ubi, got {self.feedback!r}"
            )
        if hasattr(self.feedback, "by_size"):
            values = [_check_alpha(value) for value in np.ravel(self.feedback.by_size(d)).tolist()]
            if len(values) != d:
                raise UsageError(
                    f"by_size of the feedback must return {d} values, for blocks of 1 to {d} "
                    f"features, got {len(values)}"
                )
            return np.array(values)
        return None

    @cached_property
    def by_composition(self) -> Floats:
        """alpha of each composition of the plan."""
        n = self.plan.n_compositions
        if n > MAX_LISTED_COMPOSITIONS:
            needed = (
                "feedback with by_size"
                if self.by_size is None
                else "the same feedback for all compositions, or ensemble='bagging',"
            )
            raise UsageError(
                f"{n:,} compositions are too many to list; use {needed} or draw fewer; the "
                f"feedback is {self.feedback!r}"
            )
        compositions = (sizes for _, sizes in self.plan.all_compositions())
        if self.by_size is None:
            return np.array([_check_alpha(self.feedback.alpha(sizes)) for sizes in compositions])
        worth = np.arange(1, len(self.by_size) + 1) / len(self.by_size) * self.by_size
        return np.array([float(sum(worth[size - 1] for size in sizes)) for sizes in compositions])

    @property
    def varying_alphas(self) -> Floats | None:
        """alpha of each composition; None if it is the same for all (even 0)."""
        if self.by_size is not None and np.ptp(self.by_size) == 0:
            return None
        return self.by_composition

    @cached_property
    def block_worth(self) -> Floats:
        """alpha(n_b) n_b / N of each block, if alpha is a sum over blocks."""
        assert self.by_size is not None
        sizes = np.array([len(block) for block in self.plan.blocks])
        return np.asarray(self.plan.size_shares * self.by_size[sizes - 1])

    def prior(self) -> Floats:
        """Return, for each block b, sum of alpha_c n_b / N over compositions c with b, over sum_c alpha_c."""
        if self.by_size is None:
            if not self.by_composition.any():
                raise UsageError("the feedback is 0 for every composition; expected one above 0")
            compositions = list(self.plan.all_compositions())
            shares = self.plan.shares_among(compositions, self.by_composition)
            return shares * self.plan.size_shares
        if np.ptp(self.by_size) == 0:  # alpha is the same for all (even 0), so it cancels out
            return self.plan.shares() * self.plan.size_shares
        if not self.block_worth.any():
            raise UsageError("the feedback is 0 for every block; expected one above 0")
        return self.plan.shares(sums=self.block_worth) * self.plan.size_shares

    def loss_factor(self, size: int) -> float:
        """Return N / (alpha n_k), the factor on the loss of a block of this size."""
        alpha = self.by_size[size - 1] if self.by_size is not None else self.by_composition.mean()
        if alpha <= 0:
            raise UsageError(
                f"scale_loss needs feedback above 0, got {alpha} for blocks of {size} features"
            )
        return float(self.plan.n_features / (alpha * size))


def _check_alpha(alpha: Any) -> float:
    try:
        value = float(alpha)
    except (TypeError, ValueError):
        value = float("nan")
    if isinstance(alpha, str) or not 0 <= value <= 1:
        raise UsageError(f"expected feedback alpha in [0, 1], got {alpha!r}")
    return value
