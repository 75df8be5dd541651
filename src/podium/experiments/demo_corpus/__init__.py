"""The corpus of the demo: the installed standard library as documents, with everyday queries and judgments.

Examples
--------
>>> from podium.experiments.demo_corpus import documents, queries
>>> [query.text for query in queries()][:3]
['sort a dictionary by value', 'sort a list of objects by attribute', 'read a csv file']
"""

from podium.experiments.demo_corpus.corpus_index import library_index
from podium.experiments.demo_corpus.judged_corpus import SearchProblem, search_problem
from podium.experiments.demo_corpus.judged_queries import LibraryQuery, queries
from podium.experiments.demo_corpus.library_documents import documents
from podium.experiments.demo_corpus.library_entry import LibraryEntry

__all__ = [
    "LibraryEntry",
    "LibraryQuery",
    "SearchProblem",
    "documents",
    "library_index",
    "queries",
    "search_problem",
]
