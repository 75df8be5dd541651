"""Documents and queries in words -> LETOR's features: tf, idf, length, BM25, language models."""

from podium.features.documents import Document, read_documents
from podium.features.formulas import FORMULAS, Parameters
from podium.features.index import Hits, Index
from podium.features.making import make_features
from podium.features.stemmers import STEMMERS
from podium.features.tokenizer import IDENTIFIERS, STOP_WORDS, Tokenizer

__all__ = [
    "Document",
    "FORMULAS",
    "Hits",
    "IDENTIFIERS",
    "Index",
    "Parameters",
    "STEMMERS",
    "STOP_WORDS",
    "Tokenizer",
    "make_features",
    "read_documents",
]
