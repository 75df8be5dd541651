"""Losses of linear scores, and products with their Hessian, in one pass over the features.

Each pass computes the scores X w (or X[rows] w), a loss of these scores, and X' g from its gradient
g. The native twins do so query by query, so that X comes from memory once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.kernels.reference.losses import (
    hinge_pairs_product,
    logistic_pairs,
    plackett_luce,
    softmax_cross_entropy,
)
from podium.kernels.reference.matrix_products import matvec, rmatvec
from podium.typing import Derivatives, Floats, Rows


def softmax_cross_entropy_pass(
    x: NDArray[Any], w: Floats, rows: Rows | None, weight: Floats, target: Floats, offsets: Rows
) -> tuple[Floats, Floats]:
    """Return the values of softmax_cross_entropy, and the gradient of their weighted sum by w."""
    loss = softmax_cross_entropy(matvec(x, w, rows), target, offsets)
    return _pull(x, rows, weight, offsets, loss)


def plackett_luce_pass(
    x: NDArray[Any], w: Floats, rows: Rows | None, weight: Floats, order: Rows, stages: Rows, offsets: Rows
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the values of plackett_luce, and the gradient of their weighted sum by w."""
    loss = plackett_luce(matvec(x, w, rows), order, stages, offsets)
    return _pull(x, rows, weight, offsets, loss)


def logistic_pairs_pass(
    x: NDArray[Any], w: Floats, rows: Rows | None, weight: Floats, levels: Rows, by_level: Rows, offsets: Rows
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the values of logistic_pairs, and the gradient of their weighted sum by w."""
    loss = logistic_pairs(matvec(x, w, rows), levels, by_level, offsets)
    return _pull(x, rows, weight, offsets, loss)


def softmax_and_logistic_pass(
    x: NDArray[Any], w: Floats, rows: Rows | None, weight: Floats,
    target: Floats, members: Rows, member_offsets: Rows, list_weight: Floats,
    levels: Rows, by_level: Rows, pair_weight: Floats, offsets: Rows,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return a weighted sum of two losses, and the gradient of the sum over queries by w.

    The first is softmax_cross_entropy of the rows `members` of each query, the second logistic_pairs.
    """
    scores = matvec(x, w, rows)
    listed, slope, _ = softmax_cross_entropy(scores[members], target, member_offsets)
    paired, gradient, _ = logistic_pairs(scores, levels, by_level, offsets)
    gradient = gradient * np.repeat(pair_weight, np.diff(offsets))
    gradient[members] += slope * np.repeat(list_weight, np.diff(member_offsets))
    values = listed * list_weight + paired * pair_weight
    return _pull(x, rows, weight, offsets, (values, gradient, gradient))


def hinge_pairs_product_pass(
    x: NDArray[Any], w: Floats, rows: Rows | None, weight: Floats,
    scores: Floats, levels: Rows, order: Rows, offsets: Rows,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return X w, and X' H X w; H is the Hessian of the weighted sum of squared hinges at these scores."""
    forward = matvec(x, w, rows)
    product = hinge_pairs_product(scores, levels, order, offsets, forward)
    return forward, rmatvec(x, product * np.repeat(weight, np.diff(offsets)), rows)


def _pull(
    x: NDArray[Any], rows: Rows | None, weight: Floats, offsets: Rows, loss: Derivatives
) -> tuple[Floats, Floats]:
    values, gradient, _ = loss
    return values, rmatvec(x, gradient * np.repeat(weight, np.diff(offsets)), rows)
