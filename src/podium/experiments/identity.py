"""What a cell depends on, as plain values: two that differ never look the same."""

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

_VERSIONED = frozenset(("builtins", "podium", "sklearn", "abc", "typing"))


def plain(value: Any) -> Any:
    """A setting as JSON has it; one of a kind that is not known here matches nothing, not even itself.

    Examples
    --------
    >>> plain(0.5), plain([1, "1"])
    (['float', '0.5'], ['builtins.list', [['int', '1'], ['str', "'1'"]]])
    >>> plain(object()) == plain(object())
    False
    """
    if value is None or isinstance(value, bool | int | float | str):
        return [type(value).__name__, repr(value)]
    if isinstance(value, bytes | datetime.date | datetime.time | PurePath | np.generic):
        return [_kind(value), repr(value)]
    if isinstance(value, type):
        return [_kind(value), f"{value.__module__}.{value.__qualname__}"]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), _content(value)]
    if isinstance(value, Ranker):
        return [_kind(value), plain(value.result_parameters()), _code(type(value))]
    if isinstance(value, BaseEstimator):
        return [_kind(value), plain(value.get_params(deep=False)), _code(type(value))]
    if dataclasses.is_dataclass(value):
        own = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return [_kind(value), plain(own), _code(type(value))]
    if isinstance(value, Mapping):
        return [_kind(value), [[plain(name), plain(one)] for name, one in value.items()]]
    if isinstance(value, Sequence):
        return [_kind(value), [plain(one) for one in value]]
    if isinstance(value, Loss):
        return [_kind(value), plain(vars(value)), _code(type(value))]
    return [_kind(value), secrets.token_hex(16)]


def _code(kind: type) -> list[str]:
    """What classes of one's own say; podium's and scikit-learn's go by their versions."""
    own = [k for k in kind.__mro__ if k.__module__.partition(".")[0] not in _VERSIONED]
    return [_source(one) for one in own]


def _source(kind: type) -> str:
    try:
        return hashlib.sha256(inspect.getsource(kind).encode()).hexdigest()
    except (OSError, TypeError):  # typed in, not written to a file
        return secrets.token_hex(16)


def data_told(data: RankingData) -> Any:
    """All of the data that results and reports may depend on: its texts, too."""
    texts = [data.docid_column, data.query_text, *data.doc_text.values()]
    return [
        data.fingerprint, data.topk, plain(list(data.names())), plain(list(data.doc_text)),
        [None if column is None else _strings(column) for column in texts],
    ]  # fmt: skip


def _content(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.hasobject:
        return [plain(one) for one in array.ravel().tolist()]
    return hashlib.sha256(array.tobytes()).hexdigest()


def _strings(column: Strings) -> list[str]:
    return [
        hashlib.sha256(np.ascontiguousarray(part).data).hexdigest()
        for part in (column.bytes, column.offsets)
    ]


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
