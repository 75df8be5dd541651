"""The guard: a ranker debiased by clicks is taken only if held-out sessions show that it is better.

Debiasing loses to plain click rates where its assumptions are wrong or sessions are few. So each way to
learn is fitted to some of the sessions, and compared with plain click rates on the others by counterfactual
estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.base import clone

from podium.clicks import (
    ClickSessions,
    PolicyEstimate,
    PolicySettings,
    ShownDocuments,
    compare_policies,
    estimate_propensities,
)
from podium.counted_nouns import count_text
from podium.data import RankingData
from podium.errors import DataError, DivergedError, UsageError
from podium.rankers.click_learning import ClickLearning, fit_to_clicks
from podium.rankers.learning_curve import Callback
from podium.rankers.ranker import Ranker

NAIVE = "none"
"""The debiasing method that the others have to beat."""
MIN_QUERIES_TO_CHOOSE = 10
"""Intervals of fewer queries, counted by their effective sample size, choose nothing."""


@dataclass(frozen=True)
class GuardSettings:
    """How candidates are compared.

    Parameters
    ----------
    holdout
        The share of sessions that measure, and do not train.
    level
        The level of all intervals together: with m candidates, each has 1 - (1 - level) / m.
    policy
        What is estimated: expected clicks per session on the first 10 ranks by default.
    seed
        Draws the held-out sessions.
    """

    holdout: float = 0.2
    level: float = 0.95
    policy: PolicySettings = field(default_factory=PolicySettings)
    seed: int = 0

    def __post_init__(self) -> None:
        if not (0 < self.holdout < 1 and 0 < self.level < 1):
            raise UsageError(
                f"expected a holdout and a level between 0 and 1, got {self.holdout} and {self.level}"
            )


@dataclass(frozen=True, eq=False)
class GuardReport:
    """What the guard measured, and what it chose.

    Parameters
    ----------
    chosen
        The debiasing method that was chosen; none for plain click rates.
    differences
        For each candidate, the estimated clicks per session less those of plain click rates.
    reason
        Why, in a sentence.
    n_train, n_held_out
        The numbers of sessions that trained and that measured.
    """

    chosen: str
    differences: dict[str, PolicyEstimate]
    reason: str
    n_train: int
    n_held_out: int

    @property
    def messages(self) -> list[str]:
        """What to know before trusting the differences."""
        lines = [line for e in self.differences.values() for line in e.messages]
        return list(dict.fromkeys(lines))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "chosen": self.chosen, "reason": self.reason, "sessions_trained": self.n_train,
            "sessions_held_out": self.n_held_out,
            "differences": {name: e.to_dict() for name, e in self.differences.items()},
        }  # fmt: skip


def fit_with_guard(
    ranker: Ranker,
    data: RankingData,
    sessions: ClickSessions,
    candidates: Sequence[ClickLearning] = (ClickLearning(),),
    settings: GuardSettings | None = None,
    *,
    valid: RankingData | None = None,
    callback: Callback | None = None,
) -> tuple[Ranker, GuardReport]:
    """Fit a ranker to clicks by the candidate that held-out sessions favour, else by plain click rates.

    Parameters
    ----------
    candidates
        The ways to learn that are compared with plain click rates, with different debiasing methods.
    valid, callback
        As in ``fit_to_clicks``.

    Examples
    --------
    >>> import podium
    >>> from podium.clicks import simulate
    >>> data = podium.make_synthetic(n_queries=200, n_features=4, seed=1)
    >>> log = simulate(data, 0, "pbm", sessions=20_000, swap=0.1, seed=1)
    >>> ranker, report = fit_with_guard(podium.ListNet(), data, log, [ClickLearning("dr")])
    >>> report.chosen, bool(ranker.score(data) > 0.9)
    ('dr', True)
    """
    report = choose_debiasing(ranker, data, sessions, candidates, settings, valid=valid)
    [learning] = [c for c in candidates if c.debias == report.chosen] or [ClickLearning(NAIVE)]
    return fit_to_clicks(ranker, data, sessions, learning, valid=valid, callback=callback), report


def choose_debiasing(
    ranker: Ranker,
    data: RankingData,
    sessions: ClickSessions,
    candidates: Sequence[ClickLearning],
    settings: GuardSettings | None = None,
    *,
    valid: RankingData | None = None,
) -> GuardReport:
    """Compare candidates with plain click rates on held-out sessions; the ranker itself is not fitted."""
    settings = settings or GuardSettings()
    _require_different_methods(candidates)
    log = ShownDocuments.of(sessions, data).log
    if not 0 < round((1 - settings.holdout) * len(log)) < len(log):
        reason = (
            f"nothing can be compared: {count_text(len(log), 'session')} cannot train and measure"
        )
        return GuardReport(NAIVE, {}, reason, len(log), 0)
    train, held_out = log.split(1 - settings.holdout, seed=settings.seed)
    if not (train.clicked.any() and held_out.clicked.any()):
        reason = (
            "nothing can be compared: the sessions that train or those that measure have no click"
        )
        return GuardReport(NAIVE, {}, reason, len(train), 0)
    rivals = [c for c in candidates if c.debias != NAIVE]
    try:
        examination = _examination(rivals, train)
    except (DataError, DivergedError) as error:
        return GuardReport(NAIVE, {}, f"nothing can be compared: {error}", len(train), 0)
    policy = replace(settings.policy, level=1 - (1 - settings.level) / max(1, len(rivals)))
    naive = _scores(ranker, data, train, ClickLearning(NAIVE), valid)
    differences = {
        candidate.debias: compare_policies(
            held_out, data, _scores(ranker, data, train, candidate, valid), naive, examination, policy
        )
        for candidate in rivals
    }  # fmt: skip
    chosen, reason = _choose(differences, settings)
    return GuardReport(chosen, differences, reason, len(train), len(held_out))


def _require_different_methods(candidates: Sequence[ClickLearning]) -> None:
    """Raise if two candidates have the same debiasing method, by which reports name them."""
    methods = [c.debias for c in candidates]
    if len(set(methods)) < len(methods):
        raise UsageError(
            f"expected candidates with different debiasing methods, got {', '.join(methods)}"
        )


def _examination(candidates: Sequence[ClickLearning], train: ClickSessions) -> Any:
    """Return P(examined) of the first candidate that has one, else propensities of the training sessions."""
    examinations = [c.examination for c in candidates if c.examination is not None]
    return examinations[0] if examinations else estimate_propensities(train)


def _scores(
    ranker: Ranker, data: RankingData, sessions: ClickSessions, learning: ClickLearning,
    valid: RankingData | None,
) -> Any:  # fmt: skip
    return fit_to_clicks(clone(ranker), data, sessions, learning, valid=valid).predict(data)


def _choose(differences: dict[str, PolicyEstimate], settings: GuardSettings) -> tuple[str, str]:
    """Return the candidate with the greatest difference among those whose interval is above 0.

    An interval of few queries does not count: that of one query has no width.
    """
    winners = {name: e for name, e in differences.items() if e.interval.low > 0}
    better = {n: e for n, e in winners.items() if e.effective_queries >= MIN_QUERIES_TO_CHOOSE}
    if better:
        name = max(better, key=lambda one: better[one].value)
        e = better[name]
        return name, (
            f"{name} earns {e.value:+.4f} {e.metric} per session more than plain click rates "
            f"({e.interval.low:+.4f} to {e.interval.high:+.4f})"
        )
    if not differences:
        return NAIVE, "there is nothing to compare with plain click rates"
    if winners:
        most = max(e.effective_queries for e in winners.values())
        return NAIVE, (
            f"{', '.join(winners)} may be better, but the clicks are of {most:.1f} effective queries; "
            f"expected at least {MIN_QUERIES_TO_CHOOSE}"
        )
    return NAIVE, (
        f"no candidate is better than plain click rates beyond its interval ({settings.level:.0%})"
    )
