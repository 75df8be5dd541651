"""Term matches: how often the words of queries occur in one field of documents.

In all formulas t runs over the distinct words of the query, qtf(t) is how often t occurs in the
query and tf(t) how often in the document. |d| is the length of the document, N the number of
documents, df(t) the number of documents with t, cf(t) the occurrences of t in all documents, |C|
the sum of all lengths. All counts are those of one field.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium.data import Groups
from podium.errors import UsageError
from podium.features.postings import Postings
from podium.typing import Floats, Ints


@dataclass(frozen=True)
class FormulaParameters:
    """The constants of BM25 and of the language models.

    Parameters
    ----------
    k1, b
        BM25: how soon further occurrences stop counting; how strongly lengths are normalised, from
        0 to 1.
    mu, jm, delta
        Smoothing: mu of Dirichlet (LMIR.DIR), lambda of Jelinek-Mercer (LMIR.JM), delta of
        absolute discounting (LMIR.ABS). The defaults are Zhai and Lafferty's for short queries.
    """

    k1: float = 1.2
    b: float = 0.75
    mu: float = 2000.0
    jm: float = 0.1
    delta: float = 0.7

    def __post_init__(self) -> None:
        for name, is_valid, expected in (
            ("k1", 0 <= self.k1 < math.inf, "of 0 or more"),
            ("b", 0 <= self.b <= 1, "in [0, 1]"),
            ("mu", 0 < self.mu < math.inf, "above 0"),
            ("jm", 0 < self.jm <= 1, "in (0, 1]"),
            ("delta", 0 < self.delta <= 1, "in (0, 1]"),
        ):
            if not is_valid:
                raise UsageError(f"expected {name} {expected}, got {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class TermMatches:
    """Pairs of a query word and a document, with their counts in one field.

    Parameters
    ----------
    postings
        Counts of the field.
    groups
        The pairs of each row; a row is a query with a document.
    documents
        The document of each row.
    terms, qtf
        The term of each pair (0 for a word that no document has), and its frequency in the query.
    """

    postings: Postings
    groups: Groups
    documents: Ints
    terms: Ints
    qtf: Floats

    @cached_property
    def tf(self) -> Floats:
        """tf(t) of each pair."""
        return self.postings.tf(self.groups.spread(self.documents), self.terms)

    @cached_property
    def idf(self) -> Floats:
        """ln(N / df) of each pair; 0 if no document has the term."""
        df = self.postings.df[self.terms]
        return np.where(df > 0, np.log(self.postings.n_documents / np.maximum(df, 1)), 0.0)

    @cached_property
    def collection_probability(self) -> Floats:
        """p(t|C) = cf / |C| of each pair."""
        return self.postings.cf[self.terms] / max(1, self.postings.total)

    @cached_property
    def length(self) -> Floats:
        """|d| of each row."""
        return self.postings.length[self.documents].astype(np.float64)

    def sum(self, values: Floats) -> Floats:
        """Return the sum over the pairs of each row."""
        return self.groups.reduce(np.add, values)

    def log_likelihood(self, p: Floats) -> Floats:
        """ln P(q|d) = sum qtf ln p(t|d), over terms that some document has in this field."""
        occurs = self.collection_probability > 0
        return self.sum(self.qtf * np.log(p, out=np.zeros(len(p)), where=occurs))
