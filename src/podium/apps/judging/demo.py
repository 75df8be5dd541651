"""A ready pool: a few queries of the demo's corpus with what BM25 finds for them."""

from __future__ import annotations

import html

from podium.experiments.stdlib import LibraryEntry, library_index, search_problem
from podium.labelling.assignments import Assignment
from podium.labelling.pools import Pool, PoolDocument, PoolQuery

QUERIES = ("copy-file", "random-choice", "wrap-text", "glob-recursive")
"""Of the corpus's queries those that BM25 answers with both good and bad."""

DEPTH, TOP = 12, 3
"""Documents of a query, and places to be filled."""

LONGEST = 600
"""Characters of a docstring that are shown."""


def demo_pool() -> Pool:
    """Everyday questions about Python, each with the best twelve by BM25 of its standard library."""
    problem = search_problem()
    index = library_index(problem.documents)
    documents = {document.id: document for document in problem.documents}
    judged = {query.id: query for query in problem.queries}
    queries = []
    for query in (judged[name] for name in QUERIES):
        hits = index.search(query.text, DEPTH)
        found = tuple(
            PoolDocument(doc, _markup(documents[doc]), "html", doc, float(score))
            for doc, score in zip(hits.docids, hits.scores, strict=True)
        )
        queries.append(PoolQuery(query.id, query.text, query.description, found))
    return Pool(tuple(queries))


def demo_assignments(assessor: str) -> list[Assignment]:
    """Pairs for all queries but the last, and grades for that."""
    *pairs, last = QUERIES
    return [
        *(Assignment(assessor, query, "preference") for query in pairs),
        Assignment(assessor, last, "grade"),
    ]


def _markup(document: LibraryEntry) -> str:
    """The signature, the first paragraph as such, the rest as it stands."""
    first, _, rest = document.body[:LONGEST].partition("\n\n")
    parts = {
        "<p><code>{}</code></p>": document.signature,
        "<p>{}</p>": " ".join(first.split()),
        "<pre>{}</pre>": rest.rstrip(),
    }
    shown = [form.format(html.escape(text)) for form, text in parts.items() if text]
    return "".join(shown) or f"<p>A {document.kind} without a docstring.</p>"
