"""Results of experiments: which of two rankings users prefer, by interleaving or an A/B test."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from podium.clicks.anytime_tests import AnytimeEstimate, anytime_estimate
from podium.clicks.experiment_log import OTHER_SETTINGS, ExperimentLog
from podium.typing import Floats, Ints

MAX_RULES = 100
"""The most rules with a result of their own."""
RATE_STEPS = 64
"""Running rates are rounded to this many steps, so that outcomes have few different values."""
LEFT_OUT = (
    "malformed lines", "repeated lists", "clicks on unknown lists",
    "clicks on documents that the list lacks",
)  # fmt: skip
"""Lines of a log that do not count."""
MAX_UNIT_SHARE = 0.05
"""A session or user with a larger share of the lists is worth a message."""


@dataclass(frozen=True)
class ExperimentResult:
    """The result of an experiment, for the second model against the first.

    Parameters
    ----------
    lists, units
        How many lists there are, and how many sessions, users or lists they belong to.
    wins, losses, ties
        Units whose clicks prefer the second model, the first one, or neither; none in A/B tests.
    rates
        In A/B tests, the share of lists with a click by arm (mean over units).
    estimate
        The mean outcome of a unit in favour of the second model: for interleaving, wins minus losses per
        unit (or credits); for A/B tests, the difference of the rates.
    messages
        What is odd about the log.
    """

    name: str
    method: str
    models: tuple[str, str]
    lists: int
    units: int
    wins: int | None
    losses: int | None
    ties: int | None
    rates: tuple[float, float] | None
    estimate: AnytimeEstimate
    messages: tuple[str, ...]

    @property
    def winner(self) -> str | None:
        """The model that users prefer, None while the interval has 0 in it."""
        if not self.estimate.is_decided:
            return None
        return self.models[int(self.estimate.low > 0)]

    def to_dict(self) -> dict[str, Any]:
        """Return all values, for JSON."""
        return {**asdict(self), "winner": self.winner}

    def __str__(self) -> str:
        estimate = self.estimate
        if self.winner is None:
            more = estimate.more
            if more is None:
                return "undecided: no session prefers a model so far"
            return f"undecided: about {more:,} more sessions are needed if users go on as before"
        loser = self.models[int(self.winner == self.models[0])]
        return f"{self.winner} beats {loser} (p = {estimate.p_value:.2g}, valid at any time)"


def experiment_result(log: ExperimentLog, *, level: float = 0.95) -> ExperimentResult:
    """Return the result of an experiment; it may be looked at at any time, see `anytime_estimate`.

    A unit (session, user) has one outcome, the mean over its lists. An A/B test has for each unit the value
    (y - c) (b / share - (1 - b) / (1 - share)): y is the share of its lists with a click, b its arm, and c
    the mean of y over all units before, which makes the variance smaller and leaves the mean as it is, the
    difference of the arms.

    Examples
    --------
    >>> import numpy as np
    >>> outcomes = np.repeat([1.0, 0.0, -1.0], [50, 30, 10])
    >>> arm = np.zeros(90, dtype=int)
    >>> log = ExperimentLog("x", "team-draft", ("old", "new"), np.arange(90), outcomes, arm, 0.5, {})
    >>> result = experiment_result(log)
    >>> result.wins, result.losses, result.ties, result.winner
    (50, 10, 30, 'new')
    >>> print(result)
    new beats old (p = 0.00014, valid at any time)
    """
    values, arm = _unit_means(log)
    if log.method == "ab":
        estimate = _difference(values, arm, log.share, level)
        rates = tuple(float(values[arm == a].mean()) if (arm == a).any() else 0.0 for a in (0, 1))
        counts: tuple[int | None, int | None, int | None] = (None, None, None)
    else:
        estimate, rates = anytime_estimate(values, level=level), None
        counts = tuple(int((np.sign(values) == sign).sum()) for sign in (1, -1, 0))  # type: ignore[assignment]
    return ExperimentResult(
        log.name, log.method, log.models, len(log), len(values), *counts, rates,  # type: ignore[arg-type]
        estimate, tuple(_messages(log, arm)),
    )  # fmt: skip


def rule_results(log: ExperimentLog, *, level: float = 0.95) -> dict[str, ExperimentResult]:
    """Return the result of each rule: over the lists of both arms for which the rule was on.

    One arm has the rules and the other has none, so a rule has the outcomes of all rules that were on
    together with it. Rules are in the order of their lists, the most first.

    Examples
    --------
    >>> on = (("pin",), ("pin", "hide"), (), ("pin",))
    >>> arm = np.array([0, 1, 0, 1])
    >>> log = ExperimentLog("x", "ab", ("off", "on"), np.arange(4), arm * 1.0, arm, 0.5, {}, on)
    >>> {rule: (result.lists, result.rates) for rule, result in rule_results(log).items()}
    {'pin': (3, (0.0, 1.0)), 'hide': (1, (0.0, 1.0))}
    """
    counts = Counter(rule for own in log.rules for rule in dict.fromkeys(own))
    return {
        rule: experiment_result(log.lists_of_rule(rule), level=level)
        for rule, _ in counts.most_common(MAX_RULES)
    }


def _unit_means(log: ExperimentLog) -> tuple[Floats, Ints]:
    """Return the mean outcome of each unit, rounded to 12 digits, and its arm."""
    n = int(log.unit.max(initial=-1)) + 1
    sizes = np.bincount(log.unit, minlength=n)
    means = np.bincount(log.unit, weights=log.outcome, minlength=n) / np.maximum(sizes, 1)
    arm = np.zeros(n, dtype=np.int64)
    arm[log.unit[::-1]] = log.arm[::-1]  # the first one counts
    return means.round(12), arm


def _difference(values: Floats, arm: Ints, share: float, level: float) -> AnytimeEstimate:
    """Estimate the difference of the means of the arms."""
    outcomes = weighted_outcomes(values, arm, share)
    return anytime_estimate(outcomes, 1 / min(share, 1 - share), level=level)


def weighted_outcomes(values: Floats, arm: Ints, share: float) -> Floats:
    """Return outcomes whose mean is the difference of the arms, by inverse probabilities.

    Examples
    --------
    >>> weighted_outcomes(np.array([1.0, 0.0]), np.array([1, 0]), 0.5)
    array([1. , 1.5])
    """
    before = (np.cumsum(values) - values + 0.5) / (np.arange(len(values)) + 1.0)
    rate = np.round(before * RATE_STEPS) / RATE_STEPS
    return (values - rate) * np.where(arm == 1, 1 / share, -1 / (1 - share))


def _messages(log: ExperimentLog, arm: Ints) -> list[str]:
    messages = [f"{log.counts[what]:,} {what}" for what in LEFT_OUT if log.counts.get(what)]
    messages += _mixtures(log)
    sizes = np.bincount(log.unit)
    if len(log) >= 100 and sizes.max() > MAX_UNIT_SHARE * len(log):
        messages.append(
            f"one session or user has {sizes.max() / len(log):.0%} of the lists; it counts as one"
        )
    if log.method == "ab" and len(arm) >= 100:
        expected = log.share * len(arm)
        spread = np.sqrt(len(arm) * log.share * (1 - log.share))
        if abs((arm == 1).sum() - expected) > 4 * spread:
            messages.append(
                f"the second arm has {(arm == 1).mean():.1%} of the units and should have {log.share:.1%}: "
                "lists of an arm are lost, and the comparison is not fair"
            )
    return messages


def _mixtures(log: ExperimentLog) -> list[str]:
    """Say whether lists of one name belong to several experiments."""
    lines = []
    if n_others := log.counts.get(OTHER_SETTINGS, 0):
        lines.append(
            f"{n_others:,} lists have other models, shares, unit or seed than most: the logs mix two "
            "experiments of one name, and the result is of no use; give each its own name, and read the "
            "logs of one"
        )
    pairs = np.unique(np.stack([log.unit, log.arm]), axis=1)
    if n_both := pairs.shape[1] - len(np.unique(log.unit)):
        lines.append(
            f"{n_both:,} sessions or users have lists of both arms; each counts for its first arm"
        )
    return lines
