"""Refuse JSON objects that have a key twice: programs disagree about which of the two counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

MAX_QUOTES_TO_SPLIT = 1000
"""Quotes in a body up to which all of its strings are looked at one by one."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class RepeatedKeyError(ValueError):
    """An object of a JSON text has a key twice."""


def unique_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs, for ``json.loads(object_pairs_hook=)``; raises if a key comes twice.

    Examples
    --------
    >>> json.loads('{"k": 1, "k": 2}', object_pairs_hook=unique_object)
    Traceback (most recent call last):
    ...
    podium.apps.http.json_keys.RepeatedKeyError: expected each key of an object once, got 'k' twice
    """
    result = dict(pairs)
    if len(result) < len(pairs):
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys:
                message = f"expected each key of an object once, got {key[:100]!r} twice"
                raise RepeatedKeyError(message)
            keys.add(key)
    return result


def check_json_keys(body: bytes) -> None:
    """Raise RepeatedKeyError if any object of a JSON text has a key twice; other faults are ignored here.

    A text that is decoded and encoded again has as many colons as before, unless the decoder dropped a
    repeated key or a colon was escaped. This costs a third of what a check of each object costs.

    Examples
    --------
    >>> check_json_keys(b'{"a": {"k": 1}, "b": {"k": 1}}')
    """
    if _all_keys_differ(body) or _keeps_its_colons(body):
        return
    try:
        json.loads(body, object_pairs_hook=unique_object)
    except RepeatedKeyError:
        raise
    except (ValueError, RecursionError):
        return  # no JSON: whoever decodes it says what is wrong


def _all_keys_differ(body: bytes) -> bool:
    """Return whether a text has few strings, and no key twice in the whole text."""
    if b"\\" in body or body.count(b'"') > MAX_QUOTES_TO_SPLIT:
        return False
    parts = body.split(b'"')  # without escapes every second part is a string
    keys = [
        string
        for string, after in zip(parts[1::2], parts[2::2], strict=False)
        if after.lstrip().startswith(b":")
    ]
    return len(set(keys)) == len(keys)


def _keeps_its_colons(body: bytes) -> bool:
    if b"\\u003" in body:  # a colon may be written as an escape
        return False
    try:
        return _encode(_decode(body)).count(b":") == body.count(b":")
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return False
