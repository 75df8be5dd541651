"""Results as frozen dataclasses, to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def from_json(kind: type[T], content: Any) -> T:
    """What ``dataclasses.asdict`` made of a value of this type, before or after JSON.

    Fields may be numbers, strings, other dataclasses, tuples of one type (``tuple[float, ...]``) and
    mappings from strings.

    Examples
    --------
    >>> from dataclasses import asdict, dataclass
    >>> @dataclass(frozen=True)
    ... class Curve:
    ...     name: str
    ...     values: tuple[float, ...]
    >>> from_json(Curve, asdict(Curve("bagging", (0.5, 0.25))))
    Curve(name='bagging', values=(0.5, 0.25))
    """
    value: Any = content
    if is_dataclass(kind):
        types = get_type_hints(kind)
        value = kind(**{f.name: from_json(types[f.name], content[f.name]) for f in fields(kind)})
    elif get_origin(kind) is tuple:
        value = tuple(from_json(get_args(kind)[0], one) for one in content)
    elif get_origin(kind) is Mapping:
        value = {name: from_json(get_args(kind)[1], one) for name, one in content.items()}
    return value  # type: ignore[no-any-return]
