"""Collection: ranking data on disk that is read a block of whole queries at a time."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from podium.counted_nouns import count_texts
from podium.data.atomic_files import atomic_path
from podium.data.categories import Category
from podium.data.collections.manifest import (
    MANIFEST_NAME,
    DataLayout,
    Manifest,
    PartRecord,
    draft_of,
    file_fingerprint,
    is_collection,
)
from podium.data.collections.row_cache import RowCache
from podium.data.concatenation import concatenate
from podium.data.feature_matrix import MAX_DENSE_BYTES
from podium.data.packed_strings import Strings
from podium.data.parallel import map_in_parallel
from podium.data.parquet_reader import query_ids_of, read_row_group, row_count, row_group_count
from podium.data.random_queries import sample_queries
from podium.data.ranking_data import RankingData
from podium.data.text_files import Progress
from podium.errors import CorruptFileError, DataError, MemoryLimitError
from podium.typing import Path_

CHECKED_NAME = ".checked.json"
"""Which parts were checked, by size and time of change: a second job need not read them twice."""


class Collection:
    """Ranking data in a folder: parts of whole queries, read in blocks.

    Every block is RankingData with at most 32,768 documents (a longer query is one block), so work
    that goes block by block takes little memory. Before the first block is read, every part is checked:
    it must be there, be the file that the manifest describes, and share no query with another part.

    Examples
    --------
    >>> import tempfile
    >>> from podium.data import make_synthetic, open_collection, partition, write_letor
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_letor(make_synthetic(n_queries=30, seed=0), folder / "train.txt")
    >>> collection = partition([folder / "train.txt"], folder / "parts", rows=300)
    >>> open_collection(folder / "parts")
    Collection(30 queries, 705 documents, 46 features, 3 parts)
    >>> sum(block.n_queries for block in collection.blocks())
    30
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest

    def __repr__(self) -> str:
        sizes = count_texts(
            query=self.n_queries, document=len(self), feature=self.n_features,
            part=len(self.manifest.parts),
        )  # fmt: skip
        return f"Collection({sizes})"

    def __len__(self) -> int:
        return self.manifest.rows

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return self.manifest.queries

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.manifest.layout.features)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, or None."""
        layout = self.manifest.layout
        return layout.features if layout.has_names else None

    @property
    def n_bytes(self) -> int:
        """The bytes of all parts on disk."""
        return sum(part.n_bytes for part in self.manifest.parts)

    def blocks(
        self, *, with_features: bool = True, progress: Progress | None = None
    ) -> Iterator[RankingData]:
        """Yield the documents in blocks of whole queries, in order; the next ones are read ahead.

        Parameters
        ----------
        with_features
            False leaves the features out, for work on labels alone; it reads far less.
        progress
            Called with the number of bytes of the parts read since the last call.
        """
        self.check()
        layout = self.manifest.layout

        def read(place: tuple[PartRecord, int]) -> RankingData:
            part, number = place
            data = read_row_group(self.folder / part.file, number, with_features=with_features)
            return align(data, layout if with_features else _without_features(layout))

        places = [(p, i) for p in self.manifest.parts for i in range(self._n_blocks(p))]
        for (part, _), data in zip(places, map_in_parallel(read, places), strict=True):
            if progress is not None:
                progress(part.n_bytes * len(data) // part.rows)
            yield data

    def query_ids(self) -> list[str]:
        """Return the ids of all queries, in order."""
        self.check()
        return [qid for p in self.manifest.parts for qid in query_ids_of(self.folder / p.file)]

    def sample(
        self, n_queries: int, *, seed: int = 0, progress: Progress | None = None
    ) -> RankingData:
        """Return random queries in memory, all with the same chance, in the order of the collection.

        The choice depends on the seed and the ids of the queries alone.
        """
        chosen = set(sample_queries(self.query_ids(), n_queries, seed))
        return concatenate(
            [
                block.subset(rows)
                for block in self.blocks(progress=progress)
                if len(rows := np.flatnonzero([qid in chosen for qid in block.qids.tolist()]))
            ]
        )

    def read(
        self, *, max_bytes: int = MAX_DENSE_BYTES, progress: Progress | None = None
    ) -> RankingData:
        """Return all documents as RankingData in memory; raise if the features take more than `max_bytes`."""
        n_bytes = len(self) * self.n_features * np.dtype(self.manifest.layout.dtype).itemsize
        if n_bytes > max_bytes:
            raise MemoryLimitError(
                f"expected features of at most {max_bytes:,} bytes to read into memory, got "
                f"{n_bytes:,} in {self.folder}"
            ).advise(
                python="work block by block with collection.blocks(), or raise max_bytes",
                command_line="podium evaluate and podium predict work block by block",
            )
        return concatenate(list(self.blocks(progress=progress)))

    def mapped(self, *, progress: Progress | None = None) -> RankingData:
        """Return all documents as RankingData whose features stay on disk, without comments and texts.

        The first call writes the rows into a file `.rows` in the folder; later calls map that file. The
        system keeps rows in its page cache as long as there is memory. In a folder that cannot be
        written to, the rows are read into memory.
        """
        self.check()
        cache = RowCache(self.folder, self.manifest)
        data = cache.open()
        if data is not None:
            return data
        try:
            return cache.build(self.blocks(progress=progress))
        except OSError as error:
            if not isinstance(error, PermissionError) and error.errno != errno.EROFS:
                raise
            return self.read(progress=progress)

    def check(self) -> None:
        """Raise if a part is missing, damaged or changed, or if two parts share a query."""
        checked = self._read_checked()
        records = {part.file: _file_state(self.folder, part) for part in self.manifest.parts}
        if checked == records:
            return
        for part in self.manifest.parts:
            if file_fingerprint(self.folder / part.file) != part.sha256:
                raise _part_error(self.folder, part, "its contents have changed")
        self._check_queries()
        self._write_checked(records)

    def _check_queries(self) -> None:
        """Raise if a query is in two parts, or if a part has other queries or rows than the manifest says."""
        part_of: dict[str, str] = {}
        for part in self.manifest.parts:
            n_rows = row_count(self.folder / part.file)
            if n_rows != part.rows:
                raise _part_error(self.folder, part, f"it has {n_rows:,} rows, not {part.rows:,}")
            qids = query_ids_of(self.folder / part.file)
            if len(qids) != part.queries:
                raise _part_error(
                    self.folder, part, f"it has {len(qids):,} queries, not {part.queries:,}"
                )
            for qid in qids:
                if qid in part_of:
                    raise DataError(
                        f"expected each query in one part, got {qid!r:.80} in {part_of[qid]} and in "
                        f"{part.file}; partition the data again",
                        path=str(self.folder),
                    )
                part_of[qid] = part.file

    def _n_blocks(self, part: PartRecord) -> int:
        return row_group_count(self.folder / part.file)

    def _read_checked(self) -> Any:
        try:
            return json.loads((self.folder / CHECKED_NAME).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _write_checked(self, records: dict[str, list[int | str]]) -> None:
        # Only to save time: a folder may be read-only.
        with contextlib.suppress(OSError), atomic_path(self.folder / CHECKED_NAME) as temporary:
            temporary.write_text(json.dumps(records), encoding="utf-8")


def open_collection(folder: Path_) -> Collection:
    """Open a collection that `partition` wrote; raise if it is incomplete.

    It reads the manifest and looks at each part's size, not at the rows.
    """
    path = Path(folder)
    if not path.is_dir():
        raise DataError(
            f"expected the folder of a collection, got none{_interrupted(path)}", path=str(path)
        )
    if not is_collection(path):
        raise CorruptFileError(
            f"expected a folder with {MANIFEST_NAME}, got one without",
            path=str(path),
        ).advise(
            python="podium.partition(paths, folder) makes a collection",
            command_line="podium data partition IN... -o DIR makes a collection",
        )
    collection = Collection(path, Manifest.read(path))
    for part in collection.manifest.parts:
        _file_state(path, part)
    return collection


def _interrupted(path: Path) -> str:
    """Return where an interrupted partition has left a collection, for the message that it is missing."""
    older, draft = Path(f"{draft_of(path)}.older"), draft_of(path)
    if is_collection(older):
        return (
            f"; a replacement was interrupted, and the old collection is in {older}: partition again, or "
            "rename it"
        )
    if is_collection(draft):
        return f"; it is complete in {draft}: partition again with the same files, or rename it"
    return ""


def align(data: RankingData, layout: DataLayout) -> RankingData:
    """Return the documents with the columns that all blocks of a collection have.

    A text that a block lacks is empty there, a weight is 1, a feature beyond its last is 0; categories
    are places among the words of all blocks.
    """
    n, n_queries = len(data), data.n_queries
    changes: dict[str, Any] = {
        "X": _widen(data, layout),
        "feature_names": layout.features if layout.has_names else None,
        "missing": layout.missing,
        "categories": dict(layout.categories),
        "doc_text": {name: data.doc_text.get(name) or _empty(n) for name in layout.doc_text},
    }
    if layout.docids:
        changes["docid_column"] = data.docid_column or _empty(n)
    if layout.comments:
        changes["comment_column"] = data.comment_column or _empty(n)
    if layout.weights and data.query_weight is None:
        changes["query_weight"] = np.ones(n_queries)
    if layout.query_text:
        changes["query_text"] = data.query_text or _empty(n_queries)
    return replace(data, **changes)


def _widen(data: RankingData, layout: DataLayout) -> Any:
    """Return the features of a block, filled up with 0, with the places of words among all words."""
    X, width = data.X, len(layout.features)
    if X.shape[1] == width and dict(data.categories) == dict(layout.categories):
        return X
    out = np.zeros((len(X), width), dtype=X.dtype)
    out[:, : X.shape[1]] = X
    for name, category in layout.categories.items():
        j = layout.features.index(name)
        own: Category = data.categories[name]
        out[:, j] = own.translate(out[:, j], category)
    return out


def _empty(n: int) -> Strings:
    return Strings.of([""] * n)


def _without_features(layout: DataLayout) -> DataLayout:
    return replace(layout, features=(), has_names=False, categories={})


def _file_state(folder: Path, part: PartRecord) -> list[int | str]:
    """Return what tells whether a part was changed; raise if it is missing or has another size."""
    try:
        status = os.stat(folder / part.file)
    except FileNotFoundError:
        raise _part_error(folder, part, "it is missing") from None
    if status.st_size != part.n_bytes:
        raise _part_error(folder, part, f"it has {status.st_size:,} bytes, not {part.n_bytes:,}")
    file_state = [status.st_size, status.st_mtime_ns, status.st_ino]
    return [*file_state, part.sha256, part.rows, part.queries]


def _part_error(folder: Path, part: PartRecord, problem: str) -> CorruptFileError:
    return CorruptFileError(
        f"expected the part that the manifest describes, but {problem}; restore it from a copy, or "
        "partition the data again",
        path=str(folder / part.file),
    )
