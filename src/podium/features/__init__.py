"""LETOR features of text: tf, idf, length, BM25, language models."""

from podium.features.documents import Document, read_documents
from podium.features.formulas import FORMULAS
from podium.features.index import Hits, Index
from podium.features.letor_features import make_features, stream_features
from podium.features.stemmers import STEMMERS
from podium.features.term_matches import FormulaParameters
from podium.features.tokenizer import IDENTIFIER_MODES, STOP_WORDS, Tokenizer

__all__ = [
    "Document",
    "FORMULAS",
    "FormulaParameters",
    "Hits",
    "IDENTIFIER_MODES",
    "Index",
    "STEMMERS",
    "STOP_WORDS",
    "Tokenizer",
    "make_features",
    "read_documents",
    "stream_features",
]
