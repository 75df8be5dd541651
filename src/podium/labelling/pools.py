"""Pools: the queries to judge, with the documents of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any, Literal, get_args

import numpy as np

from podium.data.argument_checks import check_seed
from podium.errors import DataError, EmptyDataError, UnknownNameError, UsageError

ContentKind = Literal["text", "html", "image"]
CONTENT_KINDS: tuple[ContentKind, ...] = get_args(ContentKind)

MAX_POOL_ID_LENGTH = 500
"""The maximum number of characters of the id of a query or a document."""


@dataclass(frozen=True)
class PoolDocument:
    """A document for assessors.

    Parameters
    ----------
    id
        Unique within its query.
    content
        Text, HTML, or the path of an image.
    kind
        ``"text"``, ``"html"`` or ``"image"``.
    title
        The title above the content, or "".
    score
        The score of an existing ranker, or None.
    """

    id: str
    content: str = ""
    kind: ContentKind = "text"
    title: str = ""
    score: float | None = None

    def __post_init__(self) -> None:
        _check_id(self.id, "a document")
        _check_text(self.content, f"the content of document {self.id!r}")
        _check_text(self.title, f"the title of document {self.id!r}")
        if self.kind not in CONTENT_KINDS:
            raise UnknownNameError("kind of content", str(self.kind), CONTENT_KINDS)
        if self.score is not None and not isfinite(self.score):
            raise DataError(f"expected a finite score for {self.id!r}, got {self.score}")


@dataclass(frozen=True)
class PoolQuery:
    """A query: its text, a description of the need, and its documents in the pool's order."""

    id: str
    text: str = ""
    description: str = ""
    documents: tuple[PoolDocument, ...] = ()

    def __post_init__(self) -> None:
        _check_id(self.id, "a query")
        _check_text(self.text, f"the text of query {self.id!r}")
        _check_text(self.description, f"the description of query {self.id!r}")
        if not self.documents:
            raise DataError(f"query {self.id!r} has no documents; expected at least one")
        twice = first_repeated(document.id for document in self.documents)
        if twice is not None:
            raise DataError(
                f"query {self.id!r} has document {twice!r} twice; expected each document once"
            )

    @property
    def prior(self) -> tuple[str, ...]:
        """The ids of the documents by score, best first; every document needs a score.

        Examples
        --------
        >>> PoolQuery("q", documents=(PoolDocument("x", score=1), PoolDocument("y", score=2))).prior
        ('y', 'x')
        """
        scores = {d.id: d.score for d in self.documents if d.score is not None}
        if lacking := [d.id for d in self.documents if d.id not in scores]:
            raise DataError(
                f"a prior order needs scores of all documents, but {len(lacking):,} of the "
                f"{len(self.documents):,} documents of query {self.id!r:.60} have none, such "
                f"as {lacking[0]!r:.60}"
            )
        return tuple(sorted(scores, key=lambda i: -scores[i]))


@dataclass(frozen=True)
class Pool:
    """Queries with their documents.

    Parameters
    ----------
    queries
        Each once.
    ignored
        Names of unknown fields in the pool's files.

    Examples
    --------
    >>> pool = Pool((PoolQuery("q1", "jazz", documents=(PoolDocument("x"),)),))
    >>> pool["q1"].text, len(pool), pool
    ('jazz', 1, Pool(1 query, 1 document))
    """

    queries: tuple[PoolQuery, ...] = field(repr=False)
    ignored: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.queries:
            raise EmptyDataError("the pool has no queries; expected at least one")
        if len(self._by_id) < len(self.queries):
            twice = first_repeated(query.id for query in self.queries)
            raise DataError(f"the pool has query {twice!r} twice; expected each query once")

    def __repr__(self) -> str:
        n = sum(len(query.documents) for query in self.queries)
        queries = "query" if len(self) == 1 else "queries"
        return f"Pool({len(self):,} {queries}, {n:,} document{'' if n == 1 else 's'})"

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[PoolQuery]:
        return iter(self.queries)

    def __getitem__(self, query: str) -> PoolQuery:
        try:
            return self._by_id[query]
        except KeyError:
            raise UnknownNameError("query", query, self._by_id) from None

    @cached_property
    def _by_id(self) -> dict[str, PoolQuery]:
        return {query.id: query for query in self.queries}

    def sample(self, n: int, *, seed: int = 0) -> Pool:
        """Return a pool with a random sample of n documents of each query, in the pool's order.

        A query with n documents or fewer keeps them all. The sample of a query depends on the seed,
        the id of the query and its documents, not on the other queries.

        Examples
        --------
        >>> pool = Pool((PoolQuery("q1", documents=tuple(map(PoolDocument, "abcde"))),))
        >>> [document.id for document in pool.sample(2, seed=0)["q1"].documents]
        ['d', 'e']
        """
        if type(n) is not int or n < 1:
            raise UsageError(f"expected a sample of 1 document or more, got {n!r}")
        check_seed(seed)
        queries = (replace(query, documents=_sample(query, n, seed)) for query in self.queries)
        return replace(self, queries=tuple(queries))

    @classmethod
    def of(cls, rows: Iterable[tuple[PoolQuery, PoolDocument]]) -> Pool:
        """Return a pool from rows of one document each, in any order.

        A row without text or description of its query takes them from other rows.
        """
        queries: dict[str, dict[str, str]] = {}
        documents: dict[str, list[PoolDocument]] = {}
        for query, document in rows:
            documents.setdefault(query.id, []).append(document)
            texts = queries.setdefault(query.id, {"text": "", "description": ""})
            for name in texts:
                value = getattr(query, name)
                if value and texts[name] not in ("", value):
                    raise DataError(
                        f"query {query.id!r} has two different {name}s: {texts[name]!r:.40} "
                        f"and {value!r:.40}; expected one"
                    )
                texts[name] = texts[name] or value
        return cls(
            tuple(
                PoolQuery(i, texts["text"], texts["description"], tuple(documents[i]))
                for i, texts in queries.items()
            )
        )


def _sample(query: PoolQuery, n: int, seed: int) -> tuple[PoolDocument, ...]:
    """Draw n documents of a query, and keep their order."""
    if n >= len(query.documents):
        return query.documents
    random = np.random.default_rng([seed, *query.id.encode()])
    rows = random.choice(len(query.documents), n, replace=False)
    return tuple(query.documents[row] for row in sorted(rows.tolist()))


def first_repeated(ids: Iterable[str]) -> str | None:
    """Return the first id that occurs a second time, or None.

    Examples
    --------
    >>> first_repeated("abcba"), first_repeated("abc")
    ('b', None)
    """
    distinct: set[str] = set()
    for i in ids:
        if i in distinct:
            return i
        distinct.add(i)
    return None


def query_record(query: PoolQuery) -> dict[str, Any]:
    """Return a query as a record of a JSONL pool."""
    record: dict[str, Any] = {"query": query.id, "text": query.text}
    if query.description:
        record["description"] = query.description
    return record | {"documents": [document_record(document) for document in query.documents]}


def document_record(document: PoolDocument) -> dict[str, Any]:
    """Return a document as a record of a JSONL pool; the name of its content is its kind."""
    record: dict[str, Any] = {"id": document.id, document.kind: document.content}
    if document.title:
        record["title"] = document.title
    if document.score is not None:
        record["score"] = document.score
    return record


def pool_lines(pool: Pool) -> Iterator[str]:
    """Return the lines of a JSONL pool, one per query."""
    return (json.dumps(query_record(query)) + "\n" for query in pool)


def _check_id(value: object, owner: str) -> None:
    if (
        not isinstance(value, str)
        or not 0 < len(value) <= MAX_POOL_ID_LENGTH
        or not value.isprintable()
    ):
        raise DataError(
            f"expected the id of {owner} to have 1 to {MAX_POOL_ID_LENGTH} printable "
            f"characters, got {value!r:.60}"
        )


def _check_text(value: object, field_name: str) -> None:
    """Raise for text that databases cannot store: NUL in PostgreSQL, half surrogate pairs in UTF-8."""
    if not isinstance(value, str):
        raise DataError(f"expected text as {field_name}, got {value!r:.60}")
    if "\0" in value:
        raise DataError(f"expected text as {field_name}, got a NUL character in it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"expected text as {field_name}, got half of a surrogate pair in it"
        ) from None
