"""Transformers of scikit-learn as steps of a preparation: their numbers go into the model file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin, clone

from podium.errors import UsageError
from podium.rankers.preparation import Scaling
from podium.typing import Floats

IMPUTERS = {"SimpleImputer": "sklearn.impute"}
SCALERS: dict[str, Scaling] = {
    "StandardScaler": "zscore",
    "MinMaxScaler": "minmax",
    "RobustScaler": "robust",
}
"""Scalers that are (x - shift) / divisor, and the names of podium's own ones that are like them."""

_STRATEGIES = ("mean", "median", "most_frequent", "constant")


def check_imputer(imputer: Any) -> None:
    """Raise unless an imputer fills in one number per feature."""
    name = _class_name(imputer)
    if name not in IMPUTERS:
        raise _no_step("impute", imputer, "SimpleImputer()")
    if imputer.strategy not in _STRATEGIES:
        raise UsageError(
            f"expected a SimpleImputer with the strategy {', '.join(_STRATEGIES)}, "
            f"got {imputer.strategy!r:.80}"
        )
    if not (isinstance(imputer.missing_values, float) and math.isnan(imputer.missing_values)):
        raise UsageError(
            f"expected a SimpleImputer for NaN, got missing_values={imputer.missing_values!r:.80}"
        )
    if imputer.strategy == "constant" and not isinstance(
        imputer.fill_value, int | float | np.number | None
    ):
        raise UsageError(f"expected a number as fill_value, got {imputer.fill_value!r:.80}")


def check_scaler(scaler: Any) -> None:
    """Raise unless a scaler is (x - shift) / divisor for each feature."""
    if _class_name(scaler) not in SCALERS:
        raise _no_step("scale", scaler, "StandardScaler(), MinMaxScaler() or RobustScaler()")
    if getattr(scaler, "clip", False):
        raise UsageError(
            "expected a MinMaxScaler that does not clip, got clip=True; clip= of Prepared clips features"
        )


def _no_step(parameter: str, transformer: Any, expected: str) -> UsageError:
    return UsageError(
        f"expected {parameter} to be a word, {expected}, got {transformer!r:.80}; a .podium file cannot "
        "hold other transformers; put it before a ranker in a Pipeline, which stays in memory"
    )


def _class_name(transformer: Any) -> str:
    """The name of a class of scikit-learn; empty for other classes, subclasses included."""
    owner = type(transformer)
    return owner.__name__ if owner.__module__.startswith("sklearn.") else ""


@dataclass(frozen=True)
class FillOfTransformer:
    """What an imputer fills in for a feature.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> FillOfTransformer(SimpleImputer(strategy="most_frequent"))(np.array([3.0, 3.0, 9.0]))
    3.0
    """

    imputer: Any

    def __call__(self, values: Floats) -> float:
        """Return the fill value for a feature with these values."""
        return float(clone(self.imputer).fit(values[:, None]).statistics_[0])


@dataclass(frozen=True)
class ScaleOfTransformer:
    """The shift and the divisor by which a scaler scales a feature.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> ScaleOfTransformer(MinMaxScaler())(np.array([10.0, 14.0]))
    (10.0, 4.0)
    """

    scaler: Any

    def __call__(self, values: Floats) -> tuple[float, float]:
        """Return shift and divisor for a feature with these values."""
        fitted = clone(self.scaler).fit(values[:, None])
        name = type(fitted).__name__
        if name == "MinMaxScaler":  # x * scale_ + min_
            return float(-fitted.min_[0] / fitted.scale_[0]), float(1 / fitted.scale_[0])
        shift = fitted.mean_ if name == "StandardScaler" else fitted.center_
        has_shift = fitted.with_mean if name == "StandardScaler" else fitted.with_centering
        divisor = 1.0 if fitted.scale_ is None else float(fitted.scale_[0])
        return float(shift[0]) if has_shift else 0.0, divisor


def transformer_to_json(transformer: Any, name: str) -> dict[str, Any]:
    """Return a transformer as its class and the parameters that are not the default ones."""
    if _class_name(transformer) not in {*IMPUTERS, *SCALERS}:
        raise _no_step(name, transformer, "a SimpleImputer or a scaler")
    default = type(transformer)().get_params()
    values = transformer.get_params().items()
    changed = {key: value for key, value in values if repr(value) != repr(default[key])}
    return {"transformer": type(transformer).__name__, "parameters": changed}


def transformer_from_json(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return the transformer of a model file; raise for a class that is none of the known ones."""
    if name not in {*IMPUTERS, *SCALERS}:
        raise UsageError(f"expected a known transformer, got {name!r:.80}")
    module = import_module(IMPUTERS.get(name, "sklearn.preprocessing"))
    return getattr(module, name)(**parameters)


def is_transformer(value: Any) -> bool:
    """Whether a value is a transformer of scikit-learn, or of its kind."""
    return isinstance(value, TransformerMixin)
