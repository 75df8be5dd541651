"""Inputs of fingerprints: settings and data as plain values; different inputs give different values."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import inspect
import secrets
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from podium.data import RankingData, Strings
from podium.losses import Loss
from podium.rankers import Ranker

_VERSIONED_PACKAGES = frozenset(("builtins", "podium", "sklearn", "abc", "typing"))


def plain_value(value: Any) -> Any:
    """Return a setting as a JSON value; a value of an unknown type equals nothing, not even itself.

    Examples
    --------
    >>> plain_value(0.5), plain_value([1, "1"])
    (['float', '0.5'], ['builtins.list', [['int', '1'], ['str', "'1'"]]])
    >>> plain_value(object()) == plain_value(object())
    False
    """
    if value is None or isinstance(value, bool | int | float | str):
        return [type(value).__name__, repr(value)]
    if isinstance(value, bytes | datetime.date | datetime.time | PurePath | np.generic):
        return [_type_name(value), repr(value)]
    if isinstance(value, type):
        return [_type_name(value), f"{value.__module__}.{value.__qualname__}"]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), _array_content(value)]
    if isinstance(value, Ranker):
        return [
            _type_name(value),
            plain_value(value.result_parameters()),
            _source_hashes(type(value)),
        ]
    if isinstance(value, BaseEstimator):
        return [
            _type_name(value),
            plain_value(value.get_params(deep=False)),
            _source_hashes(type(value)),
        ]
    if dataclasses.is_dataclass(value):
        own = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return [_type_name(value), plain_value(own), _source_hashes(type(value))]
    if isinstance(value, Mapping):
        return [
            _type_name(value),
            [[plain_value(name), plain_value(item)] for name, item in value.items()],
        ]
    if isinstance(value, Sequence):
        return [_type_name(value), [plain_value(item) for item in value]]
    if isinstance(value, Loss):
        return [_type_name(value), plain_value(vars(value)), _source_hashes(type(value))]
    return [_type_name(value), secrets.token_hex(16)]


def _source_hashes(kind: type) -> list[str]:
    """Return hashes of the source code of the user's classes; versions identify all other classes."""
    own = [k for k in kind.__mro__ if k.__module__.partition(".")[0] not in _VERSIONED_PACKAGES]
    return [_source_hash(cls) for cls in own]


def _source_hash(kind: type) -> str:
    try:
        return hashlib.sha256(inspect.getsource(kind).encode()).hexdigest()
    except (OSError, TypeError):  # the class was typed in a session and has no file
        return secrets.token_hex(16)


def data_inputs(data: RankingData) -> Any:
    """Return everything in the data that results and reports depend on, including texts."""
    texts = [data.docid_column, data.query_text, *data.doc_text.values()]
    return [
        data.fingerprint, data.topk, plain_value(list(data.names())), plain_value(list(data.doc_text)),
        [None if column is None else _strings_hash(column) for column in texts],
    ]  # fmt: skip


def _array_content(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.hasobject:
        return [plain_value(item) for item in array.ravel().tolist()]
    return hashlib.sha256(array.tobytes()).hexdigest()


def _strings_hash(column: Strings) -> list[str]:
    return [
        hashlib.sha256(np.ascontiguousarray(part).data).hexdigest()
        for part in (column.bytes, column.offsets)
    ]


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
