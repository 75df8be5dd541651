"""Feedback files: sums as arrays, so that a new log can be merged without reading the old one."""

from __future__ import annotations

import errno
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import Groups, Strings
from podium.data.atomic_files import atomic_path
from podium.data.strict_json import read_json
from podium.data.text_files import open_regular
from podium.errors import CorruptFileError, DataError, PodiumError, UsageError
from podium.feedback.alpha import Phi, PhiFunction
from podium.feedback.feedback import Feedback
from podium.feedback.list_sums import PLACES, SUMS, ListSums, StringCodes
from podium.feedback.log_counts import LogCounts
from podium.typing import Path_

FORMAT = "podium-feedback-1"
MAX_UNPACKED_BYTES = 4 << 30
"""The maximum number of bytes after decompression: a small hostile file may claim terabytes."""


def save_feedback(feedback: Feedback, path: Path_) -> None:
    """Write feedback as a NumPy archive (.npz); a custom phi and propensities are not written."""
    sums = feedback.list_sums
    if not _are_counts(sums.sums):
        raise DataError(
            "a sum of the feedback is infinite, so it cannot be saved; expected finite sums"
        )
    phi = asdict(feedback.phi) if isinstance(feedback.phi, Phi) else None
    about = {
        "format": FORMAT, "sums": SUMS, "places": PLACES, "phi": phi,
        "closed_within": feedback.closed_within, "counts": feedback.counts.to_dict(),
    }  # fmt: skip
    columns: dict[str, NDArray[Any]] = {
        "carried": feedback.carried, "known": sums.has_record, "returns": sums.returns,
        "offsets": sums.groups.offsets, "sums": sums.sums, "places": sums.places,
        "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
        **_packed_strings("query_ids", sums.query_ids),
    }  # fmt: skip
    for name, column in (("text", sums.text), ("user_class", sums.user_class), ("docs", sums.docs)):
        columns |= {
            f"{name}_codes": column.codes,
            **_packed_strings(name, Strings.of(column.table)),
        }
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **columns)


def load_feedback(path: Path_, phi: PhiFunction | None = None) -> Feedback:
    """Read the file of ``save_feedback``; `phi` replaces the saved one.

    A custom phi is not saved and must be passed again.
    """
    name = os.fspath(path)
    try:
        columns = _read_columns(name)
        if "about" not in columns:
            raise ValueError(f"an archive of {', '.join([*columns][:5]) or 'nothing'}")
        about = read_json(columns["about"].tobytes())
        if about["format"] != FORMAT or about["sums"] != [*SUMS] or about["places"] != [*PLACES]:
            raise ValueError(f"expected format {FORMAT}, got {about['format']!r}")
        list_sums, counts = _read_list_sums(columns), _read_counts(about["counts"])
        saved = None if about["phi"] is None else Phi(**about["phi"])
        closed_within = float(about["closed_within"])
        if not 0 <= closed_within < np.inf:
            raise ValueError(f"closed_within of {closed_within}")
        carried = _check_shape(columns["carried"], (8,), "b")
    except CorruptFileError:
        raise
    except (
        ValueError, KeyError, TypeError, EOFError, AttributeError, IndexError, OverflowError,
        RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error, PodiumError,
        SyntaxError, TokenError,  # NumPy reads headers as Python
    ) as error:  # fmt: skip
        raise CorruptFileError(
            f"this is not saved feedback, or it is damaged ({error})", path=name
        ) from None
    chosen = saved if phi is None else phi
    if chosen is None:
        raise UsageError(
            f"{name} was saved with a custom phi, which the file does not have; "
            "pass it again as phi="
        )
    return Feedback(list_sums, carried, counts, chosen, closed_within)


def _read_columns(path: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive by name; errors are those of NumPy and zipfile."""
    with open_regular(path) as file:
        if not zipfile.is_zipfile(file):
            raise CorruptFileError(
                "this is not saved feedback (a NumPy archive, .npz), or it is truncated",
                path=path,
            )
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as archive:
                if sum(part.file_size for part in archive.zip.infolist()) > MAX_UNPACKED_BYTES:
                    raise ValueError(f"arrays of more than {MAX_UNPACKED_BYTES >> 30} GiB")
                return {key: archive[key] for key in archive.files}
        except OSError as error:
            if error.errno != errno.EINVAL:  # a failing disk has another errno
                raise
            raise ValueError("an array outside the file") from error


def _packed_strings(name: str, strings: Strings) -> dict[str, NDArray[Any]]:
    return {f"{name}_bytes": strings.bytes, f"{name}_offsets": strings.offsets}


def _read_list_sums(columns: Mapping[str, NDArray[Any]]) -> ListSums:
    """Return the sums, after checking the shapes of all arrays."""
    groups = Groups(_check_shape(columns["offsets"], columns["offsets"].shape, "i"))
    n, rows = len(groups), groups.n_rows
    if n == 0 or (groups.sizes == 0).any():
        raise ValueError("lists without documents")
    sums = _check_shape(columns["sums"], (rows, len(SUMS)), "f")
    returns = _check_shape(columns["returns"], (n,), "f")
    places = _check_shape(columns["places"], (rows, len(PLACES)), "f")
    if not (_are_counts(sums) and _are_counts(returns)) or np.isnan(places).any():
        raise ValueError("invalid sums or places")
    query_ids, docs = _read_strings(columns, "query_ids", n), _read_codes(columns, "docs", rows)
    if len(set(query_ids)) < n:
        raise ValueError("query ids that occur twice")
    if len(np.unique(groups.codes * len(docs.table) + docs.codes)) < rows:
        raise ValueError("documents that occur twice in a list")
    return ListSums(
        query_ids, _read_codes(columns, "text", n), _read_codes(columns, "user_class", n),
        _check_shape(columns["known"], (n,), "b"), returns, groups, docs, sums, places,
    )  # fmt: skip


def _are_counts(sums: NDArray[Any]) -> bool:
    return bool((np.isfinite(sums) & (sums >= 0)).all())


def _read_counts(values: Mapping[str, Any]) -> LogCounts:
    """Return counts, after checking that each is a whole number or a table of them."""
    tables = [v if isinstance(v, dict) else {name: v} for name, v in values.items()]
    if not all(type(n) is int and n >= 0 for table in tables for n in table.values()):
        raise ValueError("counts that are not numbers")
    if {name for name, v in values.items() if isinstance(v, dict)} - {"actions", "unknown_actions"}:
        raise ValueError("tables instead of counts")
    return LogCounts(**values)


def _check_shape(array: NDArray[Any], shape: tuple[int, ...], kind: str) -> NDArray[Any]:
    if array.shape != shape or array.dtype.kind != kind:
        raise ValueError(f"an array of shape {array.shape} instead of {shape}")
    return array


def _read_strings(columns: Mapping[str, NDArray[Any]], name: str, n: int | None = None) -> Strings:
    data, offsets = columns[f"{name}_bytes"], columns[f"{name}_offsets"]
    n = len(offsets) - 1 if n is None else n
    _check_shape(offsets, (n + 1,), "i")
    if offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] != len(data):
        raise ValueError(f"{name} that do not fit their text")
    return Strings(_check_shape(data, (len(data),), "u").astype(np.uint8), offsets.astype(np.int64))


def _read_codes(columns: Mapping[str, NDArray[Any]], name: str, n: int) -> StringCodes:
    table = tuple(_read_strings(columns, name))
    codes = _check_shape(columns[f"{name}_codes"], (n,), "i").astype(np.int64)
    least = 0 if name == "docs" else -1
    if list(table) != sorted(set(table)) or ((codes < least) | (codes >= len(table))).any():
        raise ValueError(f"{name} that do not fit their table")
    return StringCodes(table, codes)
