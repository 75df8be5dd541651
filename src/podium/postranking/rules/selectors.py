"""How a rule chooses documents: by id, by what their fields say, or a group for each value."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import UsageError
from podium.postranking.rules.conditions import Fields, read_condition, short

Document = Hashable


@dataclass(frozen=True)
class Where:
    """The documents whose fields meet a condition, such as ``Where('brand == "acme"')``.

    A condition compares fields with constants, or with each other, by ``== != < <= > >=``, ``in``
    and ``not in``, and connects comparisons by ``and``, ``or`` and ``not``. A field that is not one
    word stands in backquotes. A document that does not have a field meets no comparison with it,
    ``!=`` and ``not in`` included. Where a field has several values (a list), one that meets the
    comparison is enough, and ``!=`` and ``not in`` are their opposites; ``"chess" in tags`` holds
    where it is one of the tags, and in a text where the text contains it.

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
            raise UsageError(f"expected a condition as text, got {short(self.condition)}")
        read_condition(self.condition)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields the condition speaks of."""
        return read_condition(self.condition).names

    def meets(self, fields: Fields) -> bool:
        """Whether a document with these fields is chosen."""
        return read_condition(self.condition).meets(fields)


@dataclass(frozen=True)
class Each:
    """The documents of one value of a field: the rule holds for each value by itself."""

    field: str

    def __post_init__(self) -> None:
        if not isinstance(self.field, str) or not self.field:
            raise UsageError(f"expected the name of a field, got {short(self.field)}")


BY_FIELD = (Where, Each)
"""What needs the fields of documents; everything else names them."""

Selector = Document | tuple[Document, ...] | Where | Each


def frozen(value: Any) -> Any:
    """Lists and sets of ids as tuples and NumPy's numbers as Python's, so that rules are values."""
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
    """A selector or a number as reports print it."""
    if isinstance(value, Where):
        return value.condition
    if isinstance(value, Each):
        return f"each {value.field}"
    if isinstance(value, tuple):
        shown = ", ".join(map(_one, value[:5])) + (", ..." if len(value) > 5 else "")
        return f"[{shown}]"
    return _one(value)


def _one(value: Any) -> str:
    return short(value) if isinstance(value, int) else repr(value)
