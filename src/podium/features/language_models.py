"""Language models (LMIR): absolute discounting, Dirichlet and Jelinek-Mercer smoothing.

C. Zhai, J. Lafferty, "A study of smoothing methods for language models applied to information retrieval",
ACM TOIS 22 (2004). ``term_matches.py`` explains the symbols.
"""

from __future__ import annotations

import numpy as np

from podium.features.term_matches import FormulaParameters, TermMatches
from podium.typing import Floats


def lmir_abs(m: TermMatches, parameters: FormulaParameters) -> Floats:
    """Sum of qtf ln p, p = max(tf - delta, 0) / |d| + delta |d|_u / |d| p(t|C): absolute discounting.

    |d|_u: the document's distinct words; |d|_u / |d| is 1 for an empty document.
    """
    delta = parameters.delta
    distinct = np.maximum(1, m.postings.distinct[m.documents])
    n, n_distinct = m.groups.spread(np.maximum(1, m.length)), m.groups.spread(distinct)
    p = np.maximum(m.tf - delta, 0) / n + delta * n_distinct / n * m.collection_probability
    return m.log_likelihood(p)


def lmir_dir(m: TermMatches, parameters: FormulaParameters) -> Floats:
    """Sum of qtf ln p, p = (tf + mu p(t|C)) / (|d| + mu): a Dirichlet prior."""
    mu = parameters.mu
    p = (m.tf + mu * m.collection_probability) / (m.groups.spread(m.length) + mu)
    return m.log_likelihood(p)


def lmir_jm(m: TermMatches, parameters: FormulaParameters) -> Floats:
    """Sum of qtf ln p, p = (1 - lambda) tf / |d| + lambda p(t|C): Jelinek-Mercer."""
    lambda_ = parameters.jm
    n = m.groups.spread(np.maximum(1, m.length))
    p = (1 - lambda_) * m.tf / n + lambda_ * m.collection_probability
    return m.log_likelihood(p)
