"""Strict JSON: every number is finite, as in the files that podium writes."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; raises ValueError unless all its numbers are finite.

    Examples
    --------
    >>> read_json('{"C": 1.5}')
    {'C': 1.5}
    >>> read_json("[1e999]")
    Traceback (most recent call last):
    ValueError: 1e999, which is not a finite number
    """
    try:
        return json.loads(
            text, parse_constant=_refuse, parse_float=_parse_float, parse_int=_parse_int
        )
    except RecursionError as error:
        raise ValueError(str(error)) from None


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text:.40}, which is not a finite number")


def _parse_float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _parse_int(text: str) -> int:
    """Return a whole number that is small enough for a double, exactly or not."""
    return int(text) if len(text) <= 300 else _refuse(text)
