"""LETOR / SVMlight text: ``label qid:id 1:value 2:value ... # comment``, one document per line."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium import kernels
from podium.data.argument_checks import check_scaled
from podium.data.atomic_files import atomic_writer
from podium.data.concatenation import concatenate
from podium.data.duplicate_documents import warn_of_duplicates
from podium.data.feature_matrix import MAX_DENSE_BYTES, check_memory
from podium.data.groups import Groups
from podium.data.large_labels import warn_of_large_labels
from podium.data.letor_header import PER_ROW_ENTRIES, header_fields, header_line, read_header
from podium.data.packed_strings import Strings
from podium.data.parallel import map_in_parallel, thread_count
from podium.data.ranking_columns import Missing
from podium.data.ranking_data import RankingData
from podium.data.row_allocation import RowAllocator, stack_rows
from podium.data.text_files import Progress, read_blocks
from podium.errors import (
    CorruptFileError,
    DataError,
    DuplicateFeatureError,
    EmptyDataError,
    FeatureIdError,
    MalformedLineError,
    MissingValueError,
    NegativeLabelError,
    NonFiniteError,
    UsageError,
)
from podium.typing import Matrix, Path_

MAX_FEATURE_ID = 1_000_000
"""A larger feature id is taken for a mistake."""

_ERRORS: dict[str, type[DataError]] = {
    "malformed": MalformedLineError,
    "nonfinite": NonFiniteError,
    "negative": NegativeLabelError,
    "duplicate": DuplicateFeatureError,
    "feature-id": FeatureIdError,
    "null": MissingValueError,
}


def read_letor(
    *paths: Path_ | Sequence[Path_],
    missing: Missing = "error",
    n_features: int | None = None,
    dtype: DTypeLike | None = None,
    scaled: str | None = None,
    max_bytes: int = MAX_DENSE_BYTES,
    progress: Progress | None = None,
) -> RankingData:
    """Read LETOR / SVMlight text, plain or ``.gz .xz .bz2 .zst``; several files make one data set.

    Comments give document ids (``#docid = GX008-86-4444840 ...``, or a comment that is one word)
    and are kept. Features that a line leaves out are 0. Rows of one query may lie apart.

    Parameters
    ----------
    missing
        What the literal NULL means: "error", or "nan" for NaN. It is never 0. A file that podium
        wrote says it itself.
    n_features
        Number of features; by default the largest id in the files.
    dtype
        Float64 (default) or float32.
    scaled
        How the features are scaled within queries, if the file does not say it: "minmax" for
        LETOR's QueryLevelNorm.
    max_bytes
        Bytes that the dense matrix may take.
    progress
        Called with the number of bytes of text read since the last call.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 qid:7 1:0.5 3:1 #docid = A\\n0 qid:7 2:0.25 #docid = B\\n")
    >>> data = read_letor(path)
    >>> data.X.tolist(), data.docids.tolist()
    ([[0.5, 0.0, 1.0], [0.0, 0.25, 0.0]], ['A', 'B'])
    """
    files = _flatten(paths)
    if missing not in ("error", "nan"):
        raise UsageError(f"expected missing='error' or 'nan', got {missing!r}")
    if n_features is not None and not 1 <= n_features <= MAX_FEATURE_ID:
        raise UsageError(f"expected n_features from 1 to {MAX_FEATURE_ID}, got {n_features}")
    if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
        raise UsageError(f"expected dtype float32 or float64, got {dtype}")
    headers = [read_header(path) for path in files]
    if len(files) > 1 and any(headers):  # a header is about its own file only
        arguments: dict[str, Any] = {"missing": missing, "n_features": n_features, "dtype": dtype}
        arguments |= {"scaled": scaled, "max_bytes": max_bytes, "progress": progress}
        return concatenate([read_letor(path, **arguments) for path in files])
    check_scaled(scaled)
    header = headers[0] if scaled is None else {**headers[0], "scaled": scaled}
    missing = "nan" if header.pop("missing", missing) == "nan" else missing
    options = _ParseOptions(
        np.dtype(dtype or header.get("dtype") or np.float64), n_features or MAX_FEATURE_ID,
        missing == "nan", max_bytes,
    )  # fmt: skip
    blocks: list[_Block] = []
    rows, width = 0, n_features or 0
    for path in files:
        for block in _read_file(path, options, progress):
            rows, width = rows + len(block.y), max(width, block.max_id)
            check_memory(rows, width, options.dtype.itemsize, max_bytes, path)
            blocks.append(block)
    data = _assemble(blocks, width, missing, header)
    warn_of_duplicates(data, files[0] if len(files) == 1 else None)
    warn_of_large_labels(data.y, data.topk)
    return data


def stream_letor(
    path: Path_,
    rows: int,
    *,
    missing: Missing = "error",
    dtype: DTypeLike | None = None,
    progress: Progress | None = None,
) -> Iterator[RankingData]:
    """Yield the documents of LETOR text, about `rows` at a time, in bounded memory.

    A query may go on in the next data set. A data set may have fewer features than a later one: those
    beyond the last are 0. A header with ids, texts or weights is read whole, with its file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 qid:7 1:0.5\\n0 qid:7 1:1\\n1 qid:8 1:2\\n")
    >>> [len(data) for data in stream_letor(path, rows=100)]
    [3]
    """
    name = os.fspath(path)
    header = read_header(name)
    if header.keys() & PER_ROW_ENTRIES:
        yield read_letor(name, missing=missing, dtype=dtype, progress=progress)
        return
    missing = "nan" if header.pop("missing", missing) == "nan" else missing
    options = _ParseOptions(
        np.dtype(dtype or header.get("dtype") or np.float64), MAX_FEATURE_ID, missing == "nan",
        max_rows=rows,
    )  # fmt: skip
    width = len(header.get("feature_names", ()))
    blocks: list[_Block] = []
    for block in _read_file(name, options, progress):
        blocks.append(block)
        width = max(width, block.max_id)
        if sum(len(b.y) for b in blocks) >= rows:
            yield _assemble(blocks, width, missing, header)
            blocks = []
    if blocks:
        yield _assemble(blocks, width, missing, header)


def write_letor(data: RankingData, path: Path_) -> None:
    """Write LETOR text, compressed by the path's ending; ``read_letor`` gives the same data back.

    Every feature is written, NaN as NULL, and every number as the shortest text that reads back
    the same. Comments are kept; document ids without comments become ``#docid = ...``. LETOR has no
    place for feature names, query weights, texts, top-k truth, scaling, float32 and ids that are
    no single word: they go into a first line ``#podium {...}`` that other readers skip. The file
    appears whole or not at all.
    """
    header, lines = letor_text(data)
    with atomic_writer(path) as write:
        write(header)
        for text in lines:
            write(text)


def letor_text(data: RankingData) -> tuple[bytes, Iterator[bytes]]:
    """Return the header of the data as LETOR text, empty if it needs none, and its lines in pieces."""
    for qid in data.qids.tolist():
        if not qid or any(c in qid for c in " \t\r\n#"):
            raise DataError(
                f"expected query ids without spaces or '#' for LETOR text, got {qid!r}"
            ).advise(
                python="to_parquet and write_csv keep any id",
                command_line="Parquet (.parquet) and CSV (.csv) keep any id",
            )
    qids, comments = Strings.of(data.qids.tolist()), _line_comments(data)

    def format_queries(bounds: tuple[int, int]) -> bytes:
        return kernels.format_letor(
            data.X, data.y, data.groups.offsets, *bounds,
            qids.bytes, qids.offsets, comments.bytes, comments.offsets,
        ).tobytes()  # fmt: skip

    read_back = _read_line_comments(comments)
    header = header_line(data, read_back != (data.docid_column, data.comment_column))
    return header, map_in_parallel(format_queries, _query_batches(data.groups))


_NULL_ADVICE = {
    "python": "missing='nan' keeps it as NaN",
    "command_line": "--missing nan keeps it as a missing value",
}


class _ParseOptions(NamedTuple):
    dtype: np.dtype[Any]
    max_feature: int
    null_is_nan: bool
    max_bytes: int = MAX_DENSE_BYTES
    max_rows: int | None = None


class _Block(NamedTuple):
    """The documents of one block of text."""

    X: Matrix
    y: NDArray[np.float64]
    run_starts: NDArray[np.int64]  # the row at which each run of one query begins
    run_ids: Strings
    comments: Strings
    docids: Strings
    max_id: int
    lines: int
    n_bytes: int
    problem: tuple[str, int, str, str] | None


def _read_file(path: str, options: _ParseOptions, progress: Progress | None) -> Iterator[_Block]:
    """Yield the blocks of a file that have documents; raises the first problem with its line."""
    lines, empty = 0, True
    for block in _parse_blocks(path, options, progress):
        if block.problem is not None:
            kind, line, expected, got = block.problem
            error = _ERRORS[kind](
                f"expected {expected}, got {got!r}", path=path, line=lines + line + 1
            )
            raise error.advise(**_NULL_ADVICE) if kind == "null" else error
        lines += block.lines
        if len(block.y):
            empty = False
            yield block
    if empty:
        raise EmptyDataError("expected at least one document, got none", path=path)


def _parse_blocks(path: str, options: _ParseOptions, progress: Progress | None) -> Iterator[_Block]:
    allocator = RowAllocator(path, options.dtype, options.max_bytes, max_rows=options.max_rows)
    texts = read_blocks(path, in_flight=thread_count() + 1)
    jobs = ((text, _rows_for(text, allocator, options), path, options) for text in texts)
    for block in map_in_parallel(lambda job: _parse_block(*job), jobs):
        allocator.width = max(allocator.width, block.max_id)
        if progress is not None:
            progress(block.n_bytes)
        yield block


def _rows_for(text: NDArray[np.uint8], allocator: RowAllocator, options: _ParseOptions) -> Matrix:
    """Return rows for the documents of a block."""
    n = kernels.count_lines(text)
    if allocator.width == 0:
        comments, allocator.width = _read_first_document(text, options)
        n -= comments
    return allocator.rows(n, len(text))


def _parse_block(text: NDArray[np.uint8], X: Matrix, path: str, options: _ParseOptions) -> _Block:
    """Parse the documents of a block, and again if a feature lies beyond the width of X."""
    while True:
        y, starts, ids, comments, docids, max_id, lines, problem = kernels.parse_letor(
            text, X, options.max_feature, options.null_is_nan
        )
        if max_id <= X.shape[1]:
            columns = Strings(*ids), Strings(*comments), Strings(*docids)
            return _Block(X[: len(y)], y, starts, *columns, max_id, lines, len(text), problem)
        check_memory(len(X), max_id, options.dtype.itemsize, options.max_bytes, path)
        X = np.empty((len(X), max_id), dtype=options.dtype)


def _read_first_document(text: NDArray[np.uint8], options: _ParseOptions) -> tuple[int, int]:
    """Return the number of comment lines before the first document, and its largest feature id.

    In most files all documents have the features of the first.
    """
    lines = text[: 1 << 16].tobytes().split(b"\n")
    comments = next((i for i, line in enumerate(lines) if not line.startswith(b"#")), 0)
    line = np.frombuffer(lines[comments], dtype=np.uint8)
    X = np.empty((1, 0), dtype=options.dtype)
    parsed = kernels.parse_letor(line, X, options.max_feature, options.null_is_nan)
    return comments, int(parsed[5])


def _assemble(
    blocks: list[_Block], width: int, missing: Missing, header: dict[str, Any]
) -> RankingData:
    """Make RankingData from blocks, with the rows of each query together."""
    y = np.concatenate([b.y for b in blocks])
    codes, qids = _number_runs(blocks)
    comments = Strings.concatenate([b.comments for b in blocks])
    docids = Strings.concatenate([b.docids for b in blocks])
    X = stack_rows([b.X for b in blocks], len(y), width)
    groups, rows = Groups.from_codes(codes, len(qids))
    if rows is not None:
        if header.keys() & {"docids", "comments", "doc_text"}:
            raise CorruptFileError("expected each query's lines together below a '#podium' line")
        X, y, comments, docids = X[rows], y[rows], comments.take(rows), docids.take(rows)
    docid_column, comment_column = _drop_redundant(docids, comments)
    return RankingData(
        X=X,
        y=y,
        groups=groups,
        qids=qids,
        missing=missing,
        source_rows=rows,
        **{
            "docid_column": docid_column,
            "comment_column": comment_column,
            **header_fields(header),
        },
    )


def _number_runs(blocks: list[_Block]) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Return a query number for each row, in order of first appearance, and the query ids."""
    numbers: dict[str, int] = {}
    codes = []
    for block in blocks:
        run_codes = [numbers.setdefault(qid, len(numbers)) for qid in block.run_ids]
        lengths = np.diff(block.run_starts, append=len(block.y))
        codes.append(np.repeat(np.array(run_codes, dtype=np.int64), lengths))
    return np.concatenate(codes), np.array(list(numbers), dtype=object)


def _flatten(paths: tuple[Path_ | Sequence[Path_], ...]) -> list[str]:
    files: list[str] = []
    for path in paths:
        group = [path] if isinstance(path, str | os.PathLike) else path
        files += [os.fspath(member) for member in group]
    if not files:
        raise UsageError("expected at least one path to read, got none")
    return files


def _line_comments(data: RankingData) -> Strings:
    """The end of each line behind the features: the comment, or one that names the document."""
    if data.comment_column is not None:
        comments = [f"#{c}" if c else "" for c in data.comment_column]
    elif data.docid_column is not None:
        comments = [f"#docid = {d}" if d else "" for d in data.docid_column]
    else:
        comments = [""] * len(data)
    return Strings.of("" if "\n" in comment else comment for comment in comments)


def _read_line_comments(comments: Strings) -> tuple[Strings | None, Strings | None]:
    """Return the document ids and comments that a reader of these line ends gets."""
    text = "".join(f"0 qid:0 {c}\n" for c in comments).encode("utf-8", "surrogateescape")
    block = kernels.parse_letor(
        np.frombuffer(text, dtype=np.uint8), np.empty((len(comments), 0)), MAX_FEATURE_ID, False
    )
    return _drop_redundant(Strings(*block[4]), Strings(*block[3]))


def _drop_redundant(docids: Strings, comments: Strings) -> tuple[Strings | None, Strings | None]:
    """Return ids and comments; None for empty ones, and for comments that only repeat the ids."""
    has_docids, has_comments = docids.offsets[-1] > 0, comments.offsets[-1] > 0
    if has_docids and _repeat_docids(comments, docids):
        return docids, None
    return docids if has_docids else None, comments if has_comments else None


def _repeat_docids(comments: Strings, docids: Strings) -> bool:
    """Whether every comment is exactly the one that write_letor makes from the document id."""
    prefix = np.frombuffer(b"docid = ", dtype=np.uint8)
    present = docids.lengths > 0
    if not np.array_equal(comments.lengths, np.where(present, docids.lengths + len(prefix), 0)):
        return False
    starts = comments.offsets[:-1][present]
    return bool((comments.bytes[starts[:, None] + np.arange(len(prefix))] == prefix).all())


def _query_batches(groups: Groups) -> Iterator[tuple[int, int]]:
    """Runs of queries of about 10,000 rows."""
    edges = np.searchsorted(groups.offsets, np.arange(0, groups.n_rows, 10_000), side="left")
    bounds = [*dict.fromkeys(edges.tolist()), len(groups)]
    return ((a, b) for a, b in itertools.pairwise(bounds) if a < b)
