"""TREC files: qrels (judgments) and runs (ranked lists with scores)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import kernels
from podium.counted_nouns import count_texts
from podium.data.atomic_files import atomic_writer
from podium.data.duplicate_documents import KEEP_FIRST_IN_PYTHON, KEEP_FIRST_ON_COMMAND_LINE
from podium.data.groups import Groups
from podium.data.judged_by import JudgedBy, has_machine_labels
from podium.data.packed_strings import Strings
from podium.data.ranking_data import RankingData
from podium.data.text_files import Progress, read_blocks
from podium.errors import DataError, EmptyDataError, MalformedLineError, NonFiniteError, UsageError
from podium.typing import Path_


@dataclass(frozen=True, eq=False, repr=False)
class DocumentValues:
    """One value per document, grouped by query: the part that qrels and runs share."""

    qids: NDArray[np.object_]
    groups: Groups
    docids: Strings
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return self.groups.n_rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({count_texts(query=len(self.groups), document=len(self))})"

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {qid: number for number, qid in enumerate(self.qids.tolist())}

    def numbers_of(self, qids: Iterable[str]) -> NDArray[np.int64]:
        """Return the numbers of these queries; queries that are not there are left out."""
        numbers = self._number_of
        return np.array([numbers[qid] for qid in qids if qid in numbers], dtype=np.int64)

    def packed(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Return the document ids as kernels take them: bytes, bounds, and the offsets of queries."""
        return self.docids.bytes, self.docids.offsets, self.groups.offsets

    def lines(self, layout: Callable[[str, str, float, int], str]) -> Iterator[str]:
        """Yield a line for each document: layout(query, document, value, place from 1)."""
        docids = iter(self.docids)
        for qid, rows in zip(self.qids.tolist(), self.groups.slices(), strict=True):
            for place, value in enumerate(self.values[rows].tolist(), start=1):
                yield layout(qid, next(docids), value, place)


@dataclass(frozen=True, eq=False, repr=False)
class Qrels(DocumentValues):
    """Qrels: for each query, documents and their labels (negative means not relevant).

    Ranking data gives query weights and top-k truth along; a file has no place for them.
    """

    weight: NDArray[np.float64] | None = None
    topk: int | None = None
    judged_by: JudgedBy | None = None

    def select(self, qids: Iterable[str]) -> Qrels:
        """Return the judgments of these queries, in this order."""
        numbers = self.numbers_of(qids)
        groups, rows = self.groups.take(numbers)
        weight = None if self.weight is None else self.weight[numbers]
        return Qrels(
            self.qids[numbers], groups, self.docids.take(rows), self.values[rows], weight, self.topk,
            self.judged_by,
        )  # fmt: skip

    @classmethod
    def from_data(cls, data: RankingData) -> Qrels:
        """Return the labels of ranking data as qrels."""
        docids = data.require_docids("judging by qrels")
        _check_once(data.groups, docids, data.qids.tolist())
        return cls(
            data.qids, data.groups, docids, data.y, data.query_weight, data.topk, data.judged_by
        )


class Run(DocumentValues):
    """A run: for each query, documents and the scores that order them."""

    @classmethod
    def from_scores(cls, data: RankingData, scores: ArrayLike, k: int | None = None) -> Run:
        """Return the documents of each query by score, the top k or all of them.

        Examples
        --------
        >>> from podium.data import RankingData
        >>> data = RankingData.from_arrays([[0.0]] * 3, [0, 0, 1], qid=[7] * 3, docid=list("abc"))
        >>> list(Run.from_scores(data, [0.1, 0.3, 0.2], k=2).docids)
        ['b', 'c']
        """
        values = data.check_scores(scores)
        docids = data.require_docids("a run")
        _check_once(data.groups, docids, data.qids.tolist())
        depth = len(data) if k is None else k
        if depth < 1:
            raise UsageError(f"expected k of 1 or more, got {k}")
        rows = data.groups.order(values)[data.groups.places < depth]
        groups = Groups.from_sizes(np.minimum(data.groups.sizes, depth))
        return cls(data.qids, groups, docids.take(rows), values[rows])

    def select(self, qids: Iterable[str]) -> Run:
        """Return the lists of these queries, in this order; queries without a list are left out."""
        numbers = self.numbers_of(qids)
        groups, rows = self.groups.take(numbers)
        return Run(self.qids[numbers], groups, self.docids.take(rows), self.values[rows])

    @classmethod
    def empty(cls) -> Run:
        """Return a run without queries."""
        no_ids = np.array([], dtype=object)
        return cls(no_ids, Groups.from_sizes([]), Strings.of([]), np.empty(0))


def read_qrels(path: Path_, progress: Progress | None = None) -> Qrels:
    """Read TREC qrels: lines ``query 0 document label``, plain or compressed."""
    return Qrels(*_read_values(path, 4, progress))


def read_run(path: Path_, progress: Progress | None = None) -> Run:
    """Read a TREC run: lines ``query Q0 document rank score tag``; scores decide, not ranks."""
    return Run(*_read_values(path, 6, progress))


def write_qrels(qrels: Qrels | RankingData, path: Path_) -> None:
    """Write TREC qrels; whole labels as integers, as trec_eval wants them.

    The second column, which trec_eval ignores, is 0; or ``machines`` or ``both`` if machines judged.
    """
    _write(path, qrels_lines(qrels))


def qrels_lines(qrels: Qrels | RankingData) -> Iterator[str]:
    """Return the lines of TREC qrels, query by query."""
    labels = Qrels.from_data(qrels) if isinstance(qrels, RankingData) else qrels
    _check_words(labels)
    mark = labels.judged_by if has_machine_labels(labels.judged_by) else "0"
    return labels.lines(lambda qid, doc, label, _: f"{qid} {mark} {doc} {label:.17g}\n")


def write_run(run: Run, path: Path_, tag: str = "podium") -> None:
    """Write a TREC run; scores read back exactly."""
    _write(path, run_lines(run, tag))


def run_lines(run: Run, tag: str = "podium") -> Iterator[str]:
    """Return the lines of a TREC run, best first, query by query."""
    if not tag or any(c in tag for c in " \t\r\n"):
        raise UsageError(f"expected a tag without spaces, got {tag!r}")
    if not np.isfinite(run.values).all():
        raise DataError("expected finite scores in a TREC run, got an infinite one")
    rows = run.groups.order(run.values)
    ranked = Run(run.qids, run.groups, run.docids.take(rows), run.values[rows])
    _check_words(ranked)
    return ranked.lines(lambda qid, doc, score, rank: f"{qid} Q0 {doc} {rank} {score!r} {tag}\n")


def match_documents(
    codes: NDArray[np.int64], docids: Strings, in_codes: NDArray[np.int64], in_docids: Strings
) -> NDArray[np.int64]:
    """Return the first row of each (query, document) among others, or -1."""
    n_queries = 1 + max(int(codes.max(initial=-1)), int(in_codes.max(initial=-1)))
    (groups, rows), (in_groups, in_rows) = (
        Groups.from_codes(numbers, n_queries) for numbers in (codes, in_codes)
    )
    own = docids if rows is None else docids.take(rows)
    others = in_docids if in_rows is None else in_docids.take(in_rows)
    at = kernels.match_strings(
        own.bytes, own.offsets, groups.offsets, others.bytes, others.offsets, in_groups.offsets
    )
    if in_rows is not None:
        at = np.where(at >= 0, in_rows[at], -1)
    if rows is None:
        return at
    out = np.empty_like(at)
    out[rows] = at
    return out


def raise_problem(problem: tuple[str, int, str, str], path: str, lines: int) -> NoReturn:
    """Raise the problem that `parse_trec` reports, `lines` lines after the start of the file."""
    kind, line, expected, got = problem
    error = NonFiniteError if kind == "nonfinite" else MalformedLineError
    raise error(f"expected {expected}, got {got!r}", path=path, line=lines + line + 1)


def _read_values(
    path: Path_, n_columns: int, progress: Progress | None
) -> tuple[NDArray[np.object_], Groups, Strings, NDArray[np.float64]]:
    name = os.fspath(path)
    return parse_values(read_blocks(name), name, n_columns, progress)


def parse_values(
    texts: Iterable[NDArray[np.uint8]], name: str, n_columns: int, progress: Progress | None = None
) -> tuple[NDArray[np.object_], Groups, Strings, NDArray[np.float64]]:
    """Return the queries, groups, documents and values of the lines of these texts."""
    docids, values, lines = [], [], 0
    numbers: dict[str, int] = {}
    run_codes: list[int] = []
    run_lengths = []
    for text in texts:
        starts, q, d, v, n, problem = kernels.parse_trec(text, n_columns)
        if problem is not None:
            raise_problem(problem, name, lines)
        run_codes += [numbers.setdefault(qid, len(numbers)) for qid in Strings(*q)]
        run_lengths.append(np.diff(starts, append=len(v)))
        docids.append(Strings(*d))
        values.append(v)
        lines += n
        if progress is not None:
            progress(len(text))
    if not numbers:
        raise EmptyDataError("expected at least one line, got an empty file", path=name)
    codes = np.repeat(np.array(run_codes, dtype=np.int64), np.concatenate(run_lengths))
    documents, scores = Strings.concatenate(docids), np.concatenate(values)
    groups, rows = Groups.from_codes(codes, len(numbers))
    if rows is not None:
        documents, scores = documents.take(rows), scores[rows]
    _check_once(groups, documents, list(numbers), name)
    return np.array(list(numbers), dtype=object), groups, documents, scores


def _check_word(word: str, what: str, where: str) -> None:
    if not word or any(c in word for c in " \t\r\n"):
        got = repr(word) if word else "none"
        error = DataError(f"expected {what} without spaces in a TREC file, got {got}{where}")
        if what == "a query id":
            raise error.advise(
                python="read_table(..., query=COLUMN, query_text=COLUMN) makes ids of texts",
                command_line="if it is the text of the query, add --query-text with the same column as "
                "--query: ids are made of the texts",
            )
        raise error.advise(
            python="write Parquet, which takes any ids, or change these ids",
            command_line="write .parquet, which takes any ids, or change these ids in the table",
        )


def _check_once(groups: Groups, docids: Strings, qids: list[str], path: str | None = None) -> None:
    column = (docids.bytes, docids.offsets, groups.offsets)
    repeats = np.flatnonzero(kernels.match_strings(*column, *column) < np.arange(len(docids)))
    if len(repeats):
        row = int(repeats[0])
        error = DataError(
            f"expected each document once per query, got {docids[row]!r} twice "
            f"for query {qids[groups.codes[row]]!r}",
            path=path,
        )
        if path is None:
            error.advise(python=KEEP_FIRST_IN_PYTHON, command_line=KEEP_FIRST_ON_COMMAND_LINE)
        raise error


def _check_words(table: DocumentValues) -> None:
    for word in table.qids.tolist():
        _check_word(word, "a query id", "")
    for word, q in zip(table.docids, table.groups.codes.tolist(), strict=True):
        _check_word(word, "a document id", f" for a document of query {table.qids[q]!r}")


def _write(path: Path_, lines: Iterable[str]) -> None:
    with atomic_writer(path) as write:
        for line in lines:
            write(line.encode("utf-8", "surrogateescape"))
