"""Records of pool files: queries and documents, under any of the usual field names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from podium.data.number_parsing import decimal_of
from podium.errors import DataError, UnknownNameError
from podium.labelling.pools import ContentKind, PoolDocument, PoolQuery

QUERY_ID = ("query_id", "qid", "queryid", "search_id")
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
ITEM_ID = ("product_id", "item_id", "sku", "url")
"""Names that count as a document's id only if there is no other id field."""


@lru_cache(maxsize=1024)
def plain_name(name: str) -> str:
    """Return a field's name in lower case with underscores.

    Examples
    --------
    >>> plain_name(" Query-ID"), plain_name("doc id")
    ('query_id', 'doc_id')
    """
    return name.strip().lower().replace("-", "_").replace(" ", "_")


class RecordFields:
    """The fields of a record under any of their names, and which of them were not read.

    Examples
    --------
    >>> fields = RecordFields({"Query-ID": 7, "url": "https://example.org"})
    >>> fields.id("query_id", "qid"), fields.unread
    ('7', ['url'])
    """

    def __init__(self, record: Mapping[str, Any], visible: Sequence[str] = ()) -> None:
        self._visible = tuple(visible)
        self._written_names = {plain_name(name): name for name in record}
        self._values = {plain_name(name): value for name, value in record.items()}
        self._read_names: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._values

    @property
    def unread(self) -> list[str]:
        """The names, as written, of fields that were not read."""
        return [name for key, name in self._written_names.items() if key not in self._read_names]

    def id(self, *names: str) -> str | None:
        """Return an id or None; whole numbers are ids, too."""
        return self._read_one(names, _id)

    def need_id(self, *names: str) -> str:
        """Return an id; raise if it is missing."""
        identifier = self.id(*names)
        if identifier is None:
            raise _no_id(names)
        return identifier

    def text(self, *names: str) -> str:
        """Return a text, or "" if there is none."""
        return self._read_one(names, _text) or ""

    def visible_lines(self) -> list[str]:
        """Return a line for each visible field, as in "price: 9.50", if it has a value."""
        lines = []
        for name in self._visible:
            key = plain_name(name)
            if key not in self._values:
                raise UnknownNameError("field", name, [*self._written_names.values()])
            self._read_names.add(key)
            value = self._values[key]
            if value is not None and value != "":
                lines.append(f"{self._written_names[key]}: {value}")
        return lines

    def of_document(self, entry: Mapping[str, Any]) -> RecordFields:
        """Return the fields of a document within this record; the same ones are visible."""
        return RecordFields(entry, self._visible)

    def value(self, name: str) -> Any:
        """Return the value of a field unchanged."""
        self._read_names.add(name)
        return self._values.get(name)

    def _read_one(self, names: tuple[str, ...], read: Callable[[str, Any], str]) -> str | None:
        """Return the value under one of these names; raise if there are two different values."""
        self._read_names.update(names)
        values: dict[str, str] = {}
        for name in names:
            value = self._values.get(name)
            if value is not None and value != "":
                values[name] = read(self._written_names[name], value)
        if len(values) > 1 and len(set(values.values())) > 1:
            clash = " and ".join(
                f"{self._written_names[n]} {value!r:.40}" for n, value in values.items()
            )
            raise DataError(
                f"the fields {', '.join(values)} have different values: {clash}; keep only "
                "one of them"
            )
        return next(iter(values.values()), None)


def read_flat(fields: RecordFields) -> tuple[PoolQuery, PoolDocument]:
    """Return the query and the document of a record with one document."""
    query, text = _query(fields, QUERY_ID, QUERY_TEXT)
    # Tables may number their rows as `id`: it is the document's id only if there is no other.
    name = fields.id(*DOCUMENT_ID) or (fields.id(*ANY_ID) if _has(fields, QUERY_ID) else None)
    name = name or _item_id(fields)
    if name is None:
        raise _no_id((*DOCUMENT_ID, *ITEM_ID))
    if not text and " " in query and not any(n in fields for n in (*QUERY_ID, *QUERY_TEXT)):
        raise DataError(
            f"'query' must be an id, but {query!r:.60} looks like the text of a query; add a "
            "column query_id (or add query_text, if it is an id)"
        )
    document = read_document(fields, name)
    return PoolQuery(query, text, fields.text(*DESCRIPTION), (document,)), document


def read_nested(fields: RecordFields) -> tuple[PoolQuery, list[RecordFields]]:
    """Return the query of a record with all its documents, and the fields of each document."""
    query, text = _query(fields, (*QUERY_ID, *ANY_ID), ("text", *QUERY_TEXT))
    entries = fields.value("documents")
    if not isinstance(entries, list) or not entries:
        raise DataError(f"expected a list of documents, got {entries!r:.60}")
    for at, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise DataError(f"expected an object as document {at}, got {entry!r:.60}")
    document_fields = [fields.of_document(entry) for entry in entries]
    documents = tuple(read_document(own, document_id(own)) for own in document_fields)
    return PoolQuery(query, text, fields.text(*DESCRIPTION), documents), document_fields


def read_query(fields: RecordFields) -> tuple[str, str, str]:
    """Return id, text and description of a query; title, text and description may be a document's."""
    if _has(fields, (*DOCUMENT_ID, *ITEM_ID)):
        query, text = _query(fields, QUERY_ID, QUERY_TEXT)
        return query, text, fields.text("query_description")
    query, text = _query(fields, (*QUERY_ID, *ANY_ID), ("text", *QUERY_TEXT))
    return query, text or fields.text("title"), fields.text(*DESCRIPTION)


def document_id(fields: RecordFields) -> str:
    """Return the id of a record of a document."""
    identifier = fields.id(*ANY_ID, *DOCUMENT_ID) or _item_id(fields)
    if identifier is None:
        raise _no_id((*ANY_ID, *DOCUMENT_ID, *ITEM_ID))
    return identifier


def _item_id(fields: RecordFields) -> str | None:
    return next(filter(None, map(fields.id, ITEM_ID)), None)


def _no_id(names: tuple[str, ...]) -> DataError:
    others = f" (or {', '.join(names[1:])})" if names[1:] else ""
    return DataError(f"the field {names[0]!r}{others} is missing; expected an id")


def read_document(fields: RecordFields, id: str) -> PoolDocument:  # noqa: A002 - the field's name
    """Return a document from its fields; at most one of text, html and image may be set.

    Visible fields follow the text.
    """
    contents = {kind: fields.text(*names) for kind, names in CONTENTS.items()}
    kinds = [kind for kind, content in contents.items() if content]
    if len(kinds) > 1:
        raise DataError(f"expected one of text, html, image for {id!r:.60}, got {', '.join(kinds)}")
    kind: ContentKind = kinds[0] if kinds else "text"
    content = contents[kind]
    if lines := fields.visible_lines():
        if kind != "text":
            raise DataError(f"expected text to show fields below, got {kind} of {id!r:.60}")
        content = "\n\n".join(filter(None, [content, "\n".join(lines)]))
    score = _score(fields.value("score"), id)
    return PoolDocument(id, content, kind, fields.text(*TITLE), score)


def _query(fields: RecordFields, ids: tuple[str, ...], texts: tuple[str, ...]) -> tuple[str, str]:
    """Return the id and text of a query: `query` is the text if there is another id, else the id."""
    if (identifier := fields.id(*ids)) is not None:
        return identifier, fields.text("query", *texts)
    return fields.need_id("query", *QUERY_ID), fields.text(*texts)


def _has(fields: RecordFields, names: tuple[str, ...]) -> bool:
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
