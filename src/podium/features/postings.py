"""Postings of one field: the counts of each term in each document, and their sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from podium.typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Postings:
    """Counts of terms, one row per document, one column per term; column 0 is empty.

    Examples
    --------
    >>> postings = Postings.of_tokens([1, 2, 1, 2], lengths=[3, 0, 1], n_terms=3)
    >>> postings.counts.toarray().tolist()
    [[0, 2, 1], [0, 0, 0], [0, 0, 1]]
    >>> postings.length.tolist(), postings.df.tolist(), postings.cf.tolist()
    ([3, 0, 1], [0, 1, 2], [0, 2, 2])
    """

    counts: scipy.sparse.csr_array

    @classmethod
    def of_tokens(cls, terms: ArrayLike, lengths: ArrayLike, n_terms: int) -> Postings:
        """Count the terms of all documents, which come one after another."""
        columns = np.array(terms, dtype=np.int32)
        starts = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))])
        ones = np.ones(len(columns), dtype=np.int32)
        counts = scipy.sparse.csr_array((ones, columns, starts), shape=(len(starts) - 1, n_terms))
        counts.sum_duplicates()
        return cls(counts)

    @cached_property
    def length(self) -> Ints:
        """|d|: the number of tokens of each document."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.int64).ravel()

    @cached_property
    def distinct(self) -> Ints:
        """|d|_u: the number of distinct terms of each document."""
        return np.diff(self.counts.indptr).astype(np.int64)

    @cached_property
    def df(self) -> Ints:
        """The number of documents with each term."""
        return np.bincount(self.counts.indices, minlength=self.counts.shape[1]).astype(np.int64)

    @cached_property
    def cf(self) -> Ints:
        """The number of occurrences of each term in all documents."""
        return np.asarray(self.counts.sum(axis=0), dtype=np.int64).ravel()

    @cached_property
    def total(self) -> int:
        """|C|: the number of tokens of all documents."""
        return int(self.length.sum())

    @property
    def n_documents(self) -> int:
        """N: the number of documents, including those without a token."""
        return int(self.counts.shape[0])

    @property
    def mean_length(self) -> float:
        """Mean number of tokens per document; 1 if there are no tokens."""
        return self.total / self.n_documents if self.total else 1.0

    def tf(self, documents: Ints, terms: Ints) -> Floats:
        """Return how often each term occurs in its document, for each pair."""
        if len(terms) == 0:
            return np.zeros(0)
        return np.asarray(self.counts[documents, terms], dtype=np.float64).ravel()

    def __add__(self, other: Postings) -> Postings:
        return Postings(scipy.sparse.csr_array(self.counts + other.counts))
