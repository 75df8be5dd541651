"""Queries and candidate documents -> ranking data with LETOR's features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.data import Groups, Qrels, RankingData, Run, Strings, match
from podium.errors import DataError, EmptyDataError, UsageError
from podium.features.counting import WHOLE
from podium.features.formulas import FORMULAS, Matches
from podium.features.index import Index, Query
from podium.features.postings import Floats, Ints

BLOCK = 1 << 18
"""Pairs of a word and a document that are worked on at a time."""


@dataclass(frozen=True, eq=False)
class _Pool:
    """A query with the documents to be ranked for it."""

    qid: str
    text: str
    query: Query
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
    field: str = WHOLE,
    progress: Callable[[int, int], object] | None = None,
) -> RankingData:
    """Every formula for every field of every candidate, as data to train and rank with.

    Parameters
    ----------
    index
        The documents.
    queries
        Texts by query id.
    candidates
        The documents to be ranked: as many as BM25 finds best, a run, or document ids by query id.
        They keep their order, best first. A query without candidates has no rows.
    judgments
        Labels: qrels, or by query id and document id. What is not judged, or below 0, gets 0.
    field
        The field that BM25 finds candidates by.
    progress
        Told how many queries are done and of how many.

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
    pools = [pool for pool in _pools(index, texts, candidates, field) if len(pool.documents)]
    if not pools:
        raise EmptyDataError("expected a query with candidates, got none")
    groups = Groups.from_sizes([len(pool.documents) for pool in pools])
    X = np.empty((groups.n_rows, len(index.feature_names)))
    for first, last in _blocks(pools):
        rows = slice(int(groups.offsets[first]), int(groups.offsets[last]))
        X[rows] = _features(index, pools[first:last])
        if progress is not None:
            progress(last, len(pools))
    documents = np.concatenate([pool.documents for pool in pools])
    docids, qids = index.docids.take(documents), [pool.qid for pool in pools]
    return RankingData(
        X=X,
        y=_labels(judgments, qids, groups, docids),
        groups=groups,
        qids=np.array(qids, dtype=object),
        docid_column=docids,
        query_text=Strings.of(pool.text for pool in pools),
        doc_text={name: texts.take(documents) for name, texts in index.texts.items()},
        feature_names=index.feature_names,
    )


def _pools(
    index: Index,
    queries: Mapping[str, str],
    candidates: int | Run | Mapping[str, Sequence[str]],
    field: str,
) -> Iterator[_Pool]:
    if isinstance(candidates, int | np.integer):
        for qid, text in queries.items():
            found = index.search(text, int(candidates), field)
            yield _Pool(qid, text, index.query(text), found.documents)
        return
    if not isinstance(candidates, Run | Mapping):
        raise UsageError(
            "expected candidates as a number, a Run or document ids by query, "
            f"got {type(candidates).__name__}"
        )
    pairs = _ranked(candidates) if isinstance(candidates, Run) else candidates.items()
    given = {str(qid): [str(docid) for docid in docids] for qid, docids in pairs}
    for qid in given:
        if qid not in queries:
            raise DataError(f"expected candidates for queries with a text, got query {qid!r}")
    for qid, text in queries.items():
        documents = index.rows(given.get(qid, ()), f" for query {qid!r}")
        if len(np.unique(documents)) < len(documents):
            raise DataError(f"expected each candidate once, got one twice for query {qid!r}")
        yield _Pool(qid, text, index.query(text), documents)


def _ranked(run: Run) -> Iterator[tuple[str, list[str]]]:
    """The documents of each query of a run, best first."""
    docids = run.docids.take(run.groups.order(run.values)).to_array()
    for qid, rows in zip(run.qids.tolist(), run.groups.slices(), strict=True):
        yield qid, docids[rows].tolist()


def _blocks(pools: Sequence[_Pool]) -> Iterator[tuple[int, int]]:
    """Neighbouring queries that together have about BLOCK pairs."""
    first, pairs = 0, 0
    for i, pool in enumerate(pools):
        if i > first and pairs + pool.n_pairs > BLOCK:
            yield first, i
            first, pairs = i, 0
        pairs += pool.n_pairs
    yield first, len(pools)


def _features(index: Index, pools: Sequence[_Pool]) -> Floats:
    """The features of these queries, a row for each document."""
    documents = np.concatenate([pool.documents for pool in pools])
    sizes = np.concatenate([np.full(len(p.documents), len(p.query.terms)) for p in pools])
    terms = np.concatenate([np.tile(p.query.terms, len(p.documents)) for p in pools])
    qtf = np.concatenate([np.tile(p.query.qtf, len(p.documents)) for p in pools])
    groups = Groups.from_sizes(sizes)
    columns = []
    for postings in index.streams.values():
        matches = Matches(postings, groups, documents, terms, qtf)
        columns += [formula(matches, index.parameters) for formula in FORMULAS.values()]
    return np.column_stack(columns)


def _labels(
    judgments: Qrels | Mapping[str, Mapping[str, float]] | None,
    qids: Sequence[str],
    groups: Groups,
    docids: Strings,
) -> Floats:
    """The label of each row; 0 where there is none."""
    if judgments is None:
        return np.zeros(groups.n_rows)
    judged = [str(qid) for qid in (judgments.qids if isinstance(judgments, Qrels) else judgments)]
    if set(judged).isdisjoint(qids):
        raise DataError(
            f"expected judgments of these queries ({qids[0]!r}, ...), got none of them "
            f"({', '.join(map(repr, judged[:1])) or 'none at all'}, ...)"
        )
    if isinstance(judgments, Qrels):
        number = {qid: q for q, qid in enumerate(judged)}
        codes = np.array([number.get(qid, len(judged)) for qid in qids], dtype=np.int64)
        at = match(groups.spread(codes), docids, judgments.groups.codes, judgments.docids)
        return np.where(at >= 0, np.maximum(judgments.values[at], 0.0), 0.0)
    labels = {
        (str(qid), str(docid)): label
        for qid, own in judgments.items()
        for docid, label in own.items()
    }
    values = [
        labels.get((qids[q], docid), 0.0)
        for q, docid in zip(groups.codes.tolist(), docids, strict=True)
    ]
    return np.maximum(np.array(values, dtype=np.float64), 0.0)
