"""Regression on the labels: the pointwise baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium import kernels
from podium.data import RankingData
from podium.errors import DivergedError
from podium.optim import one_blas_thread
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.models import Linear, Model
from podium.rankers.parameters import NonNegative
from podium.rankers.ranker import Ranker
from podium.rankers.remote_rows import remote_rows
from podium.rankers.training_queries import check_labels_differ
from podium.typing import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class Regression(Ranker):
    """Ridge regression on the labels, in closed form: w = (X'X/n + l2 I)^-1 X'y/n, both centred.

    Minimises the mean squared error of w.x + b plus l2 |w|^2. b is the same for all documents and
    is left out. Cossock and Zhang, Subset ranking using regression, COLT 2006.

    Parameters
    ----------
    l2
        The strength of the penalty.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> bool(Regression().fit(data).score(data) > 0.8)
    True
    """

    name: ClassVar[str] = "regression"
    paper: ClassVar[str] = "Cossock and Zhang, COLT 2006"
    fits_from_disk: ClassVar[bool] = True
    grid: ClassVar[dict[str, Any]] = {"l2": tuple(10.0**e for e in range(-6, 3))}

    l2: NonNegative = 1e-3

    def check_training(self, data: RankingData) -> None:
        """Raise if nothing can be learned from the data."""
        self._check_features(data)
        check_labels_differ(data, self.name)

    def fits_on_workers(self) -> bool:
        """Whether rows may stay on workers: yes, sums over them are all that is needed."""
        return True

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Solve the ridge equations."""
        gram, moment = _moments(train)
        if not np.isfinite(gram).all():
            raise DivergedError(
                "the features are too large: their squares are infinite; scale the features"
            )
        gram[np.diag_indices_from(gram)] += self.l2
        # Least squares of the normal equations also works for a constant feature and l2 = 0.
        with one_blas_thread():
            w = np.linalg.lstsq(gram, moment, rcond=1e-12)[0]
        return FitResult(Linear(np.ascontiguousarray(w)))


def _moments(data: RankingData) -> tuple[Floats, Floats]:
    """Return the weighted covariances of the features with each other and with the labels."""
    remote = remote_rows(data)
    total, sum_y, sum_x = _sums(data) if remote is None else remote.add_up(_sums)
    means = sum_x / total, sum_y / total
    gram, moment = (
        _centred_moments(data, *means)
        if remote is None
        else remote.add_up(_centred_moments, *means)
    )
    return gram / total, moment / total


def _row_weights(data: RankingData) -> Floats:
    weight = np.ones(data.n_queries) if data.query_weight is None else data.query_weight
    return np.asarray(data.groups.spread(weight))


def _sums(data: RankingData) -> tuple[float, float, Floats]:
    """Return the sums of the weights, and of the weighted labels and features."""
    weight = _row_weights(data)
    features, selected = data.stored_features()
    return (
        weight.sum(),
        float(np.sum(weight * data.y)),
        kernels.rmatvec(features, weight, selected),
    )


def _centred_moments(data: RankingData, mean_x: Floats, mean_y: float) -> tuple[Floats, Floats]:
    """Return the weighted sums of products of the features with each other and with the labels, centred."""
    weight, d = _row_weights(data), data.n_features
    gram, moment = np.zeros((d, d)), np.zeros(d)
    # One thread, because threaded BLAS would change the last bits. Blocks, so that X is not copied.
    with one_blas_thread():
        for first in range(0, len(data), 8192):
            rows = slice(first, first + 8192)
            X = data.feature_rows(first, first + 8192) - mean_x
            weighted = X * weight[rows, None]
            gram += weighted.T @ X
            moment += weighted.T @ (data.y[rows] - mean_y)
    return gram, moment
