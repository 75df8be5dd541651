"""LETOR's features: what the terms of a query say about one field of a document.

Sources: T. Qin, T.-Y. Liu, J. Xu, H. Li, "LETOR: A benchmark collection for research on learning to
rank for information retrieval", Information Retrieval 13 (2010), for which features there are;
S. Robertson, H. Zaragoza, "The probabilistic relevance framework: BM25 and beyond" (2009);
C. Zhai, J. Lafferty, "A study of smoothing methods for language models applied to information
retrieval", ACM TOIS 22 (2004).

In all formulas t runs over the distinct words of the query, qtf(t) is how often the query has it, tf(t)
how often the document, |d| the document's length, N the number of documents, df(t) those with t, cf(t)
the occurrences of t in all of them, |C| the sum of all lengths; every count in the one field.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium.data import Groups
from podium.errors import UsageError
from podium.features.postings import Floats, Ints, Postings


@dataclass(frozen=True)
class Parameters:
    """The constants of BM25 and of the language models.

    Parameters
    ----------
    k1, b
        BM25: how soon more occurrences stop to count; how far lengths are evened out, 0 to 1.
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
        for name, holds, expected in (
            ("k1", 0 <= self.k1 < math.inf, "of 0 or more"),
            ("b", 0 <= self.b <= 1, "in [0, 1]"),
            ("mu", 0 < self.mu < math.inf, "above 0"),
            ("jm", 0 < self.jm <= 1, "in (0, 1]"),
            ("delta", 0 < self.delta <= 1, "in (0, 1]"),
        ):
            if not holds:
                raise UsageError(f"expected {name} {expected}, got {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class Matches:
    """The words of queries in one field of documents: pairs of a word and a document.

    Parameters
    ----------
    postings
        Counts of the field.
    groups
        Which pairs belong to which row; a row is a query with a document.
    documents
        The document of each row.
    terms, qtf
        The term of each pair (0: a word no document has), and how often the query has it.
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
        """ln(N / df) of each pair; 0 where no document has the term."""
        df = self.postings.df[self.terms]
        return np.where(df > 0, np.log(self.postings.n_documents / np.maximum(df, 1)), 0.0)

    @cached_property
    def known(self) -> Floats:
        """p(t|C) = cf / |C| of each pair."""
        return self.postings.cf[self.terms] / max(1, self.postings.total)

    @cached_property
    def length(self) -> Floats:
        """|d| of each row."""
        return self.postings.length[self.documents].astype(np.float64)

    def sum(self, values: Floats) -> Floats:
        """The sum over the pairs of each row."""
        return self.groups.reduce(np.add, values)

    def log_likelihood(self, p: Floats) -> Floats:
        """ln P(q|d) = sum qtf ln p(t|d), over terms that some document has in this field."""
        there = self.known > 0
        return self.sum(self.qtf * np.log(p, out=np.zeros(len(p)), where=there))


def covered(m: Matches, _: Parameters) -> Floats:
    """Distinct words of the query that the document has: |q & d|."""
    return m.sum((m.tf > 0).astype(np.float64))


def covered_ratio(m: Matches, parameters: Parameters) -> Floats:
    """The share of the query's distinct words that the document has: |q & d| / |q|."""
    return covered(m, parameters) / np.maximum(1, m.groups.sizes)


def length(m: Matches, _: Parameters) -> Floats:
    """Words of the document: |d|."""
    return m.length


def idf(m: Matches, _: Parameters) -> Floats:
    """How rare the matching words are: sum over q & d of ln(N / df)."""
    return m.sum(np.where(m.tf > 0, m.idf, 0.0))


def tf_sum(m: Matches, _: Parameters) -> Floats:
    """Sum of tf."""
    return m.sum(m.tf)


def tf_min(m: Matches, _: Parameters) -> Floats:
    """Least tf."""
    return m.groups.reduce(np.minimum, m.tf)


def tf_max(m: Matches, _: Parameters) -> Floats:
    """Greatest tf."""
    return m.groups.reduce(np.maximum, m.tf)


def tf_mean(m: Matches, _: Parameters) -> Floats:
    """Mean of tf over the query's distinct words."""
    return m.sum(m.tf) / np.maximum(1, m.groups.sizes)


def tfidf_sum(m: Matches, _: Parameters) -> Floats:
    """Sum of tf ln(N / df)."""
    return m.sum(m.tf * m.idf)


def tfidf_min(m: Matches, _: Parameters) -> Floats:
    """Least tf ln(N / df)."""
    return m.groups.reduce(np.minimum, m.tf * m.idf)


def tfidf_max(m: Matches, _: Parameters) -> Floats:
    """Greatest tf ln(N / df)."""
    return m.groups.reduce(np.maximum, m.tf * m.idf)


def tfidf_mean(m: Matches, _: Parameters) -> Floats:
    """Mean of tf ln(N / df) over the query's distinct words."""
    return m.sum(m.tf * m.idf) / np.maximum(1, m.groups.sizes)


def bm25_idf(df: Ints, n_documents: int) -> Floats:
    """BM25's weight of a term, ln(1 + (N - df + 0.5) / (df + 0.5)): Robertson's with 1 added in the
    logarithm, so that it is never negative (as Lucene has it).
    """
    return np.log1p((n_documents - df + 0.5) / (df + 0.5))


def saturation(tf: Floats, length: Floats, mean_length: float, parameters: Parameters) -> Floats:
    """tf / (tf + k1 (1 - b + b |d| / mean |d|)): grows with tf, to 1 at most."""
    k1, b = parameters.k1, parameters.b
    norm = k1 * (1 - b + b * length / mean_length)
    return np.divide(tf, tf + norm, out=np.zeros(len(tf)), where=tf > 0)


def bm25(m: Matches, parameters: Parameters) -> Floats:
    """Sum of qtf ln(1 + (N - df + 0.5) / (df + 0.5)) tf / (tf + k1 (1 - b + b |d| / mean |d|)).

    Robertson and Zaragoza (2009); without the constant factor k1 + 1 that some add.
    """
    weight = bm25_idf(m.postings.df[m.terms], m.postings.n_documents)
    lengths = m.groups.spread(m.length)
    return m.sum(m.qtf * weight * saturation(m.tf, lengths, m.postings.mean_length, parameters))


def lmir_abs(m: Matches, parameters: Parameters) -> Floats:
    """Sum of qtf ln p, p = max(tf - delta, 0) / |d| + delta |d|_u / |d| p(t|C): absolute discounting.

    |d|_u: the document's distinct words; |d|_u / |d| is 1 for an empty document.
    """
    delta = parameters.delta
    distinct = np.maximum(1, m.postings.distinct[m.documents])
    n, n_distinct = m.groups.spread(np.maximum(1, m.length)), m.groups.spread(distinct)
    p = np.maximum(m.tf - delta, 0) / n + delta * n_distinct / n * m.known
    return m.log_likelihood(p)


def lmir_dir(m: Matches, parameters: Parameters) -> Floats:
    """Sum of qtf ln p, p = (tf + mu p(t|C)) / (|d| + mu): a Dirichlet prior."""
    mu = parameters.mu
    p = (m.tf + mu * m.known) / (m.groups.spread(m.length) + mu)
    return m.log_likelihood(p)


def lmir_jm(m: Matches, parameters: Parameters) -> Floats:
    """Sum of qtf ln p, p = (1 - lambda) tf / |d| + lambda p(t|C): Jelinek-Mercer."""
    lambda_ = parameters.jm
    n = m.groups.spread(np.maximum(1, m.length))
    p = (1 - lambda_) * m.tf / n + lambda_ * m.known
    return m.log_likelihood(p)


FORMULAS: dict[str, Callable[[Matches, Parameters], Floats]] = {
    "covered": covered,
    "covered.ratio": covered_ratio,
    "length": length,
    "idf": idf,
    "tf.sum": tf_sum,
    "tf.min": tf_min,
    "tf.max": tf_max,
    "tf.mean": tf_mean,
    "tfidf.sum": tfidf_sum,
    "tfidf.min": tfidf_min,
    "tfidf.max": tfidf_max,
    "tfidf.mean": tfidf_mean,
    "bm25": bm25,
    "lmir.abs": lmir_abs,
    "lmir.dir": lmir_dir,
    "lmir.jm": lmir_jm,
}
"""Features by name; every one is made for every field, as ``bm25(title)``."""
