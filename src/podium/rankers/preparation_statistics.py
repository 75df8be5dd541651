"""Statistics of a preparation: fill values, shifts and divisors, learned on the rows of training queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin

from podium.data.mapped_arrays import mapped_file
from podium.errors import DataError, UnknownNameError, UsageError
from podium.rankers.preparation import Bounds, Imputation, Preparation, Scaling, log1p_in_place
from podium.rankers.transformer_steps import (
    SCALERS,
    FillOfTransformer,
    ScaleOfTransformer,
    check_imputer,
    check_scaler,
    is_transformer,
)
from podium.typing import Floats, Rows

BLOCK_COLUMNS = 16
"""Statistics read this many columns at a time, as many as a cache line of float32 has."""


def learn_preparation(
    X: NDArray[Any],
    names: Sequence[str],
    *,
    impute: Imputation | TransformerMixin = "none",
    indicators: bool = False,
    scale: Scaling | TransformerMixin = "none",
    log1p: Sequence[str] = (),
    clip: Mapping[str, Bounds] | None = None,
    rows: Rows | None = None,
) -> Preparation:
    """Learn the steps from the rows of the training queries: all rows of X, or `rows` of them.

    `impute` and `scale` are words, or transformers of scikit-learn (`transformer_steps`).
    A feature without any value is filled with 0. A feature that is constant becomes 0 if it is scaled.

    Examples
    --------
    >>> X = np.array([[0.0, 5.0], [2.0, np.nan]])
    >>> steps = learn_preparation(X, ["clicks", "age"], impute="median", indicators=True, scale="minmax")
    >>> steps.apply(X).tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    """
    n = X.shape[1]
    bounds = {_position(name, names): check_bounds(name, b) for name, b in (clip or {}).items()}
    logs = tuple(sorted({_position(name, names) for name in log1p}))
    has_missing, fill = np.zeros(n, dtype=bool), np.zeros(n)
    shift, divisor = np.zeros(n), np.ones(n)
    fill_value, measure = _fill_statistic(impute), _scale_statistic(scale)
    indicators = indicators or getattr(impute, "add_indicator", False)
    if fill_value is not None or indicators or measure is not None or logs:
        for j, column in _columns(X, rows):
            if j in bounds:
                np.clip(column, *bounds[j], out=column)
            if j in logs:
                log1p_in_place(column, f"feature {names[j]!r}")
            missing = np.isnan(column)
            has_missing[j] = missing.any()
            if fill_value is not None:
                present = column[~missing]
                fill[j] = fill_value(present) if len(present) else 0.0
                column[missing] = fill[j]
            if measure is not None:
                shift[j], divisor[j] = _scale_numbers(measure, column, names[j])
    return Preparation(
        n_features=n,
        clip=bounds,
        log1p=logs,
        fill=None if fill_value is None else fill,
        indicators=tuple(np.flatnonzero(has_missing).tolist()) if indicators else (),
        scale=SCALERS[type(scale).__name__] if is_transformer(scale) else cast(Scaling, scale),
        shift=None if measure is None else shift,
        divisor=None if measure is None else divisor,
    )


def _columns(X: NDArray[Any], rows: Rows | None) -> Any:
    """Yield the number and a float64 copy of each column."""
    width, n = BLOCK_COLUMNS, X.shape[1]
    if mapped_file(X) is not None:  # in little memory: a thirtieth of the features at a time
        width = max(1, min(width, n // 30))
    for first in range(0, n, width):
        places = slice(first, first + width)
        block = X[:, places] if rows is None else X[rows, places]
        yield from enumerate(np.array(block.T, dtype=np.float64, order="C"), start=first)


def _position(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise UnknownNameError("feature to prepare", str(name), map(str, names))
    return list(names).index(name)


def check_bounds(name: str, bounds: Any) -> Bounds:
    """Return the bounds of a clipped feature; raise if they are not two numbers in order."""
    try:
        low, high = (None if b is None else float(b) for b in bounds)
        is_wrong = (low, high) == (None, None)
        is_wrong |= any(b is not None and not math.isfinite(b) for b in (low, high))
    except (TypeError, ValueError):
        is_wrong, low, high = True, None, None
    if is_wrong or (low is not None and high is not None and low > high):
        raise UsageError(
            f"expected the lowest and the highest value to clip {name!r}, got {bounds!r:.80}"
        ).advise(
            python="as in clip={'price': (0, 100)}; None means no bound",
            command_line="as in --clip price=0:100, --clip price=0: or --clip price=:100",
        )
    return low, high


FILL_VALUES: dict[str, Callable[[Floats], Any]] = {
    "median": np.median,
    "mean": np.mean,
    "zero": lambda values: 0.0,
}
"""What missing values become: a statistic of the values that are present."""


def _zscore(values: Floats) -> tuple[Any, Any]:
    return values.mean(), values.std()


def _minmax(values: Floats) -> tuple[Any, Any]:
    return values.min(), values.max() - values.min()


def _robust(values: Floats) -> tuple[Any, Any]:
    low, middle, high = np.percentile(values, [25, 50, 75])
    return middle, high - low


SCALE_STATISTICS: dict[str, Callable[[Floats], tuple[Any, Any]]] = {
    "zscore": _zscore,
    "minmax": _minmax,
    "robust": _robust,
}
"""Scalings over the training data: values -> the shift and the divisor."""


def _fill_statistic(impute: Any) -> Callable[[Floats], Any] | None:
    """Return what computes the fill value of a feature; None if missing values stay missing."""
    if isinstance(impute, str):
        return FILL_VALUES.get(impute)
    check_imputer(impute)
    return FillOfTransformer(impute)


def _scale_statistic(scale: Any) -> Callable[[Floats], tuple[Any, Any]] | None:
    """Return what computes shift and divisor; None without a scaling over the training data."""
    if isinstance(scale, str):
        return SCALE_STATISTICS.get(scale)
    check_scaler(scale)
    return ScaleOfTransformer(scale)


def _scale_numbers(
    measure: Callable[[Floats], tuple[Any, Any]], column: Floats, name: str
) -> tuple[float, float]:
    """Return shift and divisor; a constant feature becomes 0, one without values stays missing.

    Transformers of scikit-learn have their own numbers for constant features.
    """
    values = column[~np.isnan(column)]
    if len(values) == 0:
        return 0.0, 1.0
    if values.min() == values.max() and not isinstance(measure, ScaleOfTransformer):
        return float(values[0]), 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        shift, divisor = map(float, measure(values))
    if not (math.isfinite(shift) and math.isfinite(divisor)):
        raise DataError(
            f"the values of feature {name!r:.80} are too large to scale ({values.min():g} to "
            f"{values.max():g}): their mean or spread is infinite"
        ).advise(
            python=f"clip the feature, as in clip={{{name!r}: (0, 1e6)}}",
            command_line=f"clip the feature, as in --clip {name}=0:1000000",
        )
    return shift, divisor if divisor > 0 else 1.0
