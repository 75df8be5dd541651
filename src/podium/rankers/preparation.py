"""Preparation of features: clip, log1p, impute, scale; their numbers are kept in the model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from podium.data.groups import Groups
from podium.data.mapped_arrays import empty_beside
from podium.data.scaling import SCALERS
from podium.errors import DataError, ModelFileError, UsageError
from podium.rankers.models import ROWS_PER_BLOCK, Part, json_part, vector
from podium.typing import Floats, Rows

Imputation = Literal["none", "median", "mean", "zero"]
Scaling = Literal["none", "zscore", "minmax", "robust", "query-zscore", "query-minmax"]
Bounds = tuple[float | None, float | None]
"""The lowest and the highest value of a clipped feature; None: no bound."""

WITHIN_QUERIES = "query-"
BLOCK_VALUES = 1 << 16
"""Rows are prepared in blocks of about this many values, which fit into a core's cache."""


@dataclass(frozen=True, eq=False)
class Preparation:
    """The steps from raw features to the features of a model: clip, log1p, impute, scale.

    Parameters
    ----------
    n_features
        The number of raw features.
    clip
        Feature number -> its lowest and highest value.
    log1p
        The numbers of the features that become log(1 + x).
    fill
        The value that replaces missing values of each feature; None: they stay missing.
    indicators
        The numbers of the features that get an indicator: 1 if the value is missing, else 0.
        Indicators follow the features, in this order.
    scale
        Over the training data: (x - shift) / divisor. Within queries: query-zscore, query-minmax.
    shift, divisor
        The numbers of a scaling over the training data, one per feature.

    Examples
    --------
    >>> from podium.rankers.preparation_statistics import learn_preparation
    >>> steps = learn_preparation(np.array([[1.0], [np.nan], [3.0]]), ["price"], impute="mean")
    >>> steps.apply(np.array([[np.nan], [5.0]])).tolist()
    [[2.0], [5.0]]
    """

    n_features: int
    clip: Mapping[int, Bounds]
    log1p: tuple[int, ...]
    fill: Floats | None
    indicators: tuple[int, ...]
    scale: Scaling
    shift: Floats | None
    divisor: Floats | None

    @property
    def n_outputs(self) -> int:
        """The number of features that the model sees."""
        return self.n_features + len(self.indicators)

    @property
    def needs_groups(self) -> bool:
        """Whether a step needs all documents of a query."""
        return self.scale.startswith(WITHIN_QUERIES)

    def output_names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the features that the model sees."""
        return [*names, *(f"{names[j]} is missing" for j in self.indicators)]

    def describe(self) -> str:
        """Return the steps in words.

        Examples
        --------
        >>> from podium.rankers.preparation_statistics import learn_preparation
        >>> X = np.array([[1.0], [3.0]])
        >>> learn_preparation(X, ["price"], impute="zero", scale="minmax", log1p=["price"]).describe()
        'log1p of 1 feature, missing values filled in, scaled (minmax)'
        """
        steps = [
            _count_features("clipped", len(self.clip)),
            _count_features("log1p of", len(self.log1p)),
            "" if self.fill is None else "missing values filled in",
            _count_features("indicators of", len(self.indicators)),
            "" if self.scale == "none" else f"scaled ({self.scale})",
        ]
        return ", ".join(filter(None, steps)) or "none"

    # --- use ---

    def apply(
        self, X: NDArray[Any], groups: Groups | None = None, rows: Rows | None = None
    ) -> NDArray[Any]:
        """Return the prepared rows (of X, or `rows` of X), or X itself if there is nothing to do.

        float32 stays float32, and rows of a file go into a file. Scaling within queries needs the
        groups.
        """
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise UsageError(f"expected rows of {self.n_features} features, got shape {X.shape}")
        if self.needs_groups and groups is None:
            raise UsageError(
                "the features are scaled within queries, but the query ids are missing; use a "
                "RankingData, or an array with query ids, as in predict(X, qid=qid)"
            )
        if self._changes_nothing(X):
            return X
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        n = len(X) if rows is None else len(rows)
        out = empty_beside(X, (n, self.n_outputs), dtype)
        step = max(1, BLOCK_VALUES // max(1, self.n_features))
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, n, step):
                places = slice(first, first + step)
                block = X[places] if rows is None else X[rows[places]]
                self._fill_block(block, out[places], first)
            if groups is not None and self.needs_groups:
                self._scale_queries(out, groups)
        return out

    def _scale_queries(self, out: NDArray[Any], groups: Groups) -> None:
        """Scale the features within each query, some queries at a time."""
        scaler = SCALERS[self.scale.removeprefix(WITHIN_QUERIES)]
        for block in groups.blocks(ROWS_PER_BLOCK):
            columns = out[block.rows, : self.n_features]
            columns[:] = scaler(block.groups, columns.astype(np.float64, copy=False))

    def _changes_nothing(self, X: NDArray[Any]) -> bool:
        if self.clip or self.log1p or self.indicators or self.scale != "none":
            return False
        return self.fill is None or X.size == 0 or not np.isnan(X.min())  # min keeps NaN

    def _fill_block(self, X: NDArray[Any], out: NDArray[Any], first_row: int) -> None:
        """Write the prepared rows of a block; scaling within queries follows later."""
        block = X.astype(np.float64)
        missing = np.isnan(block) if self.fill is not None or self.indicators else None
        self._transform(block, first_row)
        if self.fill is not None and missing is not None:
            np.copyto(block, self.fill, where=missing)
        if self.shift is not None and self.divisor is not None:
            block -= self.shift
            block /= self.divisor
        out[:, : self.n_features] = block
        if missing is not None:
            out[:, self.n_features :] = missing[:, list(self.indicators)]

    def _transform(self, block: Floats, first_row: int) -> None:
        """Clip features and take logarithms, in place."""
        for j, (low, high) in self.clip.items():
            np.clip(block[:, j], low, high, out=block[:, j])
        for j in self.log1p:
            log1p_in_place(block[:, j], f"feature {j + 1}", first_row)

    def fold_indicators(self, values: Floats) -> Floats:
        """Add the numbers of indicators to those of their features, along the last axis."""
        out: Floats = np.array(values[..., : self.n_features])
        if self.indicators:
            out[..., list(self.indicators)] += values[..., self.n_features :]
        return out

    # --- files ---

    def parts(self) -> dict[str, Part]:
        """Return the steps as JSON, and their numbers as arrays."""
        steps = {
            "features": self.n_features,
            "clip": [[j, low, high] for j, (low, high) in self.clip.items()],
            "log1p": list(self.log1p),
            "indicators": list(self.indicators),
            "scale": self.scale,
        }
        arrays = {"fill": self.fill, "shift": self.shift, "divisor": self.divisor}
        parts: dict[str, Part] = {"preparation": json.dumps(steps, allow_nan=False)}
        return parts | {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_parts(cls, parts: Mapping[str, Part]) -> Self:
        """Build the steps from their parts; raise a ModelFileError if they do not fit."""
        with json_part(parts, "preparation", "the steps of the preparation") as steps:
            n = steps["features"]
            if type(n) is not int or not 1 <= n < 2**31:
                raise ValueError(f"{n!r:.80} features")
            preparation = cls(
                n_features=n,
                clip=_read_clip(steps["clip"], n),
                log1p=_read_features(steps["log1p"], n),
                fill=_read_numbers(parts, "fill", n),
                indicators=_read_features(steps["indicators"], n),
                scale=_read_scale(steps["scale"]),
                shift=_read_numbers(parts, "shift", n),
                divisor=_read_numbers(parts, "divisor", n),
            )
        preparation.check_scale_numbers()
        return preparation

    def check_scale_numbers(self) -> None:
        """Raise if the numbers of the scaling do not fit its name."""
        needs_numbers = self.scale != "none" and not self.needs_groups
        if {self.shift is None, self.divisor is None} != {not needs_numbers}:
            raise ModelFileError(
                "expected one shift and one divisor per feature for a scaling over the "
                f"training data, and none for {self.scale}"
            )
        if self.divisor is not None and not (self.divisor > 0).all():
            raise ModelFileError("expected divisors above 0 in the preparation of the model")


def _count_features(step: str, n: int) -> str:
    return "" if n == 0 else f"{step} {n:,} feature{'s' * (n > 1)}"


def log1p_in_place(column: Floats, name: str, first_row: int = 0) -> None:
    """Replace x by log(1 + x); raise if a value is -1 or less. Missing values stay missing."""
    if (column <= -1).any():
        row = int(np.argmax(column <= -1))
        raise DataError(
            f"expected values above -1 for log1p, got {column[row]:g} in {name}, row {first_row + row}"
        ).advise(
            python="clip the feature, as in clip={'price': (0, None)}",
            command_line="clip the feature, as in --clip price=0:",
        )
    np.log1p(column, out=column)


def has_preparation(parts: Mapping[str, Part]) -> bool:
    """Whether a model, or a model inside it, prepares its features.

    Examples
    --------
    >>> has_preparation({"0/preparation": "{}"}), has_preparation({"weights": "1"})
    (True, False)
    """
    return any(name.rpartition("/")[2] == "preparation" for name in parts)


# --- reading ---


def _read_features(values: Any, n: int) -> tuple[int, ...]:
    """Return the numbers of features; raise unless they increase."""
    if not isinstance(values, list) or any(type(v) is not int for v in values):
        raise TypeError(f"{values!r:.80} instead of numbers of features")
    if any(not 0 <= v < n for v in values) or sorted(set(values)) != values:
        raise ValueError(f"{values!r:.80} instead of features 0..{n - 1}, each once and in order")
    return tuple(values)


def _read_clip(entries: Any, n: int) -> dict[int, Bounds]:
    clip: dict[int, Bounds] = {}
    for j, low, high in entries:
        if type(j) is not int or not 0 <= j < n or j in clip:
            raise ValueError(f"{j!r:.80} as a clipped feature")
        for bound in (low, high):
            if bound is not None and (type(bound) not in (int, float) or not math.isfinite(bound)):
                raise ValueError(f"{bound!r:.80} as a bound")
        if low is not None and high is not None and low > high:
            raise ValueError(f"the bounds {low!r} and {high!r}")
        clip[j] = low, high
    return clip


def _read_scale(value: Any) -> Scaling:
    if value not in get_args(Scaling):
        raise ValueError(f"the scaling {value!r:.80}")
    scale: Scaling = value
    return scale


def _read_numbers(parts: Mapping[str, Part], name: str, n: int) -> Floats | None:
    if name not in parts:
        return None
    values: Floats = vector(dict(parts), name)
    if len(values) != n:
        raise ModelFileError(f"expected {n} numbers in {name!r} of the model, got {len(values)}")
    return values
