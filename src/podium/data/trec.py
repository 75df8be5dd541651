"""TREC files: qrels (judgments) and runs (ranked lists with scores)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import kernels
from podium.data.files import Path_, Progress, atomic_writer, read_blocks
from podium.data.groups import Groups
from podium.data.ranking_data import RankingData
from podium.data.strings import Strings
from podium.errors import DataError, EmptyDataError, MalformedLineError, NonFiniteError, UsageError


@dataclass(frozen=True, eq=False, repr=False)
class Judgments:
    """Documents with a number each, grouped by query: what qrels and runs have in common."""

    qids: NDArray[np.object_]
    groups: Groups
    docids: Strings
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return self.groups.n_rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.groups):,} queries, {len(self):,} documents)"

    def lines(self, layout: Callable[[str, str, float, int], str]) -> Iterator[str]:
        """A line for each document: layout(query, document, value, place from 1)."""
        docids = iter(self.docids)
        for qid, rows in zip(self.qids.tolist(), self.groups.slices(), strict=True):
            for place, value in enumerate(self.values[rows].tolist(), start=1):
                yield layout(qid, next(docids), value, place)


@dataclass(frozen=True, eq=False, repr=False)
class Qrels(Judgments):
    """Judgments: for each query, documents and their labels (negative means not relevant).

    Query weights and top-k truth come along from ranking data; a file has no place for them.
    """

    weight: NDArray[np.float64] | None = None
    topk: int | None = None

    @classmethod
    def from_data(cls, data: RankingData) -> Qrels:
        """The labels of ranking data as qrels."""
        docids = data.require_docids("judging by qrels")
        _check_once(data.groups.codes, docids, data.qids.tolist())
        return cls(data.qids, data.groups, docids, data.y, data.query_weight, data.topk)


class Run(Judgments):
    """Ranked lists: for each query, documents and the scores that order them."""

    @classmethod
    def from_scores(cls, data: RankingData, scores: ArrayLike, k: int | None = None) -> Run:
        """The documents of each query by score, the top k or all of them.

        Examples
        --------
        >>> from podium.data import RankingData
        >>> data = RankingData.from_arrays([[0.0]] * 3, [0, 0, 1], qid=[7] * 3, docid=list("abc"))
        >>> list(Run.from_scores(data, [0.1, 0.3, 0.2], k=2).docids)
        ['b', 'c']
        """
        values = data.check_scores(scores)
        docids = data.require_docids("a run")
        _check_once(data.groups.codes, docids, data.qids.tolist())
        depth = len(data) if k is None else k
        if depth < 1:
            raise UsageError(f"expected k of 1 or more, got {k}")
        rows = data.groups.order(values)[data.groups.places < depth]
        groups = Groups.from_sizes(np.minimum(data.groups.sizes, depth))
        return cls(data.qids, groups, docids.take(rows), values[rows])


def read_qrels(path: Path_, progress: Progress | None = None) -> Qrels:
    """Read TREC qrels: ``query 0 document label`` a line, plain or compressed."""
    return Qrels(*_read(path, 4, progress))


def read_run(path: Path_, progress: Progress | None = None) -> Run:
    """Read a TREC run: ``query Q0 document rank score tag`` a line; scores decide, not ranks."""
    return Run(*_read(path, 6, progress))


def write_qrels(qrels: Qrels | RankingData, path: Path_) -> None:
    """Write TREC qrels; whole labels as integers, as trec_eval wants them."""
    judged = Qrels.from_data(qrels) if isinstance(qrels, RankingData) else qrels
    _check_words(judged)
    _write(path, judged.lines(lambda qid, doc, label, _: f"{qid} 0 {doc} {label:.17g}\n"))


def write_run(run: Run, path: Path_, tag: str = "podium") -> None:
    """Write a TREC run; scores read back exactly."""
    _write(path, run_lines(run, tag))


def run_lines(run: Run, tag: str = "podium") -> Iterator[str]:
    """The lines of a TREC run, best first, query by query."""
    if not tag or any(c in tag for c in " \t\r\n"):
        raise UsageError(f"expected a tag without spaces, got {tag!r}")
    if not np.isfinite(run.values).all():
        raise DataError("expected finite scores in a TREC run, got an infinite one")
    rows = run.groups.order(run.values)
    ranked = Run(run.qids, run.groups, run.docids.take(rows), run.values[rows])
    _check_words(ranked)
    return ranked.lines(lambda qid, doc, score, rank: f"{qid} Q0 {doc} {rank} {score!r} {tag}\n")


def match(
    codes: NDArray[np.int64], docids: Strings, in_codes: NDArray[np.int64], in_docids: Strings
) -> NDArray[np.int64]:
    """Where each (query, document) stands among others, or -1.

    Joins on 64-bit hashes and then compares the strings themselves; should two hashes collide,
    another seed decides.
    """
    if len(in_docids) == 0:
        return np.full(len(docids), -1, dtype=np.int64)
    most = max(int(codes.max(initial=0)), int(in_codes.max()))
    for seed in count():
        keys, in_keys = _keys(codes, docids, most, seed), _keys(in_codes, in_docids, most, seed)
        order = np.argsort(in_keys, kind="stable")
        at = order[np.minimum(np.searchsorted(in_keys[order], keys), len(order) - 1)]
        found = in_keys[at] == keys
        same = np.array_equal(codes[found], in_codes[at[found]])
        if same and docids.take(np.flatnonzero(found)) == in_docids.take(at[found]):
            return np.where(found, at, -1)
    raise AssertionError("count() does not end")


def _keys(codes: NDArray[np.int64], docids: Strings, most: int, seed: int) -> NDArray[np.uint64]:
    """A number for each document, its query (at most `most`) in the upper bits.

    So keys are nearly sorted, which sorting and searching are glad of.
    """
    width = np.uint64(max(1, most.bit_length()))
    upper = codes.astype(np.uint64) << (np.uint64(64) - width)
    return np.asarray(upper | (docids.hash(seed) >> width))


def _read(
    path: Path_, n_columns: int, progress: Progress | None
) -> tuple[NDArray[np.object_], Groups, Strings, NDArray[np.float64]]:
    name = os.fspath(path)
    qids, docids, values, lines = [], [], [], 0
    for text in read_blocks(name):
        q, d, v, n, problem = kernels.parse_table(text, n_columns)
        if problem is not None:
            kind, line, expected, got = problem
            error = NonFiniteError if kind == "nonfinite" else MalformedLineError
            raise error(f"expected {expected}, got {got!r}", path=name, line=lines + line + 1)
        qids += list(Strings(*q))
        docids.append(Strings(*d))
        values.append(v)
        lines += n
        if progress is not None:
            progress(len(text))
    if not qids:
        raise EmptyDataError("expected at least one line, got an empty file", path=name)
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(qid, len(numbers)) for qid in qids], dtype=np.int64)
    documents, scores = Strings.concatenate(docids), np.concatenate(values)
    groups, rows = Groups.from_codes(codes, len(numbers))
    if rows is not None:
        codes, documents, scores = codes[rows], documents.take(rows), scores[rows]
    _check_once(codes, documents, list(numbers), name)
    return np.array(list(numbers), dtype=object), groups, documents, scores


def _check_word(word: str, what: str, where: str) -> None:
    if not word or any(c in word for c in " \t\r\n"):
        got = repr(word) if word else "none"
        raise DataError(f"expected {what} without spaces in a TREC file, got {got}{where}")


def _check_once(
    codes: NDArray[np.int64], docids: Strings, qids: list[str], path: str | None = None
) -> None:
    keys = _keys(codes, docids, int(codes.max()), 0)
    order = np.argsort(keys, kind="stable")
    for i in np.flatnonzero(np.diff(keys[order]) == 0).tolist():
        a, b = int(order[i]), int(order[i + 1])
        if codes[a] == codes[b] and docids[a] == docids[b]:
            raise DataError(
                f"expected each document once a query, got {docids[a]!r} twice "
                f"for query {qids[codes[a]]!r}",
                path=path,
            )


def _check_words(table: Judgments) -> None:
    for word in table.qids.tolist():
        _check_word(word, "a query id", "")
    for word, q in zip(table.docids, table.groups.codes.tolist(), strict=True):
        _check_word(word, "a document id", f" for a document of query {table.qids[q]!r}")


def _write(path: Path_, lines: Iterable[str]) -> None:
    with atomic_writer(path) as write:
        for line in lines:
            write(line.encode("utf-8", "surrogateescape"))
