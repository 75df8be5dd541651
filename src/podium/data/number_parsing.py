"""Number parsing for text files: ASCII digits, a point and an exponent, and nothing else."""

from __future__ import annotations

import re

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPACE = " \t\r\n\f\v"


def decimal_of(text: str) -> float | None:
    """Return the number that a text spells, or None if it spells none.

    ``float`` also accepts 1_0, digits of other scripts, surrounding spaces, nan and inf, which no program
    writes as a number.

    Examples
    --------
    >>> decimal_of("-2.5e-1"), decimal_of("1_0"), decimal_of("nan")
    (-0.25, None, None)
    """
    return float(text) if _DECIMAL.fullmatch(text) else None


def whole_of(text: str) -> int | None:
    """Return the whole number of up to nine ASCII digits that a text spells, or None.

    Examples
    --------
    >>> whole_of("12"), whole_of("-1"), whole_of("1_0")
    (12, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def words_of(line: str) -> list[str]:
    """Return the words of a line between ASCII white space; ``split`` also cuts at other spaces.

    Examples
    --------
    >>> words_of("a\\u00a0b  c")
    ['a\\xa0b', 'c']
    """
    return [word for word in re.split(f"[{_SPACE}]", line) if word]
