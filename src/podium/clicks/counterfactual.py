"""Counterfactual evaluation: what another ranking would have earned, from the clicks of a log.

Joachims, Swaminathan and Schnabel (WSDM 2017) weight each click by 1 / P(examined), here
times 1 / P(shown), the share of sessions with the document. The doubly robust
estimator for clicks (Oosterhuis, ACM TOIS 2023) is used with the rate of each document in the same log, with
which it is the sum of clicks over the sum of P(examined) by document. Intervals resample queries, and add the
error of estimated propensities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from podium.clicks.click_model import ClickModel
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import DocumentPairs, translate
from podium.clicks.fit_tables import sums_by_code
from podium.clicks.model_check import dependence_message
from podium.clicks.policy_estimate import PolicyEstimate, PolicySettings
from podium.clicks.propensities import PropensityEstimate
from podium.clicks.simulation import logger_scores
from podium.clicks.true_models import query_names, require_different_documents
from podium.data import Groups, RankingData
from podium.errors import DataError
from podium.feedback.list_sums import StringCodes
from podium.metrics.bootstrap import Interval, bootstrap_interval
from podium.typing import Floats, Ints

MIN_EXAMINATIONS = 1.0
"""A document with fewer expected examinations than this counts as not shown."""
MIN_EXAMINATION = 1e-6
"""P(examined) is at least this, so that a wrong model cannot divide by 0."""
_STEP = 1e-4
"""The change of a logarithm of a propensity, for derivatives."""


def evaluate_policy(
    sessions: ClickSessions,
    data: RankingData,
    policy: Any,
    examination: ClickModel | PropensityEstimate,
    settings: PolicySettings | None = None,
) -> PolicyEstimate:
    """Estimate what a policy would have earned per session of the log.

    Parameters
    ----------
    data
        The documents of each query that the policy ranks, with ids.
    policy
        As the logger of ``simulate``: a feature, scores, or a fitted ranker.
    examination
        Propensities, or a click model, which says how documents are examined in the log and in the lists of
        the policy.
    """
    settings = settings or PolicySettings()
    return _estimate(sessions, data, [policy], examination, settings)


def compare_policies(
    sessions: ClickSessions,
    data: RankingData,
    policy: Any,
    other: Any,
    examination: ClickModel | PropensityEstimate,
    settings: PolicySettings | None = None,
) -> PolicyEstimate:
    """Estimate how much more a policy earns than another one, on the same sessions.

    The interval is that of the paired difference; an interval above 0 favours the first policy.
    """
    return _estimate(sessions, data, [policy, other], examination, settings or PolicySettings())


@dataclass(frozen=True, eq=False)
class _Target:
    """The weight of each document in the lists of a policy."""

    lists: ClickSessions
    pairs: DocumentPairs
    weights: Floats
    is_cut: bool

    @classmethod
    def of(cls, lists: ClickSessions, model: ClickModel, settings: PolicySettings) -> _Target:
        """Return the weights; ranks beyond those of the model weigh 0 in clicks."""
        is_beyond = np.zeros(lists.groups.n_rows, dtype=bool)
        if settings.metric == "clicks":
            if model.n_ranks is not None:
                is_beyond = lists.positions > model.n_ranks
            weights = np.where(is_beyond, 0.0, model.examination(lists))
        else:
            weights = 1.0 / np.log2(lists.positions + 1.0)
        pairs, number = lists.pairs
        by_pair = np.empty(len(pairs))
        by_pair[number] = weights
        return cls(lists, pairs, by_pair, bool(is_beyond.any()))


def _model(examination: ClickModel | PropensityEstimate) -> ClickModel:
    return examination.model() if isinstance(examination, PropensityEstimate) else examination


def policy_lists(
    data: RankingData, policy: Any, sessions: ClickSessions, depth: int
) -> ClickSessions:
    """Return the list of a policy for each query of the log, without clicks."""
    number = translate(query_names(data), sessions.query.table)
    groups, rows = data.groups.take(np.flatnonzero(number >= 0))
    if len(np.unique(number[number >= 0])) < (number >= 0).sum():
        raise DataError(
            "two queries of the data have the same text; expected different texts, or data without texts"
        )
    queries = np.unique(sessions.query.codes)  # the table may have more
    missing = int((~np.isin(queries, number)).sum())
    if missing:
        raise DataError(
            f"{missing:,} of {len(queries):,} queries of the log are not in the data; "
            "expected documents for every query, by query text or id"
        )
    require_different_documents(data, "a policy")
    scores = logger_scores(data, policy)
    order = rows[groups.order(scores[rows])][groups.places < depth]
    docs = data.require_docids("a policy")
    n = len(groups)
    return ClickSessions(
        Groups.from_sizes(np.minimum(groups.sizes, depth)),
        StringCodes(sessions.query.table, number[number >= 0]),
        StringCodes.of([str(docs[row]) for row in order.tolist()]),
        np.zeros(len(order), dtype=np.int16), np.full(n, np.nan),
        StringCodes.of([None] * n), StringCodes.of([None] * n),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Log:
    """A log with P(examined) of each row, and sums of clicks and examinations of each pair."""

    sessions: ClickSessions
    examined: Floats
    pair: Ints
    pairs: DocumentPairs
    clicks_of_pair: Floats
    examinations_of_pair: Floats
    impressions_of_pair: Floats

    @classmethod
    def of(cls, sessions: ClickSessions, model: ClickModel, settings: PolicySettings) -> _Log:
        least = settings.clip if settings.estimator == "clipped" else MIN_EXAMINATION
        examined = np.maximum(model.examination(sessions), least)
        pairs, pair = sessions.pairs
        clicks, examinations, impressions = (
            sums_by_code(pair, values, len(pairs))
            for values in (sessions.clicked.astype(np.float64), examined, np.ones(len(pair)))
        )
        return cls(sessions, examined, pair, pairs, clicks, examinations, impressions)

    def by_query(self, values: Floats) -> Floats:
        """Return sums of values of rows by query."""
        codes = np.asarray(self.sessions.groups.spread(self.sessions.query.codes))
        return sums_by_code(codes, values, len(self.sessions.query.table))

    @property
    def click_values(self) -> Floats:
        """Return 1 / (P(examined) P(shown)) of each clicked row, 0 for others.

        P(shown) is the share of the sessions of the query that show the document: less than 1 if the
        log has lists of several rankers, or cut lists.
        """
        p_shown = self.impressions_of_pair / self.traffic[self.pairs.query_codes]
        return np.asarray(self.sessions.clicked / (self.examined * p_shown[self.pair]))

    @property
    def traffic(self) -> Floats:
        """Return the number of sessions of each query."""
        codes = self.sessions.query.codes
        return sums_by_code(codes, np.ones(len(codes)), len(self.sessions.query.table))


def _estimate(
    sessions: ClickSessions, data: RankingData, policies: list[Any],
    examination: ClickModel | PropensityEstimate, settings: PolicySettings,
) -> PolicyEstimate:  # fmt: skip
    """Estimate the value of a policy, or the difference of two, from the sums of queries."""
    sessions.require_sessions()
    if not sessions.clicked.any():
        raise DataError("expected clicks in the log, got none: nothing can be estimated from it")
    model = _model(examination)
    log = _Log.of(sessions, model, settings)
    lists = [policy_lists(data, policy, sessions, settings.depth) for policy in policies]
    targets = [_Target.of(one, model, settings) for one in lists]
    total, weight = _totals(log, targets, settings.estimator)
    interval = bootstrap_interval(
        total / weight, settings.level, weight=weight, resamples=settings.resamples,
        seed=settings.seed,
    )  # fmt: skip
    value = float(total.sum() / weight.sum())
    if isinstance(examination, PropensityEstimate):
        error = _examination_error(sessions, lists, examination, settings)
        interval = _widened(interval, value, error)
    return PolicyEstimate(
        value, interval, settings.estimator, settings.metric,
        min(_effective_queries(log, target) for target in targets),
        min(_covered(log, target) for target in targets), len(sessions), len(total),
        tuple(_notes(sessions, examination, model, targets)),
    )  # fmt: skip


def _totals(log: _Log, targets: list[_Target], estimator: str) -> tuple[Floats, Floats]:
    """Return the value and the weight of each query with a weight; for two targets, the difference."""
    sums = [_query_sums(log, target, estimator) for target in targets]
    total = sums[0] if len(sums) == 1 else sums[0] - sums[1]
    is_relative = estimator == "snips"
    weight = log.by_query(log.click_values) if is_relative else log.traffic
    used = weight > 0
    return total[used], weight[used]


def _examination_error(
    sessions: ClickSessions, lists: list[ClickSessions], estimate: PropensityEstimate,
    settings: PolicySettings,
) -> float:  # fmt: skip
    """Return the standard error of the value that comes from the propensities, by the delta method.

    It is sqrt(J' V J): V is the covariance of the logarithms of the propensities, J the derivatives by them.
    """
    if estimate.covariance is None:
        return 0.0
    ranks = np.flatnonzero(np.diag(estimate.covariance) > 0)
    source, values = estimate.filled_from(), estimate.filled()

    def value(rank: int, change: float) -> float:
        model = replace(estimate.model(), by_rank=values * np.exp(change * (source == rank)))
        log = _Log.of(sessions, model, settings)
        targets = [_Target.of(one, model, settings) for one in lists]
        total, weight = _totals(log, targets, settings.estimator)
        return float(total.sum() / weight.sum())

    slopes = np.array([(value(k, _STEP) - value(k, -_STEP)) / (2 * _STEP) for k in ranks.tolist()])
    covariance = estimate.covariance[np.ix_(ranks, ranks)]
    return float(np.sqrt(max(0.0, np.einsum("j,jk,k->", slopes, covariance, slopes))))


def _widened(interval: Interval, value: float, error: float) -> Interval:
    """Return the interval with an independent standard error more."""
    margin = float(ndtri((1 + interval.level) / 2)) * error
    return Interval(
        value - float(np.hypot(value - interval.low, margin)),
        value + float(np.hypot(interval.high - value, margin)), interval.level,
    )  # fmt: skip


def _notes(
    sessions: ClickSessions, examination: ClickModel | PropensityEstimate, model: ClickModel,
    targets: list[_Target],
) -> list[str]:  # fmt: skip
    """Return what the interval leaves out, and where the model does not fit the log or the policy."""
    notes = []
    if (dependence := dependence_message(sessions, model)) is not None:
        notes.append(dependence)
    if any(target.is_cut for target in targets):
        notes.append(
            f"the lists of the policy are deeper than the examination, which has {model.n_ranks} ranks: "
            "clicks beyond count as 0; choose a smaller depth"
        )
    is_without = (
        examination.covariance is None
        if isinstance(examination, PropensityEstimate)
        else model.summary is not None
    )
    if is_without:
        notes.append(
            "the examination was estimated, and its error is not part of the interval, which is too narrow; "
            "the methods swaps and harvest have errors"
        )
    return notes


def _click_weights(log: _Log, target: _Target) -> Floats:
    """Return weight times value of each clicked row, 0 for others and for documents outside the target."""
    weights = np.append(target.weights, 0.0)[target.pairs.find(log.pairs)][log.pair]
    return np.asarray(weights * log.click_values)


def _query_sums(log: _Log, target: _Target, estimator: str) -> Floats:
    """Return the estimated value of the target in all sessions of each query.

    With the rate r of a document, its n sessions and rho = (sum of P(examined)) / n, the doubly robust value
    of a document is w (n r + sum (c - P(examined) r) / rho). As rho is of the same log, this is
    w n (sum of clicks) / (sum of P(examined)), whatever r is: as true as the examination is.
    A document that the log does not show has w n r with the overall r.
    """
    if estimator != "doubly-robust":
        return log.by_query(_click_weights(log, target))
    overall = log.clicks_of_pair.sum() / log.examinations_of_pair.sum()
    rates = np.append(log.clicks_of_pair / log.examinations_of_pair, overall)
    values = target.weights * rates[log.pairs.find(target.pairs)]
    queries = target.pairs.query_codes
    return sums_by_code(queries, values * log.traffic[queries], len(log.traffic))


def _effective_queries(log: _Log, target: _Target) -> float:
    by_query = log.by_query(_click_weights(log, target))
    squares = float((by_query**2).sum())
    return float(by_query.sum()) ** 2 / squares if squares > 0 else 0.0


def _covered(log: _Log, target: _Target) -> float:
    """Return the share of the target's weight on documents that users of the log examined, by traffic."""
    weight = target.weights * log.traffic[target.pairs.query_codes]
    is_examined = np.append(log.examinations_of_pair >= MIN_EXAMINATIONS, False)
    return float(
        weight[is_examined[log.pairs.find(target.pairs)]].sum() / max(weight.sum(), 1e-300)
    )
