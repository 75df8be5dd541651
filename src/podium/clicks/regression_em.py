"""Regression-EM: propensities from logs without interventions, if features explain relevance.

Wang, Golbandi, Bendersky, Metzler and Najork, "Position bias estimation for unbiased learning to rank in
personal search", WSDM 2018. P(relevant) is a logistic function of features, not a number per document.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from podium import kernels
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import DocumentPairs
from podium.clicks.fit_tables import CellTable, SessionTable, smooth_ratio
from podium.clicks.true_models import query_names
from podium.data import RankingData
from podium.errors import DataError
from podium.feedback.list_sums import StringCodes
from podium.typing import Floats

MAX_STEPS = 500
RIDGE = 1e-3
"""The penalty of squared weights per impression, for features that are scaled to variance 1."""


def regression_em(sessions: ClickSessions, data: RankingData, *, tolerance: float = 1e-5) -> Floats:
    """Return the propensity at each rank relative to rank 1.

    The E-step is that of the position-based model. The M-step makes one Newton step of a logistic regression
    of expected relevance on the features.

    Parameters
    ----------
    data
        The features of the documents, by query text (or id) and document id.
    tolerance
        EM stops if no propensity changes by more than this.
    """
    table = SessionTable.of(sessions, None)
    X = _features(table.pairs, data)
    cells = CellTable.of(table, table.places, table.n_ranks)
    by_pair = cells.by_pair(cells.impressions)
    by_rank = cells.by_context(cells.impressions, table.n_ranks)
    clicks = cells.by_context(cells.clicks, table.n_ranks)
    theta = smooth_ratio(clicks, by_rank, table.click_rate, 1.0)
    theta *= 0.9 / theta.max()
    weights = np.zeros(X.shape[1])
    for _ in range(MAX_STEPS):
        relevance = np.clip(expit(X @ weights), 1e-9, 1 - 1e-9)
        attracted, examined, _ = kernels.click_cells_pass(
            cells.pair_offsets, cells.context, cells.impressions, cells.clicks, relevance, theta
        )  # fmt: skip
        weights = weights + _newton_step(X, weights, attracted, by_pair, relevance)
        before, theta = theta / theta[0], smooth_ratio(examined, by_rank, 0.5, 0.0)
        if np.abs(theta / theta[0] - before).max() < tolerance:
            break
    return np.asarray(theta / theta[0])


def _features(pairs: DocumentPairs, data: RankingData) -> Floats:
    """Return the standardised features of each pair, and a column of ones."""
    docs = StringCodes.of([str(d) for d in data.require_docids("regression-em")])
    own, number = DocumentPairs.of(StringCodes.of(query_names(data)), docs, data.groups)
    row = np.empty(len(own), dtype=np.int64)
    row[number] = np.arange(len(number))
    place = own.find(pairs)
    if (place < 0).any():
        raise DataError(
            f"{int((place < 0).sum()):,} of {len(place):,} documents of the log are not in the data; "
            "expected features of every document, by query text or id and document id"
        )
    X = np.asarray(data.X[row[place]], dtype=np.float64)
    X = np.nan_to_num(X)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.column_stack([X, np.ones(len(X))])


def _newton_step(
    X: Floats, weights: Floats, attracted: Floats, impressions: Floats, relevance: Floats
) -> Floats:
    penalty = RIDGE * impressions.sum()
    gradient = X.T @ (attracted - impressions * relevance) - penalty * weights
    curvature = (X * (impressions * relevance * (1 - relevance))[:, None]).T @ X
    curvature[np.diag_indices_from(curvature)] += penalty
    return np.asarray(np.linalg.solve(curvature, gradient))
