"""Listing: one list in its original order, the fields of its documents, and the rows of selectors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.errors import DataError, UnknownNameError, UsageError
from podium.postranking.rules.field_conditions import Fields, read_condition, short_repr
from podium.postranking.rules.selectors import BY_FIELD, Selector, Where, ids
from podium.typing import Document
from podium.work_budget import spend

STEPS_PER_COMPARISON = 4
"""The number of `spend` steps for each comparison of a condition."""
MAX_NAMES_COMPARED, STEPS_PER_NAME = 200, 50
"""The number of fields that are compared with an unknown field, and the steps that each takes."""
MAX_IDS_COMPARED = 10_000
"""The number of ids that are compared with an unknown id; more would take too long."""


@dataclass(frozen=True)
class Listing:
    """One list in its original order: its documents, the row of each, and their fields.

    `input_rows` are their rows in the user's list, if they differ from the rows here.
    """

    docs: Sequence[Document]
    row: Mapping[Document, int]
    fields: Sequence[Fields] | None = None
    input_rows: Sequence[int] | None = None

    @classmethod
    def of(cls, docs: Sequence[Document], fields: Sequence[Fields] | None = None) -> Listing:
        """Return a listing of documents, best first, each once."""
        row = {doc: at for at, doc in enumerate(docs)}
        if len(row) < len(docs):
            twice = next(doc for at, doc in enumerate(docs) if row[doc] != at)
            raise DataError(f"document {twice!r} is in the list twice; expected each document once")
        return cls(docs, row, fields)

    def take(self, rows: Sequence[int]) -> Listing:
        """Return a listing of these rows, in this order."""
        fields = None if self.fields is None else [self.fields[row] for row in rows]
        docs = [self.docs[row] for row in rows]
        input_rows = rows if self.input_rows is None else [self.input_rows[row] for row in rows]
        return Listing(docs, {doc: at for at, doc in enumerate(docs)}, fields, input_rows)

    def extend(self, docs: Sequence[Document], fields: Sequence[Fields]) -> Listing:
        """Return a listing with more documents at its end."""
        if not docs:
            return self
        row = {**self.row, **{doc: at for at, doc in enumerate(docs, start=len(self.docs))}}
        own = self.fields if self.fields is not None or not any(fields) else [{}] * len(self.docs)
        more = None if own is None else [*own, *fields]
        input_rows = (
            None if self.input_rows is None else [*self.input_rows, *(row[doc] for doc in docs)]
        )
        return Listing([*self.docs, *docs], row, more, input_rows)

    def require_field(self, name: str, *selectors: Selector) -> Sequence[Fields]:
        """Return the fields of every document; raise if no document has a field that the selectors use."""
        fields = self.fields
        if fields is None:
            raise UsageError(
                f"a rule uses the field {name!r}, but the documents are ids without fields"
            ).advise(
                python="use records with an 'id', or fields=",
                command_line="give a file with the fields of documents: --docs FILE",
            )
        spend(len(fields))
        if not any(name in values for values in fields):
            spend(sum(map(len, fields)))
            raise unknown_field(name, {str(key) for v in fields for key in v}, selectors)
        return fields

    def select(self, selector: Selector) -> list[tuple[int, ...]]:
        """Return the rows that a selector chooses: one group, or with `Each` one group for each value."""
        if not isinstance(selector, BY_FIELD):
            row = self.row
            spend(len(ids(selector)))
            return [tuple([row[doc] for doc in ids(selector) if doc in row])]
        if isinstance(selector, Where):
            condition = read_condition(selector.condition)
            for name in condition.names:
                fields = self.require_field(name, selector)
            spend(STEPS_PER_COMPARISON * len(fields) * condition.size)
            return [tuple([row for row, values in enumerate(fields) if condition.meets(values)])]
        return [tuple(rows) for rows in self.groups(selector.field).values()]

    def groups(self, field: str) -> dict[Any, list[int]]:
        """Return the rows of each value of a field, in the order of the list."""
        groups: dict[Any, list[int]] = {}
        spend(len(self.docs))
        for row, values in enumerate(self.require_field(field)):
            value = values.get(field)
            if isinstance(value, list | tuple):
                spend(len(value))
            try:
                for item in dict.fromkeys(value) if isinstance(value, list | tuple) else [value]:
                    if item is not None and item == item:  # NaN is not a value
                        groups.setdefault(item, []).append(row)
            except (TypeError, ValueError):  # mappings and arrays
                raise DataError(
                    f"expected text or numbers in the field {field!r}, got {short_repr(value)} "
                    f"for {self.docs[row]!r}"
                ) from None
        return groups

    def describe_absent(self, doc: Document, hints: bool = False) -> str:
        """Describe a document that is not in the list; hints on what to do take time."""
        twin = next((other for other in (str(doc), _as_number(doc)) if other in self.row), None)
        but = (
            ""
            if twin is None
            else f" (but {twin!r} is in it: ids of different types are different)"
        )
        text = f"{doc!r}{but}"
        if not hints:
            return text
        near = [] if twin is not None else _similar_ids(str(doc), self.docs)
        suggestion = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        return f"{text}; {suggestion}missing='report' leaves such rules out and reports them"


def unknown_field(
    name: str, field_names: Iterable[str], selectors: Iterable[Selector] = ()
) -> UnknownNameError:
    """Return the error for a field that these selectors use and no document has."""
    wheres = [selector for selector in selectors if isinstance(selector, Where)]
    is_text = any(name in read_condition(where.condition).compared for where in wheres)
    names = sorted(field_names)[:MAX_NAMES_COMPARED]
    spend(STEPS_PER_NAME * len(names))
    return UnknownNameError(
        "field", name, names, f'put text in quotes: "{name}"' if is_text else ""
    )


def _similar_ids(name: str, docs: Sequence[Document]) -> list[str]:
    """Return the documents whose ids are similar to this one."""
    names = [doc for doc in docs[:MAX_IDS_COMPARED] if isinstance(doc, str)]
    return difflib.get_close_matches(name, names, 2, 0.7)


def _as_number(doc: Document) -> Document:
    return int(doc) if isinstance(doc, str) and doc.isdecimal() and len(doc) < 20 else doc
