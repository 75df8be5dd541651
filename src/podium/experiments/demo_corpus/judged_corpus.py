"""The search problem of the demo: documents of this Python, queries, and judgments that apply to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from podium.experiments.demo_corpus.judged_queries import LibraryQuery, queries, without_unknown
from podium.experiments.demo_corpus.library_documents import documents
from podium.experiments.demo_corpus.library_entry import LibraryEntry


@dataclass(frozen=True)
class SearchProblem:
    """Documents and judged queries whose judgments name only these documents.

    ``dropped`` counts, for each judged name that this Python lacks, the queries that had it.
    """

    documents: tuple[LibraryEntry, ...]
    queries: tuple[LibraryQuery, ...]
    dropped: Mapping[str, int]


@cache
def search_problem() -> SearchProblem:
    """Return the standard library of the running Python as a search problem.

    Judgments are for Python 3.11. Names that this Python lacks are left out and counted. A query that
    loses all its good answers (grade 2 or more) is left out too. The sources are read once per process.

    Examples
    --------
    >>> problem = search_problem()
    >>> len(problem.queries) >= 120
    True
    """
    entries = documents()
    ids = {document.id for document in entries}
    judged = queries()
    dropped = Counter(name for query in judged for name in query.grades if name not in ids)
    applicable = (without_unknown(query, ids) for query in judged)
    return SearchProblem(tuple(entries), tuple(q for q in applicable if q.order), dict(dropped))
