"""What a ranker is given, as RankingData: taken from arrays and frames, checked, and held out in part."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data import RankingData, shuffled_queries
from podium.data.arrays import per_query
from podium.data.ranking_data import Missing
from podium.errors import DataError, ScalingWarning, UsageError


def contrasting_queries(data: RankingData) -> NDArray[np.bool_]:
    """Queries with documents of different labels; the others say nothing about an order."""
    lowest = data.groups.reduce(np.minimum, data.y)
    return np.asarray(lowest < data.groups.reduce(np.maximum, data.y))


def drop_weightless_queries(data: RankingData) -> RankingData:
    """The queries that count; one of weight 0 must not even move a threshold or a scale."""
    if data.query_weight is None or data.query_weight.all():
        return data
    return data.subset(data.query_weight > 0)


def hold_out(data: RankingData, share: float, seed: int) -> tuple[RankingData, RankingData | None]:
    """Queries to train on and to validate on, at least one with different labels each, or no validation.

    Only queries with different labels are held out: the others validate nothing.
    """
    order = shuffled_queries(data, seed)
    order = order[contrasting_queries(data)[order]]
    n = min(max(round(share * len(order)), 1), len(order) - 1)
    if n < 1:
        return data, None
    held = np.isin(np.arange(data.n_queries), order[:n])
    return data.subset(~held), data.subset(held)


def check_count(got: int, expected: int, what: str) -> None:
    """Raise where data has not the training data's number of features."""
    if got != expected:
        raise DataError(f"expected {expected} features, as in training, got {got} in {what}")


def check_names(names: Sequence[str] | None, expected: Sequence[str] | None, what: str) -> None:
    """Raise where both are named, and not alike."""
    if names is not None and expected is not None and list(names) != list(expected):
        raise DataError(
            f"expected the features of the training data in their order "
            f"({_shown(expected)}), got {_shown(names)} in {what}"
        )


def check_scaling(scaled: str | None, expected: str | None, what: str) -> None:
    """Warn where features were scaled by query in training, and otherwise or not at all here."""
    if expected is not None and scaled != expected:
        got = "none" if scaled is None else scaled
        warnings.warn(
            f"expected features scaled by query ({expected}), as the training data has them, got "
            f"{got} in {what}: scale them (scale_by_query, podium data convert --scale), or say that they "
            "are (RankingData.scaled, podium data convert --scaled)",
            ScalingWarning,
            stacklevel=4,
        )


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(str, list(names)[:5])) + (", ..." if len(names) > 5 else "")


def check_labels_differ(data: RankingData, name: str) -> None:
    """Raise where all documents have one label: what looks at single documents learns nothing then."""
    if data.y.min() == data.y.max():
        raise DataError(
            f"expected documents of different labels to train {name}, got {data.y[0]:g} only"
        )


def as_data(
    X: Any,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    *,
    scaled: str | None = None,
    missing: Missing = "error",
) -> RankingData:
    """RankingData as it is, or made of (X, y, qid), together or apart, which do not say of themselves
    whether they are scaled by query."""
    if isinstance(X, RankingData):
        if y is not None or qid is not None:
            raise UsageError("expected RankingData alone, got labels or query ids beside it")
        if query_weight is None:
            return X
        values = {f.name: getattr(X, f.name) for f in fields(RankingData)}
        first = X.groups.offsets[:-1]
        weight = per_query(query_weight, X.groups.codes, first, "sample_weight")
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
            "expected query ids (qid=...), one a row, to know which rows belong together, got none; "
            "in scikit-learn's model selection switch on metadata routing "
            "(sklearn.set_config(enable_metadata_routing=True)) and pass params={'qid': qid}"
        )
    return RankingData.from_arrays(
        X, y, qid=qid, query_weight=query_weight, feature_names=column_names(X), scaled=scaled,
        missing=missing,
    )  # fmt: skip


def column_names(X: Any) -> list[str] | None:
    """The columns of a data frame, where they are named."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    return list(columns)
