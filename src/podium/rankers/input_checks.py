"""Inputs of rankers: convert arrays and frames to RankingData; compare their features with training."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import narwhals as nw
import sklearn
from numpy.typing import ArrayLike

from podium.data import Collection, RankingData
from podium.data.categories import CategoryForm
from podium.data.data_frames import encode_frame
from podium.data.query_ids import values_per_query
from podium.data.ranking_columns import Missing
from podium.errors import DataError, ScalingError, UsageError


def check_feature_count(got: int, expected: int, what: str) -> None:
    """Raise if the number of features differs from that of the training data."""
    if got != expected:
        raise DataError(f"expected {expected} features, as in training, got {got} in {what}")


def check_feature_names(
    names: Sequence[str] | None, expected: Sequence[str] | None, what: str
) -> None:
    """Raise if the names or the order of the features differ from the training data."""
    if names is None or expected is None or list(names) == list(expected):
        return
    _check_present(names, expected, what)
    raise DataError(
        f"the features of {what} are in another order than in training: expected "
        f"{_first_names(expected)}, got {_first_names(names)}"
    )


def _check_present(names: Sequence[str], expected: Sequence[str], what: str) -> None:
    lacking = [name for name in expected if name not in names]
    if lacking:
        raise DataError(f"{what} lacks features of the training data: {_first_names(lacking)}")


def pick_features(X: Any, expected: Sequence[str] | None) -> Any:
    """Return the features of training of a data frame, by name, in their order; other inputs unchanged.

    Other columns, such as ids and labels, are left out. Raises DataError if the frame lacks a feature.
    """
    names = column_names(X)
    if names is None or expected is None or names == list(expected):
        return X
    _check_present(names, expected, "the data")
    table = nw.from_native(X, eager_only=True, pass_through=True)
    return table.select(list(expected)).to_native() if isinstance(table, nw.DataFrame) else X


def check_scaling(scaled: str | None, expected: str | None, what: str) -> None:
    """Raise if features are scaled within queries differently from the training data."""
    if scaled == expected:
        return
    if expected is None:
        python = "use the raw features, or train on features scaled in this way"
        command_line = "use the raw data, or train on data scaled in this way"
    else:
        python = (
            f"scale them with scale_by_query(data, {expected!r}); if they are scaled already, "
            f"use RankingData.from_arrays(..., scaled={expected!r})"
        )
        command_line = (
            f"scale them with podium data convert --scale {expected}; if they are scaled "
            f"already, use podium data convert --scaled {expected}"
        )
    raise ScalingError(
        f"expected features {_scaling_text(expected)}, as in training, got features "
        f"{_scaling_text(scaled)} in {what}"
    ).advise(
        python=f"{python}; predict(data, ignore_scaling=True) skips this check",
        command_line=f"{command_line}; --ignore-scaling skips this check",
    )


def _scaling_text(scaled: str | None) -> str:
    return "not scaled by query" if scaled is None else f"scaled by query ({scaled})"


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(map(str, list(names)[:5])) + (", ..." if len(names) > 5 else "")


_ROUTING_ADVICE = (
    "switch on metadata routing first (sklearn.set_config(enable_metadata_routing=True))"
)
_MAX_CALLERS = 8


def refuse_search_without_routing() -> None:
    """Raise if a search of scikit-learn fits without metadata routing: its scores would all be nan.

    Without routing, a search passes query ids to `fit`, but not to `score`. It turns an error of
    `score` into nan and continues, but it stops if every fit fails. Only the callers say that a fit
    is part of a search.
    """
    if sklearn.get_config()["enable_metadata_routing"]:
        return
    caller = inspect.currentframe()
    for _ in range(_MAX_CALLERS):
        if caller is None:
            return
        code, module = caller.f_code, caller.f_globals.get("__name__")
        if (code.co_name, module) == ("_fit_and_score", "sklearn.model_selection._validation"):
            raise UsageError(
                "expected a search with metadata routing, which passes query ids to the scores, too; "
                f"without it every score is nan: {_ROUTING_ADVICE}"
            )
        caller = caller.f_back


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
    """Return RankingData unchanged, or build it from (X, y, qid): a tuple or three arguments.

    A Collection is read into memory.

    `scaled` says how arrays are scaled by query, because arrays do not record it. `categories` are the
    columns of a frame that hold words; by default those of a categorical type.
    """
    if isinstance(X, Collection):
        X = X.read()
    if isinstance(X, RankingData):
        if y is not None or qid is not None:
            raise UsageError("RankingData already has labels and query ids; leave out y and qid")
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
            "expected labels y in addition to X, or a RankingData (for valid= also a tuple "
            f"(X, y, qid)), got {type(X).__name__} alone"
            + "; podium.read_table and podium.read_letor read files"
            * isinstance(X, str | Path)
        )
    if qid is None:
        raise UsageError(
            "query ids are missing; expected qid=..., one per row. In scikit-learn's model "
            f"selection, {_ROUTING_ADVICE}, and pass the ids: params={{'qid': qid}} in cross_val_score, "
            "fit(..., qid=qid) in a search"
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
