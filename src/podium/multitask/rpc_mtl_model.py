"""Fitted model of RPC-MTL: the degree of an object and its place within the degree, as one score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.errors import ModelFileError
from podium.multitask.preference_degrees import Division
from podium.rankers.models import Model, Part, vector
from podium.rankers.ordinal_fit import OrdinalFit
from podium.rankers.ordinal_thresholds import OrdinalLoss, degree_of, degree_probabilities
from podium.typing import Floats, Ints

Combination = Literal["soft", "hard"]
"""How a score combines degree and place: a sum of expectations, or the degree first."""

ROUNDING = 1e-9
"""Scores count as equal if they differ by less than this share of their terms."""


@dataclass(frozen=True, eq=False)
class RPCMTLModel(Model):
    """Degrees by ordinal regression, and one linear function per degree for the order within it.

    Let P_k be the probability of cluster k of K (0 is the best), which has degree K - 1 - k, and
    z_k = w_k.x, standardised by the objects of cluster k in training:

        soft: s(x) = sum_k P_k (K - 1 - k) + c sum_k P_k z_k
        hard: s(x) = degree(x) + z_k / (2 + 2 |z_k|),  k the cluster of that degree

    The hard score orders by degree first, then by w_k.x: its second part is below 1/2.

    Parameters
    ----------
    ordinal
        w and thresholds of the degrees.
    W
        The weights of the linear functions, one row per cluster, the best cluster first.
    mean, scale
        The mean and standard deviation of w_k.x in cluster k in training.
    origin
        The means of the features in training; explanations are relative to them.
    shares
        The share of each cluster in the training data.
    combine, c
        As above.
    division
        The metric and the clusters; None if they were not kept.

    Examples
    --------
    >>> ordinal = OrdinalFit(np.array([4.0, 0.0]), np.array([2.0]))
    >>> W = np.array([[0.0, -1.0], [0.0, 1.0]])
    >>> one, zero, half = np.ones(2), np.zeros(2), np.full(2, 0.5)
    >>> model = RPCMTLModel(ordinal, W, zero, one, zero, half, "hard", 0.25)
    >>> X = np.array([[1.0, 0.2], [1.0, 0.8], [0.0, 0.8], [0.0, 0.2]])
    >>> model.degree(X).tolist(), np.argsort(-model.predict(X)).tolist()
    ([1, 1, 0, 0], [0, 1, 2, 3])
    """

    kind: ClassVar[str] = "combined"

    ordinal: OrdinalFit
    W: Floats
    mean: Floats
    scale: Floats
    origin: Floats
    shares: Floats
    combine: Combination = "soft"
    c: float = 0.1
    division: Division | None = field(default=None, repr=False)

    @property
    def n_features(self) -> int:
        """The number of columns of W."""
        return int(self.W.shape[1])

    @property
    def n_clusters(self) -> int:
        """K, the number of clusters."""
        return len(self.W)

    def degree(self, X: NDArray[Any]) -> Ints:
        """Return the degree of each row: 0 is the worst, K - 1 the best."""
        return degree_of(
            kernels.matvec(X, self.ordinal.w), self.ordinal.thresholds, self.ordinal.loss
        )

    def probabilities(self, X: NDArray[Any]) -> Floats:
        """Return the probability of each degree, one column per degree, the worst first."""
        return degree_probabilities(kernels.matvec(X, self.ordinal.w), self.ordinal.thresholds)

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return the combined score of each row."""
        s, z = self._linear_terms(X)
        return self._soft_scores(s, z) if self.combine == "soft" else self._hard_scores(s, z)

    def _linear_terms(self, X: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return w.x of the degrees, and z_k, one column per degree."""
        z = np.stack([kernels.matvec(X, w) for w in self.W[::-1]], axis=1)
        return kernels.matvec(X, self.ordinal.w), (z - self.mean[::-1]) / self.scale[::-1]

    def _soft_scores(self, s: Floats, z: Floats) -> Floats:
        P = degree_probabilities(s, self.ordinal.thresholds)
        return np.asarray(np.sum(P * (np.arange(self.n_clusters) + self.c * z), axis=1))

    def _hard_scores(self, s: Floats, z: Floats) -> Floats:
        degree = degree_of(s, self.ordinal.thresholds, self.ordinal.loss)
        own = np.take_along_axis(z, degree[:, None], axis=1)[:, 0]
        # A large z must not round to 1/2, because it would tie with the next degree.
        low, high = np.nextafter(degree - 0.5, degree), np.nextafter(degree + 0.5, degree)
        return np.asarray(np.where(np.isnan(s), s, np.clip(degree + _squash(own), low, high)))

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Return what each feature adds to the score, compared with an object of average features.

        The score is a function of s = w.x and z_k, which are linear in the features. Its change
        from the average object to this one, first by s and then by each z_k, is divided among the
        features in the same proportions as s and z_k. Degrees come first, so that places are those
        within this object's degrees:

            soft: sum_k (P_k - P0_k) (K - 1 - k + c z0_k)  by s,  c P_k (z_k - z0_k)  by z_k,

        with P0 and z0 of the average object. Places within the average object's degree do not
        count, because the criterion there may be the opposite.
        """
        s, z = self._linear_terms(X)
        s0, z0 = self._linear_terms(self.origin[None, :])
        by_s, by_z = (
            self._soft_gains(s, z, s0, z0)
            if self.combine == "soft"
            else self._hard_gains(s, z, s0, z0)
        )
        moved = np.asarray(X, dtype=np.float64) - self.origin
        slopes = _ratio(by_s, s - s0)[:, None] * self.ordinal.w
        own = self.W[::-1] / self.scale[::-1, None]
        for k in range(self.n_clusters):
            slopes += _ratio(by_z[:, k], z[:, k] - z0[:, k])[:, None] * own[k]
        return np.asarray(slopes * moved)

    def _soft_gains(self, s: Floats, z: Floats, s0: Floats, z0: Floats) -> tuple[Floats, Floats]:
        P, P0 = (degree_probabilities(v, self.ordinal.thresholds) for v in (s, s0))
        worth = np.arange(self.n_clusters) + self.c * z0
        return np.sum((P - P0) * worth, axis=1), self.c * P * (z - z0)

    def _hard_gains(self, s: Floats, z: Floats, s0: Floats, z0: Floats) -> tuple[Floats, Floats]:
        degree = degree_of(s, self.ordinal.thresholds, self.ordinal.loss)[:, None]
        is_degree = degree == np.arange(self.n_clusters)
        by_z = np.where(is_degree, _squash(z) - _squash(z0), 0.0)
        # The step from the average object's degree and place to this degree, with the average
        # features.
        average = self._hard_scores(s0, z0)
        in_degree = degree[:, 0] + _squash(z0[0, degree[:, 0]])
        return in_degree - average, by_z

    def importance(self) -> Floats:
        """Return |w| + c sum_k share_k |w_k| / scale_k; hard: c = 1/2, the slope at z = 0."""
        by_cluster = np.abs(self.W) / self.scale[:, None] * self.shares[:, None]
        c = self.c if self.combine == "soft" else 0.5
        return np.asarray(np.abs(self.ordinal.w) + c * by_cluster.sum(axis=0))

    def parts(self) -> dict[str, Part]:
        """Return the parts of a model file."""
        parts: dict[str, Part] = {
            "ordinal": self.ordinal.w,
            "thresholds": self.ordinal.thresholds,
            "loss": self.ordinal.loss,
            "tasks": self.W.ravel(),
            "mean": self.mean,
            "scale": self.scale,
            "origin": self.origin,
            "shares": self.shares,
            "combine": self.combine,
            "c": np.array([self.c]),
        }
        return parts if self.division is None else parts | self.division.parts()

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the model from its parts; raise ModelFileError if they do not fit each other."""
        w, thresholds = vector(parts, "ordinal"), vector(parts, "thresholds")
        d, K = len(w), len(thresholds) + 1
        if not d or K < 2 or (np.diff(thresholds) < 0).any():
            raise ModelFileError("expected rising thresholds of 2 degrees or more in the model")
        loss, combine = parts.get("loss"), parts.get("combine")
        if loss not in get_args(OrdinalLoss) or combine not in get_args(Combination):
            raise ModelFileError(
                "the model must name the loss of its degrees and how they are combined"
            )
        W = _read_vector(parts, "tasks", K * d).reshape(K, d)
        mean, scale, shares = (_read_vector(parts, name, K) for name in ("mean", "scale", "shares"))
        c = float(_read_vector(parts, "c", 1)[0])
        origin = _read_vector(parts, "origin", d)
        with np.errstate(over="ignore"):
            size = np.maximum(np.abs(mean), np.abs(W) @ np.abs(origin))
        if (scale != scale_or_one(scale, size)).any() or (shares < 0).any() or c < 0:
            raise ModelFileError("expected scales above 0 and shares of 0 or more in the model")
        ordinal = OrdinalFit(w, thresholds, loss)  # type: ignore[arg-type]
        division = Division.from_parts(parts, K, d) if "division" in parts else None
        return cls(ordinal, W, mean, scale, origin, shares, combine, c, division)  # type: ignore[arg-type]


def _read_vector(parts: dict[str, Part], name: str, size: int) -> Floats:
    value = vector(parts, name)
    if len(value) != size:
        raise ModelFileError(f"expected {size} numbers as {name!r} of the model, got {len(value)}")
    return value


def scale_or_one(scale: Floats, size: Floats) -> Floats:
    """Return standard deviations; 1 replaces one that is only a rounding error of terms of that size."""
    return np.where(scale > ROUNDING * size, scale, 1.0)


def _squash(z: Floats) -> Floats:
    """Return z / (2 + 2 |z|): between -1/2 and 1/2, in the order of z."""
    return np.asarray(0.5 * (z / (1 + np.abs(z))))


def _ratio(gain: Floats, moved: Floats) -> Floats:
    """Return gain / moved, 0 if nothing moved."""
    return np.divide(gain, moved, out=np.zeros(len(gain)), where=moved != 0)
