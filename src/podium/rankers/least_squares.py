"""Least squares of score differences of pairs, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from podium.data import Groups, RankingData
from podium.errors import DivergedError
from podium.optim import one_blas_thread
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.models import ROWS_PER_BLOCK, Linear, Model
from podium.rankers.parameters import Positive
from podium.rankers.ranker import Ranker
from podium.rankers.remote_rows import remote_rows
from podium.typing import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class LeastSquares(Ranker):
    """Least squares over pairs, the better document ahead by 1: 1/2 |w|^2 + C sum (1 - (s_u - s_v))^2.

    Over pairs of a query with y_u > y_v, in closed form: (I + 2C X'LX) w = 2C X'r, where L is the
    Laplacian of the graph of these pairs, and r_u is the number of documents worse than u minus the
    number of better ones. No pair is ever built. The fit needs one Gram matrix of the data, X'LX.
    Rankers on some of the features use the same matrix (`nested_weights`). Pahikkala, Tsivtsivadze,
    Airola, Järvinen, Boberg, An efficient algorithm for learning to rank from preference graphs,
    Machine Learning 2009.

    Parameters
    ----------
    C
        The weight of a pair's error against |w|^2.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, n_features=5, seed=0)
    >>> ranker = LeastSquares(C=0.01).fit(data)
    >>> bool(ranker.score(data) > 0.9), ranker.model_.weights.shape
    (True, (5,))
    """

    name: ClassVar[str] = "least-squares"
    paper: ClassVar[str] = "Pahikkala et al., Machine Learning 2009"
    fits_from_disk: ClassVar[bool] = True
    grid: ClassVar[dict[str, Any]] = {"C": tuple(10.0**e for e in range(-5, 2))}

    C: Positive = 1e-3

    def fits_on_workers(self) -> bool:
        """Whether rows may stay on workers: yes, sums over them are all that is needed."""
        return True

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Solve the normal equations of all pairs."""
        remote = remote_rows(train)
        gram, moment = pair_moments(train) if remote is None else remote.add_up(pair_moments)
        all_features = np.arange(train.n_features)
        weights = nested_weights(gram, moment, self.C, all_features, [train.n_features])[0]
        model = Linear(weights)
        monitor(_objective(weights, self.C, gram, moment, pair_count(train)), model)
        return FitResult(model)


def pair_moments(data: RankingData) -> tuple[Floats, Floats]:
    """Return X'LX and X'r of the pairs of documents with different labels, queries weighted.

    Features are centred within their query, which has n documents; n_g of them have label g, and
    s_g is the sum of their features: X'LX = sum_u (n - n_g(u)) x_u x_u' + sum_g s_g s_g'. Both are
    summed over blocks of queries, so that X is not copied.
    """
    X, selected = data.stored_features()
    order, d = data.groups.order(data.y), data.n_features
    weight = np.ones(data.n_queries) if data.query_weight is None else data.query_weight
    gram, moment = np.zeros((d, d)), np.zeros(d)
    for queries, rows, groups in data.groups.blocks(ROWS_PER_BLOCK):
        places = order[rows]
        block = X[places if selected is None else selected[places]].astype(np.float64)
        own_gram, own_moment = _block_moments(block, data.y[places], groups, weight[queries])
        gram += own_gram
        moment += own_moment
    if not np.isfinite(gram).all():
        raise DivergedError(
            "the features are too large: their squares are infinite; scale the features"
        )
    return gram, moment


def _block_moments(
    X: Floats, labels: Floats, groups: Groups, weight: Floats
) -> tuple[Floats, Floats]:
    """Return both sums over some queries, whose rows are in the order of their labels."""
    X -= groups.spread(groups.reduce(np.add, X) / np.maximum(groups.sizes, 1)[:, None])
    alike = groups.runs(labels)
    w = np.asarray(groups.spread(weight))
    others = groups.spread(groups.sizes) - alike.spread(alike.sizes)
    n_better = alike.spread(groups.places[alike.offsets[:-1]])
    n_worse = others - n_better
    sums = alike.reduce(np.add, X)
    w_alike = w[alike.offsets[:-1]]
    with one_blas_thread():
        gram = (X * (w * others)[:, None]).T @ X + (sums * w_alike[:, None]).T @ sums
        return gram, X.T @ (w * (n_worse - n_better))


def pair_count(data: RankingData) -> float:
    """Return the number of pairs of documents with different labels, queries weighted."""
    groups = data.groups
    alike = groups.runs(data.y[groups.order(data.y)])
    others = groups.spread(groups.sizes) - alike.spread(alike.sizes)
    per_query = groups.reduce(np.add, others.astype(np.float64)) / 2
    return float(np.sum(per_query if data.query_weight is None else per_query * data.query_weight))


def nested_weights(
    gram: Floats, moment: Floats, C: float, features: NDArray[np.int64], ends: Sequence[int]
) -> list[Floats]:
    """Return the weights of the first `end` features, for each end, by one factorisation.

    The Cholesky factor of a leading part of a matrix is the leading part of its factor.

    Examples
    --------
    >>> one, both = nested_weights(np.eye(2), np.array([3.0, 1.0]), 0.5, np.arange(2), [1, 2])
    >>> one.round(12).tolist(), both.round(12).tolist()
    ([1.5], [1.5, 0.5])
    """
    from scipy.linalg import LinAlgError, cholesky
    from scipy.linalg.lapack import dtrtrs

    with one_blas_thread():
        matrix = np.eye(len(features)) + 2 * C * gram[np.ix_(features, features)]
        try:
            lower = cholesky(matrix, lower=True, check_finite=False)
        except LinAlgError as error:  # the 1 of |w|^2 is lost beside such squares
            raise DivergedError(
                "the features depend on each other and are too large to separate; scale the "
                "features"
            ) from error
        z = dtrtrs(lower, 2 * C * moment[features], lower=1)[0]
        return [
            np.ascontiguousarray(dtrtrs(lower[:end, :end], z[:end], lower=1, trans=1)[0])
            for end in ends
        ]


def _objective(w: Floats, C: float, gram: Floats, moment: Floats, n_pairs: float) -> float:
    """Return 1/2 |w|^2 + C sum over pairs of 1 - 2 d + d^2, d the difference of their scores."""
    loss = n_pairs - 2 * float(np.sum(moment * w)) + float(np.sum(w * (gram @ w)))
    return 0.5 * float(np.sum(w * w)) + C * loss
