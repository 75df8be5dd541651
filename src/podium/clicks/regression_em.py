"""Regression-EM: propensities from logs without interventions, if features explain relevance.

Wang, Golbandi, Bendersky, Metzler and Najork, "Position bias estimation for unbiased learning to rank in
personal search", WSDM 2018. P(relevant) is a logistic function of features, not a number per document.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import expit

from podium import kernels
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import DocumentPairs
from podium.clicks.fit_tables import CLIP, CellTable, SessionTable, smooth_ratio
from podium.clicks.true_models import query_names, require_different_documents
from podium.data import RankingData
from podium.errors import DataError, NotConvergedWarning
from podium.feedback.list_sums import StringCodes
from podium.optim import EmMaximum, accelerated_em, one_blas_thread
from podium.typing import Floats

MAX_STEPS = 5000
PSEUDO_IMPRESSIONS = 1.0
"""The ridge penalty of squared weights counts as so many impressions; the intercept has none."""


def regression_em(sessions: ClickSessions, data: RankingData, *, tolerance: float = 1e-9) -> Floats:
    """Return the propensity at each rank relative to rank 1; warns if EM did not converge.

    The E-step is that of the position-based model. The M-step makes one Newton step of a logistic regression
    of expected relevance on the features, which are scaled to variance 1.

    Parameters
    ----------
    data
        The features of the documents, by query text (or id) and document id.
    tolerance
        EM has converged if a round of steps improves the log-likelihood by a smaller share than this.
    """
    table = SessionTable.of(sessions, None)
    X = _features(table.pairs, data)
    with one_blas_thread():
        maximum = _maximise(table, X, tolerance)
    if not maximum.converged:
        warnings.warn(
            f"regression-EM stopped after {maximum.steps} steps before it converged; the propensities are "
            "too close to their start: collect more sessions, or leave out features",
            NotConvergedWarning,
            stacklevel=2,
        )
    theta = maximum.parameters[: table.n_ranks]
    return np.asarray(theta / theta[0])


def _maximise(table: SessionTable, X: Floats, tolerance: float) -> EmMaximum:
    """Maximise over examination by rank and the weights of features."""
    n = table.n_ranks
    cells = CellTable.of(table, table.places, n)
    by_pair = cells.by_pair(cells.impressions)
    by_rank = cells.by_context(cells.impressions, n)
    theta = smooth_ratio(cells.by_context(cells.clicks, n), by_rank, table.click_rate, 1.0)
    theta *= 0.9 / theta.max()
    mean = table.mean_attraction(float((by_rank * theta).sum()))
    penalty = np.full(X.shape[1], PSEUDO_IMPRESSIONS * mean * (1 - mean))  # as their curvature
    penalty[-1] = 0.0

    def step(parameters: Floats) -> tuple[Floats, float]:
        examination, weights = np.clip(parameters[:n], CLIP, 1 - CLIP), parameters[n:]
        relevance = np.clip(expit(X @ weights), CLIP, 1 - CLIP)
        attracted, examined, value = kernels.click_cells_pass(
            cells.pair_offsets, cells.context, cells.impressions, cells.clicks, relevance, examination
        )  # fmt: skip
        after = weights + _newton_step(X, weights, attracted, by_pair, relevance, penalty)
        value -= 0.5 * float((penalty * weights**2).sum())
        return np.concatenate([smooth_ratio(examined, by_rank, 0.5, 0.0), after]), value

    start = np.concatenate([theta, np.zeros(X.shape[1])])
    start[-1] = np.log(mean / (1 - mean))
    return accelerated_em(step, start, tolerance=tolerance, max_steps=MAX_STEPS, margin=-np.inf)


def _features(pairs: DocumentPairs, data: RankingData) -> Floats:
    """Return the standardised features of each pair, and a column of ones."""
    require_different_documents(data, "regression-em")
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
    X: Floats,
    weights: Floats,
    attracted: Floats,
    impressions: Floats,
    relevance: Floats,
    penalty: Floats,
) -> Floats:
    gradient = X.T @ (attracted - impressions * relevance) - penalty * weights
    curvature = (X * (impressions * relevance * (1 - relevance))[:, None]).T @ X
    # Equal features, or constant ones, leave directions without curvature.
    curvature[np.diag_indices_from(curvature)] += np.maximum(penalty, 1e-12 * impressions.sum())
    return np.asarray(np.linalg.solve(curvature, gradient))
