"""An index of documents: the counts of their terms, field by field, and search by BM25."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse

from podium.data import Groups, Run, Strings
from podium.data.files import Path_
from podium.errors import DataError, EmptyDataError, UnknownNameError, UsageError
from podium.features.counting import WHOLE, Counting
from podium.features.documents import Document
from podium.features.formulas import FORMULAS, Parameters, bm25_idf, saturation
from podium.features.postings import Floats, Ints, Postings
from podium.features.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class Query:
    """The distinct words of a query: their terms (0: a word no document has), and how often."""

    terms: Ints
    qtf: Floats


@dataclass(frozen=True, eq=False)
class Hits:
    """Documents found, best first: their numbers in the index, ids and scores."""

    documents: Ints
    docids: Strings
    scores: Floats

    def __len__(self) -> int:
        return len(self.docids)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.docids, self.scores.tolist(), strict=True)

    def __repr__(self) -> str:
        shown = ", ".join(f"{docid} {score:.4f}" for docid, score in list(self)[:5])
        return f"Hits({shown}{', ...' if len(self) > 5 else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class Index:
    """Documents as counts of terms, field by field; made by ``Index.build``, never changed.

    Parameters
    ----------
    docids
        Ids, one a document.
    vocabulary
        Terms; the first is empty and stands for words that no document has.
    postings
        Counts of terms by field.
    tokenizer
        How documents became terms, and queries will.
    parameters
        The constants of BM25 and of the language models.
    texts
        Fields whose text is kept, to be shown.

    Examples
    --------
    >>> index = Index.build([
    ...     {"id": "a", "title": "Wings", "body": "The lift of wings."},
    ...     {"id": "b", "title": "Heat", "body": "Heat in wings and slabs."},
    ... ])
    >>> index
    Index(2 documents, 8 terms, fields: title, body)
    >>> index.search("lift of wings", k=1)
    Hits(a 0.7714)
    """

    docids: Strings
    vocabulary: Strings
    postings: Mapping[str, Postings]
    tokenizer: Tokenizer
    parameters: Parameters
    texts: Mapping[str, Strings] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        documents: Iterable[Document | Mapping[str, Any]],
        *,
        fields: Sequence[str] | None = None,
        tokenizer: Tokenizer | None = None,
        parameters: Parameters | None = None,
        keep: Sequence[str] = (),
    ) -> Index:
        """Count the terms of documents.

        Parameters
        ----------
        documents
            Documents, or records with an ``id`` and fields of text. None, or no field at all, is
            an empty text.
        fields
            The fields to count, in this order; None: every field that is text.
        tokenizer, parameters
            How text becomes terms; constants of the formulas.
        keep
            Fields whose text is kept in the index, to be shown with results.
        """
        tokenizer = tokenizer or Tokenizer()
        counting = Counting(tokenizer, fields, keep)
        for document in documents:
            counting.add(Document.of(document))
        counting.check()
        return cls(
            Strings.of(counting.docids), Strings.of(counting.numbers), counting.postings(), tokenizer,
            parameters or Parameters(), counting.texts(),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.docids)

    def __repr__(self) -> str:
        n, terms = len(self), len(self.vocabulary) - 1
        return (
            f"Index({n:,} document{'s' * (n != 1)}, {terms:,} term{'s' * (terms != 1)}, "
            f"fields: {', '.join(self.fields)})"
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(self.postings)

    @cached_property
    def streams(self) -> Mapping[str, Postings]:
        """Counts by field, and of the whole document where it has several fields."""
        if len(self.postings) == 1:
            return dict(self.postings)
        return {**self.postings, WHOLE: reduce(add, self.postings.values())}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, such as ``bm25(title)``: every formula of each field in turn."""
        return tuple(f"{formula}({stream})" for stream in self.streams for formula in FORMULAS)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {term: number for number, term in enumerate(self.vocabulary)}

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {docid: row for row, docid in enumerate(self.docids)}

    @cached_property
    def _weights(self) -> dict[str, scipy.sparse.csr_array]:
        return {}

    def rows(self, docids: Iterable[str], where: str = "") -> Ints:
        """The numbers of documents by their ids."""
        known = self._rows
        try:
            return np.array([known[docid] for docid in docids], dtype=np.int64)
        except KeyError as error:
            raise DataError(
                f"expected documents of the index, got {error.args[0]!r}{where}"
            ) from None

    def query(self, text: str) -> Query:
        """The terms of a query, in the order of its words."""
        counts: dict[str, int] = {}
        for word in self.tokenizer(text):
            counts[word] = counts.get(word, 0) + 1
        terms = [self._numbers.get(word, 0) for word in counts]
        return Query(
            np.array(terms, dtype=np.int64), np.array([*counts.values()], dtype=np.float64)
        )

    def search(self, query: str, k: int = 100, field: str = WHOLE) -> Hits:
        """The k documents with the highest BM25 score; those without a word of the query never.

        Of equal scores the document that comes first in the index is better.

        Examples
        --------
        >>> index = Index.build([{"id": i, "body": text} for i, text in enumerate(["a b", "b", "c"])])
        >>> list(index.search("b", k=2).docids)
        ['1', '0']
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise UsageError(f"expected k of 1 or more, got {k}")
        scores = self._scores(self.query(query), self._bm25(field))
        found = np.flatnonzero(scores)
        best = found[_top(scores[found], int(k))]
        return Hits(best, self.docids.take(best), scores[best])

    def retrieve(
        self,
        queries: Mapping[str, str],
        k: int = 100,
        field: str = WHOLE,
        progress: Callable[[int, int], object] | None = None,
    ) -> Run:
        """The k best documents of every query (id -> text) as a run, without queries that find none.

        `progress` is told how many queries are done and of how many.
        """
        found = {}
        for done, (qid, text) in enumerate(queries.items(), start=1):
            found[str(qid)] = self.search(text, k, field)
            if progress is not None:
                progress(done, len(queries))
        filled = {qid: hits for qid, hits in found.items() if len(hits)}
        if not filled:
            raise EmptyDataError(
                f"expected a query that finds something, got {len(queries):,} that find nothing"
            )
        return Run(
            np.array([*filled], dtype=object),
            Groups.from_sizes([len(hits) for hits in filled.values()]),
            Strings.concatenate([hits.docids for hits in filled.values()]),
            np.concatenate([hits.scores for hits in filled.values()]),
        )

    def save(self, path: Path_) -> None:
        """Write the index to one file, all or nothing; the same index gives the same bytes."""
        from podium.features.files import save

        save(self, path)

    @staticmethod
    def load(path: Path_) -> Index:
        """Read an index; a damaged file is an error, and reading one runs no code of it."""
        from podium.features.files import load

        return load(path)

    def stream(self, name: str) -> Postings:
        """The counts of a field, or of the ``whole``."""
        if name == WHOLE and len(self.postings) == 1:
            return next(iter(self.postings.values()))
        if name not in self.streams:
            raise UnknownNameError("field", name, self.streams)
        return self.streams[name]

    def _bm25(self, name: str) -> scipy.sparse.csr_array:
        """BM25 weights of a field, a row for each term; made once."""
        if name not in self._weights:
            self._weights[name] = bm25_weights(self.stream(name), self.parameters)
        return self._weights[name]

    def _scores(self, query: Query, weights: scipy.sparse.csr_array) -> Floats:
        """Each document's sum of weights; term by term, for the rows of a query are few."""
        scores = np.zeros(len(self))
        for term, qtf in zip(query.terms.tolist(), query.qtf.tolist(), strict=True):
            a, b = weights.indptr[term], weights.indptr[term + 1]
            scores[weights.indices[a:b]] += qtf * weights.data[a:b]
        return scores


def bm25_weights(postings: Postings, parameters: Parameters) -> scipy.sparse.csr_array:
    """What each term adds to the BM25 score of each document; a row for each term."""
    by_term = scipy.sparse.csr_array(postings.counts.T.tocsr())
    by_term.sort_indices()
    idf = np.repeat(bm25_idf(postings.df, postings.n_documents), np.diff(by_term.indptr))
    tf, length = by_term.data.astype(np.float64), postings.length[by_term.indices]
    data = idf * saturation(tf, length.astype(np.float64), postings.mean_length, parameters)
    return scipy.sparse.csr_array((data, by_term.indices, by_term.indptr), shape=by_term.shape)


def _top(scores: Floats, k: int) -> Ints:
    """The k highest, best first, of equal ones the first."""
    kept = np.arange(len(scores))
    if len(scores) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= least)
    return kept[np.argsort(-scores[kept], kind="stable")[:k]]
