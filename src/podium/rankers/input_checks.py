"""Inputs of rankers: arrays and frames as RankingData, and their features compared with training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from numpy.typing import ArrayLike

from podium.data import RankingData
from podium.data.categories import CategoryForm
from podium.data.data_frames import encode_frame
from podium.data.query_ids import values_per_query
from podium.data.ranking_columns import Missing
from podium.errors import DataError, ScalingError, UsageError


def check_feature_count(got: int, expected: int, what: str) -> None:
    """Raise if data has another number of features than the training data."""
    if got != expected:
        raise DataError(f"expected {expected} features, as in training, got {got} in {what}")


def check_feature_names(
    names: Sequence[str] | None, expected: Sequence[str] | None, what: str
) -> None:
    """Raise if features have other names, or another order, than those of the training data."""
    if names is None or expected is None or list(names) == list(expected):
        return
    lacking = [name for name in expected if name not in names]
    if lacking:
        raise DataError(
            f"expected the features of the training data, got no {_first_names(lacking)} in {what}"
        )
    raise DataError(
        f"expected the features of the training data in their order "
        f"({_first_names(expected)}), got {_first_names(names)} in {what}"
    )


def check_scaling(scaled: str | None, expected: str | None, what: str) -> None:
    """Raise if features are scaled within queries in another way than in training."""
    if scaled == expected:
        return
    if expected is None:
        python = "use the raw features, or train on features scaled so"
        command_line = "give the raw data, or train on data scaled so"
    else:
        python = (
            f"scale them with scale_by_query(data, {expected!r}), or say that they are, as in "
            f"RankingData.from_arrays(..., scaled={expected!r})"
        )
        command_line = (
            f"scale them with podium data convert --scale {expected}, or say that they are with "
            f"podium data convert --scaled {expected}"
        )
    raise ScalingError(
        f"expected features {_scaling_text(expected)}, as the training data has them, got "
        f"{_scaling_text(scaled)} in {what}"
    ).advise(
        python=f"{python}; predict(data, ignore_scaling=True) takes them as they are",
        command_line=f"{command_line}; --ignore-scaling takes them as they are",
    )


def _scaling_text(scaled: str | None) -> str:
    return "not scaled by query" if scaled is None else f"scaled by query ({scaled})"


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(map(str, list(names)[:5])) + (", ..." if len(names) > 5 else "")


def as_data(
    X: Any,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    *,
    scaled: str | None = None,
    missing: Missing = "error",
    categories: Mapping[str, CategoryForm] | None = None,
) -> RankingData:
    """Return RankingData as it is, or make it of (X, y, qid), a tuple or three arguments.

    `scaled` says how arrays are scaled by query, for they do not say it themselves. `categories` are
    the columns of a frame that are words; by default those of a categorical type.
    """
    if isinstance(X, RankingData):
        if y is not None or qid is not None:
            raise UsageError("expected RankingData alone, got labels or query ids beside it")
        if query_weight is None:
            return X
        values = {f.name: getattr(X, f.name) for f in fields(RankingData)}
        first = X.groups.offsets[:-1]
        weight = values_per_query(query_weight, X.groups.codes, first, "sample_weight")
        return RankingData(**{**values, "query_weight": weight})
    if isinstance(X, tuple) and y is None and len(X) == 3:
        X, y, qid = X
    if y is None:
        raise UsageError(
            "expected labels y beside X, or a RankingData (as valid= also a tuple (X, y, qid)), "
            f"got {type(X).__name__} alone"
        )
    if qid is None:
        raise UsageError(
            "expected query ids (qid=...), one per row, to know which rows belong together, got none; "
            "in scikit-learn's model selection switch on metadata routing "
            "(sklearn.set_config(enable_metadata_routing=True)) and pass params={'qid': qid}"
        )
    names, words = column_names(X), None
    if names is not None and (encoded := encode_frame(X, missing, categories)) is not None:
        X, words = encoded
    return RankingData.from_arrays(
        X, y, qid=qid, query_weight=query_weight, feature_names=names, scaled=scaled, missing=missing,
        categories=words or {},
    )  # fmt: skip


def column_names(X: Any) -> list[str] | None:
    """Return the columns of a data frame if all of them have names."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    return list(columns)
