"""Policy estimates: what a ranking would have earned, with its interval, and the settings of the estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.data import check_seed
from podium.errors import UnknownNameError, UsageError
from podium.metrics.bootstrap import Interval

ESTIMATORS = {
    "ips": "clicks weighted by 1 / (P(examined) P(shown))",
    "clipped": "as ips, with P(examined) of at least `clip`: less variance, some bias",
    "snips": "ips over the sum of the weights: the mean weight of a relevant document",
    "doubly-robust": "relevance per document, from all ranks it has been at; overall relevance for others",
}
"""Estimators and what they compute."""

POLICY_METRICS = ("clicks", "dcg")
"""clicks: expected clicks per session. dcg: the sum of P(relevant) / log2(1 + rank) per session."""

MIN_EFFECTIVE_QUERIES = 100.0
"""With a smaller effective sample size than this, intervals are not reliable."""


@dataclass(frozen=True, eq=False)
class PolicyEstimate:
    """The estimated value of a policy per session.

    Parameters
    ----------
    value, interval
        The value and its interval over queries.
    effective_queries
        The effective sample size (sum u)^2 / sum u^2 of the queries' sums u of weights of clicks.
    covered
        The share of the policy's weight on documents that the log shows for the query, with one expected
        examination or more.
    notes
        What the interval leaves out, and what the policy does beyond the log.
    """

    value: float
    interval: Interval
    estimator: str
    metric: str
    effective_queries: float
    covered: float
    n_sessions: int
    n_queries: int
    notes: tuple[str, ...] = ()

    @property
    def messages(self) -> list[str]:
        """What to know before trusting the value."""
        lines = []
        if self.effective_queries < MIN_EFFECTIVE_QUERIES:
            lines.append(
                f"the effective sample size is {self.effective_queries:.0f} queries; with fewer than "
                f"{MIN_EFFECTIVE_QUERIES:.0f} the interval is not reliable: collect more sessions, or use "
                "the estimator clipped or doubly-robust"
            )
        if self.covered < 0.95:
            lines.append(
                f"{1 - self.covered:.0%} of the policy's weight is on documents that the log never "
                "shows, or where nobody looks: their clicks cannot be estimated, and the value is too low "
                "or a guess"
            )
        return [*lines, *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON."""
        return {
            "metric": self.metric, "estimator": self.estimator, "value": self.value,
            "low": self.interval.low, "high": self.interval.high, "level": self.interval.level,
            "effective_queries": self.effective_queries, "covered": self.covered,
            "sessions": self.n_sessions, "queries": self.n_queries, "messages": self.messages,
        }  # fmt: skip


@dataclass(frozen=True)
class PolicySettings:
    """Settings of counterfactual estimates.

    Parameters
    ----------
    metric
        One of ``POLICY_METRICS``.
    estimator
        One of ``ESTIMATORS``.
    depth
        Documents per list of the policy.
    clip
        The least P(examined), for clipped.
    """

    metric: str = "clicks"
    estimator: str = "doubly-robust"
    depth: int = 10
    clip: float = 0.1
    level: float = 0.95
    resamples: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.estimator not in ESTIMATORS:
            raise UnknownNameError("estimator", str(self.estimator), ESTIMATORS)
        if self.metric not in POLICY_METRICS:
            raise UnknownNameError("metric", str(self.metric), POLICY_METRICS)
        if self.depth < 1 or not 0 < self.clip <= 1:
            raise UsageError(
                f"expected a depth of 1 or more and clip in (0, 1], got {self.depth} and {self.clip}"
            )
