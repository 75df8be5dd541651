"""Scaling that engines can do: (x - shift) / divisor, the same for every query."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import SCALERS
from podium.errors import CannotExpressError, DataError, UnknownNameError, UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Standard:
    """(x - mean) / standard deviation.

    Examples
    --------
    >>> Standard(10.0, 2.0)(13.0)
    1.5
    """

    mean: float
    standard_deviation: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and 0 < self.standard_deviation < math.inf):
            raise UsageError(f"expected a finite mean and a standard deviation above 0, got {self}")

    @property
    def shift(self) -> float:
        """What is taken off."""
        return self.mean

    @property
    def divisor(self) -> float:
        """What is divided by."""
        return self.standard_deviation

    def __call__(self, x: Any) -> Any:
        """A scaled value."""
        return (x - self.mean) / self.standard_deviation


@dataclass(frozen=True)
class MinMax:
    """(x - minimum) / (maximum - minimum); values outside go below 0 and above 1.

    Examples
    --------
    >>> MinMax(0.0, 50.0)(25.0)
    0.5
    """

    minimum: float
    maximum: float

    def __post_init__(self) -> None:
        if not -math.inf < self.minimum < self.maximum < math.inf:
            raise UsageError(f"expected a minimum below a maximum, got {self}")

    @property
    def shift(self) -> float:
        """What is taken off."""
        return self.minimum

    @property
    def divisor(self) -> float:
        """What is divided by."""
        return self.maximum - self.minimum

    def __call__(self, x: Any) -> Any:
        """A scaled value."""
        return (x - self.minimum) / (self.maximum - self.minimum)


Normalizer = Standard | MinMax
NORMALIZERS: dict[str, type[Standard] | type[MinMax]] = {"standard": Standard, "min_max": MinMax}
"""By the names that Elasticsearch has for them."""


def fit_normalizers(X: Any, names: Sequence[str], kind: str = "standard") -> dict[str, Normalizer]:
    """One normalizer a feature, from the rows of all queries; a constant feature has none.

    Examples
    --------
    >>> fit_normalizers([[0.0, 5.0], [2.0, 5.0]], ["clicks", "year"])
    {'clicks': Standard(mean=1.0, standard_deviation=1.0)}
    """
    if kind not in NORMALIZERS:
        raise UnknownNameError("normalizer", kind, NORMALIZERS)
    matrix = np.asarray(X, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise DataError(f"expected {len(names)} columns, got an array of shape {matrix.shape}")
    found: dict[str, Normalizer] = {}
    for name, x in zip(names, matrix.T, strict=True):
        low, high = float(np.nanmin(x)), float(np.nanmax(x))
        if low < high and kind == "standard":
            found[name] = Standard(float(np.nanmean(x)), float(np.nanstd(x)))
        elif low < high:
            found[name] = MinMax(low, high)
    return found


def normalize(X: Any, names: Sequence[str], normalizers: Mapping[str, Normalizer]) -> Floats:
    """A matrix with its columns scaled, for training.

    Examples
    --------
    >>> normalize([[3.0, 5.0]], ["clicks", "year"], {"clicks": Standard(1.0, 2.0)}).tolist()
    [[1.0, 5.0]]
    """
    out = np.array(X, dtype=np.float64)
    for j, name in enumerate(names):
        if name in normalizers:
            out[:, j] = normalizers[name](out[:, j])
    return out


def read_normalizers(told: Any, names: Sequence[str]) -> tuple[Normalizer | None, ...]:
    """One a feature, from what a user has: by name, as Elasticsearch tells them, or a fitted scaler.

    Examples
    --------
    >>> read_normalizers({"a": {"min_max": {"minimum": 0, "maximum": 4}}}, ["a", "b"])
    (MinMax(minimum=0, maximum=4), None)
    """
    if told is None:
        return (None,) * len(names)
    if isinstance(told, str):
        raise _not_by_feature(told)
    if not isinstance(told, Mapping):
        return _of_scaler(told, len(names))
    for name in told:
        if name not in names:
            raise UnknownNameError("feature", str(name), names)
    return tuple(_normalizer(name, told[name]) if name in told else None for name in names)


def _not_by_feature(name: str) -> UsageError:
    if name not in SCALERS:
        return UsageError(f"expected normalizers by feature or a fitted scaler, got {name!r}")
    return scaled_by_query(name)


def scaled_by_query(name: str) -> CannotExpressError:
    """What is said of features that were scaled within each query."""
    return CannotExpressError(
        f"scaling by query ({name}) needs all documents of a query, and engines score one document "
        "at a time; nearest: scale by the training data's own numbers (fit_normalizers, normalize), "
        "train on that, and export with these normalizers"
    )


def _normalizer(name: str, told: Any) -> Normalizer:
    if isinstance(told, Standard | MinMax):
        return told
    if isinstance(told, Mapping) and len(told) == 1:
        ((kind, settings),) = told.items()
        if kind in NORMALIZERS and isinstance(settings, Mapping):
            try:
                return NORMALIZERS[kind](**settings)
            except TypeError:
                pass
    raise UsageError(
        f"expected a normalizer of {name!r} as in {{'standard': {{'mean': 1970, "
        "'standard_deviation': 30}} or {'min_max': {'minimum': 0, 'maximum': 10}}, "
        f"got {told!r}"
    )


def _of_scaler(scaler: Any, n: int) -> tuple[Normalizer | None, ...]:
    """scikit-learn's scalers that are (x - shift) / divisor."""
    kind = type(scaler).__name__
    if kind not in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"):
        raise CannotExpressError(
            f"{kind} is no scaling of single features by two numbers each, which is all that "
            "engines do; nearest: StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler"
        )
    if getattr(scaler, "clip", False):
        raise CannotExpressError(
            "engines do not clip scaled features; nearest: MinMaxScaler(clip=False)"
        )
    fitted = getattr(scaler, "n_features_in_", 0)
    if fitted != n:
        raise UsageError(f"expected a scaler fitted on {n} features, got one on {fitted}")
    if kind == "MinMaxScaler":
        shift, divisor = -scaler.min_ / scaler.scale_, 1 / scaler.scale_
    else:
        shift = getattr(scaler, "mean_", getattr(scaler, "center_", None))
        divisor = scaler.scale_
    with_shift = getattr(scaler, "with_mean", getattr(scaler, "with_centering", True))
    shift = np.zeros(n) if shift is None or not with_shift else shift
    divisor = np.ones(n) if divisor is None else divisor
    return tuple(Standard(float(a), float(b)) for a, b in zip(shift, divisor, strict=True))
