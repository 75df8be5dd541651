"""The demo's corpus: the installed standard library as documents, everyday queries, judgments.

>>> from podium.experiments.stdlib import documents, queries
>>> [query.text for query in queries()][:3]
['sort a dictionary by value', 'sort a list of objects by attribute', 'read a csv file']
"""

from podium.experiments.stdlib.document import LibraryEntry
from podium.experiments.stdlib.judgments import LibraryQuery, queries
from podium.experiments.stdlib.library import documents
from podium.experiments.stdlib.problem import SearchProblem, search_problem
from podium.experiments.stdlib.search import library_index

__all__ = [
    "LibraryEntry",
    "LibraryQuery",
    "SearchProblem",
    "documents",
    "library_index",
    "queries",
    "search_problem",
]
