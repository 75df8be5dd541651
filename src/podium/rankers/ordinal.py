"""Ordinal, the ranker: labels are ordered degrees, and thresholds cut one score into them.

The fit (f_odr), which RPC-MTL shares, is in `ordinal_fit.py`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from podium.data import RankingData
from podium.errors import ModelFileError, SlowWarning
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.models import Linear, Model, Part, start_weights, vector
from podium.rankers.optimality_certificate import Certificate
from podium.rankers.ordinal_fit import OrdinalFit, fit_ordinal
from podium.rankers.ordinal_thresholds import OrdinalLoss, degree_of, degree_probabilities
from podium.rankers.parameters import Count, NonNegative, Positive
from podium.rankers.ranker import Ranker
from podium.rankers.training_queries import check_labels_differ
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class OrdinalModel(Linear):
    """A linear model s = w.x with thresholds between the labels of training.

    Examples
    --------
    >>> model = OrdinalModel(np.array([1.0]), np.array([0.5]), np.array([0.0, 3.0]), "all-threshold")
    >>> model.degree(np.array([0.0, 1.0])).tolist()
    [0.0, 3.0]
    """

    kind = "ordinal"
    thresholds: Floats
    labels: Floats
    loss: OrdinalLoss

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each label, one column per label, from the worst."""
        return degree_probabilities(scores, self.thresholds)

    def degree(self, scores: Floats) -> Floats:
        """Return the label of each score."""
        return np.asarray(self.labels[degree_of(scores, self.thresholds, self.loss)])

    def parts(self) -> dict[str, Part]:
        """Return weights, thresholds, labels and the loss, which decides how a degree is chosen."""
        return {
            "weights": self.weights,
            "thresholds": self.thresholds,
            "labels": self.labels,
            "loss": self.loss,
        }

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the model from its parts."""
        thresholds, labels = vector(parts, "thresholds"), vector(parts, "labels")
        loss: Any = parts.get("loss")
        if len(labels) != len(thresholds) + 1 or len(labels) < 2:
            raise ModelFileError("expected one threshold between neighbouring labels of the model")
        if (np.diff(thresholds) < 0).any() or (np.diff(labels) <= 0).any():
            raise ModelFileError("expected rising thresholds and labels in the model")
        if loss not in get_args(OrdinalLoss):
            raise ModelFileError(f"expected a loss of ordinal regression, got {loss!r:.80}")
        return cls(vector(parts, "weights"), thresholds, labels, loss)


SLOW_LABELS = 1000
"""The number of different labels beyond which all-threshold warns that it is slow."""


@dataclass(kw_only=True, eq=False, repr=False)
class Ordinal(Ranker):
    """Ordinal regression: a score w.x and ordered thresholds theta_1 < theta_2 < ... between the labels.

    All-threshold logistic: sum_k log(1 + exp(-+(w.x - theta_k))), one term per threshold.
    Proportional odds: -log[sigma(theta_(y+1) - w.x) - sigma(theta_y - w.x)]. The objective is the
    mean over documents plus l2/2 |w|^2. Rennie and Srebro, Loss functions for preference levels,
    IJCAI workshop 2005; McCullagh, Regression models for ordinal data, JRSS B 1980.

    Parameters
    ----------
    loss
        "all-threshold", whose time grows with the number of different labels, or
        "proportional-odds", the likelihood.
    l2
        The strength of the penalty l2/2 |w|^2, added to the mean loss of a document.
    max_iter
        The maximum number of L-BFGS iterations.
    tol
        The fit has converged if the gradient is at most this share of the gradient at 0.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, seed=0)
    >>> ranker = Ordinal().fit(data)
    >>> bool(ranker.score(data) > 0.8), ranker.degrees_.tolist(), len(ranker.thresholds_)
    (True, [0.0, 1.0, 2.0], 2)
    >>> ranker.predict_degree(data).shape, ranker.predict_proba(data).shape
    ((1053,), (1053, 3))
    """

    name: ClassVar[str] = "ordinal"
    paper: ClassVar[str] = "Rennie and Srebro, 2005; McCullagh, JRSS B 1980"
    grid: ClassVar[dict[str, Any]] = {"l2": (1.0, 0.1, 0.01, 1e-3, 1e-4)}
    warm_start_along: ClassVar[str | None] = "l2"
    fits_from_disk: ClassVar[bool] = True

    loss: OrdinalLoss = "all-threshold"
    l2: NonNegative = 1e-3
    max_iter: Count = 500
    tol: Positive = 1e-6

    @property
    def keeps_best(self) -> bool:
        """Whether the best iteration is kept: no, because probabilities are right only at the optimum."""
        return False

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return True  # the last bits of a sum change the path of L-BFGS

    def check_training(self, data: RankingData) -> None:
        """Raise if nothing can be learned from the data."""
        self._check_features(data)
        check_labels_differ(data, self.name)

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Fit the score and its thresholds."""
        labels, degrees = np.unique(train.y, return_inverse=True)
        weight = None if train.query_weight is None else train.groups.spread(train.query_weight)
        if self.loss == "all-threshold" and len(labels) > SLOW_LABELS:
            warnings.warn(
                f"ordinal: all-threshold is slow for {len(labels)} different labels; use "
                "loss='proportional-odds', or round the labels",
                SlowWarning,
                stacklevel=6,
            )

        def model(fit: OrdinalFit) -> OrdinalModel:
            return OrdinalModel(fit.w, fit.thresholds, labels.astype(np.float64), fit.loss)

        X, rows = train.stored_features()
        fit = fit_ordinal(
            X, degrees, len(labels), l2=self.l2, loss=self.loss, weight=weight,
            tol=self.tol, max_iter=self.max_iter, start=_start(start, train.n_features),
            callback=lambda fit, value: monitor(value, model(fit)), rows=rows,
        )  # fmt: skip
        assert fit.minimum is not None
        certificate = Certificate.from_minimum(fit.minimum)
        return FitResult(model(fit), fit.converged, fit.minimum.reason, certificate)

    @property
    def coef_(self) -> Floats:
        """The weight of each feature."""
        return self._model().weights

    @property
    def thresholds_(self) -> Floats:
        """The thresholds between neighbours of `degrees_`, never falling."""
        return self._model().thresholds

    @property
    def degrees_(self) -> Floats:
        """The labels of training, from the worst."""
        return self._model().labels

    def predict_degree(self, X: Any) -> Floats:
        """Return the label of each row, one of `degrees_`; it never falls as the score rises.

        All-threshold: the degree between the thresholds around the score. Proportional odds: the
        most probable degree.
        """
        return self._model().degree(self.predict(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each of `degrees_` for each row; they add up to 1."""
        return self._model().probabilities(self.predict(X))

    def _model(self) -> OrdinalModel:
        check_is_fitted(self, "model_")
        assert isinstance(self.model_, OrdinalModel)
        return self.model_


def _start(model: Model | None, n_features: int) -> OrdinalFit | None:
    """Return the fit to start from: another fit, or only the weights of a linear ranker."""
    if isinstance(model, OrdinalModel):
        return OrdinalFit(model.weights, model.thresholds, model.loss)
    return None if model is None else OrdinalFit(start_weights(n_features, model), np.empty(0))
