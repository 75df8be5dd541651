"""Indexed runs: TREC runs whose lists are read from the file when they are needed."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.counted_nouns import count_texts
from podium.data.packed_strings import Strings
from podium.data.parallel import read_ahead
from podium.data.text_files import COMPRESSIONS, Progress, open_regular, read_blocks
from podium.data.trec import Run, parse_values, raise_problem
from podium.errors import CorruptFileError, EmptyDataError, MalformedLineError, NonFiniteError
from podium.typing import Path_

DOCUMENTS_PER_CHUNK = 100_000
"""Lists are read in chunks of about this many documents."""
_RUN_COLUMNS = 6
_BOM_BYTES = 3


class IndexedRun:
    """A TREC run in a file, and where the lines of each query are: memory grows with queries only.

    Opening reads the file once and raises the first problem in it. The lines of a query may lie
    apart. A compressed run is unpacked into a temporary file, which ends with the process.

    Parameters
    ----------
    path
        The file: lines ``query Q0 document rank score tag``, plain or compressed.
    progress
        Called with the number of bytes of text read since the last call.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp()) / "bm25.run"
    >>> _ = path.write_text("q1 Q0 d1 1 0.5 bm25\\nq2 Q0 d2 1 0.7 bm25\\nq1 Q0 d3 2 0.1 bm25\\n")
    >>> run = IndexedRun(path)
    >>> run.qids, len(run), list(run.read(["q1"]).docids)
    (('q1', 'q2'), 3, ['d1', 'd3'])
    """

    def __init__(self, path: Path_, progress: Progress | None = None) -> None:
        self.path = os.fspath(path)
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()  # chunks are read by a thread
        self._span_queries, self._span_starts, self._sizes = array("q"), array("q"), array("q")
        is_plain = Path(path).suffix not in COMPRESSIONS
        self._file: IO[bytes] = open_regular(path) if is_plain else tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        end = self._index(None if is_plain else self._file, progress)
        self.qids: tuple[str, ...] = tuple(self._numbers)
        self._ends = np.append(np.array(self._span_starts)[1:], end)
        self._spans = np.argsort(np.array(self._span_queries), kind="stable")
        counts = np.bincount(np.array(self._span_queries), minlength=len(self.qids))
        self._first_span = np.concatenate([[0], np.cumsum(counts)])

    def __len__(self) -> int:
        return sum(self._sizes)

    def __repr__(self) -> str:
        return f"IndexedRun({self.path}: {count_texts(query=len(self.qids), document=len(self))})"

    def __contains__(self, qid: object) -> bool:
        return qid in self._numbers

    def size(self, qid: str) -> int:
        """Return the number of documents of a query; 0 without a list."""
        number = self._numbers.get(qid)
        return 0 if number is None else self._sizes[number]

    def read(self, qids: Sequence[str]) -> Run:
        """Return the lists of these queries, in this order; queries without a list are left out.

        Raises if a document is twice in a list, or if the file has been changed since it was opened.
        """
        numbers = [self._numbers[qid] for qid in qids if qid in self._numbers]
        pieces = [piece for number in numbers for piece in self._lines_of(number)]
        if not pieces:
            return Run.empty()
        text = np.frombuffer(b"".join(pieces), dtype=np.uint8)
        try:
            run = Run(*parse_values([text], self.path, _RUN_COLUMNS))
        except (EmptyDataError, MalformedLineError, NonFiniteError):
            raise self._changed() from None
        if run.qids.tolist() != [self.qids[number] for number in numbers]:
            raise self._changed()
        return run

    def chunks(self, documents: int = DOCUMENTS_PER_CHUNK) -> Iterator[Run]:
        """Return all lists in chunks of about so many documents, in order; the next one is read ahead."""
        return read_ahead(map(self.read, chunks_of_queries(self.qids, self.size, documents)))

    def _lines_of(self, number: int) -> Iterator[bytes]:
        """Yield the lines of a query, each piece with a line end."""
        for span in self._spans[self._first_span[number] : self._first_span[number + 1]]:
            start, end = self._span_starts[span], int(self._ends[span])
            with self._lock:
                self._file.seek(start)
                piece = self._file.read(end - start)
            yield piece if piece.endswith(b"\n") else piece + b"\n"

    def _index(self, copy: IO[bytes] | None, progress: Progress | None) -> int:
        """Note where the lines of each query are; return the number of bytes."""
        place, lines = self._bom_bytes() if copy is None else 0, 0
        for text in read_blocks(self.path):
            starts, ids, _, values, n_lines, problem = kernels.parse_trec(text, _RUN_COLUMNS)
            if problem is not None:
                raise_problem(problem, self.path, lines)
            self._add(starts, Strings(*ids), len(values), place + _line_starts(text, len(values)))
            place, lines = place + len(text), lines + n_lines
            if copy is not None:
                copy.write(text.tobytes())
            if progress is not None:
                progress(len(text))
        if not self._numbers:
            raise EmptyDataError("expected at least one line, got an empty file", path=self.path)
        return place

    def _add(
        self, starts: NDArray[np.int64], ids: Strings, n_rows: int, places: NDArray[np.int64]
    ) -> None:
        """Add the runs of lines of one query in a block of text."""
        sizes = np.diff(starts, append=n_rows)
        for qid, size, place in zip(ids, sizes.tolist(), places[starts].tolist(), strict=True):
            number = self._numbers.setdefault(qid, len(self._numbers))
            if number == len(self._sizes):
                self._sizes.append(0)
            self._sizes[number] += size
            if not self._span_queries or self._span_queries[-1] != number:
                self._span_queries.append(number)
                self._span_starts.append(place)

    def _bom_bytes(self) -> int:
        start = self._file.read(_BOM_BYTES)
        return _BOM_BYTES if start == b"\xef\xbb\xbf" else 0

    def _changed(self) -> CorruptFileError:
        return CorruptFileError(
            "the file was changed while it was read; start again", path=self.path
        )


def chunks_of_queries(
    qids: Sequence[str], size: Callable[[str], int], documents: int = DOCUMENTS_PER_CHUNK
) -> Iterator[list[str]]:
    """Yield queries in runs whose lists have about so many documents; `size` maps a query to a number.

    Examples
    --------
    >>> list(chunks_of_queries(["a", "bb", "ccc", "d"], len, documents=3))
    [['a', 'bb'], ['ccc'], ['d']]
    """
    chunk: list[str] = []
    n = 0
    for qid in qids:
        chunk.append(qid)
        n += size(qid)
        if n >= documents:
            yield chunk
            chunk, n = [], 0
    if chunk:
        yield chunk


def _line_starts(text: NDArray[np.uint8], n_rows: int) -> NDArray[np.int64]:
    """Return where each line that is not blank starts."""
    ends = np.flatnonzero(text == ord("\n")) + 1
    starts: NDArray[np.int64] = np.concatenate([[0], ends])
    starts = starts[:-1] if starts[-1] == len(text) else starts
    if len(starts) == n_rows:
        return starts
    bounds = np.append(starts[1:], len(text))
    content = text.tobytes()
    has_words = [bool(content[a:b].strip(b" \t\r\n")) for a, b in zip(starts, bounds, strict=True)]
    return np.asarray(starts[np.array(has_words, dtype=bool)])
