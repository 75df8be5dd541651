"""Refuse JSON objects that have a key twice: programs disagree about which of the two counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from podium.apps.http.json_pairs import own_pair_counter, pair_counter

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


class JsonDecoder:
    """Decodes JSON of one type, and refuses objects that have a key twice.

    A body without such objects has as many colons as the decoded value has pairs of keys and values and
    colons in its strings. Only if the numbers differ is the body decoded again to find out why.

    Parameters
    ----------
    kind
        The type of the bodies, as msgspec takes it.

    Examples
    --------
    >>> JsonDecoder(dict[str, int]).decode(b'{"a": 1, "b": 2}')
    {'a': 1, 'b': 2}
    """

    def __init__(self, kind: Any) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._count_own_pairs, self._count_pairs = own_pair_counter(kind), pair_counter(kind)

    def decode(self, body: bytes) -> Any:
        """Return the value of a body; raises RepeatedKeyError, or what msgspec raises."""
        try:
            value = self._decoder.decode(body)
        except msgspec.ValidationError:
            check_json_keys(body)  # the error may be about the second value of a repeated key
            raise
        if _may_escape_colons(body) or not self._has_colons_of(value, body.count(b":")):
            check_json_keys(body)
        return value

    def _has_colons_of(self, value: Any, n_colons: int) -> bool:
        """Whether the pairs of a value explain all colons; a matrix of numbers need not be visited for it."""
        return n_colons == self._count_own_pairs(value) or n_colons == self._count_pairs(value)


def check_json_keys(body: bytes) -> None:
    """Raise RepeatedKeyError if an object of a JSON text has a key twice; ignore all other errors.

    A text that is decoded and encoded again has as many colons as before, unless the decoder dropped a
    repeated key or a colon was escaped.

    Examples
    --------
    >>> check_json_keys(b'{"a": {"k": 1}, "b": {"k": 1}}')
    """
    if _keeps_its_colons(body):
        return
    try:
        json.loads(body, object_pairs_hook=unique_object)
    except RepeatedKeyError:
        raise
    except (ValueError, RecursionError):
        return  # not JSON: the decoder reports what is wrong


def _may_escape_colons(body: bytes) -> bool:
    return b"\\" in body and b"\\u003" in body  # the first search is faster


def _keeps_its_colons(body: bytes) -> bool:
    if _may_escape_colons(body):
        return False
    try:
        return _encode(_decode(body)).count(b":") == body.count(b":")
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return False
