"""Checks of JSON bodies before a program uses them: how deep they are nested, and keys that come twice."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from podium.apps.http.json_keys import RepeatedKeyError, unique_object
from podium.apps.http.refusals import Refusal

MAX_DEPTH = 32
"""Levels of lists and objects in a body."""

_STEPS = bytes.maketrans(b"[]{}", b"\x01\xff\x01\xff")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NO_BRACKETS_OR_QUOTES = bytes(set(range(256)) - set(b'[]{}"'))


def load_json(body: bytes) -> Any:
    """Return the value of a body of JSON; 400 if it is not JSON in UTF-8, or repeats a key.

    Examples
    --------
    >>> load_json(b'{"events": []}')
    {'events': []}
    """
    try:
        # As text: from bytes, Python would also read UTF-16 and UTF-32.
        return json.loads(body.decode(), object_pairs_hook=unique_object)
    except RepeatedKeyError as error:
        raise repeated_key(error) from None
    except (ValueError, RecursionError):
        raise Refusal(400, "not_json", "expected a body of JSON in UTF-8") from None


def repeated_key(error: RepeatedKeyError) -> Refusal:
    """Return 400 for an object with a repeated key."""
    return Refusal(400, "repeated_key", str(error))


def check_depth(body: bytes) -> None:
    """Raise 422 if lists and objects of a body are nested too deep.

    Only brackets outside of texts count: closing brackets in a text would hide the depth of what follows.
    """
    marks = body.translate(None, _NO_BRACKETS_OR_QUOTES)
    # So few opening brackets cannot be too deep, even if some of them are in texts.
    if marks.count(b"[") + marks.count(b"{") <= MAX_DEPTH:
        return
    # A text without brackets leaves two quotes side by side. Another quote marks a text with brackets.
    brackets = marks.replace(b'""', b"")
    if b'"' in brackets or b"\\" in body:
        brackets = _without_texts(body)
    if _depth(brackets) > MAX_DEPTH:
        message = (
            f"expected at most {MAX_DEPTH} levels of lists and objects in each other, got more"
        )
        raise Refusal(422, "too_deep", message)


def _without_texts(body: bytes) -> bytes:
    """Return a body without its texts, in linear time."""
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    letters = np.frombuffer(plain, dtype=np.uint8)
    is_text = np.bitwise_xor.accumulate(letters == ord('"'))
    return letters[~is_text].tobytes()


def _depth(body: bytes) -> int:
    """Return how deep brackets are nested."""
    steps = np.frombuffer(body.translate(_STEPS, _NO_BRACKETS), dtype=np.int8)
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))
