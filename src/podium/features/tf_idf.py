"""TF-IDF and its parts: term frequencies, inverse document frequencies, lengths, matching words.

``term_matches.py`` explains the symbols.
"""

from __future__ import annotations

import numpy as np

from podium.features.term_matches import FormulaParameters, TermMatches
from podium.typing import Floats


def covered(m: TermMatches, _: FormulaParameters) -> Floats:
    """The number of distinct query words that the document has: |q & d|."""
    return m.sum((m.tf > 0).astype(np.float64))


def covered_ratio(m: TermMatches, parameters: FormulaParameters) -> Floats:
    """The share of the query's distinct words that the document has: |q & d| / |q|."""
    return covered(m, parameters) / np.maximum(1, m.groups.sizes)


def length(m: TermMatches, _: FormulaParameters) -> Floats:
    """The number of words of the document: |d|."""
    return m.length


def idf(m: TermMatches, _: FormulaParameters) -> Floats:
    """The rarity of the matching words: sum over q & d of ln(N / df)."""
    return m.sum(np.where(m.tf > 0, m.idf, 0.0))


def tf_sum(m: TermMatches, _: FormulaParameters) -> Floats:
    """Sum of tf."""
    return m.sum(m.tf)


def tf_min(m: TermMatches, _: FormulaParameters) -> Floats:
    """Minimum of tf."""
    return m.groups.reduce(np.minimum, m.tf)


def tf_max(m: TermMatches, _: FormulaParameters) -> Floats:
    """Maximum of tf."""
    return m.groups.reduce(np.maximum, m.tf)


def tf_mean(m: TermMatches, _: FormulaParameters) -> Floats:
    """Mean of tf over the query's distinct words."""
    return m.sum(m.tf) / np.maximum(1, m.groups.sizes)


def tfidf_sum(m: TermMatches, _: FormulaParameters) -> Floats:
    """Sum of tf ln(N / df)."""
    return m.sum(m.tf * m.idf)


def tfidf_min(m: TermMatches, _: FormulaParameters) -> Floats:
    """Minimum of tf ln(N / df)."""
    return m.groups.reduce(np.minimum, m.tf * m.idf)


def tfidf_max(m: TermMatches, _: FormulaParameters) -> Floats:
    """Maximum of tf ln(N / df)."""
    return m.groups.reduce(np.maximum, m.tf * m.idf)


def tfidf_mean(m: TermMatches, _: FormulaParameters) -> Floats:
    """Mean of tf ln(N / df) over the query's distinct words."""
    return m.sum(m.tf * m.idf) / np.maximum(1, m.groups.sizes)
