"""The contract of a loss: one value per query, and the gradient, checked by finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from podium.data import RankingData
from podium.errors import UsageError
from podium.losses import BoundLoss, Loss
from podium.testing.contract import Contract, reorder
from podium.typing import Floats


def check_loss(loss: Loss) -> None:
    """Check values, gradient and curvature of a loss.

    Examples
    --------
    >>> from podium.losses import PairLogistic
    >>> check_loss(PairLogistic())
    """
    contract = Contract(type(loss).__name__)
    data = _problem()
    bound = loss.bind(data)
    scores = np.random.default_rng(1).normal(size=len(data))
    _check_values(contract, bound, scores)
    _check_gradient(contract, bound, scores)
    if bound.smooth:
        _check_curvature(contract, bound, scores)
    _check_row_order(contract, loss, data, scores)
    _check_extreme_scores(contract, bound, scores)
    _check_rounds(contract, bound, scores)


def _problem() -> RankingData:
    """Queries with ties, with one document, and with labels that are all equal."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(6), (5, 1, 7, 4, 3, 2))
    labels = rng.integers(0, 4, len(qid)).astype(float)
    labels[qid == 3], labels[qid == 4] = 2.0, 0.0
    docid = [f"d{row}" for row in range(len(qid))]
    return RankingData.from_arrays(rng.normal(size=(len(qid), 2)), labels, qid=qid, docid=docid)


def _check_values(contract: Contract, bound: BoundLoss, scores: Floats) -> None:
    values, gradient = bound(scores)
    contract.require(values.shape == (len(bound.groups),), "expected one value per query")
    contract.require(gradient.shape == scores.shape, "expected one gradient per document")
    silent = ~bound.active
    contract.require(not values[silent].any(), "an inactive query must have value 0")
    clause = "an inactive query must have gradient 0"
    contract.require(not gradient[bound.groups.spread(silent)].any(), clause)


def jacobian(function: Callable[[Floats], Floats], at: Floats, step: float = 1e-6) -> Floats:
    """Return central differences, one row per number that the function returns."""
    columns = [
        (function(at + shift) - function(at - shift)) / (2 * step)
        for shift in step * np.eye(len(at))
    ]
    return np.array(columns).T


def _check_gradient(contract: Contract, bound: BoundLoss, scores: Floats) -> None:
    slopes = jacobian(lambda at: bound(at)[0], scores)
    clause = "the gradient must be that of the values (finite differences)"
    contract.require_equal(bound(scores)[1], slopes.sum(axis=0), clause, 1e-5)
    elsewhere = bound.groups.codes != np.arange(len(bound.groups))[:, None]
    clause = "the value of a query must depend on its own documents only"
    contract.require(not slopes[elsewhere].any(), clause)


def _check_curvature(contract: Contract, bound: BoundLoss, scores: Floats) -> None:
    curvature = bound.curvature(scores)
    contract.require(bool((curvature >= 0).all()), "the curvature must be 0 or more")
    hessian = jacobian(lambda at: bound(at)[1], scores)
    clause = "the curvature must be the diagonal of the Hessian (finite differences)"
    contract.require_equal(curvature, np.maximum(np.diag(hessian), 0), clause, 1e-5)
    together, apart = bound.derivatives(scores), (*bound(scores), curvature)
    for joint, single in zip(together, apart, strict=True):
        contract.require_equal(
            joint, single, "derivatives must be values, gradient and curvature", 1e-9
        )
    direction = np.random.default_rng(2).normal(size=len(scores))
    try:
        product = bound.product(scores, direction)
    except UsageError:  # not every loss has one
        return
    clause = "the product must be the Hessian times the direction (finite differences)"
    contract.require_equal(product, hessian @ direction, clause, 1e-4)


def _check_row_order(contract: Contract, loss: Loss, data: RankingData, scores: Floats) -> None:
    moved, rows = reorder(data)
    _, gradient = loss.bind(data, seed=4)(scores)
    _, moved_gradient = loss.bind(moved, seed=4)(scores[rows])
    clause = "the order of queries and documents must not change the gradient"
    contract.require_equal(moved_gradient, gradient[rows], clause, 1e-9)


def _check_rounds(contract: Contract, bound: BoundLoss, scores: Floats) -> None:
    first, again = bound.redraw(3)(scores)[1], bound.redraw(2).redraw(3)(scores)[1]
    clause = "the same round must draw the same random numbers"
    contract.require(first.tobytes() == again.tobytes(), clause)


def _check_extreme_scores(contract: Contract, bound: BoundLoss, scores: Floats) -> None:
    for scale in (1e-8, 1e5):
        values, gradient = bound(scores * scale)
        finite = np.isfinite(values).all() and np.isfinite(gradient).all()
        contract.require(bool(finite), f"scores of size {scale:g} must give finite numbers")
