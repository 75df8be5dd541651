"""Selectors of documents: ids, `Where` with a condition on fields, `Each` with a group per value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import UsageError
from podium.postranking.rules.field_conditions import Fields, read_condition, short_repr
from podium.typing import Document


@dataclass(frozen=True)
class Where:
    """The documents whose fields meet a condition, such as ``Where('brand == "acme"')``.

    A condition compares fields with constants, or with each other, by ``== != < <= > >=``, ``in``
    and ``not in``, and connects comparisons by ``and``, ``or`` and ``not``. Put a field whose name
    is not one word in backquotes. A document without the field meets no comparison with it, not
    even ``!=`` and ``not in``. If a field has several values (a list), one value that meets the
    comparison is enough; ``!=`` and ``not in`` are the opposites of ``==`` and ``in``. ``"chess" in
    tags`` holds if it is one of the tags, or if tags is a text that contains it.

    Examples
    --------
    >>> chess = Where('"chess" in tags and not `sold out`')
    >>> chess.names
    ('tags', 'sold out')
    >>> chess.meets({"tags": ["chess", "go"]}), chess.meets({"tags": ["go"]})
    (True, False)
    """

    condition: str

    def __post_init__(self) -> None:
        if not isinstance(self.condition, str):
            raise UsageError(f"expected a condition as text, got {short_repr(self.condition)}")
        read_condition(self.condition)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that the condition uses."""
        return read_condition(self.condition).names

    def meets(self, fields: Fields) -> bool:
        """Whether a document with these fields is selected."""
        return read_condition(self.condition).meets(fields)


@dataclass(frozen=True)
class Each:
    """The documents of each value of a field: the rule applies to each value separately."""

    field: str

    def __post_init__(self) -> None:
        if not isinstance(self.field, str) or not self.field:
            raise UsageError(f"expected the name of a field, got {short_repr(self.field)}")


BY_FIELD = (Where, Each)
"""Selectors that need the fields of documents; all others name documents by id."""

Selector = Document | tuple[Document, ...] | Where | Each


def ids(selector: Selector) -> tuple[Document, ...]:
    """Return the documents that a selector names by id."""
    if isinstance(selector, tuple):
        return selector
    return () if isinstance(selector, BY_FIELD) else (selector,)


def freeze(value: Any) -> Any:
    """Return lists and sets as tuples, and NumPy numbers as Python numbers, so that rules are hashable."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | range):
        return tuple(value)
    if isinstance(value, set | frozenset):
        return tuple(sorted(value, key=repr))
    return value


def show(value: Any) -> str:
    """Return a selector or a number as text for reports."""
    if isinstance(value, Where):
        return value.condition
    if isinstance(value, Each):
        return f"each {value.field}"
    if isinstance(value, tuple):
        names = ", ".join(map(_show_one, value[:5])) + (", ..." if len(value) > 5 else "")
        return f"[{names}]"
    return _show_one(value)


def _show_one(value: Any) -> str:
    return short_repr(value) if isinstance(value, int) else repr(value)
