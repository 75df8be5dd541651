"""Index files: archives whose parts are ids, terms, counts and texts.

manifest.json     {"format": "podium-index", "version": 1, "tokenizer": {...}, "parameters": {...},
                   "fields": ["title", "body"], "texts": ["title"], ...}

Parts are stored without compression, so reading one needs no more memory than the size of the file.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from podium.data import Strings
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
from podium.errors import CorruptFileError
from podium.features.postings import Postings
from podium.features.term_counter import WHOLE_DOCUMENT
from podium.features.term_matches import FormulaParameters
from podium.features.tokenizer import Tokenizer
from podium.typing import Path_

FORMAT, VERSION = "podium-index", 1
Arrays = Mapping[str, NDArray[Any]]


class IndexParts(NamedTuple):
    """The fields of an Index."""

    docids: Strings
    vocabulary: Strings
    postings: Mapping[str, Postings]
    tokenizer: Tokenizer
    parameters: FormulaParameters
    texts: Mapping[str, Strings]


def write_index(index: IndexParts, path: Path_) -> None:
    """Write an index, all or nothing; the same index gives the same bytes."""
    about = {
        "format": FORMAT,
        "version": VERSION,
        "tokenizer": asdict(index.tokenizer),
        "parameters": asdict(index.parameters),
        "fields": [*index.postings],
        "texts": [*index.texts],
    }
    parts = {f"{name}.npy": array_bytes(array) for name, array in _to_arrays(index).items()}
    write_archive(path, about, parts)


def read_index(path: Path_) -> IndexParts:
    """Read an index and check every part against its digest and the other parts."""
    name = os.fspath(path)
    try:
        with open_archive(path) as archive:
            return _read_parts(archive)
    except CorruptFileError:
        raise
    except CONTENT_DAMAGE_ERRORS as error:
        raise CorruptFileError(
            f"this is not a podium index, or it is truncated or damaged ({error})",
            path=name,
        ) from error


def _to_arrays(index: IndexParts) -> dict[str, NDArray[Any]]:
    arrays = {**_packed("docids", index.docids), **_packed("terms", index.vocabulary)}
    for i, postings in enumerate(index.postings.values()):
        counts = postings.counts
        arrays[f"field{i}.starts"] = counts.indptr.astype(np.int64)
        arrays[f"field{i}.terms"] = counts.indices.astype(np.int32)
        arrays[f"field{i}.counts"] = counts.data.astype(
            np.min_scalar_type(int(counts.data.max(initial=0)))
        )
    for i, texts in enumerate(index.texts.values()):
        arrays |= _packed(f"text{i}", texts)
    return arrays


def _packed(name: str, strings: Strings) -> dict[str, NDArray[Any]]:
    return {f"{name}.text": strings.bytes, f"{name}.starts": strings.offsets}


def _read_parts(archive: zipfile.ZipFile) -> IndexParts:
    manifest = read_manifest(archive, FORMAT, VERSION)
    arrays = {
        name.removesuffix(".npy"): _check_array(read_part(archive, name), name, digest)
        for name, digest in manifest["parts"].items()
    }
    docids, vocabulary = _read_strings(arrays, "docids"), _read_strings(arrays, "terms")
    fields, texts = (_check_names(manifest[key], key) for key in ("fields", "texts"))
    if not len(docids) or not fields or WHOLE_DOCUMENT in fields:
        raise ValueError("no documents or no fields")
    if len(set(docids)) < len(docids) or len(set(vocabulary)) < len(vocabulary):
        raise ValueError("documents or terms that occur twice")
    if not len(vocabulary) or vocabulary[0] != "":
        raise ValueError("a term where none should be")
    shape = (len(docids), len(vocabulary))
    return IndexParts(
        docids,
        vocabulary,
        {name: _read_postings(arrays, f"field{i}", shape) for i, name in enumerate(fields)},
        Tokenizer(**manifest["tokenizer"]),
        FormulaParameters(**manifest["parameters"]),
        {name: _read_strings(arrays, f"text{i}", len(docids)) for i, name in enumerate(texts)},
    )


def _check_array(data: bytes, name: str, digest: object) -> NDArray[Any]:
    """Return the vector of whole numbers in a part, checked against its digest."""
    check_part(name, data, digest)
    array = read_array(data, "iu")
    if array.ndim != 1:
        raise ValueError(f"{name}: an array of shape {array.shape}")
    return array


def _check_names(names: object, what: str) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} that are not names")
    if len(set(names)) < len(names):
        raise ValueError(f"{what} that occur twice")
    return tuple(names)


def _check_starts(
    starts: NDArray[Any], n: int | None, n_entries: int, what: str
) -> NDArray[np.int64]:
    """Return the start of each of n rows; raise ValueError unless the rows cover all entries."""
    if starts.dtype.kind != "i" or len(starts) != (len(starts) if n is None else n + 1):
        raise ValueError(f"{what}: not one start per row")
    if not len(starts) or starts[0] != 0 or starts[-1] != n_entries or (np.diff(starts) < 0).any():
        raise ValueError(f"{what}: rows that do not fit their entries")
    return starts.astype(np.int64)


def _read_strings(arrays: Arrays, name: str, n: int | None = None) -> Strings:
    text, starts = arrays[f"{name}.text"], arrays[f"{name}.starts"]
    if text.dtype != np.uint8:
        raise ValueError(f"{name}: text that is not bytes")
    return Strings(text, _check_starts(starts, n, len(text), name))


def _read_postings(arrays: Arrays, name: str, shape: tuple[int, int]) -> Postings:
    """Return counts; raise ValueError unless rows are sorted, terms are in the vocabulary and counts >= 1."""
    terms, counts = arrays[f"{name}.terms"], arrays[f"{name}.counts"]
    starts = _check_starts(arrays[f"{name}.starts"], shape[0], len(terms), name)
    if len(counts) != len(terms) or terms.dtype != np.int32 or counts.dtype.kind != "u":
        raise ValueError(f"{name}: not one count per term")
    if len(terms) and (terms.min() < 1 or terms.max() >= shape[1] or counts.min() < 1):
        raise ValueError(f"{name}: terms outside the vocabulary or counts below 1")
    if int(counts.max(initial=0)) > np.iinfo(np.int32).max:
        raise ValueError(f"{name}: counts that are too large")
    rows = np.repeat(np.arange(shape[0]), np.diff(starts))
    if ((np.diff(terms) <= 0) & (np.diff(rows) == 0)).any():
        raise ValueError(f"{name}: terms out of order")
    return Postings(
        scipy.sparse.csr_array((counts.astype(np.int32), terms.copy(), starts), shape=shape)
    )
