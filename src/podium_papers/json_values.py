"""JSON text that is easy to compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


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
