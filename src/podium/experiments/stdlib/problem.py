"""The whole search problem: documents of this Python, queries, and judgments that apply to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from podium.experiments.stdlib.document import LibraryEntry
from podium.experiments.stdlib.judgments import LibraryQuery, queries, without_unknown
from podium.experiments.stdlib.library import documents


@dataclass(frozen=True)
class SearchProblem:
    """Documents and judged queries whose judgments name only these documents.

    ``dropped`` says which judged names this Python does not have, and in how many queries they stood.
    """

    documents: tuple[LibraryEntry, ...]
    queries: tuple[LibraryQuery, ...]
    dropped: Mapping[str, int]


def search_problem() -> SearchProblem:
    """The standard library of the running Python as a search problem.

    Judgments were made for Python 3.11; names that came or went since are left out and counted. A
    query that loses all its good answers (grade 2 or more) is left out too.

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
    kept = (without_unknown(query, ids) for query in judged)
    return SearchProblem(tuple(entries), tuple(q for q in kept if q.order), dict(dropped))
