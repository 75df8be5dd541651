"""Java's numbers as text, as RankLib and Solr read them."""

from __future__ import annotations

import math

from podium.data.number_parsing import decimal_of

JAVA_WHITESPACE = "".join(map(chr, range(33)))
"""The characters that Java's trim removes."""


def parse_java_number(text: str) -> float | None:
    """Return the number that Java's parseDouble reads; None for NaN, hexadecimal digits and other text.

    Examples
    --------
    >>> parse_java_number(" 0.5f "), parse_java_number("-Infinity"), parse_java_number("inf")
    (0.5, -inf, None)
    """
    text = text.strip(JAVA_WHITESPACE)
    if text.lstrip("+-") == "Infinity" and len(text) <= len("+Infinity"):
        return -math.inf if text.startswith("-") else math.inf
    return decimal_of(text[:-1] if text.endswith(("f", "F", "d", "D")) else text)
