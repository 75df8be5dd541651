"""Partition: streams files of ranking data into a collection, all or nothing, in bounded memory."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from podium.data.atomic_files import atomic_path, make_folder, publish_folder, recover_folder
from podium.data.categories import Category
from podium.data.collections.collection import Collection, align, open_collection
from podium.data.collections.data_streams import InputStream
from podium.data.collections.manifest import (
    MANIFEST_VERSION,
    DataLayout,
    Manifest,
    PartRecord,
    draft_of,
    file_fingerprint,
    is_collection,
)
from podium.data.collections.whole_queries import ScatteredQueryError, whole_queries
from podium.data.columns import Columns
from podium.data.concatenation import join_words, merge_queries
from podium.data.file_formats import TellColumns
from podium.data.judged_by import join_judges
from podium.data.mapped_arrays import full_disk_is
from podium.data.parquet_reader import read_parquet
from podium.data.parquet_writer import write_parquet, write_parquet_blocks
from podium.data.ranking_columns import Missing
from podium.data.ranking_data import RankingData
from podium.data.text_files import Progress
from podium.errors import DataError, UsageError
from podium.typing import Path_

BLOCK_ROWS = 32_768
"""The number of documents that are read, and later streamed, at a time."""


def partition(
    paths: Sequence[Path_],
    folder: Path_,
    *,
    rows: int = 500_000,
    missing: Missing = "error",
    columns: Columns | None = None,
    dtype: str | None = None,
    replace_collection: bool = False,
    tell_columns: TellColumns | None = None,
    progress: Progress | None = None,
) -> Collection:
    """Write files of ranking data as a collection: a folder of parts with whole queries.

    Memory is bounded by one part. Files whose queries are scattered are read twice more: once to count,
    once to put the rows of each part aside. The folder appears when it is complete. An interrupted call
    leaves ``FOLDER.partial``; the next call with the same files and settings keeps its finished parts
    (those of scattered queries are written again).

    Parameters
    ----------
    paths
        LETOR text or tables, in order; they make one collection.
    folder
        The folder to make.
    rows
        The maximum number of documents per part, unless a single query has more.
    replace_collection
        Whether a collection that is there is replaced once the new one is complete. No other folder is
        ever replaced.
    missing, columns, dtype, tell_columns, progress
        As in `InputStream`.

    Examples
    --------
    >>> import tempfile
    >>> from podium.data import make_synthetic, write_letor
    >>> home = Path(tempfile.mkdtemp())
    >>> write_letor(make_synthetic(n_queries=20, seed=0), home / "train.txt")
    >>> partition([home / "train.txt"], home / "parts", rows=250)
    Collection(20 queries, 476 documents, 46 features, 2 parts)
    """
    if rows < 1:
        raise UsageError(f"expected rows of 1 or more per part, got {rows}")
    if dtype not in (None, "float32", "float64"):
        raise UsageError(f"expected dtype 'float32' or 'float64', got {dtype!r:.40}")
    target = Path(folder)
    draft = draft_of(target)
    recover_folder(draft, target, is_collection)
    _check_names(draft)
    if target.exists() and not (replace_collection and is_collection(target)):
        raise UsageError(f"expected a folder to make, got {target}, which exists").advise(
            python="remove it first",
            command_line="name another one with -o; --force replaces a collection",
        )
    stream = InputStream(
        [os.fspath(path) for path in paths], missing, columns, dtype, tell_columns, progress
    )
    _open_draft(draft, stream, rows)
    if not is_collection(
        draft
    ):  # it may be complete, and its process killed before it had its name
        with full_disk_is(_full_disk(draft)):
            _fill_draft(draft, stream, rows)
    publish_folder(draft, target)
    (target / SETTINGS_NAME).unlink()
    return open_collection(target)


def _fill_draft(draft: Path, stream: InputStream, rows: int) -> None:
    """Write the parts of a collection, then its manifest."""
    try:
        pieces = whole_queries(stream.read(min(rows, BLOCK_ROWS)))
        records, layouts = _write_parts(draft, _cut_blocks(pieces, rows), rows)
    except ScatteredQueryError:
        records, layouts = _write_scattered(draft, replace(stream, tell_columns=None), rows)
    Manifest(join_layouts(layouts), tuple(records)).write(draft)


def _full_disk(draft: Path) -> DataError:
    return DataError(
        "expected free disk for the parts, got a full one; free some and start again with the same files "
        "and settings: parts that are finished stay",
        path=str(draft),
    )


SETTINGS_NAME = "settings.json"
"""What a folder that is not complete was made from."""
DRAFT_FORMAT = "podium collection draft"


def _check_names(draft: Path) -> None:
    """Raise if a folder or file of somebody else has a name that is needed."""
    older = Path(f"{draft}.older")
    for path, is_own in ((draft, _is_draft), (older, is_collection)):
        if path.exists() and not is_own(path):
            raise UsageError(
                f"expected {path} to be free for the draft of the collection, got a folder or file that "
                "podium did not write; rename it, or name another folder"
            )


def _is_draft(folder: Path) -> bool:
    """Whether a folder is empty, or the draft of an earlier call."""
    try:
        names = os.listdir(folder)
        if all(name.startswith(f".{SETTINGS_NAME}.") for name in names):
            return True  # killed before it had settings
        record = json.loads((folder / SETTINGS_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and record.get("format") == DRAFT_FORMAT


def _open_draft(draft: Path, stream: InputStream, rows: int) -> None:
    """Make the folder to write into; parts of an interrupted call stay if its settings were the same."""
    file_states = [
        (os.path.abspath(p), os.stat(p).st_size, os.stat(p).st_mtime_ns) for p in stream.paths
    ]
    record = {
        "format": DRAFT_FORMAT,
        "version": MANIFEST_VERSION,
        "rows": [rows, BLOCK_ROWS],
        "files": file_states,
        "reading": [stream.missing, stream.dtype, repr(stream.columns)],
    }
    settings = json.dumps(record)
    settings_path = draft / SETTINGS_NAME
    if settings_path.is_file() and settings_path.read_text(encoding="utf-8") == settings:
        return
    shutil.rmtree(draft, ignore_errors=True)
    make_folder(draft)
    with atomic_path(settings_path) as temporary:
        temporary.write_text(settings, encoding="utf-8")


def _write_parts(
    draft: Path, blocks: Iterable[RankingData], rows: int
) -> tuple[list[PartRecord], list[DataLayout]]:
    """Write blocks of whole queries as parts; keep parts that are there already."""
    records, layouts = [], []
    for number, part in enumerate(_fill_parts(blocks, rows)):
        layout = join_layouts([layout_of(block) for block in part])
        path = draft / f"part-{number:05}.parquet"
        if not path.is_file():  # files appear whole or not at all
            write_parquet_blocks((align(block, layout) for block in part), path)
        records.append(_record(path, part))
        layouts.append(layout)
    if not records:
        raise UsageError("expected at least one file to partition, got none")
    return records, layouts


def _cut_blocks(pieces: Iterable[RankingData], rows: int) -> Iterator[RankingData]:
    """Cut data sets into blocks of at most `rows` and at most `BLOCK_ROWS` documents, or one query."""
    for data in pieces:
        for block in data.groups.blocks(min(rows, BLOCK_ROWS)):
            first, last = block.queries.start, block.queries.stop
            yield data if last - first == data.n_queries else data.subset(np.arange(first, last))


def _fill_parts(blocks: Iterable[RankingData], rows: int) -> Iterator[list[RankingData]]:
    """Yield runs of blocks with at most `rows` documents, or one block."""
    part: list[RankingData] = []
    for block in blocks:
        if part and sum(map(len, part)) + len(block) > rows:
            yield part
            part = []
        part.append(block)
    if part:
        yield part


def _record(path: Path, part: Sequence[RankingData]) -> PartRecord:
    return PartRecord(
        file=path.name,
        rows=sum(map(len, part)),
        queries=sum(block.n_queries for block in part),
        labels=(min(float(b.y.min()) for b in part), max(float(b.y.max()) for b in part)),
        n_bytes=path.stat().st_size,
        sha256=file_fingerprint(path),
    )


# --- queries whose rows are scattered ---


def _write_scattered(
    draft: Path, stream: InputStream, rows: int
) -> tuple[list[PartRecord], list[DataLayout]]:
    """Put the rows of each part aside, then write the parts one after the other."""
    for path in draft.glob("part-*.parquet"):
        path.unlink()  # written before a query came back
    # Larger blocks make fewer files to put aside.
    block_rows = max(min(rows, BLOCK_ROWS), rows // 4)
    part_of = _assign_parts(_query_sizes(stream.read(block_rows)), rows)
    pieces_folder = draft / "aside"
    shutil.rmtree(pieces_folder, ignore_errors=True)
    for number, data in enumerate(stream.read(block_rows)):
        parts = np.array([part_of[qid] for qid in data.qids.tolist()])
        for part in np.unique(parts).tolist():
            make_folder(pieces_folder / f"{part:05}")
            piece = replace(data, source_rows=None).subset(np.flatnonzero(parts == part))
            write_parquet(piece, pieces_folder / f"{part:05}" / f"{number:05}.parquet")
    results = _write_parts(draft, _cut_blocks(_read_aside(pieces_folder), rows), rows)
    shutil.rmtree(pieces_folder)
    return results


def _query_sizes(stream: Iterable[RankingData]) -> dict[str, int]:
    """Return the number of rows of each query, in order of first appearance."""
    sizes: dict[str, int] = {}
    for data in stream:
        for qid, size in zip(data.qids.tolist(), data.groups.sizes.tolist(), strict=True):
            sizes[qid] = sizes.get(qid, 0) + size
    return sizes


def _assign_parts(sizes: dict[str, int], rows: int) -> dict[str, int]:
    """Return the part of each query: parts are filled in order, up to `rows`.

    Examples
    --------
    >>> _assign_parts({"a": 3, "b": 2, "c": 9, "d": 1}, rows=5)
    {'a': 0, 'b': 0, 'c': 1, 'd': 2}
    """
    part_of: dict[str, int] = {}
    part = n_rows = 0
    for qid, size in sizes.items():
        if n_rows and n_rows + size > rows:
            part, n_rows = part + 1, 0
        part_of[qid] = part
        n_rows += size
    return part_of


def _read_aside(pieces_folder: Path) -> Iterator[RankingData]:
    """Yield the queries of each part, put together."""
    for folder in sorted(pieces_folder.iterdir()):
        pieces = [read_parquet(path) for path in sorted(folder.iterdir())]
        layout = join_layouts([layout_of(piece) for piece in pieces])
        yield merge_queries([align(piece, layout) for piece in pieces])


# --- what blocks have in common ---


def layout_of(data: RankingData) -> DataLayout:
    """Return what is not a column of one block."""
    return DataLayout(
        features=data.names(), has_names=data.feature_names is not None, dtype=str(data.X.dtype),
        docids=data.docid_column is not None, comments=data.comment_column is not None,
        weights=data.query_weight is not None, query_text=data.query_text is not None,
        doc_text=tuple(data.doc_text), topk=data.topk, scaled=data.scaled, missing=data.missing,
        categories=dict(data.categories), judged_by=data.judged_by,
    )  # fmt: skip


def join_layouts(layouts: Sequence[DataLayout]) -> DataLayout:
    """Return the layout of all blocks; raise if they do not fit together."""
    first = layouts[0]
    widest = max(layouts, key=lambda layout: len(layout.features))
    for layout in layouts:
        _check_alike(first, layout)
        if layout.has_names and layout.features != first.features:
            raise DataError(
                f"expected files with the same features, got {_few(first.features)} and "
                f"{_few(layout.features)}"
            )
    if any(layout.categories.keys() != first.categories.keys() for layout in layouts):
        raise DataError("expected files with the same categories")
    categories: dict[str, Category] = {
        name: join_words(name, [layout.categories[name] for layout in layouts])
        for name in first.categories
    }
    texts = dict.fromkeys(name for layout in layouts for name in layout.doc_text)
    return replace(
        widest,
        docids=any(layout.docids for layout in layouts),
        comments=any(layout.comments for layout in layouts),
        weights=any(layout.weights for layout in layouts),
        query_text=any(layout.query_text for layout in layouts),
        doc_text=tuple(texts),
        missing="nan" if any(layout.missing == "nan" for layout in layouts) else "error",
        categories=categories,
        judged_by=join_judges(layout.judged_by for layout in layouts),
    )


def _check_alike(first: DataLayout, other: DataLayout) -> None:
    """Raise if blocks differ in names, type, kind of labels or scaling."""
    if first.has_names != other.has_names:
        raise DataError(
            "expected files that all name their features, or none that does, got both; make one "
            "collection of each kind, or convert all files to one format"
        )
    if first.dtype != other.dtype:
        raise DataError(
            f"expected features of one type, got {first.dtype} and {other.dtype}"
        ).advise(python=f"set dtype={first.dtype!r}", command_line=f"add --dtype {first.dtype}")
    if first.topk != other.topk:
        raise DataError(
            f"expected labels of one kind, got {_labels_text(first)} and {_labels_text(other)}; make "
            "one collection of each kind"
        )
    if first.scaled != other.scaled:
        raise DataError(
            "expected files that are all scaled in the same way, or not at all, got scaling by "
            f"{first.scaled or 'nothing'} and by {other.scaled or 'nothing'}; start from files that are "
            "not scaled"
        )


def _labels_text(layout: DataLayout) -> str:
    return "grades" if layout.topk is None else f"positions up to {layout.topk}"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
