"""Pairs of query and document, and values of them that hold across logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium.data import Groups
from podium.feedback.list_sums import StringCodes
from podium.typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class DocumentPairs:
    """Different pairs of query and document, sorted by query, then by document.

    ``keys`` holds query number * number of documents + document number, ascending.
    """

    queries: tuple[str, ...]
    docs: tuple[str, ...]
    keys: Ints

    @classmethod
    def of(cls, query: StringCodes, doc: StringCodes, groups: Groups) -> tuple[DocumentPairs, Ints]:
        """Return the pairs of these lists, and the number of the pair of each row."""
        n_docs = max(1, len(doc.table))
        row_keys = np.asarray(groups.spread(query.codes)) * n_docs + doc.codes
        n_keys = len(query.table) * n_docs
        if n_keys <= 8 * len(row_keys) + 1_000_000:  # a table is faster than a sort
            occurs = np.zeros(n_keys, dtype=bool)
            occurs[row_keys] = True
            keys = np.flatnonzero(occurs)
            number = np.cumsum(occurs) - 1
            return cls(query.table, doc.table, keys), number[row_keys]
        keys, numbers = np.unique(row_keys, return_inverse=True)
        return cls(query.table, doc.table, keys), numbers.reshape(-1)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def query_codes(self) -> Ints:
        """The number of the query of each pair."""
        return self.keys // max(1, len(self.docs))

    @property
    def doc_codes(self) -> Ints:
        """The number of the document of each pair."""
        return self.keys % max(1, len(self.docs))

    def find(self, others: DocumentPairs) -> Ints:
        """Return the number of each of the other pairs here, -1 if it is missing."""
        query = translate(others.queries, self.queries)[others.query_codes]
        doc = translate(others.docs, self.docs)[others.doc_codes]
        keys = np.where((query < 0) | (doc < 0), -1, query * max(1, len(self.docs)) + doc)
        place = np.searchsorted(self.keys, keys)
        is_here = place < len(self.keys)
        is_here[is_here] = self.keys[place[is_here]] == keys[is_here]
        return np.where(is_here, place, -1)


def translate(names: Sequence[str], table: Sequence[str]) -> Ints:
    """Return the number of each name in another table, -1 if it is missing.

    Examples
    --------
    >>> translate(("b", "c"), ("a", "b")).tolist()
    [1, -1]
    """
    if names == table:
        return np.arange(len(names))
    number = {name: i for i, name in enumerate(table)}
    return np.array([number.get(name, -1) for name in names], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PairValues:
    """One number per pair of query and document, and a default for all other pairs."""

    pairs: DocumentPairs
    values: Floats
    default: float

    @classmethod
    def constant(cls, value: float) -> PairValues:
        """Return the same value for every pair."""
        return cls(DocumentPairs((), (), np.zeros(0, dtype=np.int64)), np.zeros(0), value)

    def of(self, pairs: DocumentPairs) -> Floats:
        """Return the values of other pairs."""
        number = self.pairs.find(pairs)
        return np.append(self.values, self.default)[number]
