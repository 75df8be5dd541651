"""Formulas of the LETOR features by name, for the words of a query and one field of a document.

T. Qin, T.-Y. Liu, J. Xu, H. Li, "LETOR: A benchmark collection for research on learning to rank for
information retrieval", Information Retrieval 13 (2010), lists the features.
"""

from __future__ import annotations

from collections.abc import Callable

from podium.features.bm25 import bm25
from podium.features.language_models import lmir_abs, lmir_dir, lmir_jm
from podium.features.term_matches import FormulaParameters, TermMatches
from podium.features.tf_idf import (
    covered,
    covered_ratio,
    idf,
    length,
    tf_max,
    tf_mean,
    tf_min,
    tf_sum,
    tfidf_max,
    tfidf_mean,
    tfidf_min,
    tfidf_sum,
)
from podium.typing import Floats

FORMULAS: dict[str, Callable[[TermMatches, FormulaParameters], Floats]] = {
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
"""Formulas by name; every field gets a feature for each, such as ``bm25(title)``."""
