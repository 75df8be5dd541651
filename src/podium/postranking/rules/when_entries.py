"""Conditions on requests as rule files have them, under ``when``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from podium.errors import UnknownNameError, UsageError
from podium.features.stemmers import STEMMERS
from podium.postranking.rules.context_values import TIME, context_text
from podium.postranking.rules.field_conditions import short_repr
from podium.postranking.rules.request_conditions import (
    AllOf,
    AnyOf,
    Not,
    NumberTest,
    TextTest,
    TimeTest,
    When,
)
from podium.postranking.rules.request_times import read_time_spans
from podium.postranking.rules.text_matching import MAX_EDITS, split_words

MAX_TESTS = 50
"""The largest number of tests in the condition of a rule."""
MAX_WHEN_DEPTH = 5
"""The largest number of all, any and not in each other."""
MAX_TEST_VALUES = 10_000
"""The largest number of values of a test."""
MAX_WORD_VALUES = 100
"""The largest number of values of a test that compares word by word, or of patterns."""
MAX_VALUE_LENGTH = 1_000
"""The longest value of a test, in characters."""
MATCHES = ("is", "glob", "words", "phrase")
"""The ways to compare texts."""
BOUNDS = ("at-least", "at-most")
"""The bounds of numbers."""

_NUMBER = re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]{1,18})?")


def read_when(entry: object) -> When:
    """Return the condition of an entry; raise `UsageError` if it is wrong or too large.

    Examples
    --------
    >>> when = read_when({"query": {"words": "chess clock", "edits": 1}, "device": ["mobile", "tablet"]})
    >>> str(when)
    'query has the words chess clock and device is mobile or tablet'
    """
    when = _read(entry, 1)
    n_tests = sum(1 for _ in when.tests())
    if n_tests > MAX_TESTS:
        raise UsageError(f"expected at most {MAX_TESTS} tests in a condition, got {n_tests}")
    return when


def _read(entry: object, depth: int) -> When:
    if not isinstance(entry, Mapping) or not entry:
        raise UsageError(
            f"expected a condition, such as {{device: mobile}}, as when, got {short_repr(entry)}"
        )
    if depth > MAX_WHEN_DEPTH:
        raise UsageError(f"expected at most {MAX_WHEN_DEPTH} levels in a condition, got more")
    parts = [_read_part(str(key), value, depth) for key, value in entry.items()]
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _read_part(key: str, value: Any, depth: int) -> When:
    if key in ("all", "any"):
        if not isinstance(value, list | tuple) or not value:
            raise UsageError(f"expected a list of conditions as {key}, got {short_repr(value)}")
        if len(value) > MAX_TESTS:
            raise UsageError(
                f"expected at most {MAX_TESTS} conditions as {key}, got {len(value):,}"
            )
        parts = tuple(_read(one, depth + 1) for one in value)
        return parts[0] if len(parts) == 1 else AllOf(parts) if key == "all" else AnyOf(parts)
    if key == "not":
        return Not(_read(value, depth + 1))
    if key == TIME:
        return TimeTest(read_time_spans(dict(value) if isinstance(value, Mapping) else value))
    return _read_test(key, value)


def _read_test(name: str, value: Any) -> When:
    if not isinstance(value, Mapping):
        return TextTest(name, _texts(name, value, MAX_TEST_VALUES))
    keys = [*value]
    if keys and set(keys) <= set(BOUNDS):
        least, most = (_number(name, value[key]) if key in value else None for key in BOUNDS)
        if least is not None and most is not None and most < least:
            raise UsageError(
                f"expected at-most of at-least {least:g} or more as {name}, got {most:g}"
            )
        return NumberTest(name, least, most)
    matches = [key for key in keys if key in MATCHES]
    for key in keys:
        if key not in (*MATCHES, *BOUNDS, "stem", "edits"):
            raise UnknownNameError(
                f"test of {name}", str(key), (*MATCHES, *BOUNDS, "stem", "edits")
            )
    if len(matches) != 1 or set(keys) & set(BOUNDS):
        raise UsageError(f"expected one of {', '.join(MATCHES)} as {name}, got {', '.join(keys)}")
    return _text_test(name, matches[0], value)


def _text_test(name: str, match: str, value: Mapping[str, Any]) -> TextTest:
    stem, edits = str(value.get("stem", "")), _whole(name, value.get("edits", 0))
    if stem and stem not in STEMMERS:
        raise UnknownNameError("stemmer", stem, STEMMERS)
    if match == "glob" and (stem or edits):
        raise UsageError(f"expected is, words or phrase with stem and edits as {name}, got glob")
    by_words = match != "is" or bool(stem or edits)
    test = TextTest(
        name, _texts(name, value[match], MAX_WORD_VALUES if by_words else MAX_TEST_VALUES),
        match, stem, edits,
    )  # fmt: skip
    if test.is_by_words:
        for text in test.values:
            if not split_words(text):
                raise UsageError(f"expected words as {name}, got {short_repr(text)}")
    return test


def _texts(name: str, value: Any, most: int) -> tuple[str, ...]:
    listed: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    if not listed or len(listed) > most:
        raise UsageError(f"expected 1 to {most:,} values as {name}, got {len(listed):,}")
    texts = []
    for one in listed:
        if not isinstance(one, str | int | float):
            raise UsageError(f"expected text or a number as {name}, got {short_repr(one)}")
        text = str(one) if isinstance(one, str) else context_text(one)
        if not text.strip() or len(text) > MAX_VALUE_LENGTH:
            raise UsageError(
                f"expected 1 to {MAX_VALUE_LENGTH:,} characters as {name}, got {short_repr(one)}"
            )
        texts.append(text)
    return tuple(dict.fromkeys(texts))


def _number(name: str, value: Any) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e18:
        raise UsageError(f"expected a number as bound of {name}, got {short_repr(value)}")
    return int(value) if float(value).is_integer() else float(value)


def _whole(name: str, value: Any) -> int:
    number = _number(name, value)
    if number not in range(MAX_EDITS + 1):
        raise UsageError(f"expected 0 to {MAX_EDITS} as edits of {name}, got {short_repr(value)}")
    return int(number)
