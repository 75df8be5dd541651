"""The row cache of a collection: features, labels and ids as arrays in one file, which fits map."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.atomic_files import atomic_path
from podium.data.collections.manifest import Manifest
from podium.data.groups import Groups
from podium.data.mapped_arrays import disk_space, map_own_file
from podium.data.packed_strings import Strings
from podium.data.ranking_data import RankingData

CACHE_NAME = ".rows"
RECORD_NAME = ".rows.json"
CACHE_VERSION = 1
_ALIGNMENT = 64


@dataclass(frozen=True)
class CachedColumn:
    """Where an array is in the file: its type, its shape and its first byte."""

    dtype: str
    shape: tuple[int, ...]
    start: int

    @property
    def n_bytes(self) -> int:
        """The bytes of the array."""
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


class RowCache:
    """The rows of a collection in one file, built once; rebuilt if a part or the file was changed.

    Parameters
    ----------
    folder
        The folder of the collection.
    manifest
        Its manifest, whose fingerprints the cache belongs to.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.path = folder / CACHE_NAME

    def open(self) -> RankingData | None:
        """Return the rows; None if there is no cache of these parts."""
        try:
            record = json.loads((self.folder / RECORD_NAME).read_text(encoding="utf-8"))
            if record["key"] != self._key() or record["file"] != self._file_state():
                return None
            return self._map(_columns(record["columns"]))
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def build(self, blocks: Iterable[RankingData]) -> RankingData:
        """Write the rows of all blocks, all or nothing, and return them mapped."""
        columns = self._known_columns()
        last = max(columns.values(), key=lambda column: column.start)
        n_bytes = last.start + last.n_bytes
        with (
            disk_space(self.folder, n_bytes),
            atomic_path(self.path) as temporary,
            open(temporary, "r+b") as file,
        ):
            columns |= _write(file, blocks, columns, n_bytes)
        record = {
            "key": self._key(),
            "file": self._file_state(),
            "columns": {name: [c.dtype, c.shape, c.start] for name, c in columns.items()},
        }
        with atomic_path(self.folder / RECORD_NAME) as temporary:
            temporary.write_text(json.dumps(record), encoding="utf-8")
        return self._map(columns)

    def _key(self) -> list[Any]:
        """Return what the contents of the cache depend on."""
        layout = self.manifest.layout
        shape = [layout.dtype, len(layout.features), layout.docids, layout.weights]
        words = [list(category.words) for category in layout.categories.values()]
        parts = [[part.sha256, part.rows, part.queries] for part in self.manifest.parts]
        return [CACHE_VERSION, shape, words, parts]

    def _file_state(self) -> list[int]:
        status = os.stat(self.path)
        return [status.st_size, status.st_mtime_ns, status.st_ino]

    def _known_columns(self) -> dict[str, CachedColumn]:
        """Return the columns whose sizes the manifest tells; the text of ids follows them."""
        layout, n, q = self.manifest.layout, self.manifest.rows, self.manifest.queries
        shapes: dict[str, tuple[str, tuple[int, ...]]] = {
            "X": (layout.dtype, (n, len(layout.features))),
            "y": ("float64", (n,)),
            "sizes": ("int64", (q,)),
        }
        if layout.weights:
            shapes["query_weight"] = "float64", (q,)
        if layout.docids:
            shapes["docid_lengths"] = "int64", (n,)
        columns: dict[str, CachedColumn] = {}
        start = 0
        for name, (dtype, shape) in shapes.items():
            columns[name] = CachedColumn(dtype, shape, start)
            start += -(-columns[name].n_bytes // _ALIGNMENT) * _ALIGNMENT
        return columns

    def _map(self, columns: dict[str, CachedColumn]) -> RankingData:
        mapped = map_own_file(self.path, np.uint8, "r")
        arrays: dict[str, NDArray[Any]] = {}
        for name, column in columns.items():
            piece = mapped[column.start : column.start + column.n_bytes]
            arrays[name] = piece.view(column.dtype).reshape(column.shape)
        layout = self.manifest.layout
        docids = None
        if layout.docids:
            offsets = np.concatenate([[0], np.cumsum(arrays["docid_lengths"])])
            docids = Strings(np.asarray(arrays["docids"]), offsets)
        lengths = np.asarray(arrays["qid_lengths"])
        qids = Strings(np.asarray(arrays["qids"]), np.concatenate([[0], np.cumsum(lengths)]))
        return RankingData.of_checked_features({
            "X": arrays["X"],
            "y": arrays["y"],
            "groups": Groups.from_sizes(np.asarray(arrays["sizes"])),
            "qids": qids.to_array(),
            "docid_column": docids,
            "comment_column": None,
            "query_weight": arrays.get("query_weight"),
            "query_text": None,
            "doc_text": {},
            "feature_names": layout.features if layout.has_names else None,
            "topk": layout.topk,
            "scaled": layout.scaled,
            "missing": layout.missing,
            "source_rows": None,
            "categories": layout.categories,
            "judged_by": layout.judged_by,
        })  # fmt: skip


def _write(
    file: Any, blocks: Iterable[RankingData], columns: dict[str, CachedColumn], end: int
) -> dict[str, CachedColumn]:
    """Write the columns of all blocks, then the text of ids; return where that is."""
    places = {name: column.start for name, column in columns.items()} | {"docids": end}
    qids: list[str] = []

    def put(name: str, values: NDArray[Any]) -> None:
        file.seek(places[name])
        places[name] += file.write(np.ascontiguousarray(values).data)

    for block in blocks:
        qids += block.qids.tolist()
        put("X", block.X)
        put("y", block.y)
        put("sizes", block.groups.sizes)
        if "query_weight" in columns:
            assert block.query_weight is not None
            put("query_weight", block.query_weight)
        if "docid_lengths" in columns:
            assert block.docid_column is not None
            put("docid_lengths", block.docid_column.lengths)
            put("docids", block.docid_column.bytes)
    packed = Strings.of(qids)
    n_text = places["docids"] - end
    start = places["qid_lengths"] = -(-places["docids"] // _ALIGNMENT) * _ALIGNMENT
    put("qid_lengths", packed.lengths)
    places["qids"] = places["qid_lengths"]
    put("qids", packed.bytes)
    return {
        "docids": CachedColumn("uint8", (n_text,), end),
        "qid_lengths": CachedColumn("int64", (len(packed),), start),
        "qids": CachedColumn("uint8", (len(packed.bytes),), start + packed.lengths.nbytes),
    }


def _columns(record: dict[str, Any]) -> dict[str, CachedColumn]:
    return {
        name: CachedColumn(dtype, tuple(shape), start)
        for name, (dtype, shape, start) in record.items()
    }
