"""The scaling that engines support: (x - shift) / divisor, the same for every query."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data import SCALERS
from podium.errors import CannotExpressError, DataError, UnknownNameError, UsageError
from podium.typing import Floats


@dataclass(frozen=True)
class Standard:
    """The normalizer (x - mean) / standard deviation.

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
        """The number that is subtracted."""
        return self.mean

    @property
    def divisor(self) -> float:
        """The number to divide by."""
        return self.standard_deviation

    def __call__(self, x: Any) -> Any:
        """Return the scaled value."""
        return (x - self.mean) / self.standard_deviation


@dataclass(frozen=True)
class MinMax:
    """The normalizer (x - minimum) / (maximum - minimum); values outside the range become below 0 or above 1.

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
        """The number that is subtracted."""
        return self.minimum

    @property
    def divisor(self) -> float:
        """The number to divide by."""
        return self.maximum - self.minimum

    def __call__(self, x: Any) -> Any:
        """Return the scaled value."""
        return (x - self.minimum) / (self.maximum - self.minimum)


Normalizer = Standard | MinMax
NORMALIZERS: dict[str, type[Standard] | type[MinMax]] = {"standard": Standard, "min_max": MinMax}
"""Normalizers by their names in Elasticsearch."""


def fit_normalizers(X: Any, names: Sequence[str], kind: str = "standard") -> dict[str, Normalizer]:
    """Return one normalizer per feature, from the rows of all queries; a constant feature has none.

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
    normalizers: dict[str, Normalizer] = {}
    for name, x in zip(names, matrix.T, strict=True):
        low, high = float(np.nanmin(x)), float(np.nanmax(x))
        if low < high and kind == "standard":
            normalizers[name] = Standard(float(np.nanmean(x)), float(np.nanstd(x)))
        elif low < high:
            normalizers[name] = MinMax(low, high)
    return normalizers


def normalize(X: Any, names: Sequence[str], normalizers: Mapping[str, Normalizer]) -> Floats:
    """Return a matrix with its columns scaled, for training.

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


def read_normalizers(normalizers: Any, names: Sequence[str]) -> tuple[Normalizer | None, ...]:
    """Return one normalizer per feature, None for features that are not scaled.

    Normalizers may be given by name, in the form of Elasticsearch, or as a fitted scaler.

    Examples
    --------
    >>> read_normalizers({"a": {"min_max": {"minimum": 0, "maximum": 4}}}, ["a", "b"])
    (MinMax(minimum=0, maximum=4), None)
    """
    if normalizers is None:
        return (None,) * len(names)
    if isinstance(normalizers, str):
        raise _scaler_name_error(normalizers)
    if not isinstance(normalizers, Mapping):
        return _from_scaler(normalizers, len(names))
    for name in normalizers:
        if name not in names:
            raise UnknownNameError("feature", str(name), names)
    return tuple(
        _read_normalizer(name, normalizers[name]) if name in normalizers else None for name in names
    )


def _scaler_name_error(name: str) -> UsageError:
    if name not in SCALERS:
        return UsageError(f"expected normalizers by feature or a fitted scaler, got {name!r}")
    return scaled_by_query_error(name)


def scaled_by_query_error(name: str) -> CannotExpressError:
    """Return the error for features that were scaled within each query."""
    return CannotExpressError(
        f"scaling by query ({name}) needs all documents of a query, but engines score one "
        "document at a time; nearest: scale over the training data (fit_normalizers, "
        "normalize), train on that, and export with these normalizers"
    )


def _read_normalizer(name: str, value: Any) -> Normalizer:
    if isinstance(value, Standard | MinMax):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, settings),) = value.items()
        if kind in NORMALIZERS and isinstance(settings, Mapping):
            try:
                return NORMALIZERS[kind](**settings)
            except TypeError:
                pass
    raise UsageError(
        f"expected a normalizer of {name!r} as in {{'standard': {{'mean': 1970, "
        "'standard_deviation': 30}} or {'min_max': {'minimum': 0, 'maximum': 10}}, "
        f"got {value!r}"
    )


def _from_scaler(scaler: Any, n: int) -> tuple[Normalizer | None, ...]:
    """Return the normalizers of a scaler of scikit-learn that computes (x - shift) / divisor."""
    kind = type(scaler).__name__
    if kind not in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"):
        raise CannotExpressError(
            f"{kind} does not scale each feature by two numbers, but engines support nothing "
            "else; nearest: StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler"
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
