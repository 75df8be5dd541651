"""Labels as ordered degrees: one score, cut into degrees by thresholds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from podium.data import RankingData
from podium.errors import ModelFileError, SlowWarning
from podium.rankers.certificate import Certificate
from podium.rankers.degrees import OrdinalFit, fit_ordinal
from podium.rankers.history import Watch
from podium.rankers.inputs import check_labels_differ
from podium.rankers.models import Floats, Linear, Model, Part, first_weights, vector
from podium.rankers.parameters import Count, NonNegative, Positive
from podium.rankers.ranker import Learned, Ranker
from podium.rankers.thresholds import OrdinalLoss, degree_of, degree_probabilities


@dataclass(frozen=True, eq=False)
class OrdinalModel(Linear):
    """s = w.x, and thresholds between the labels that were seen.

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
        """The probability of each label, one column a label, from the worst."""
        return degree_probabilities(scores, self.thresholds)

    def degree(self, scores: Floats) -> Floats:
        """The label of each score."""
        return np.asarray(self.labels[degree_of(scores, self.thresholds, self.loss)])

    def parts(self) -> dict[str, Part]:
        """Weights, thresholds and labels; the loss says how a degree is chosen."""
        return {
            "weights": self.weights,
            "thresholds": self.thresholds,
            "labels": self.labels,
            "loss": self.loss,
        }

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """From these."""
        thresholds, labels = vector(parts, "thresholds"), vector(parts, "labels")
        loss: Any = parts.get("loss")
        if len(labels) != len(thresholds) + 1 or len(labels) < 2:
            raise ModelFileError("expected one threshold between each two labels of the model")
        if (np.diff(thresholds) < 0).any() or (np.diff(labels) <= 0).any():
            raise ModelFileError("expected rising thresholds and labels in the model")
        if loss not in get_args(OrdinalLoss):
            raise ModelFileError(f"expected a loss of ordinal regression, got {loss!r:.80}")
        return cls(vector(parts, "weights"), thresholds, labels, loss)


MANY_LABELS = 1000
"""Different labels beyond which all-threshold is warned of."""


@dataclass(kw_only=True, eq=False, repr=False)
class Ordinal(Ranker):
    """Ordinal regression: a score w.x and ordered thresholds theta_1 < theta_2 < ... between the labels.

    All-threshold logistic: sum_k log(1 + exp(-+(w.x - theta_k))), every threshold asks on which side
    of it a document should be. Proportional odds: -log[sigma(theta_(y+1) - w.x) - sigma(theta_y -
    w.x)]. The mean over documents, each label seen a degree, plus l2/2 |w|^2. Rennie and Srebro, Loss
    functions for preference levels, IJCAI workshop 2005; McCullagh, Regression models for ordinal
    data, JRSS B 1980.

    Parameters
    ----------
    loss
        "all-threshold", or "proportional-odds", the likelihood. The first one's time grows with the
        number of different labels.
    l2
        Strength of the penalty l2/2 |w|^2 beside the mean loss of a document.
    max_iter
        Iterations of L-BFGS at most.
    tol
        How small the gradient must become, against the one at 0.

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

    loss: OrdinalLoss = "all-threshold"
    l2: NonNegative = 1e-3
    max_iter: Count = 500
    tol: Positive = 1e-6

    @property
    def keeps_best(self) -> bool:
        """The optimum is kept, or probabilities would not be what the loss makes of them."""
        return False

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return True  # L-BFGS makes much of the last bits of a sum

    def check_training(self, data: RankingData) -> None:
        """Raise if nothing can be learned from the data."""
        self._check_missing(data)
        check_labels_differ(data, self.name)

    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Fit the score and its thresholds."""
        labels, degrees = np.unique(train.y, return_inverse=True)
        weight = None if train.query_weight is None else train.groups.spread(train.query_weight)
        if self.loss == "all-threshold" and len(labels) > MANY_LABELS:
            warnings.warn(
                f"ordinal: {len(labels)} different labels, each a degree, take all-threshold long: its "
                "time grows with them; loss='proportional-odds' does not mind, or round the labels",
                SlowWarning,
                stacklevel=6,
            )

        def model(fit: OrdinalFit) -> OrdinalModel:
            return OrdinalModel(fit.w, fit.thresholds, labels.astype(np.float64), fit.loss)

        found = fit_ordinal(
            train.X, degrees, len(labels), l2=self.l2, loss=self.loss, weight=weight,
            tol=self.tol, max_iter=self.max_iter, start=_start(start, train.n_features),
            each=lambda fit, value: watch(value, model(fit)),
        )  # fmt: skip
        assert found.minimum is not None
        return Learned(
            model(found), found.converged, found.minimum.reason, Certificate.of(found.minimum)
        )

    @property
    def coef_(self) -> Floats:
        """The weights of the features."""
        return self._model().weights

    @property
    def thresholds_(self) -> Floats:
        """Between each two of `degrees_`, never falling."""
        return self._model().thresholds

    @property
    def degrees_(self) -> Floats:
        """The labels seen in training, from the worst."""
        return self._model().labels

    def predict_degree(self, X: Any) -> Floats:
        """The label of each row, one of `degrees_`; it never falls as the score rises.

        All-threshold: by the thresholds the score is above. Proportional odds: the most probable one.
        """
        return self._model().degree(self.predict(X))

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each of `degrees_`, one row a row; they add up to 1."""
        return self._model().probabilities(self.predict(X))

    def _model(self) -> OrdinalModel:
        check_is_fitted(self, "model_")
        assert isinstance(self.model_, OrdinalModel)
        return self.model_


def _start(model: Model | None, n_features: int) -> OrdinalFit | None:
    """Where to begin: at another fit, or at a linear ranker's weights, whose thresholds are unknown."""
    if isinstance(model, OrdinalModel):
        return OrdinalFit(model.weights, model.thresholds, model.loss)
    return None if model is None else OrdinalFit(first_weights(n_features, model), np.empty(0))
