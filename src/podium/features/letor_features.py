"""LETOR features of queries and candidate documents, as ranking data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.data import Groups, IndexedRun, Qrels, RankingData, Run, Strings, match_documents
from podium.errors import DataError, EmptyDataError, UsageError
from podium.features.formulas import FORMULAS
from podium.features.index import Index, QueryTerms
from podium.features.term_counter import WHOLE_DOCUMENT
from podium.features.term_matches import TermMatches
from podium.typing import Floats, Ints

DOCUMENTS_PER_BLOCK = 32_768
"""The number of documents of a block of a stream."""
PAIRS_PER_BLOCK = 1 << 18
"""The number of pairs of a word and a document that are computed at a time."""


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
    judgments: Qrels | Mapping[str, Mapping[str, float]] | None = None,
    *,
    field: str = WHOLE_DOCUMENT,
    progress: Callable[[int, int], object] | None = None,
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
    candidates: int | Run | IndexedRun | Mapping[str, Sequence[str]] = 100,
    judgments: Qrels | Mapping[str, Mapping[str, float]] | None = None,
    *,
    field: str = WHOLE_DOCUMENT,
    documents: int = DOCUMENTS_PER_BLOCK,
    progress: Callable[[int, int], object] | None = None,
) -> Iterator[RankingData]:
    """Yield the data of `make_features` in blocks of about so many documents, each of whole queries.

    Examples
    --------
    >>> index = Index.build([{"id": "a", "body": "The lift of wings."}, {"id": "b", "body": "Heat."}])
    >>> [len(block) for block in stream_features(index, {"q1": "lift", "q2": "heat"}, 10, documents=1)]
    [1, 1]
    """
    texts = {str(qid): text for qid, text in queries.items()}
    _check_judged(judgments, list(texts))
    block: list[_Candidates] = []
    is_empty = True
    for done, item in enumerate(_find_candidates(index, texts, candidates, field), start=1):
        if len(item.documents):
            block.append(item)
        if sum(len(own.documents) for own in block) >= documents:
            yield _make_data(index, block, judgments)
            block, is_empty = [], False
        if progress is not None:
            progress(done, len(texts))
    if block:
        yield _make_data(index, block, judgments)
    elif is_empty:
        raise EmptyDataError("no query has candidates; expected at least one")


def _make_data(
    index: Index,
    candidate_lists: Sequence[_Candidates],
    judgments: Qrels | Mapping[str, Mapping[str, float]] | None,
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
    index: Index,
    queries: Mapping[str, str],
    candidates: int | Run | IndexedRun | Mapping[str, Sequence[str]],
    field: str,
) -> Iterator[_Candidates]:
    if isinstance(candidates, int | np.integer):
        for qid, text in queries.items():
            hits = index.search(text, int(candidates), field)
            yield _Candidates(qid, text, index.query(text), hits.documents)
        return
    if isinstance(candidates, IndexedRun):
        _check_texts(candidates.qids, queries)
        for qid, text in queries.items():
            docids = [docid for _, own in _rank_run(candidates.read([qid])) for docid in own]
            yield _candidates_of(index, qid, text, docids)
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
        yield _candidates_of(index, qid, text, docids_of.get(qid, ()))


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


def _check_judged(
    judgments: Qrels | Mapping[str, Mapping[str, float]] | None, qids: Sequence[str]
) -> None:
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
    judgments: Qrels | Mapping[str, Mapping[str, float]] | None,
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
