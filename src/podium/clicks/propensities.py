"""Propensities: the probability of examining each rank relative to rank 1, with intervals.

Three sources: the logger's own swaps and shuffles (Joachims et al., WSDM 2017), documents that several
rankers or versions put at different ranks (AllPairs: Agarwal et al., WSDM 2019), and features of documents
(regression-EM: Wang et al., WSDM 2018).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import PairValues
from podium.clicks.examination_models import PositionBasedModel
from podium.clicks.interventions import Identification, InterventionTable, rank_list
from podium.clicks.regression_em import regression_em
from podium.data import RankingData
from podium.errors import DataError, DivergedError, UnknownNameError, UsageError
from podium.optim import one_blas_thread
from podium.typing import Floats, Ints

METHODS = {
    "swaps": "ranks before the logger's own swaps or shuffles, which the log must have",
    "harvest": "documents that have been at several ranks of the same query (AllPairs)",
    "regression-em": "features of the documents, without any intervention; no intervals",
}
"""Methods of estimating propensities, and what each needs."""

_MAX_STEPS = 100
_CLUSTER_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class PropensityEstimate:
    """Propensities by rank, relative to rank 1.

    Parameters
    ----------
    values, low, high
        The propensity at ranks 1, 2, ... and its interval; NaN if the log cannot say.
    level
        The level of the intervals.
    method
        One of ``METHODS``.
    identification
        What the log can identify.
    n_sessions
        The number of sessions.
    covariance
        The covariance of the logarithms of the values, 0 for ranks without a value; None without intervals.
    other
        The method harvest for the same sessions, if the method is swaps and harvest can be used.
    """

    values: Floats
    low: Floats
    high: Floats
    level: float
    method: str
    identification: Identification
    n_sessions: int
    covariance: Floats | None = None
    other: PropensityEstimate | None = None

    @property
    def messages(self) -> list[str]:
        """What to know before using the propensities."""
        if self.method == "regression-em":
            return [
                "regression-em assumes that the features explain relevance; it cannot be checked "
                "without swaps, and it has no intervals"
            ]
        return [*self.identification.messages, *self._differences()]

    def _differences(self) -> list[str]:
        """Say where two methods differ by more than chance explains."""
        if self.other is None:
            return []
        n_intervals = max(1, int(np.isfinite(self.values[1:]).sum()))
        margin = ndtri(1 - (1 - self.level) / (2 * n_intervals)) / ndtri((1 + self.level) / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            widths = [np.log(e.high / e.low) / 2 for e in (self, self.other)]
            gap = np.abs(np.log(self.values / self.other.values))
            ranks = np.flatnonzero(gap > margin * np.hypot(*widths)) + 1
        if not len(ranks):
            return []
        return [
            f"swaps and harvest differ at ranks {rank_list(ranks)} by more than their errors: the "
            "probability of a swap may depend on the query, or examination on more than the rank; "
            "compare both methods"
        ]

    def filled(self) -> Floats:
        """Return the values; a rank without one gets that of the next better rank that has one."""
        return np.asarray(self.values[self.filled_from()])

    def filled_from(self) -> Ints:
        """Return the rank (from 0) whose value each rank gets in ``filled``."""
        missing = np.isnan(self.values)
        return np.maximum.accumulate(np.where(missing, 0, np.arange(len(self.values))))

    def model(self) -> PositionBasedModel:
        """Return a position-based model with these propensities; its attraction is 1 for all documents."""
        return PositionBasedModel(attraction=PairValues.constant(1.0), by_rank=self.filled())

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON; a missing value is None."""
        rows: Mapping[str, Floats] = {"values": self.values, "low": self.low, "high": self.high}
        columns = {k: [None if x != x else x for x in v.tolist()] for k, v in rows.items()}
        return {
            "method": self.method, "level": self.level, "sessions": self.n_sessions, **columns,
            "messages": self.messages,
        }  # fmt: skip


def estimate_propensities(
    sessions: ClickSessions,
    method: str = "auto",
    *,
    level: float = 0.95,
    data: RankingData | None = None,
) -> PropensityEstimate:
    """Estimate the probability of examining each rank, relative to rank 1.

    Let unit u have n_uk impressions and c_uk clicks at rank k. If only examination depends on the rank, the
    clicks of u fall on ranks in proportion to n_uk theta_k, whatever its relevance. theta maximises

        sum_u sum_k c_uk log (n_uk theta_k / sum_j n_uj theta_j)

    This is consistent with any number of impressions per document (a conditional Poisson likelihood;
    Wooldridge, Journal of Econometrics 90, 1999). It compares the clicks that AllPairs compares, with other
    weights. Intervals are those of log theta, from the scores of sessions, with residuals corrected for their
    leverage.

    Parameters
    ----------
    method
        One of ``METHODS``; "auto": swaps if the log has any, else harvest.
    data
        Features, for regression-em.

    Examples
    --------
    >>> import podium
    >>> data = podium.make_synthetic(n_queries=20, n_docs=5, seed=1)
    >>> from podium.clicks import simulate
    >>> estimate = estimate_propensities(simulate(data, 0, "pbm", 40_000, swap=0.1))
    >>> estimate.method, estimate.values.round(1).tolist()
    ('swaps', [1.0, 0.5, 0.3, 0.2, 0.2])
    """
    sessions.require_sessions()
    if not 0 < level < 1:
        raise UsageError(f"expected a level between 0 and 1, got {level}")
    base = sessions.base_positions
    if method == "auto":
        moved = base is not None and ((base > 0) & (base != sessions.positions)).any()
        method = "swaps" if moved else "harvest"
    if method not in METHODS:
        raise UnknownNameError("method", str(method), METHODS)
    if method == "regression-em":
        return _by_features(sessions, data, level)
    if method == "swaps":
        if base is None:
            raise DataError(
                "expected positions before the logger's swaps, got a log without them; log them "
                "(base_position), or use method harvest"
            )
        return _by_swaps(sessions, level)
    return _from_interventions(sessions, InterventionTable.of_documents(sessions), method, level)


def _by_swaps(sessions: ClickSessions, level: float) -> PropensityEstimate:
    """Use the sessions that have the positions before the swaps, and harvest as a check."""
    if not sessions.has_base.all():
        sessions = sessions.take(np.flatnonzero(sessions.has_base))
    base = sessions.base_positions
    if base is None or len(sessions) == 0:
        raise DataError("expected positions before the logger's swaps in some session, got none")
    table = InterventionTable.of_slots(sessions, base)
    estimate = _from_interventions(sessions, table, "swaps", level)
    documents = InterventionTable.of_documents(sessions)
    if not documents.identification().comparable[1:].any():
        return estimate
    try:
        other = _from_interventions(sessions, documents, "harvest", level)
    except DivergedError:
        return estimate
    return replace(estimate, other=other)


def _by_features(
    sessions: ClickSessions, data: RankingData | None, level: float
) -> PropensityEstimate:
    if data is None:
        raise UsageError("regression-em needs features").advise(
            python="pass ranking data as data=", command_line="name ranking data with --data"
        )
    values = regression_em(sessions, data)
    unsure = np.full(len(values), np.nan)
    identification = InterventionTable.of_documents(sessions).identification()
    return PropensityEstimate(
        values, unsure, unsure, level, "regression-em", identification, len(sessions)
    )


def _from_interventions(
    sessions: ClickSessions, table: InterventionTable, method: str, level: float
) -> PropensityEstimate:
    identification = table.identification()
    if not identification.comparable[1:].any():
        raise DataError(identification.messages[0])
    with one_blas_thread():
        return _compared(sessions, table, identification, method, level)


def _compared(
    sessions: ClickSessions, table: InterventionTable, identification: Identification, method: str,
    level: float,
) -> PropensityEstimate:  # fmt: skip
    """Return the propensities of the ranks that can be compared."""
    ranks = np.flatnonzero(identification.comparable)
    impressions, clicks = table.impressions[:, ranks], table.clicks[:, ranks]
    log_values = _maximise(impressions, clicks)
    covariance = _covariance(sessions, table.unit, ranks, impressions, clicks, log_values)
    margin = ndtri((1 + level) / 2) * np.sqrt(np.concatenate([[0.0], np.diag(covariance)]))
    columns = np.full((3, table.impressions.shape[1]), np.nan)
    columns[:, ranks] = np.exp([log_values, log_values - margin, log_values + margin])
    of_ranks = np.zeros((len(identification.comparable),) * 2)
    of_ranks[np.ix_(ranks[1:], ranks[1:])] = covariance
    return PropensityEstimate(
        columns[0], columns[1], columns[2], level, method, identification, len(sessions), of_ranks
    )


def _shares(impressions: Floats, log_values: Floats) -> tuple[Floats, Floats]:
    """Return sum_k n_uk theta_k of each unit, and the share of each rank in it."""
    weight = impressions * np.exp(log_values)
    total = weight.sum(axis=1)
    share = np.divide(weight, total[:, None], out=np.zeros_like(weight), where=total[:, None] > 0)
    return total, share


def _maximise(impressions: Floats, clicks: Floats) -> Floats:
    """Return log theta with the greatest conditional likelihood, by Newton steps; the first is 0."""
    totals = clicks.sum(axis=1)
    used = (totals > 0) & ((impressions > 0).sum(axis=1) > 1)
    impressions, clicks, totals = impressions[used], clicks[used], totals[used]
    theta = np.zeros(impressions.shape[1])
    for _ in range(_MAX_STEPS):
        _, share = _shares(impressions, theta)
        gradient = (clicks - totals[:, None] * share).sum(axis=0)[1:]
        curvature = _information(totals, share)
        try:
            step = np.linalg.solve(curvature, gradient)
        except np.linalg.LinAlgError:
            break
        theta[1:] += step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            return theta
    raise DivergedError(
        "the propensities did not converge; expected clicks at every rank in several units"
    )


def _information(totals: Floats, share: Floats) -> Floats:
    """Return sum_u C_u (diag p_u - p_u p_u') without the first rank."""
    full = np.diag((totals[:, None] * share).sum(axis=0))
    full -= np.einsum("uj,uk->jk", totals[:, None] * share, share)
    return np.asarray(full[1:, 1:])


def _covariance(
    sessions: ClickSessions, unit: Ints, ranks: Ints, impressions: Floats, clicks: Floats,
    log_values: Floats,
) -> Floats:  # fmt: skip
    """Return the covariance of log theta: sums of the scores of sessions, between inverse informations.

    A row with click c of unit u at rank k has the score (c - m_u theta_k) / sqrt(1 - h) (e_k - p_u), with the
    rate m_u = C_u / sum_k n_uk theta_k and the leverage h = theta_k / sum_k n_uk theta_k.
    """
    totals = clicks.sum(axis=1)
    weight, share = _shares(impressions, log_values)
    column = np.full(sessions.depth, -1)
    column[ranks] = np.arange(len(ranks))
    rate = np.divide(totals, weight, out=np.zeros_like(totals), where=weight > 0)
    squares = np.zeros((len(ranks), len(ranks)))
    for block in sessions.groups.blocks(_CLUSTER_ROWS):
        rows = np.arange(block.rows.start, block.rows.stop)
        rank = column[sessions.groups.places[rows]]
        used = rank >= 0
        rows, rank, own = rows[used], rank[used], unit[rows[used]]
        theta = np.exp(log_values)[rank]
        kept_variance = np.maximum(1 - theta / weight[own], 1e-9)
        residual = (sessions.clicked[rows] - rate[own] * theta) / np.sqrt(kept_variance)
        residual[(impressions[own] > 0).sum(axis=1) < 2] = 0.0  # units at one rank say nothing
        scores = -residual[:, None] * share[own]
        scores[np.arange(len(rows)), rank] += residual
        by_session = np.zeros((len(block.groups), len(ranks)))
        np.add.at(by_session, block.groups.codes[used], scores)
        squares += np.einsum("sj,sk->jk", by_session, by_session)
    inverse = np.linalg.inv(_information(totals, share))
    return np.asarray(inverse @ squares[1:, 1:] @ inverse)
