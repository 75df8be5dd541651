"""The index of documents: counts of their terms by field, and search by BM25."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse

from podium.data import Groups, Run, Strings
from podium.errors import DataError, EmptyDataError, UnknownNameError, UsageError
from podium.features.bm25 import bm25_weights
from podium.features.documents import Document
from podium.features.formulas import FORMULAS
from podium.features.index_files import IndexParts, read_index, write_index
from podium.features.postings import Postings
from podium.features.term_counter import WHOLE_DOCUMENT, TermCounter
from podium.features.term_matches import FormulaParameters
from podium.features.tokenizer import Tokenizer
from podium.typing import Floats, Ints, Path_


@dataclass(frozen=True, eq=False)
class QueryTerms:
    """The distinct words of a query: their terms (0 for a word that no document has) and frequencies."""

    terms: Ints
    qtf: Floats


@dataclass(frozen=True, eq=False)
class Hits:
    """The documents of a search, best first: their numbers in the index, ids and scores."""

    documents: Ints
    docids: Strings
    scores: Floats

    def __len__(self) -> int:
        return len(self.docids)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.docids, self.scores.tolist(), strict=True)

    def __repr__(self) -> str:
        best = ", ".join(f"{docid} {score:.4f}" for docid, score in list(self)[:5])
        return f"Hits({best}{', ...' if len(self) > 5 else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class Index:
    """Documents as counts of terms, field by field. ``Index.build`` makes an index, which never changes.

    Parameters
    ----------
    docids
        Ids, one per document.
    vocabulary
        The terms; the first is empty and represents words that no document has.
    postings
        Counts of terms by field.
    tokenizer
        The tokenizer, which turns the text of documents and queries into terms.
    parameters
        The constants of BM25 and of the language models.
    texts
        Texts of fields, kept for display.

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
    parameters: FormulaParameters
    texts: Mapping[str, Strings] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        documents: Iterable[Document | Mapping[str, Any]],
        *,
        fields: Sequence[str] | None = None,
        tokenizer: Tokenizer | None = None,
        parameters: FormulaParameters | None = None,
        keep: Sequence[str] = (),
    ) -> Index:
        """Build an index from documents.

        Parameters
        ----------
        documents
            Documents, or records with an ``id`` and fields of text. A field that is None or absent
            is an empty text.
        fields
            The fields to count, in this order; None: every field that is text.
        tokenizer, parameters
            The tokenizer, which turns text into terms; the constants of the formulas.
        keep
            Fields whose text the index keeps for display.
        """
        tokenizer = tokenizer or Tokenizer()
        counter = TermCounter(tokenizer, fields, keep)
        for document in documents:
            counter.add(Document.of(document))
        counter.check()
        return cls(
            Strings.of(counter.docids), Strings.of(counter.term_numbers), counter.postings(), tokenizer,
            parameters or FormulaParameters(), counter.texts(),
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
        """The counts by field, and of the whole document if there are several fields."""
        if len(self.postings) == 1:
            return dict(self.postings)
        return {**self.postings, WHOLE_DOCUMENT: reduce(add, self.postings.values())}

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
        """Return the numbers of documents by their ids; raises DataError for unknown ids."""
        row_of = self._rows
        try:
            return np.array([row_of[docid] for docid in docids], dtype=np.int64)
        except KeyError as error:
            raise DataError(f"the index has no document {error.args[0]!r}{where}") from None

    def query(self, text: str) -> QueryTerms:
        """Return the terms of a query, in the order of its words."""
        counts: dict[str, int] = {}
        for word in self.tokenizer(text):
            counts[word] = counts.get(word, 0) + 1
        terms = [self._numbers.get(word, 0) for word in counts]
        return QueryTerms(
            np.array(terms, dtype=np.int64), np.array([*counts.values()], dtype=np.float64)
        )

    def search(self, query: str, k: int = 100, field: str = WHOLE_DOCUMENT) -> Hits:
        """Return the k documents with the highest BM25 scores; documents that match no word are left out.

        Documents with equal scores are in the order of the index.

        Examples
        --------
        >>> index = Index.build([{"id": i, "body": text} for i, text in enumerate(["a b", "b", "c"])])
        >>> list(index.search("b", k=2).docids)
        ['1', '0']
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise UsageError(f"expected k of 1 or more, got {k}")
        scores = self._scores(self.query(query), self._bm25(field))
        matching = np.flatnonzero(scores)
        best = matching[_top(scores[matching], int(k))]
        return Hits(best, self.docids.take(best), scores[best])

    def retrieve(
        self,
        queries: Mapping[str, str],
        k: int = 100,
        field: str = WHOLE_DOCUMENT,
        progress: Callable[[int, int], object] | None = None,
    ) -> Run:
        """Return the k best documents of every query (id -> text) as a run, if the query matches any.

        `progress` is called with the number of finished queries and the total.
        """
        results = {}
        for done, (qid, text) in enumerate(queries.items(), start=1):
            results[str(qid)] = self.search(text, k, field)
            if progress is not None:
                progress(done, len(queries))
        filled = {qid: hits for qid, hits in results.items() if len(hits)}
        if not filled:
            raise EmptyDataError(
                f"none of the {len(queries):,} queries matches a document; check their text "
                "and the fields of the index"
            )
        return Run(
            np.array([*filled], dtype=object),
            Groups.from_sizes([len(hits) for hits in filled.values()]),
            Strings.concatenate([hits.docids for hits in filled.values()]),
            np.concatenate([hits.scores for hits in filled.values()]),
        )

    def save(self, path: Path_) -> None:
        """Write the index to one file, all or nothing; the same index gives the same bytes."""
        parts = IndexParts(
            self.docids, self.vocabulary, self.postings, self.tokenizer, self.parameters, self.texts
        )
        write_index(parts, path)

    @staticmethod
    def load(path: Path_) -> Index:
        """Read an index; raises CorruptFileError for a damaged file, and never runs code from it."""
        return Index(*read_index(path))

    def stream(self, name: str) -> Postings:
        """Return the counts of a field, or of the ``whole`` document."""
        if name == WHOLE_DOCUMENT and len(self.postings) == 1:
            return next(iter(self.postings.values()))
        if name not in self.streams:
            raise UnknownNameError("field", name, self.streams)
        return self.streams[name]

    def _bm25(self, name: str) -> scipy.sparse.csr_array:
        """BM25 weights of a field, one row per term; computed once."""
        if name not in self._weights:
            self._weights[name] = bm25_weights(self.stream(name), self.parameters)
        return self._weights[name]

    def _scores(self, query: QueryTerms, weights: scipy.sparse.csr_array) -> Floats:
        """Return the sum of weights of each document, term by term, because a query has few terms."""
        scores = np.zeros(len(self))
        for term, qtf in zip(query.terms.tolist(), query.qtf.tolist(), strict=True):
            a, b = weights.indptr[term], weights.indptr[term + 1]
            scores[weights.indices[a:b]] += qtf * weights.data[a:b]
        return scores


def _top(scores: Floats, k: int) -> Ints:
    """Return the places of the k highest scores, best first; equal scores keep their order."""
    candidates = np.arange(len(scores))
    if len(scores) > k:
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        candidates = np.flatnonzero(scores >= threshold)
    return candidates[np.argsort(-scores[candidates], kind="stable")[:k]]
