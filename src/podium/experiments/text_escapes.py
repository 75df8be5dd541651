"""Escapes for text that a file cannot hold: control characters and bytes that are not UTF-8."""

from __future__ import annotations

import re

_CONTROL_CHARACTERS = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]")


def escape_text(text: object) -> str:
    """Return text that every file can hold; control characters and bytes that are not UTF-8 are escaped.

    Tabs and line breaks stay.

    Examples
    --------
    >>> escape_text("caf\\udce9")
    'caf\\\\udce9'
    >>> escape_text("bell\\a")
    'bell\\\\x07'
    """
    encodable = str(text).encode("utf-8", "backslashreplace").decode()
    return _CONTROL_CHARACTERS.sub(lambda match: f"\\x{ord(match[0]):02x}", encodable)
