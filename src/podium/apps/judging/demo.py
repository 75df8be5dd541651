"""The pool of the judging demo: a few queries about Python, with the documents that BM25 finds."""

from __future__ import annotations

import html

from podium.experiments.demo_corpus import LibraryEntry, library_index, search_problem
from podium.labelling.assignments import Assignment
from podium.labelling.guidelines import Guidelines
from podium.labelling.pools import Pool, PoolDocument, PoolQuery

DEMO_QUERIES = ("copy-file", "random-choice", "wrap-text", "glob-recursive")
"""Ids of queries of the corpus for which BM25 finds both good and bad documents."""

DEMO_GUIDELINES = Guidelines(
    """\
Judge as **somebody who writes a Python program** and has typed this question.

- Prefer what answers the question directly: one call, without more code around it.
- Prefer what the documentation recommends today over what it keeps for old programs.
- The name alone does not count. Read what the function does.
- If two answers are equally good, say so.
""",
    {
        "Bad": "Does something else; it only shares words with the question.",
        "Fair": "Belongs to the topic, but does not answer the question.",
        "Good": "Answers a part of the question, or needs more code.",
        "Excellent": "Answers the question, and something else does it better.",
        "Perfect": "What an experienced programmer would use.",
    },
)
"""The guidelines of the demo, with what each grade means."""

DEMO_DEPTH, DEMO_K = 12, 3
"""Documents per query, and how many of them to find."""

MAX_DOCSTRING_CHARACTERS = 600
"""Characters of a docstring on screen."""


def demo_pool() -> Pool:
    """Return everyday questions about Python, each with the best documents of its library by BM25."""
    problem = search_problem()
    index = library_index(problem.documents)
    documents = {document.id: document for document in problem.documents}
    judged = {query.id: query for query in problem.queries}
    queries = []
    for query in (judged[name] for name in DEMO_QUERIES):
        hits = index.search(query.text, DEMO_DEPTH)
        pool_documents = tuple(
            PoolDocument(doc, _markup(documents[doc]), "html", doc, float(score))
            for doc, score in zip(hits.docids, hits.scores, strict=True)
        )
        queries.append(PoolQuery(query.id, query.text, query.description, pool_documents))
    return Pool(tuple(queries))


def demo_assignments(assessor: str) -> list[Assignment]:
    """Return pairs for all queries but the last, and grades for the last."""
    *pairs, last = DEMO_QUERIES
    return [
        *(Assignment(assessor, query, "preference") for query in pairs),
        Assignment(assessor, last, "grade"),
    ]


def _markup(document: LibraryEntry) -> str:
    """Return the signature, the first paragraph and the rest of a docstring as HTML."""
    first, _, rest = document.body[:MAX_DOCSTRING_CHARACTERS].partition("\n\n")
    parts = {
        "<p><code>{}</code></p>": document.signature,
        "<p>{}</p>": " ".join(first.split()),
        "<pre>{}</pre>": rest.rstrip(),
    }
    paragraphs = [form.format(html.escape(text)) for form, text in parts.items() if text]
    return "".join(paragraphs) or f"<p>A {document.kind} without a docstring.</p>"
