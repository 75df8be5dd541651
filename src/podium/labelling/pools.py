"""Pools: the queries to judge and the documents of each, from JSONL, CSV or a TREC run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any, Literal, get_args

from podium.errors import DataError, EmptyDataError, UnknownNameError

ContentKind = Literal["text", "html", "image"]
CONTENT_KINDS: tuple[ContentKind, ...] = get_args(ContentKind)

MAX_ID = 500
"""Characters in the id of a query or a document."""


@dataclass(frozen=True)
class PoolDocument:
    """A document as it is shown.

    Parameters
    ----------
    id
        Unique within its query.
    content
        Text, HTML, or where the image is.
    kind
        Which of these.
    title
        A line above it, or "".
    score
        What an existing ranker says of it, or None.
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
    """A query, what is meant by it, and its documents in the pool's order."""

    id: str
    text: str = ""
    description: str = ""
    documents: tuple[PoolDocument, ...] = ()

    def __post_init__(self) -> None:
        _check_id(self.id, "a query")
        _check_text(self.text, f"the text of query {self.id!r}")
        _check_text(self.description, f"the description of query {self.id!r}")
        if not self.documents:
            raise DataError(f"expected documents for query {self.id!r}, got none")
        ids = [document.id for document in self.documents]
        if len(set(ids)) < len(ids):
            seen: set[str] = set()
            twice = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
            raise DataError(
                f"expected each document of query {self.id!r} once, got {twice!r} twice"
            )

    @property
    def prior(self) -> tuple[str, ...] | None:
        """The documents by score, best first; None where one has no score.

        Examples
        --------
        >>> PoolQuery("q", documents=(PoolDocument("x", score=1), PoolDocument("y", score=2))).prior
        ('y', 'x')
        """
        scored = [(document.score, document.id) for document in self.documents]
        if any(score is None for score, _ in scored):
            return None
        return tuple(i for _, i in sorted(scored, key=lambda pair: -pair[0]))  # type: ignore[operator]


@dataclass(frozen=True)
class Pool:
    """Queries with their documents.

    Examples
    --------
    >>> pool = Pool((PoolQuery("q1", "jazz", documents=(PoolDocument("x"),)),))
    >>> pool["q1"].text, len(pool), pool
    ('jazz', 1, Pool(1 query, 1 document))
    """

    queries: tuple[PoolQuery, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.queries:
            raise EmptyDataError("expected at least one query in a pool, got none")
        if len(self._by_id) < len(self.queries):
            ids = [query.id for query in self.queries]
            twice = next(i for i in ids if ids.count(i) > 1)
            raise DataError(f"expected each query once in a pool, got {twice!r} twice")

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

    @classmethod
    def of(cls, rows: Iterable[tuple[PoolQuery, PoolDocument]]) -> Pool:
        """A pool from rows of one document each; the rows of a query need not stand together.

        A query without text or description takes those of its other rows.
        """
        queries: dict[str, dict[str, str]] = {}
        documents: dict[str, list[PoolDocument]] = {}
        for query, document in rows:
            documents.setdefault(query.id, []).append(document)
            texts = queries.setdefault(query.id, {"text": "", "description": ""})
            for name in texts:
                said = getattr(query, name)
                if said and texts[name] not in ("", said):
                    raise DataError(
                        f"expected one {name} for query {query.id!r}, got {texts[name]!r:.40} "
                        f"and {said!r:.40}"
                    )
                texts[name] = texts[name] or said
        return cls(
            tuple(
                PoolQuery(i, texts["text"], texts["description"], tuple(documents[i]))
                for i, texts in queries.items()
            )
        )


def query_record(query: PoolQuery) -> dict[str, Any]:
    """A query as one line of a JSONL pool says it."""
    record: dict[str, Any] = {"query": query.id, "text": query.text}
    if query.description:
        record["description"] = query.description
    return record | {"documents": [document_record(document) for document in query.documents]}


def document_record(document: PoolDocument) -> dict[str, Any]:
    """A document as a JSONL pool says it: its content stands under the name of its kind."""
    record: dict[str, Any] = {"id": document.id, document.kind: document.content}
    if document.title:
        record["title"] = document.title
    if document.score is not None:
        record["score"] = document.score
    return record


def pool_lines(pool: Pool) -> Iterator[str]:
    """The lines of a JSONL pool, a query each."""
    return (json.dumps(query_record(query)) + "\n" for query in pool)


def read_document(record: Mapping[str, Any], id: str) -> PoolDocument:  # noqa: A002
    """A document from a record; at most one of text, html and image is in it."""
    kinds = [kind for kind in CONTENT_KINDS if record.get(kind) not in (None, "")]
    if len(kinds) > 1:
        raise DataError(f"expected one of text, html, image for {id!r:.60}, got {', '.join(kinds)}")
    kind = kinds[0] if kinds else "text"
    return PoolDocument(
        id,
        read_text(record, kind),
        kind,
        read_text(record, "title"),
        _score(record.get("score"), id),
    )


def read_text(record: Mapping[str, Any], name: str) -> str:
    """A field that is text, or "" where it is not there."""
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"expected text as {name!r}, got {value!r:.60}")
    return value


def read_id(record: Mapping[str, Any], *names: str) -> str:
    """The id under the first of these names that is there; whole numbers are ids, too."""
    for name in names:
        value = record.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is not None and value != "":
            if not isinstance(value, str):
                raise DataError(f"expected an id as {name!r}, got {value!r:.60}")
            return value
    raise DataError(f"expected an id as {names[0]!r}, got none")


def _score(value: object, document: str) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise DataError(f"expected a number as score of {document!r:.60}, got {value!r:.60}")


def _check_id(value: object, what: str) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID or not value.isprintable():
        raise DataError(
            f"expected an id of {what} in 1 to {MAX_ID} printable characters, got {value!r:.60}"
        )


def _check_text(value: object, what: str) -> None:
    """Text that every database keeps: PostgreSQL has no NUL, UTF-8 no half of a pair."""
    if not isinstance(value, str):
        raise DataError(f"expected text as {what}, got {value!r:.60}")
    if "\0" in value:
        raise DataError(f"expected text as {what}, got a NUL character in it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError(f"expected text as {what}, got half of a surrogate pair in it") from None
