"""LETOR features of queries and candidate documents, as ranking data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.data import (
    Groups,
    IndexedRun,
    Qrels,
    RankingData,
    Run,
    Strings,
    concatenate,
    match_documents,
)
from podium.errors import DataError, EmptyDataError, UsageError
from podium.features.formulas import FORMULAS
from podium.features.index import Index, QueryTerms
from podium.features.term_counter import WHOLE_DOCUMENT
from podium.features.term_matches import TermMatches
from podium.task_runner import current_runner, in_bunches, map_items
from podium.typing import Floats, Ints

DOCUMENTS_PER_BLOCK = 32_768
"""The number of documents of a block of a stream."""
QUERIES_PER_CALL = 64
"""The number of queries that a worker of a cluster computes at a time."""
PAIRS_PER_BLOCK = 1 << 18
"""The number of pairs of a word and a document that are computed at a time."""

Candidates = int | Run | IndexedRun | Mapping[str, Sequence[str]]
FeatureLabels = Qrels | Mapping[str, Mapping[str, float]] | None
QueryProgress = Callable[[int, int], object]
_Request = tuple[str, str, int | Sequence[str]]
"""A query, its text, and the ids of its documents or how many to search."""


@dataclass(frozen=True, eq=False)
class _Candidates:
    """A query with its documents to rank."""

    qid: str
    text: str
    query: QueryTerms
    documents: Ints

    @property
    def n_pairs(self) -> int:
        return len(self.query.terms) * len(self.documents)


def make_features(
    index: Index,
    queries: Mapping[str, str],
    candidates: int | Run | Mapping[str, Sequence[str]] = 100,
    judgments: FeatureLabels = None,
    *,
    field: str = WHOLE_DOCUMENT,
    progress: QueryProgress | None = None,
) -> RankingData:
    """Compute every formula for every field of every candidate; return RankingData.

    Parameters
    ----------
    index
        The documents.
    queries
        Texts by query id.
    candidates
        The documents to rank: a number (the best by BM25), a run, or document ids by query id. They
        keep their order, best first. A query without candidates has no rows.
    judgments
        Labels: qrels, or labels by query id and document id. Other documents and labels below 0 get 0.
    field
        The field that BM25 searches for candidates.
    progress
        Called with the number of finished queries and the total.

    Examples
    --------
    >>> index = Index.build([
    ...     {"id": "a", "title": "Wings", "body": "The lift of wings."},
    ...     {"id": "b", "title": "Heat", "body": "Heat in wings and slabs."},
    ... ])
    >>> data = make_features(index, {"q1": "lift of wings"}, 10, {"q1": {"a": 2}})
    >>> data
    RankingData(1 query, 2 documents, 48 features, labels 0..2)
    >>> column = data.feature_names.index("covered(body)")
    >>> data.docids.tolist(), data.X[:, column].tolist(), data.y.tolist()
    (['a', 'b'], [3.0, 1.0], [2.0, 0.0])
    """
    texts = {str(qid): text for qid, text in queries.items()}
    candidate_lists = [
        item for item in _find_candidates(index, texts, candidates, field) if len(item.documents)
    ]
    if not candidate_lists:
        raise EmptyDataError("no query has candidates; expected at least one")
    _check_judged(judgments, [item.qid for item in candidate_lists])

    def note(done: int) -> None:
        if progress is not None:
            progress(done, len(candidate_lists))

    return _make_data(index, candidate_lists, judgments, note)


def stream_features(
    index: Index,
    queries: Mapping[str, str],
    candidates: Candidates = 100,
    judgments: FeatureLabels = None,
    *,
    field: str = WHOLE_DOCUMENT,
    documents: int = DOCUMENTS_PER_BLOCK,
    progress: QueryProgress | None = None,
) -> Iterator[RankingData]:
    """Yield the data of `make_features` in blocks of about so many documents, each of whole queries.

    On a cluster, the index goes to each worker once, and workers search and compute the features. A run
    of candidates is read here.

    Examples
    --------
    >>> index = Index.build([{"id": "a", "body": "The lift of wings."}, {"id": "b", "body": "Heat."}])
    >>> [len(block) for block in stream_features(index, {"q1": "lift", "q2": "heat"}, 10, documents=1)]
    [1, 1]
    """
    texts = {str(qid): text for qid, text in queries.items()}
    _check_judged(judgments, list(texts))
    requests = _list_requests(texts, candidates)
    each = (_resolve(index, field, request) for request in requests)
    blocks = _local_blocks(index, judgments, documents, each, progress, len(texts))
    if current_runner() is not None:
        blocks = _blocks_of_workers(
            index, judgments, documents, field, requests, progress, len(texts)
        )
    is_empty = True
    for block in blocks:
        yield block
        is_empty = False
    if is_empty:
        raise EmptyDataError("no query has candidates; expected at least one")


def _local_blocks(
    index: Index, judgments: FeatureLabels, documents: int, candidate_lists: Iterable[_Candidates],
    progress: QueryProgress | None, n_queries: int,
) -> Iterator[RankingData]:  # fmt: skip
    """Yield the data of these queries in blocks of about so many documents."""
    block: list[_Candidates] = []
    for done, item in enumerate(candidate_lists, start=1):
        if len(item.documents):
            block.append(item)
        if sum(len(own.documents) for own in block) >= documents:
            yield _make_data(index, block, judgments)
            block = []
        if progress is not None:
            progress(done, n_queries)
    if block:
        yield _make_data(index, block, judgments)


def _blocks_of_workers(
    index: Index, judgments: FeatureLabels, documents: int, field: str, requests: Iterable[_Request],
    progress: QueryProgress | None, n_queries: int,
) -> Iterator[RankingData]:  # fmt: skip
    """Yield the same blocks, from queries that the workers of the cluster in use compute in bunches."""
    done, rest = 0, list[RankingData]()
    bunches = in_bunches(requests, QUERIES_PER_CALL)
    for n, data in map_items(_compute_queries, [index, judgments, field], bunches):
        done += n
        if progress is not None:
            progress(done, n_queries)
        if data is None:
            continue
        whole, rest = _cut(concatenate([*rest, data]), documents)
        yield from whole
    yield from rest


def _compute_queries(
    index: Index, judgments: FeatureLabels, field: str, requests: Sequence[_Request]
) -> tuple[int, RankingData | None]:
    """Return how many queries these are, and their data: None if no query has candidates."""
    resolved = [_resolve(index, field, request) for request in requests]
    with_documents = [item for item in resolved if len(item.documents)]
    data = _make_data(index, with_documents, judgments) if with_documents else None
    return len(resolved), data


def _cut(data: RankingData, documents: int) -> tuple[list[RankingData], list[RankingData]]:
    """Return blocks that end with the query that fills them, and the block that is not full, if any."""
    ends, full = data.groups.offsets[1:].tolist(), [0]
    for last, end in enumerate(ends, start=1):
        if end - data.groups.offsets[full[-1]] >= documents:
            full.append(last)
    rest = np.arange(full[-1], data.n_queries)
    whole = [data.subset(np.arange(a, b)) for a, b in itertools.pairwise(full)]
    return whole, [data.subset(rest)] if len(rest) else []


def _make_data(
    index: Index,
    candidate_lists: Sequence[_Candidates],
    judgments: FeatureLabels,
    note: Callable[[int], object] | None = None,
) -> RankingData:
    """Return the features, labels and texts of these queries."""
    groups = Groups.from_sizes([len(item.documents) for item in candidate_lists])
    X = np.empty((groups.n_rows, len(index.feature_names)))
    for first, last in _blocks(candidate_lists):
        rows = slice(int(groups.offsets[first]), int(groups.offsets[last]))
        X[rows] = _compute_features(index, candidate_lists[first:last])
        if note is not None:
            note(last)
    documents = np.concatenate([item.documents for item in candidate_lists])
    docids, qids = index.docids.take(documents), [item.qid for item in candidate_lists]
    return RankingData(
        X=X,
        y=_labels(judgments, qids, groups, docids),
        groups=groups,
        qids=np.array(qids, dtype=object),
        docid_column=docids,
        query_text=Strings.of(item.text for item in candidate_lists),
        doc_text={name: texts.take(documents) for name, texts in index.texts.items()},
        feature_names=index.feature_names,
    )


def _find_candidates(
    index: Index, queries: Mapping[str, str], candidates: Candidates, field: str
) -> Iterator[_Candidates]:
    return (_resolve(index, field, request) for request in _list_requests(queries, candidates))


def _list_requests(queries: Mapping[str, str], candidates: Candidates) -> Iterator[_Request]:
    """Yield each query with its text, and the ids of its documents or how many to search."""
    if isinstance(candidates, int | np.integer):
        yield from ((qid, text, int(candidates)) for qid, text in queries.items())
        return
    if isinstance(candidates, IndexedRun):
        _check_texts(candidates.qids, queries)
        for qid, text in queries.items():
            docids = [docid for _, own in _rank_run(candidates.read([qid])) for docid in own]
            yield qid, text, docids
        return
    if not isinstance(candidates, Run | Mapping):
        raise UsageError(
            "expected candidates as a number, a Run or document ids by query, "
            f"got {type(candidates).__name__}"
        )
    pairs = _rank_run(candidates) if isinstance(candidates, Run) else candidates.items()
    docids_of = {str(qid): [str(docid) for docid in docids] for qid, docids in pairs}
    _check_texts(docids_of, queries)
    for qid, text in queries.items():
        yield qid, text, docids_of.get(qid, ())


def _resolve(index: Index, field: str, request: _Request) -> _Candidates:
    """Return a query with the numbers of its documents in the index."""
    qid, text, documents = request
    if isinstance(documents, int):
        return _Candidates(
            qid, text, index.query(text), index.search(text, documents, field).documents
        )
    return _candidates_of(index, qid, text, documents)


def _check_texts(qids: Iterable[str], queries: Mapping[str, str]) -> None:
    for qid in qids:
        if qid not in queries:
            raise DataError(f"query {qid!r} has candidates but no text; add its text to queries")


def _candidates_of(index: Index, qid: str, text: str, docids: Sequence[str]) -> _Candidates:
    documents = index.rows(docids, f" for query {qid!r}")
    if len(np.unique(documents)) < len(documents):
        raise DataError(f"query {qid!r} has a candidate twice; expected each candidate once")
    return _Candidates(qid, text, index.query(text), documents)


def _rank_run(run: Run) -> Iterator[tuple[str, list[str]]]:
    """Yield the documents of each query of a run, best first."""
    docids = run.docids.take(run.groups.order(run.values)).to_array()
    for qid, rows in zip(run.qids.tolist(), run.groups.slices(), strict=True):
        yield qid, docids[rows].tolist()


def _blocks(candidate_lists: Sequence[_Candidates]) -> Iterator[tuple[int, int]]:
    """Yield bounds of neighbouring queries that together have about PAIRS_PER_BLOCK pairs."""
    first, pairs = 0, 0
    for i, item in enumerate(candidate_lists):
        if i > first and pairs + item.n_pairs > PAIRS_PER_BLOCK:
            yield first, i
            first, pairs = i, 0
        pairs += item.n_pairs
    yield first, len(candidate_lists)


def _compute_features(index: Index, candidate_lists: Sequence[_Candidates]) -> Floats:
    """Return the features of these queries, one row per document."""
    documents = np.concatenate([item.documents for item in candidate_lists])
    sizes = np.concatenate([np.full(len(p.documents), len(p.query.terms)) for p in candidate_lists])
    terms = np.concatenate([np.tile(p.query.terms, len(p.documents)) for p in candidate_lists])
    qtf = np.concatenate([np.tile(p.query.qtf, len(p.documents)) for p in candidate_lists])
    groups = Groups.from_sizes(sizes)
    columns = []
    for postings in index.streams.values():
        matches = TermMatches(postings, groups, documents, terms, qtf)
        columns += [formula(matches, index.parameters) for formula in FORMULAS.values()]
    return np.column_stack(columns)


def _judged_queries(judgments: Qrels | Mapping[str, Mapping[str, float]]) -> list[str]:
    return [str(qid) for qid in (judgments.qids if isinstance(judgments, Qrels) else judgments)]


def _check_judged(judgments: FeatureLabels, qids: Sequence[str]) -> None:
    """Raise if no query has judgments."""
    if judgments is None or not qids:
        return
    judged = _judged_queries(judgments)
    if set(judged).isdisjoint(qids):
        raise DataError(
            f"the judgments have none of these queries ({qids[0]!r}, ...), but "
            f"{', '.join(map(repr, judged[:1])) or 'none at all'}, ...; check the query ids"
        )


def _labels(
    judgments: FeatureLabels,
    qids: Sequence[str],
    groups: Groups,
    docids: Strings,
) -> Floats:
    """Return the label of each row; 0 without a judgment."""
    if judgments is None:
        return np.zeros(groups.n_rows)
    judged = _judged_queries(judgments)
    if isinstance(judgments, Qrels):
        number = {qid: q for q, qid in enumerate(judged)}
        codes = np.array([number.get(qid, len(judged)) for qid in qids], dtype=np.int64)
        at = match_documents(groups.spread(codes), docids, judgments.groups.codes, judgments.docids)
        return np.where(at >= 0, np.maximum(judgments.values[at], 0.0), 0.0)
    labels = {
        (str(qid), str(docid)): label
        for qid, labels_of_query in judgments.items()
        for docid, label in labels_of_query.items()
    }
    values = [
        labels.get((qids[q], docid), 0.0)
        for q, docid in zip(groups.codes.tolist(), docids, strict=True)
    ]
    return np.maximum(np.array(values, dtype=np.float64), 0.0)
