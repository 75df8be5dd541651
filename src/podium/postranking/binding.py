"""Rules meet a list: which of its documents each names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from podium.errors import DataError, UnknownNameError, UsageError
from podium.postranking.rules.conditions import Fields, read_condition, short
from podium.postranking.rules.rule import Rule, ids
from podium.postranking.rules.selectors import BY_FIELD, Document, Selector, Where
from podium.postranking.work_budget import spend

STEPS_OF_A_COMPARISON = 4
"""What a comparison of a condition takes, in steps of `spend`."""
NAMES_COMPARED, STEPS_OF_A_NAME = 200, 50
"""Fields that are compared with one that no document has, and the steps that each takes."""
MANY = 10_000
"""Ids that are compared with one that is not there; more take too long."""


@dataclass(frozen=True)
class Listing:
    """One list in its original order: documents, where each stands, and their fields.

    `origin` has their rows in the list as it was given, where they differ from those here.
    """

    docs: Sequence[Document]
    row: Mapping[Document, int]
    fields: Sequence[Fields] | None = None
    origin: Sequence[int] | None = None

    @classmethod
    def of(cls, docs: Sequence[Document], fields: Sequence[Fields] | None = None) -> Listing:
        """A list of documents, best first, each once."""
        row = {doc: at for at, doc in enumerate(docs)}
        if len(row) < len(docs):
            twice = next(doc for at, doc in enumerate(docs) if row[doc] != at)
            raise DataError(f"expected each document once in the list, got {twice!r} twice")
        return cls(docs, row, fields)

    def take(self, rows: Sequence[int]) -> Listing:
        """These documents, in this order."""
        fields = None if self.fields is None else [self.fields[row] for row in rows]
        docs = [self.docs[row] for row in rows]
        origin = rows if self.origin is None else [self.origin[row] for row in rows]
        return Listing(docs, {doc: at for at, doc in enumerate(docs)}, fields, origin)

    def known_fields(self, name: str, *selectors: Selector) -> Sequence[Fields]:
        """The fields of every document, if any has this one, which these selectors speak of."""
        fields = self.fields
        if fields is None:
            raise UsageError(
                f"expected documents with fields for a rule on {name!r}, got ids alone; give records "
                "with an 'id', or fields="
            )
        spend(len(fields))
        if not any(name in values for values in fields):
            spend(sum(map(len, fields)))
            raise unknown_field(name, {str(key) for v in fields for key in v}, selectors)
        return fields

    def select(self, selector: Selector) -> list[tuple[int, ...]]:
        """The rows a selector chooses: one group of them, or with `Each` one for each value."""
        if not isinstance(selector, BY_FIELD):
            row = self.row
            spend(len(ids(selector)))
            return [tuple([row[doc] for doc in ids(selector) if doc in row])]
        if isinstance(selector, Where):
            condition = read_condition(selector.condition)
            for name in condition.names:
                fields = self.known_fields(name, selector)
            spend(STEPS_OF_A_COMPARISON * len(fields) * condition.size)
            return [tuple([row for row, values in enumerate(fields) if condition.meets(values)])]
        return [tuple(rows) for rows in self.groups(selector.field).values()]

    def groups(self, field: str) -> dict[Any, list[int]]:
        """The rows of each value of a field, as met in the list."""
        groups: dict[Any, list[int]] = {}
        spend(len(self.docs))
        for row, values in enumerate(self.known_fields(field)):
            value = values.get(field)
            if isinstance(value, list | tuple):
                spend(len(value))
            try:
                for one in dict.fromkeys(value) if isinstance(value, list | tuple) else [value]:
                    if one is not None and one == one:
                        groups.setdefault(one, []).append(row)
            except (TypeError, ValueError):  # of mappings and arrays
                raise DataError(
                    f"expected text or numbers in the field {field!r}, got {short(value)} "
                    f"for {self.docs[row]!r}"
                ) from None
        return groups

    def stranger(self, doc: Document, hints: bool = False) -> str:
        """A document that is not in the list, in words; with hints at what to do, which take time."""
        twin = next((other for other in (str(doc), _number(doc)) if other in self.row), None)
        but = "" if twin is None else f" (but {twin!r} is: ids of another type are others)"
        text = f"{doc!r}, which is not in it{but}"
        if not hints:
            return text
        near = [] if twin is not None else _near(str(doc), self.docs)
        meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        return f"{text}; {meant}With missing='report' such rules are left out and reported"


def unknown_field(
    name: str, field_names: Iterable[str], selectors: Iterable[Selector] = ()
) -> UnknownNameError:
    """The error of a field that no document has, which these selectors speak of."""
    wheres = [selector for selector in selectors if isinstance(selector, Where)]
    is_text = any(name in read_condition(where.condition).compared for where in wheres)
    names = sorted(field_names)[:NAMES_COMPARED]
    spend(STEPS_OF_A_NAME * len(names))
    return UnknownNameError(
        "field", name, names, f'text stands in quotes: "{name}"' if is_text else ""
    )


def text_for_numbers(rule: Rule, listing: Listing) -> str:
    """Return a note on fields that a rule compares with numbers and that are only text in the list."""
    wheres = [selector for selector in rule.selectors if isinstance(selector, Where)]
    names = {name for where in wheres for name in read_condition(where.condition).numeric}
    notes = []
    for name in sorted(names):
        values = [own[name] for own in listing.fields or () if own.get(name) is not None]
        spend(len(listing.docs))
        if values and all(isinstance(value, str) for value in values):
            documents = "1 document" if len(values) == 1 else f"{len(values):,} documents"
            notes.append(f"; {name} is text in {documents}, and the rule compares it with a number")
    return "".join(notes)


def _near(name: str, docs: Sequence[Document]) -> list[str]:
    """Documents whose ids are nearly this."""
    names = [doc for doc in docs[:MANY] if isinstance(doc, str)]
    return difflib.get_close_matches(name, names, 2, 0.7)


def _number(doc: Document) -> Document:
    return int(doc) if isinstance(doc, str) and doc.isdecimal() and len(doc) < 20 else doc


class BoundRule(NamedTuple):
    """A rule on a list of n documents: the rows it names, one part for each of its roles.

    `absent` are documents it names by id that are not in the list; `hidden` says whether another
    rule has hidden one that it names by id.
    """

    rule: Rule
    parts: tuple[tuple[int, ...], ...]
    n: int
    absent: tuple[Document, ...] = ()
    hidden: bool = False

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows of its first role."""
        return self.parts[0]

    def sort_key(self) -> tuple[object, ...]:
        """What tells it from every rule that acts otherwise."""
        return self.rule.kind, self.parts, self.rule.numbers, self.rule.weight

    def among(self, new_row: Mapping[int, int]) -> BoundRule:
        """Return the rule on the documents that have a new row, by that row."""
        parts = tuple(tuple(new_row[row] for row in rows if row in new_row) for rows in self.parts)
        by_id = not any(isinstance(selector, BY_FIELD) for selector in self.rule.selectors)
        lost = sum(map(len, parts)) < sum(map(len, self.parts))
        return self._replace(parts=parts, n=len(new_row), hidden=by_id and lost)

    def places(self, place: Sequence[int]) -> list[int]:
        """The places of its documents; those it names by id and which are not there are behind all."""
        places = [place[row] for row in self.rows]
        if self.hidden or self.absent:
            places.append(max(self.n, *self.rule.numbers) + 1)
        return places

    def slack(self, place: Sequence[int]) -> int:
        """By how much the rule is violated where row i stands at place[i], from 1."""
        return self.rule.slack(self, place)


Acting = tuple[int, BoundRule]
"""A rule by its number, on a list."""


def bind(rule: Rule, listing: Listing) -> list[BoundRule]:
    """A rule on a list; with `Each` one for each value."""
    n = len(listing.docs)
    # An empty list has no fields that a condition could be on.
    groups = [listing.select(selector) if n else [()] for selector in rule.selectors]
    absent = tuple([doc for doc in rule.named if doc not in listing.row])
    if len(groups) == 1:
        return [BoundRule(rule, (rows,), n, absent) for rows in groups[0]]
    return [BoundRule(rule, tuple(rows for (rows,) in groups), n, absent)]
