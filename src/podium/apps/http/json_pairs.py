"""Count the pairs of keys and values in a decoded body, without visiting its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import inspect

PairCounter = Callable[[Any], int]

_NUMBERS = (inspect.IntType, inspect.FloatType)
_TEXTS = (inspect.StrType, inspect.LiteralType, inspect.DateType, inspect.AnyType)
_EMPTY_DEFAULTS = (msgspec.NODEFAULT, list, dict)
_encode = msgspec.json.Encoder().encode


def pair_counter(kind: Any) -> PairCounter:
    """Return a function that counts the pairs in a value of this type, and the colons in its strings.

    Fields with their default value and some colons in keys are not counted. So a body can have more colons
    than the count, but never fewer.

    Examples
    --------
    >>> pair_counter(dict[str, list[float]])({"a": [1.0], "b": [2.0, 3.0]})
    2
    >>> pair_counter(list[dict[str, str]])([{"a": "b:c"}])
    2
    """
    return _counter(inspect.type_info(kind)) or (lambda value: 0)


def own_pair_counter(kind: Any) -> PairCounter:
    """Return a function that counts the fields of a struct, without what is inside them; -1 for other types.

    Examples
    --------
    >>> class Place(msgspec.Struct):
    ...     name: str = ""
    ...     near: dict[str, str] | None = None
    >>> own_pair_counter(Place)(Place(near={"a": "b:c"})), own_pair_counter(list[str])(["a:b"])
    (1, -1)
    """
    info = _without_metadata(inspect.type_info(kind))
    if not isinstance(info, inspect.StructType):
        return lambda value: -1
    fields = _own_fields(info)
    return lambda value: sum(getattr(value, name) is not default for name, default, _ in fields)


def _counter(kind: inspect.Type) -> PairCounter | None:
    """Return the counter of a type; None if its values have neither pairs nor strings."""
    kind = _without_metadata(kind)
    if isinstance(kind, inspect.UnionType) and not any(map(_counter, kind.types)):
        return None
    if _is_encodable(kind):  # encoding the value is the fastest way to count
        return (
            None
            if isinstance(kind, (*_NUMBERS, inspect.BoolType, inspect.NoneType))
            else _count_colons
        )
    if isinstance(kind, inspect.StructType):
        return _struct_counter(kind)
    if isinstance(kind, inspect.ListType):
        return _list_counter(_counter(kind.item_type))
    if isinstance(kind, inspect.DictType):
        return _dict_counter(_counter(kind.value_type))
    return _union_counter(kind) if isinstance(kind, inspect.UnionType) else None


def _is_encodable(kind: inspect.Type) -> bool:
    """Return whether a value that is encoded again has no more colons than its body, and few numbers."""
    kind = _without_metadata(kind)
    if isinstance(kind, inspect.StructType):
        return kind.cls.__struct_config__.omit_defaults and all(
            field.default_factory in _EMPTY_DEFAULTS and _is_encodable(field.type)
            for field in kind.fields
        )
    if isinstance(kind, inspect.UnionType):
        return all(map(_is_encodable, kind.types))
    if isinstance(kind, inspect.ListType | inspect.DictType):
        item = kind.item_type if isinstance(kind, inspect.ListType) else kind.value_type
        return _is_encodable(item) and not _is_number(item)
    return isinstance(kind, (*_NUMBERS, *_TEXTS, inspect.BoolType, inspect.NoneType))


def _is_number(kind: inspect.Type) -> bool:
    kind = _without_metadata(kind)
    if isinstance(kind, inspect.UnionType):
        return any(map(_is_number, kind.types))
    return isinstance(kind, _NUMBERS)


def _count_colons(value: Any) -> int:
    """Return the colons of a value that is encoded again; -1 if it cannot be."""
    try:
        return _encode(value).count(b":")
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return -1  # such as a number of more than 64 bits


def _struct_counter(kind: inspect.StructType) -> PairCounter:
    fields = [(name, default, _counter(inner)) for name, default, inner in _own_fields(kind)]

    def count(value: msgspec.Struct) -> int:
        n = 0
        for name, default, inner in fields:
            item = getattr(value, name)
            if item is not default:
                n += 1 if inner is None else 1 + inner(item)
        return n

    return count


def _own_fields(kind: inspect.StructType) -> list[tuple[str, Any, inspect.Type]]:
    """Return name, default and type of the fields of which a value tells whether the body had them."""
    return [
        (field.name, field.default, field.type)
        for field in kind.fields
        if field.default_factory is msgspec.NODEFAULT
    ]


def _list_counter(inner: PairCounter | None) -> PairCounter | None:
    return None if inner is None else lambda value: sum(map(inner, value))


def _dict_counter(inner: PairCounter | None) -> PairCounter:
    if inner is None:
        return len
    return lambda value: len(value) + sum(map(inner, value.values()))


def _union_counter(kind: inspect.UnionType) -> PairCounter:
    """Choose the counter by the type of a value; msgspec allows one list and one mapping in a union."""
    counters: dict[type, PairCounter] = {str: _count_colons}
    for choice in map(_without_metadata, kind.types):
        inner = _counter(choice)
        if inner is not None:
            counters[_value_type(choice)] = inner
    return lambda value: counters[type(value)](value) if type(value) in counters else 0


def _value_type(kind: inspect.Type) -> type:
    if isinstance(kind, inspect.StructType):
        return kind.cls
    if isinstance(kind, inspect.ListType):
        return list
    return dict if isinstance(kind, inspect.DictType) else str


def _without_metadata(kind: inspect.Type) -> inspect.Type:
    return _without_metadata(kind.type) if isinstance(kind, inspect.Metadata) else kind
