"""LETOR / SVMlight text: ``label qid:id 1:value 2:value ... # comment``, one document a line."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium import kernels
from podium.data.arrays import Matrix
from podium.data.checks import DENSE_LIMIT, check_memory, check_scaled
from podium.data.files import COMPRESSIONS, Path_, Progress, atomic_writer, read_blocks
from podium.data.groups import Groups
from podium.data.letor_header import header_fields, header_line, read_header
from podium.data.parallel import in_parallel, threads
from podium.data.ranking_data import Missing, RankingData, concatenate
from podium.data.strings import Strings
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

MAX_FEATURE = 1_000_000
"""Feature ids above this are taken for a mistake."""


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
    max_bytes: int = DENSE_LIMIT,
    progress: Progress | None = None,
) -> RankingData:
    """Read LETOR / SVMlight text, plain or ``.gz .xz .bz2 .zst``; several files make one data set.

    Comments give document ids (``#docid = GX008-86-4444840 ...``, or a comment that is one word)
    and are kept. Features that do not stand on a line are 0. Rows of one query may lie apart.

    Parameters
    ----------
    missing
        What the literal NULL means: "error", or "nan" to keep it as NaN. It is never 0.
    n_features
        Number of features; by default the largest id met.
    dtype
        Float64 (default) or float32.
    scaled
        How the features are scaled within queries, where the file does not say it: "minmax" for
        LETOR's QueryLevelNorm.
    max_bytes
        Size a dense matrix may have.
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
    if n_features is not None and not 1 <= n_features <= MAX_FEATURE:
        raise UsageError(f"expected n_features from 1 to {MAX_FEATURE}, got {n_features}")
    if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
        raise UsageError(f"expected dtype float32 or float64, got {dtype}")
    headers = [read_header(path) for path in files]
    if len(files) > 1 and any(headers):  # what a header says holds for its own file
        given: dict[str, Any] = {"missing": missing, "n_features": n_features, "dtype": dtype}
        given |= {"scaled": scaled, "max_bytes": max_bytes, "progress": progress}
        return concatenate([read_letor(path, **given) for path in files])
    check_scaled(scaled)
    header = headers[0] if scaled is None else {**headers[0], "scaled": scaled}
    options = _Options(
        np.dtype(dtype or header.get("dtype") or np.float64), n_features or MAX_FEATURE,
        missing == "nan", max_bytes,
    )  # fmt: skip
    blocks: list[_Block] = []
    rows, width = 0, n_features or 0
    for path in files:
        for block in _read_file(path, options, progress):
            rows, width = rows + len(block.y), max(width, block.max_id)
            check_memory(rows, width, options.dtype.itemsize, max_bytes, path)
            blocks.append(block)
    return _assemble(blocks, width, missing, header)


def write_letor(data: RankingData, path: Path_) -> None:
    """Write LETOR text, compressed by the path's ending; ``read_letor`` gives the same data back.

    Every feature is written, NaN as NULL, and every number as the shortest text that reads back
    the same. Comments are kept; document ids without comments become ``#docid = ...``. What LETOR
    has no place for (feature names, query weights, texts, top-k truth, scaling, float32, ids that are
    no single word) goes into a first line ``#podium {...}`` that other readers skip. The file appears
    whole or not at all.
    """
    for qid in data.qids.tolist():
        if not qid or any(c in qid for c in " \t\r\n#"):
            raise DataError(f"expected query ids without spaces or '#', got {qid!r}")
    qids, tails = Strings.of(data.qids.tolist()), _tails(data)

    def format_queries(bounds: tuple[int, int]) -> bytes:
        return kernels.format_letor(
            data.X, data.y, data.groups.offsets, *bounds,
            qids.bytes, qids.offsets, tails.bytes, tails.offsets,
        ).tobytes()  # fmt: skip

    with atomic_writer(path) as write:
        unsaid = _read_tails(tails) != (data.docid_column, data.comment_column)
        write(header_line(data, unsaid))
        for text in in_parallel(format_queries, _batches(data.groups)):
            write(text)


class _Options(NamedTuple):
    dtype: np.dtype[Any]
    max_feature: int
    null_is_nan: bool
    max_bytes: int


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


def _read_file(path: str, options: _Options, progress: Progress | None) -> Iterator[_Block]:
    """The blocks of a file that have documents; the first problem as an error with its line."""
    lines, empty = 0, True
    for block in _parse_blocks(path, options, progress):
        if block.problem is not None:
            kind, line, expected, got = block.problem
            hint = "; missing='nan' (--missing nan) keeps it as NaN" if kind == "null" else ""
            raise _ERRORS[kind](
                f"expected {expected}, got {got!r}{hint}", path=path, line=lines + line + 1
            )
        lines += block.lines
        if len(block.y):
            empty = False
            yield block
    if empty:
        raise EmptyDataError("expected at least one document, got none", path=path)


def _parse_blocks(path: str, options: _Options, progress: Progress | None) -> Iterator[_Block]:
    slab = _Slab(path, options)
    texts = read_blocks(path, in_flight=threads() + 1)
    jobs = ((text, slab.rows(text), path, options) for text in texts)
    for block in in_parallel(lambda job: _parse_block(*job), jobs):
        slab.width = max(slab.width, block.max_id)
        if progress is not None:
            progress(block.n_bytes)
        yield block


class _Slab:
    """Rows for one block after the other out of one large array.

    Fresh memory is what reading costs most; a large array gets it cheaply, and blocks that lie
    end to end in it need not be copied together afterwards. Memory that is not written to is
    never taken, so there may be more of it than needed.
    """

    def __init__(self, path: str, options: _Options) -> None:
        self.path, self.options = path, options
        self.width = 0
        # Compressed text may be many times the size of its file.
        self.bytes_left = os.path.getsize(path) * (32 if path.endswith(COMPRESSIONS) else 1)
        self.array: Matrix = np.empty((0, 0), dtype=options.dtype)
        self.used = 0

    def rows(self, text: NDArray[np.uint8]) -> Matrix:
        """Rows for the lines of the next block."""
        n = kernels.count_lines(text)
        if self.width == 0:
            comments, self.width = _head(text, self.options)
            n -= comments
        if self.used + n > len(self.array) or self.width != self.array.shape[1]:
            # As many rows as the rest of the file has if its lines are like these.
            self.array = self._fresh(n, int(1.02 * n * self.bytes_left / len(text)))
            self.used = 0
        self.used += n
        self.bytes_left -= len(text)
        return self.array[self.used - n : self.used]

    def _fresh(self, least: int, wanted: int) -> Matrix:
        dtype, max_bytes = self.options.dtype, self.options.max_bytes
        check_memory(least, self.width, dtype.itemsize, max_bytes, self.path)
        affordable = max_bytes // max(1, self.width * dtype.itemsize)
        try:
            return np.empty((max(least, min(wanted, affordable)), self.width), dtype)
        except MemoryError:  # a system that grants no more than it has
            return np.empty((least, self.width), dtype)


def _parse_block(text: NDArray[np.uint8], X: Matrix, path: str, options: _Options) -> _Block:
    """The documents of a block; parsed again where a feature lies beyond the width of X."""
    while True:
        y, starts, ids, comments, docids, max_id, lines, problem = kernels.parse_letor(
            text, X, options.max_feature, options.null_is_nan
        )
        if max_id <= X.shape[1]:
            columns = Strings(*ids), Strings(*comments), Strings(*docids)
            return _Block(X[: len(y)], y, starts, *columns, max_id, lines, len(text), problem)
        check_memory(len(X), max_id, options.dtype.itemsize, options.max_bytes, path)
        X = np.empty((len(X), max_id), dtype=options.dtype)


def _head(text: NDArray[np.uint8], options: _Options) -> tuple[int, int]:
    """Comment lines before the first document, and that one's largest feature id.

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
    """Blocks -> RankingData, each query's rows together."""
    y = np.concatenate([b.y for b in blocks])
    codes, qids = _number_runs(blocks)
    comments = Strings.concatenate([b.comments for b in blocks])
    docids = Strings.concatenate([b.docids for b in blocks])
    X = _stack([b.X for b in blocks], len(y), width)
    groups, rows = Groups.from_codes(codes, len(qids))
    if rows is not None:
        if header.keys() & {"docids", "comments", "doc_text"}:
            raise CorruptFileError("expected each query's lines together below a '#podium' line")
        X, y, comments, docids = X[rows], y[rows], comments.take(rows), docids.take(rows)
    known, said = _columns(docids, comments)
    return RankingData(
        X=X,
        y=y,
        groups=groups,
        qids=qids,
        missing=missing,
        source_rows=rows,
        **{"docid_column": known, "comment_column": said, **header_fields(header)},
    )


def _stack(parts: list[Matrix], n_rows: int, width: int) -> Matrix:
    """The parts below each other, narrow ones filled up with 0; no copy where they lie so already."""
    slab = parts[0].base
    if isinstance(slab, np.ndarray) and slab.shape[1] == width and _end_to_end(parts):
        return slab[:n_rows]
    out = np.empty((n_rows, width), dtype=parts[0].dtype)
    row = 0
    for part in parts:
        rows = out[row : row + len(part)]
        rows[:, : part.shape[1]] = part[:, :width]
        rows[:, part.shape[1] :] = 0
        row += len(part)
    return out


def _end_to_end(parts: list[Matrix]) -> bool:
    """Whether the parts are adjacent rows from the start of one array."""
    slab = parts[0].base
    address = slab.ctypes.data if isinstance(slab, np.ndarray) else 0
    for part in parts:
        if part.base is not slab or part.ctypes.data != address:
            return False
        address += part.nbytes
    return True


def _number_runs(blocks: list[_Block]) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """A query number for each row, in order of first appearance, and the query ids."""
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
        several = [path] if isinstance(path, str | os.PathLike) else path
        files += [os.fspath(one) for one in several]
    if not files:
        raise UsageError("expected at least one path to read, got none")
    return files


def _tails(data: RankingData) -> Strings:
    """What follows the features on each line: the comment, or one that names the document."""
    if data.comment_column is not None:
        tails = [f"#{c}" if c else "" for c in data.comment_column]
    elif data.docid_column is not None:
        tails = [f"#docid = {d}" if d else "" for d in data.docid_column]
    else:
        tails = [""] * len(data)
    return Strings.of("" if "\n" in tail else tail for tail in tails)


def _read_tails(tails: Strings) -> tuple[Strings | None, Strings | None]:
    """The document ids and comments that reading these tails gives."""
    text = "".join(f"0 qid:0 {tail}\n" for tail in tails).encode("utf-8", "surrogateescape")
    block = kernels.parse_letor(
        np.frombuffer(text, dtype=np.uint8), np.empty((len(tails), 0)), MAX_FEATURE, False
    )
    return _columns(Strings(*block[4]), Strings(*block[3]))


def _columns(docids: Strings, comments: Strings) -> tuple[Strings | None, Strings | None]:
    """Document ids and comments, None where they say nothing (beyond each other)."""
    known, said = docids.offsets[-1] > 0, comments.offsets[-1] > 0
    if known and _only_names(comments, docids):
        return docids, None
    return docids if known else None, comments if said else None


def _only_names(comments: Strings, docids: Strings) -> bool:
    """Whether every comment is exactly what write_letor makes of a document id."""
    prefix = np.frombuffer(b"docid = ", dtype=np.uint8)
    named = docids.lengths > 0
    if not np.array_equal(comments.lengths, np.where(named, docids.lengths + len(prefix), 0)):
        return False
    starts = comments.offsets[:-1][named]
    return bool((comments.bytes[starts[:, None] + np.arange(len(prefix))] == prefix).all())


def _batches(groups: Groups) -> Iterator[tuple[int, int]]:
    """Runs of queries of about 10,000 rows."""
    edges = np.searchsorted(groups.offsets, np.arange(0, groups.n_rows, 10_000), side="left")
    bounds = [*dict.fromkeys(edges.tolist()), len(groups)]
    return ((a, b) for a, b in itertools.pairwise(bounds) if a < b)
