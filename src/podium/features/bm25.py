"""BM25: the score of a document, and the weights of an index for search.

S. Robertson, H. Zaragoza, "The probabilistic relevance framework: BM25 and beyond" (2009).
``term_matches.py`` explains the symbols.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from podium.features.postings import Postings
from podium.features.term_matches import FormulaParameters, TermMatches
from podium.typing import Floats, Ints


def bm25_idf(df: Ints, n_documents: int) -> Floats:
    """The weight of a term in BM25, ln(1 + (N - df + 0.5) / (df + 0.5)).

    This is Robertson's weight with 1 added in the logarithm, as in Lucene, so it is never negative.
    """
    return np.log1p((n_documents - df + 0.5) / (df + 0.5))


def saturation(
    tf: Floats, length: Floats, mean_length: float, parameters: FormulaParameters
) -> Floats:
    """tf / (tf + k1 (1 - b + b |d| / mean |d|)), which grows with tf to at most 1."""
    k1, b = parameters.k1, parameters.b
    norm = k1 * (1 - b + b * length / mean_length)
    return np.divide(tf, tf + norm, out=np.zeros(len(tf)), where=tf > 0)


def bm25(m: TermMatches, parameters: FormulaParameters) -> Floats:
    """Sum of qtf ln(1 + (N - df + 0.5) / (df + 0.5)) tf / (tf + k1 (1 - b + b |d| / mean |d|)).

    The constant factor k1 + 1 of some implementations is left out.
    """
    weight = bm25_idf(m.postings.df[m.terms], m.postings.n_documents)
    lengths = m.groups.spread(m.length)
    return m.sum(m.qtf * weight * saturation(m.tf, lengths, m.postings.mean_length, parameters))


def bm25_weights(postings: Postings, parameters: FormulaParameters) -> scipy.sparse.csr_array:
    """Return the share of each term in the BM25 score of each document; one row per term."""
    by_term = scipy.sparse.csr_array(postings.counts.T.tocsr())
    by_term.sort_indices()
    idf = np.repeat(bm25_idf(postings.df, postings.n_documents), np.diff(by_term.indptr))
    tf, length = by_term.data.astype(np.float64), postings.length[by_term.indices]
    data = idf * saturation(tf, length.astype(np.float64), postings.mean_length, parameters)
    return scipy.sparse.csr_array((data, by_term.indices, by_term.indptr), shape=by_term.shape)
