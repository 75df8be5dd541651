"""JSON values: frozen dataclasses from plain values, and JSON text that is easy to compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def from_json(kind: type[T], content: Any) -> T:
    """Return the value of a type that ``dataclasses.asdict`` turned into plain values, before or after JSON.

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
        value = tuple(from_json(get_args(kind)[0], item) for item in content)
    elif get_origin(kind) is Mapping:
        value = {name: from_json(get_args(kind)[1], item) for name, item in content.items()}
    return value  # type: ignore[no-any-return]


def json_lines(value: Any) -> str:
    """Return JSON with one line for each list or object of plain values, so that a diff is short.

    Examples
    --------
    >>> print(json_lines({"k": [[1, 2], [3, 4]]}), end="")
    {
     "k": [
      [1, 2],
      [3, 4]
     ]
    }
    """

    def is_nested(value: Any) -> bool:
        return isinstance(value, list | tuple | Mapping)

    def text(value: Any, indent: int) -> str:
        inner = "\n" + " " * (indent + 1)
        end = "\n" + " " * indent
        if isinstance(value, Mapping) and any(map(is_nested, value.values())):
            items = [f"{json.dumps(k)}: {text(v, indent + 1)}" for k, v in value.items()]
            return "{" + inner + f",{inner}".join(items) + end + "}"
        if isinstance(value, list | tuple) and any(map(is_nested, value)):
            return "[" + inner + f",{inner}".join(text(v, indent + 1) for v in value) + end + "]"
        return json.dumps(value, allow_nan=False)

    return text(value, 0) + "\n"
