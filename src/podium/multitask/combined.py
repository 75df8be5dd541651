"""A degree for every object and an order within each degree as one score: what RPC-MTL has learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.errors import ModelFileError
from podium.rankers.degrees import OrdinalFit
from podium.rankers.models import Floats, Model, Part, vector
from podium.rankers.thresholds import OrdinalLoss, degree_of, degree_probabilities

if TYPE_CHECKING:
    from podium.multitask.division import Division

Ints = NDArray[np.int64]
Combine = Literal["soft", "hard"]

ROUNDING = 1e-9
"""Scores that differ by less than this share of their terms are taken for equal."""


@dataclass(frozen=True, eq=False)
class Combined(Model):
    """Degrees by ordinal regression, orders within them by one linear function each.

    With P_k the probability of cluster k (0 the best) of K, of degree K - 1 - k, and z_k = w_k.x
    standardised by the objects of cluster k in training:

        soft: s(x) = sum_k P_k (K - 1 - k) + c sum_k P_k z_k
        hard: s(x) = degree(x) + z_k / (2 + 2 |z_k|),  k the cluster of that degree

    The hard score orders by degree first, by w_k.x within it: its second part is below 1/2.

    Parameters
    ----------
    ordinal
        w and thresholds of the degrees.
    W
        One row a cluster, the best first.
    mean, scale
        Of w_k.x in cluster k in training.
    origin
        The features' means in training, against which scores are explained.
    shares
        How much of the training data each cluster is.
    combine, c
        As above.
    division
        The metric and the clusters, as far as they are kept.

    Examples
    --------
    >>> ordinal = OrdinalFit(np.array([4.0, 0.0]), np.array([2.0]))
    >>> W = np.array([[0.0, -1.0], [0.0, 1.0]])
    >>> one, zero, half = np.ones(2), np.zeros(2), np.full(2, 0.5)
    >>> model = Combined(ordinal, W, zero, one, zero, half, "hard", 0.25)
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
    combine: Combine = "soft"
    c: float = 0.1
    division: Division | None = field(default=None, repr=False)

    @property
    def n_features(self) -> int:
        """One a column of W."""
        return int(self.W.shape[1])

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.W)

    def degree(self, X: NDArray[Any]) -> Ints:
        """The degree of each row: 0 the worst, K - 1 the best."""
        return degree_of(
            kernels.matvec(X, self.ordinal.w), self.ordinal.thresholds, self.ordinal.loss
        )

    def probabilities(self, X: NDArray[Any]) -> Floats:
        """The probability of each degree, one column a degree, the worst first."""
        return degree_probabilities(kernels.matvec(X, self.ordinal.w), self.ordinal.thresholds)

    def predict(self, X: NDArray[Any]) -> Floats:
        """The combined score."""
        s, z = self._parts_of(X)
        return self._expected(s, z) if self.combine == "soft" else self._stacked(s, z)

    def _parts_of(self, X: NDArray[Any]) -> tuple[Floats, Floats]:
        """w.x of the degrees, and z_k, one column a degree."""
        z = np.stack([kernels.matvec(X, w) for w in self.W[::-1]], axis=1)
        return kernels.matvec(X, self.ordinal.w), (z - self.mean[::-1]) / self.scale[::-1]

    def _expected(self, s: Floats, z: Floats) -> Floats:
        P = degree_probabilities(s, self.ordinal.thresholds)
        return np.asarray(np.sum(P * (np.arange(self.n_clusters) + self.c * z), axis=1))

    def _stacked(self, s: Floats, z: Floats) -> Floats:
        degree = degree_of(s, self.ordinal.thresholds, self.ordinal.loss)
        own = np.take_along_axis(z, degree[:, None], axis=1)[:, 0]
        # However large z is: rounded to 1/2 it would tie with the degree beside it.
        low, high = np.nextafter(degree - 0.5, degree), np.nextafter(degree + 0.5, degree)
        return np.asarray(np.where(np.isnan(s), s, np.clip(degree + _squashed(own), low, high)))

    def contributions(self, X: NDArray[Any]) -> Floats:
        """What each feature adds, against an object of average features; they add up to the score.

        The score is a function of s = w.x and z_k, which are linear in the features. What it gains by
        s and then by each z_k from the average object to this one is divided among the features as s
        and z_k are. Degrees come first, so that places are those in this object's own degrees:

            soft: sum_k (P_k - P0_k) (K - 1 - k + c z0_k)  by s,  c P_k (z_k - z0_k)  by z_k,

        with P0 and z0 those of the average object. Places in its degree, in which the criterion may
        be the opposite one, do not count.
        """
        s, z = self._parts_of(X)
        s0, z0 = self._parts_of(self.origin[None, :])
        by_s, by_z = (
            self._soft_gains(s, z, s0, z0)
            if self.combine == "soft"
            else (self._hard_gains(s, z, s0, z0))
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
        mine = degree == np.arange(self.n_clusters)
        by_z = np.where(mine, _squashed(z) - _squashed(z0), 0.0)
        # From the average object's degree and place in it to this degree, at the same features.
        before = self._stacked(s0, z0)
        arrived = degree[:, 0] + _squashed(z0[0, degree[:, 0]])
        return arrived - before, by_z

    def importance(self) -> Floats:
        """|w| and c |w_k| / scale_k, each cluster with its share; hard: c = 1/2, the slope at z = 0."""
        within = np.abs(self.W) / self.scale[:, None] * self.shares[:, None]
        c = self.c if self.combine == "soft" else 0.5
        return np.asarray(np.abs(self.ordinal.w) + c * within.sum(axis=0))

    def parts(self) -> dict[str, Part]:
        """Arrays, and the names of what they are combined by."""
        given: dict[str, Part] = {
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
        return given if self.division is None else given | self.division.parts()

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """From these, where they fit each other."""
        from podium.multitask.division import Division

        w, thresholds = vector(parts, "ordinal"), vector(parts, "thresholds")
        d, K = len(w), len(thresholds) + 1
        if not d or K < 2 or (np.diff(thresholds) < 0).any():
            raise ModelFileError("expected rising thresholds of 2 degrees or more in the model")
        loss, combine = parts.get("loss"), parts.get("combine")
        if loss not in get_args(OrdinalLoss) or combine not in get_args(Combine):
            raise ModelFileError("expected how degrees are made and combined in the model")
        W = _sized(parts, "tasks", K * d).reshape(K, d)
        mean, scale, shares = (_sized(parts, name, K) for name in ("mean", "scale", "shares"))
        c = float(_sized(parts, "c", 1)[0])
        origin = _sized(parts, "origin", d)
        with np.errstate(over="ignore"):
            size = np.maximum(np.abs(mean), np.abs(W) @ np.abs(origin))
        if (scale != spread_or_one(scale, size)).any() or (shares < 0).any() or c < 0:
            raise ModelFileError("expected scales above 0 and shares of 0 or more in the model")
        ordinal = OrdinalFit(w, thresholds, loss)  # type: ignore[arg-type]
        division = Division.from_parts(parts, K, d) if "division" in parts else None
        return cls(ordinal, W, mean, scale, origin, shares, combine, c, division)  # type: ignore[arg-type]


def _sized(parts: dict[str, Part], name: str, size: int) -> Floats:
    value = vector(parts, name)
    if len(value) != size:
        raise ModelFileError(f"expected {size} numbers as {name!r} of the model, got {len(value)}")
    return value


def spread_or_one(scale: Floats, size: Floats) -> Floats:
    """The standard deviations; 1 where one is but the rounding of scores with terms of that size."""
    return np.where(scale > ROUNDING * size, scale, 1.0)


def _squashed(z: Floats) -> Floats:
    """z / (2 + 2 |z|): between -1/2 and 1/2, in the order of z."""
    return np.asarray(0.5 * (z / (1 + np.abs(z))))


def _ratio(gain: Floats, moved: Floats) -> Floats:
    """gain / moved, 0 where nothing moved."""
    return np.divide(gain, moved, out=np.zeros(len(gain)), where=moved != 0)
