"""Records of pools: which names of fields mean what, whoever wrote the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from podium.data.decimals import decimal_of
from podium.errors import DataError
from podium.labelling.pools import ContentKind, PoolDocument, PoolQuery

QUERY_ID = ("query_id", "qid")
QUERY_TEXT = ("query_text",)
DESCRIPTION = ("description", "query_description")
DOCUMENT_ID = ("document", "document_id", "doc_id", "docid", "docno")
TITLE = ("title", "document_title", "doc_title")
CONTENTS: dict[ContentKind, tuple[str, ...]] = {
    "text": ("text", "body", "content", "contents"),
    "html": ("html",),
    "image": ("image",),
}
ANY_ID = ("id", "_id")


@lru_cache(maxsize=1024)
def plain(name: str) -> str:
    """A field's name without what writers differ in.

    Examples
    --------
    >>> plain(" Query-ID"), plain("doc id")
    ('query_id', 'doc_id')
    """
    return name.strip().lower().replace("-", "_").replace(" ", "_")


class Fields:
    """The fields of a record under any of their names, and which of them nobody asked for.

    Examples
    --------
    >>> fields = Fields({"Query-ID": 7, "url": "https://example.org"})
    >>> fields.id("query_id", "qid"), fields.unread
    ('7', ['url'])
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._named = {plain(name): name for name in record}
        self._values = {plain(name): value for name, value in record.items()}
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._values

    @property
    def unread(self) -> list[str]:
        """The names, as written, of what was not asked for."""
        return [name for key, name in self._named.items() if key not in self._asked]

    def id(self, *names: str) -> str | None:
        """An id; whole numbers are ids, too."""
        return self._one(names, _id)

    def need_id(self, *names: str) -> str:
        """An id that must be there."""
        ident = self.id(*names)
        if ident is None:
            raise DataError(f"expected an id as {names[0]!r}, got none")
        return ident

    def text(self, *names: str) -> str:
        """A text, or "" where there is none."""
        return self._one(names, _text) or ""

    def value(self, name: str) -> Any:
        """What stands there as it is."""
        self._asked.add(name)
        return self._values.get(name)

    def _one(self, names: tuple[str, ...], read: Callable[[str, Any], str]) -> str | None:
        """What stands under these names; two of them that say two things are an error."""
        self._asked.update(names)
        values: dict[str, str] = {}
        for name in names:
            value = self._values.get(name)
            if value is not None and value != "":
                values[name] = read(self._named[name], value)
        if len(values) > 1 and len(set(values.values())) > 1:
            clash = " and ".join(f"{self._named[n]} {value!r:.40}" for n, value in values.items())
            raise DataError(
                f"expected one of the fields {', '.join(values)}, got {clash}: which is it?"
            )
        return next(iter(values.values()), None)


def read_flat(fields: Fields) -> tuple[PoolQuery, PoolDocument]:
    """A document and the query it belongs to (of which it is the only document here)."""
    query, text = _query(fields, QUERY_ID, QUERY_TEXT)
    # A table may number its rows: `id` is the document's where nothing else is.
    name = fields.id(*DOCUMENT_ID) or (fields.id(*ANY_ID) if _has(fields, QUERY_ID) else None)
    if name is None:
        raise DataError("expected an id as 'document', got none")
    if not text and " " in query and not any(n in fields for n in (*QUERY_ID, *QUERY_TEXT)):
        raise DataError(
            f"expected an id as 'query', got {query!r:.60}, which looks like the query's text; give ids as "
            "query_id beside it (or say that it is an id by a column query_text)"
        )
    document = read_document(fields, name)
    return PoolQuery(query, text, fields.text(*DESCRIPTION), (document,)), document


def read_nested(fields: Fields) -> tuple[PoolQuery, list[Fields]]:
    """A query with all its documents, and the fields of these."""
    query, text = _query(fields, (*QUERY_ID, *ANY_ID), ("text", *QUERY_TEXT))
    entries = fields.value("documents")
    if not isinstance(entries, list) or not entries:
        raise DataError(f"expected a list of documents, got {entries!r:.60}")
    for at, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise DataError(f"expected an object as document {at}, got {entry!r:.60}")
    of_documents = [Fields(entry) for entry in entries]
    documents = tuple(read_document(one, document_id(one)) for one in of_documents)
    return PoolQuery(query, text, fields.text(*DESCRIPTION), documents), of_documents


def read_query(fields: Fields) -> tuple[str, str, str]:
    """Id, text and description of a query without its documents."""
    query, text = _query(fields, (*QUERY_ID, *ANY_ID), ("text", *QUERY_TEXT))
    return query, text or fields.text("title"), fields.text(*DESCRIPTION)


def document_id(fields: Fields) -> str:
    """The id of a document in a record of its own."""
    return fields.need_id(*ANY_ID, *DOCUMENT_ID)


def read_document(
    fields: Fields,
    id: str,  # noqa: A002 - the field's name
    score: float | None = None,
) -> PoolDocument:
    """A document from its fields; at most one of text, html and image is there."""
    contents = {kind: fields.text(*names) for kind, names in CONTENTS.items()}
    kinds = [kind for kind, content in contents.items() if content]
    if len(kinds) > 1:
        raise DataError(f"expected one of text, html, image for {id!r:.60}, got {', '.join(kinds)}")
    kind: ContentKind = kinds[0] if kinds else "text"
    own = _score(fields.value("score"), id)
    return PoolDocument(
        id, contents[kind], kind, fields.text(*TITLE), own if score is None else score
    )


def _query(fields: Fields, ids: tuple[str, ...], texts: tuple[str, ...]) -> tuple[str, str]:
    """Id and text of a query: `query` is its text beside an id, and its id where there is no other."""
    if (ident := fields.id(*ids)) is not None:
        return ident, fields.text("query", *texts)
    return fields.need_id("query", *QUERY_ID), fields.text(*texts)


def _has(fields: Fields, names: tuple[str, ...]) -> bool:
    return any(name in fields for name in names)


def _id(name: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise DataError(f"expected an id as {name!r}, got {value!r:.60}")
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise DataError(f"expected text as {name!r}, got {value!r:.60}")
    return value


def _score(value: object, document: str) -> float | None:
    if value is None or value == "":
        return None
    number = decimal_of(value.strip(" \t")) if isinstance(value, str) else value
    if isinstance(number, int | float) and not isinstance(number, bool):
        try:
            return float(number)
        except OverflowError:
            pass
    raise DataError(f"expected a number as score of {document!r:.60}, got {value!r:.60}")
