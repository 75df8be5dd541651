"""Click files: sessions and fitted click models as archives of arrays. They are data; no code runs.

manifest.json     {"format": "podium-click-sessions" or "podium-click-model", "version": 1, ...}
NAME.npy          columns and parameters; tables of names are packed strings
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.clicks.click_model import ClickModel, FitSummary
from podium.clicks.click_models import CLICK_MODELS
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import DocumentPairs, PairValues
from podium.clicks.session_counts import SessionCounts
from podium.data import Groups, Strings
from podium.data.zip_archives import (
    CONTENT_DAMAGE_ERRORS,
    array_bytes,
    check_part,
    open_archive,
    read_array,
    read_manifest,
    read_part,
    write_archive,
)
from podium.errors import CorruptFileError, UsageError
from podium.feedback.list_sums import StringCodes
from podium.typing import Path_

SESSIONS_FORMAT, MODEL_FORMAT = "podium-click-sessions", "podium-click-model"
VERSION = 1
MAX_FILE_BYTES = 16 << 30
"""A larger file is a mistake or an attack."""

Columns_ = dict[str, NDArray[Any]]


def save_sessions(sessions: ClickSessions, path: Path_) -> None:
    """Write sessions to one file; the same sessions give the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "log.clicks")
    >>> save_sessions(ClickSessions.from_lists(["q"], [["a", "b"]], [["b"]]), path)
    >>> load_sessions(path)
    ClickSessions(1 session, 1 query, 2 documents, 2 impressions, 1 click)
    """
    columns: Columns_ = {
        "offsets": sessions.groups.offsets, "click_order": sessions.click_order, "time": sessions.time,
        **_string_columns("query", sessions.query), **_string_columns("doc", sessions.doc),
        **_string_columns("variant", sessions.variant),
        **_string_columns("user_class", sessions.user_class),
    }  # fmt: skip
    if sessions.base_positions is not None:
        columns["base_positions"] = sessions.base_positions
    about = {"format": SESSIONS_FORMAT, "version": VERSION, "counts": sessions.counts.to_dict()}
    _write(path, about, columns)


def load_sessions(path: Path_) -> ClickSessions:
    """Read the file of `save_sessions`; raises CorruptFileError for any other file."""
    with _reading(path, "saved sessions", SESSIONS_FORMAT) as (manifest, columns):
        groups = Groups(_column(columns, "offsets", None, "i"))
        n, rows = len(groups), groups.n_rows
        order = _column(columns, "click_order", rows, "i").astype(np.int16)
        if (groups.sizes < 1).any() or (order < 0).any():
            raise ValueError("sessions without documents, or clicks in a wrong order")
        base = columns.get("base_positions")
        if base is not None and ((base.shape != (rows,)) or (base < 0).any()):
            raise ValueError("positions before the randomisation that are negative")
        return ClickSessions(
            groups, _strings(columns, "query", n, 0), _strings(columns, "doc", rows, 0), order,
            _column(columns, "time", n, "f"), _strings(columns, "variant", n, -1),
            _strings(columns, "user_class", n, -1), base,
            SessionCounts.from_dict(manifest["counts"]),
        )  # fmt: skip


def save_click_model(model: ClickModel, path: Path_) -> None:
    """Write a click model with its parameters."""
    if CLICK_MODELS.get(model.name) is not type(model):
        raise UsageError(f"expected one of podium's click models, got {type(model).__name__}")
    pairs = model.attraction.pairs
    columns: Columns_ = {
        "keys": pairs.keys, "attraction": model.attraction.values,
        **_table_columns("queries", pairs.queries), **_table_columns("docs", pairs.docs),
        **{f"parameter_{name}": values for name, values in model.parameters().items()},
    }  # fmt: skip
    summary = None if model.summary is None else asdict(model.summary)
    about = {
        "format": MODEL_FORMAT, "version": VERSION, "model": model.name, "summary": summary,
        "default_attraction": model.attraction.default,
    }  # fmt: skip
    _write(path, about, columns)


def load_click_model(path: Path_) -> ClickModel:
    """Read the file of `save_click_model`; raises CorruptFileError for any other file."""
    with _reading(path, "a saved click model", MODEL_FORMAT) as (manifest, columns):
        pairs = DocumentPairs(
            _table(columns, "queries"), _table(columns, "docs"), _column(columns, "keys", None, "i")
        )
        most = len(pairs.queries) * max(1, len(pairs.docs))
        if (np.diff(pairs.keys, prepend=-1) <= 0).any() or (pairs.keys >= most).any():
            raise ValueError("pairs that do not fit their tables")
        values = _probabilities(_column(columns, "attraction", len(pairs), "f"))
        default = _probabilities(np.array([manifest["default_attraction"]], dtype=np.float64))
        parameters = {
            name.removeprefix("parameter_"): _probabilities(array, _MOST.get(name, 1.0))
            for name, array in columns.items() if name.startswith("parameter_")
        }  # fmt: skip
        summary = manifest["summary"]
        return CLICK_MODELS[manifest["model"]].from_parameters(
            PairValues(pairs, values, float(default[0])), parameters,
            None if summary is None else FitSummary(**summary),
        )  # fmt: skip


def _write(path: Path_, about: Mapping[str, Any], columns: Columns_) -> None:
    parts = {f"{name}.npy": array_bytes(np.ascontiguousarray(a)) for name, a in columns.items()}
    write_archive(path, about, parts)


@contextmanager
def _reading(path: Path_, what: str, kind: str) -> Iterator[tuple[dict[str, Any], Columns_]]:
    """Yield the manifest and the arrays; any error while they are used means a damaged file."""
    try:
        with open_archive(path, MAX_FILE_BYTES) as archive:
            manifest = read_manifest(archive, kind, VERSION)
            columns = {}
            for name, expected in manifest["parts"].items():
                data = read_part(archive, name)
                check_part(name, data, expected)
                columns[name.removesuffix(".npy")] = read_array(data, "biuf")
        yield manifest, columns
    except CorruptFileError:
        raise
    except CONTENT_DAMAGE_ERRORS as error:
        raise CorruptFileError(
            f"this is not {what}, or it is damaged ({error})", path=os.fspath(path)
        ) from error


def _string_columns(name: str, column: StringCodes) -> Columns_:
    return {f"{name}_codes": column.codes, **_table_columns(name, column.table)}


def _table_columns(name: str, table: tuple[str, ...]) -> Columns_:
    strings = Strings.of(table)
    return {f"{name}_bytes": strings.bytes, f"{name}_offsets": strings.offsets}


def _column(columns: Columns_, name: str, n: int | None, kind: str) -> NDArray[Any]:
    array = columns[name]
    if array.ndim != 1 or array.dtype.kind != kind or (n is not None and len(array) != n):
        raise ValueError(f"an array {name} of shape {array.shape}")
    return array.astype(np.int64 if kind == "i" else np.float64, copy=False)


def _table(columns: Columns_, name: str) -> tuple[str, ...]:
    data, offsets = columns[f"{name}_bytes"], _column(columns, f"{name}_offsets", None, "i")
    if (
        len(offsets) == 0
        or offsets[0] != 0
        or (np.diff(offsets) < 0).any()
        or offsets[-1] != len(data)
    ):
        raise ValueError(f"{name} that do not fit their text")
    table = tuple(Strings(data.astype(np.uint8), offsets))
    if list(table) != sorted(set(table)):
        raise ValueError(f"{name} that are not in order")
    return table


def _strings(columns: Columns_, name: str, n: int, least: int) -> StringCodes:
    table, codes = _table(columns, name), _column(columns, f"{name}_codes", n, "i")
    if ((codes < least) | (codes >= len(table))).any():
        raise ValueError(f"{name} that do not fit their table")
    return StringCodes(table, codes)


_MOST = {"parameter_by_rank": 1e9, "parameter_by_last_click": 1e9}
"""Examination is relative to that of rank 1, so it may be above 1."""


def _probabilities(values: NDArray[Any], most: float = 1.0) -> NDArray[np.float64]:
    if values.dtype.kind != "f" or not ((values >= 0) & (values <= most)).all():
        raise ValueError("parameters that are no probabilities")
    return values
