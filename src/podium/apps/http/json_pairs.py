"""Count the pairs of keys and values in a decoded body, without a look at its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import inspect

PairCounter = Callable[[Any], int]


def pair_counter(kind: Any) -> PairCounter:
    """Return a function that counts the pairs in a value of this type, and the colons in its strings.

    Fields that have their default are not counted, nor colons in the keys of dictionaries: a body that has
    either has more colons than the count says, never fewer.

    Examples
    --------
    >>> pair_counter(dict[str, list[float]])({"a": [1.0], "b": [2.0, 3.0]})
    2
    >>> pair_counter(Any)({"a": {"b": "c:d"}})
    3
    """
    return _counter(inspect.type_info(kind)) or (lambda value: 0)


def _counter(kind: inspect.Type) -> PairCounter | None:
    """Return the counter of a type; None if its values have neither pairs nor strings."""
    if isinstance(kind, inspect.StructType):
        return _struct_counter(kind)
    if isinstance(kind, inspect.ListType):
        return _list_counter(_counter(kind.item_type))
    if isinstance(kind, inspect.DictType):
        return _dict_counter(_counter(kind.value_type))
    if isinstance(kind, inspect.UnionType):
        return _union_counter(kind)
    if isinstance(kind, inspect.AnyType):
        return count_pairs
    if isinstance(kind, inspect.Metadata):
        return _counter(kind.type)
    return _count_colons if isinstance(kind, inspect.StrType) else None


def count_pairs(value: Any) -> int:
    """Return the pairs in a value of any type that JSON has, and the colons in its strings."""
    if isinstance(value, dict):
        return len(value) + sum(map(count_pairs, value.values()))
    if isinstance(value, list):
        return sum(map(count_pairs, value))
    return value.count(":") if isinstance(value, str) else 0


def _count_colons(value: str) -> int:
    return value.count(":")


def _struct_counter(kind: inspect.StructType) -> PairCounter:
    fields = [
        (field.name, field.default, _counter(field.type))
        for field in kind.fields
        if field.default_factory
        is msgspec.NODEFAULT  # else nobody knows whether it was in the body
    ]

    def count(value: msgspec.Struct) -> int:
        n = 0
        for name, default, inner in fields:
            item = getattr(value, name)
            if item is not default:
                n += 1 if inner is None else 1 + inner(item)
        return n

    return count


def _list_counter(inner: PairCounter | None) -> PairCounter | None:
    return None if inner is None else lambda value: sum(map(inner, value))


def _dict_counter(inner: PairCounter | None) -> PairCounter:
    if inner is None:
        return len
    return lambda value: len(value) + sum(map(inner, value.values()))


def _union_counter(kind: inspect.UnionType) -> PairCounter | None:
    """Choose the counter by the type of a value; msgspec allows one kind of each in a union."""
    counters: dict[type, PairCounter] = {}
    for choice in kind.types:
        inner, plain = _counter(choice), _without_metadata(choice)
        if inner is None:
            continue
        if isinstance(plain, inspect.StructType):
            counters[plain.cls] = inner
        elif isinstance(plain, inspect.ListType):
            counters[list] = inner
        else:
            counters[dict if isinstance(plain, inspect.DictType) else str] = inner
    if not counters:
        return None
    return lambda value: counters[type(value)](value) if type(value) in counters else 0


def _without_metadata(kind: inspect.Type) -> inspect.Type:
    return _without_metadata(kind.type) if isinstance(kind, inspect.Metadata) else kind
