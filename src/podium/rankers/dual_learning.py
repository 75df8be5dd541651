"""Dual learning: propensities and a ranker are learned from the same clicks, each from the other.

Ai, Bi, Luo, Guo and Croft, "Unbiased learning to rank with unbiased propensity estimation", SIGIR 2018. A
click at rank k of a document with score s counts theta_1 / theta_k for the ranker, and exp(s_1 - s) for the
propensities, where s_1 is the score of the document at rank 1. Neither needs swaps. The paper takes gradient
steps of both in turn; here each is fitted to the end.
"""

from __future__ import annotations

import warnings

import numpy as np

from podium.clicks.click_labels import LabelSettings, ShownDocuments, click_labels
from podium.clicks.document_pairs import PairValues
from podium.clicks.examination_models import PositionBasedModel
from podium.clicks.fit_tables import sums_by_code
from podium.data import RankingData
from podium.errors import NotConvergedWarning, UsageError
from podium.optim import lbfgs
from podium.rankers.click_lists import fit_to_labels
from podium.rankers.gradient_ranker import GradientRanker
from podium.rankers.learning_curve import Callback
from podium.rankers.ranker import Ranker
from podium.rankers.wrapped_ranker import innermost_ranker
from podium.typing import Floats

MAX_ROUNDS = 20
MAX_WEIGHT = 20.0
"""The most that a click counts for the propensities: less variance."""
PRIOR_CLICKS = 0.5
"""Clicks that are added to each rank of the longest lists: a rank without clicks keeps a propensity."""
MAX_RISE = 1.2
"""A propensity above this is no propensity: nobody looks at a lower rank more often than at the first."""
_TOLERANCE = 0.02
"""The propensities have converged if none changes by a larger share."""


def learn_dual(
    ranker: Ranker,
    join: ShownDocuments,
    settings: LabelSettings,
    *,
    valid: RankingData | None = None,
    callback: Callback | None = None,
) -> tuple[Ranker, Floats]:
    """Fit a linear or network ranker in turn with propensities; return it and the propensities.

    Warns if the propensities did not converge.
    """
    if not isinstance(innermost_ranker(ranker), GradientRanker):
        raise UsageError(
            "expected a linear or network ranker for dual learning (ranknet, listnet, listmle, topk-listmle "
            f"or focused-net), got {ranker.name}"
        )
    theta, change = np.ones(join.log.depth), np.inf
    for _ in range(MAX_ROUNDS):
        labels = click_labels(join.log, join.data, "ips", position_model(theta), settings)
        fit_to_labels(ranker, labels, valid=valid, callback=callback)
        before, theta = theta, propensities_by_scores(join, ranker.predict(join.data))
        change = float(np.abs(np.log(theta / before)).max())
        if change < _TOLERANCE:
            break
    _warn(theta, change)
    return ranker, theta


def _warn(theta: Floats, change: float) -> None:
    """Warn if the propensities changed in the last round, or if they rise with the rank."""
    if change >= _TOLERANCE:
        warnings.warn(
            f"dual learning stopped after {MAX_ROUNDS} rounds before its propensities converged; the ranker "
            "is that of the last round",
            NotConvergedWarning,
            stacklevel=3,
        )
    if theta.max() > MAX_RISE:
        rank = int(theta.argmax()) + 1
        warnings.warn(
            f"dual learning found that users look at rank {rank} {theta.max():.2g} times as often as at "
            "rank 1: the features say where the logger put a document, so positions and relevance cannot be "
            "told apart; serve with swaps and use ips or dr",
            NotConvergedWarning,
            stacklevel=3,
        )


def position_model(theta: Floats) -> PositionBasedModel:
    """Return the position-based model with these propensities."""
    return PositionBasedModel(attraction=PairValues.constant(1.0), by_rank=theta)


def propensities_by_scores(join: ShownDocuments, scores: Floats) -> Floats:
    """Return the propensities that minimise the weighted cross entropy of the ranks of clicks.

    A list of n documents has the loss -sum over clicks at rank k of v log (theta_k / sum_{j <= n} theta_j),
    v = exp(s_1 - s), at most MAX_WEIGHT.
    """
    table = click_weights(join, scores)
    n = table.shape[1]
    table[n - 1] += PRIOR_CLICKS

    def evaluate(free: Floats) -> tuple[float, Floats]:
        return rank_cross_entropy(table, np.concatenate([[0.0], free]))

    minimum = lbfgs(evaluate, np.zeros(n - 1), tol=1e-8)
    return np.asarray(np.exp(np.concatenate([[0.0], minimum.x])))


def click_weights(join: ShownDocuments, scores: Floats) -> Floats:
    """Return the total weight of the clicks of lists of n documents at rank k, at [n - 1, k - 1]."""
    log, depth = join.log, join.log.depth
    score = np.append(scores, np.nan)[join.row]
    first = np.asarray(
        log.groups.spread(score[np.minimum(log.groups.offsets[:-1], len(score) - 1)])
    )
    is_used = log.clicked & np.isfinite(score) & np.isfinite(first)
    weight = np.minimum(np.exp(np.minimum(first - score, 50.0)[is_used]), MAX_WEIGHT)
    size = np.asarray(log.groups.spread(log.groups.sizes))[is_used] - 1
    cell = size * depth + log.groups.places[is_used]
    return sums_by_code(cell, weight, depth * depth).reshape(depth, depth)


def rank_cross_entropy(table: Floats, log_theta: Floats) -> tuple[float, Floats]:
    """Return -sum_nk table_nk log softmax_k(log theta_1 .. log theta_n), and its gradient without rank 1."""
    value, gradient = 0.0, np.zeros(len(log_theta))
    for n in range(1, len(log_theta) + 1):
        weights, total = table[n - 1, :n], float(table[n - 1].sum())
        log_sum = np.logaddexp.reduce(log_theta[:n])
        value += total * float(log_sum) - float(weights @ log_theta[:n])
        gradient[:n] += total * np.exp(log_theta[:n] - log_sum) - weights
    return value, gradient[1:]
