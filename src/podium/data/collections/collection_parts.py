"""The parts of a collection one by one, to be read by other processes, perhaps on other machines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from podium.data.collections.collection import Collection, align
from podium.data.collections.manifest import DataLayout, PartRecord, file_fingerprint
from podium.data.concatenation import concatenate
from podium.data.parquet_reader import read_row_group, row_group_count
from podium.data.ranking_data import RankingData
from podium.errors import CorruptFileError


@dataclass(frozen=True)
class CollectionPart:
    """One part of a collection: a file of whole queries that every worker must be able to read.

    Examples
    --------
    >>> import tempfile
    >>> from podium.data import make_synthetic, partition, write_letor
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_letor(make_synthetic(n_queries=30, seed=0), folder / "train.txt")
    >>> collection = partition([folder / "train.txt"], folder / "parts", rows=300)
    >>> [len(part.read()) for part in collection_parts(collection)]
    [292, 285, 128]
    """

    folder: str
    record: PartRecord
    layout: DataLayout

    def check(self) -> None:
        """Raise if this process cannot read the part, or reads other contents than the manifest describes."""
        path = os.path.join(self.folder, self.record.file)
        try:
            status = os.stat(path)
        except OSError as error:
            raise self._error(f"it cannot be read ({error.strerror})") from None
        state = status.st_size, status.st_mtime_ns, status.st_ino
        if _checked_fingerprint(path, state) != self.record.sha256:
            raise self._error("it has other contents")

    def blocks(self, *, with_features: bool = True) -> Iterator[RankingData]:
        """Yield the documents in blocks of whole queries, in order."""
        self.check()
        path = Path(self.folder) / self.record.file
        layout = self.layout
        if not with_features:
            layout = replace(layout, features=(), has_names=False, categories={})
        for number in range(row_group_count(path)):
            yield align(read_row_group(path, number, with_features=with_features), layout)

    def read(self) -> RankingData:
        """Return all documents of the part."""
        return concatenate(list(self.blocks()))

    def _error(self, problem: str) -> CorruptFileError:
        return CorruptFileError(
            f"expected the part that the manifest describes, but on {os.uname().nodename} {problem}; every "
            "worker needs the collection at the same path, as on a shared disk",
            path=os.path.join(self.folder, self.record.file),
        )


def collection_parts(collection: Collection) -> list[CollectionPart]:
    """Return the parts in order; raise if one is missing or damaged, or if two parts share a query."""
    collection.check()
    folder = str(collection.folder.resolve())
    layout = collection.manifest.layout
    return [CollectionPart(folder, record, layout) for record in collection.manifest.parts]


@cache
def _checked_fingerprint(path: str, state: tuple[int, int, int]) -> str:
    """Return the fingerprint of a file, once per process and state of the file."""
    return file_fingerprint(Path(path))
