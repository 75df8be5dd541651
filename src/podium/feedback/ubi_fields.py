"""Values of the fields of a UBI record: ids, texts, numbers and times."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite, nan

from podium.data.number_parsing import decimal_of


def identifier_of(value: object) -> str | None:
    """Return an id as text, or None; some engines write whole numbers."""
    if type(value) is str:
        return value or None
    return str(value) if type(value) is int and abs(value) < 1 << 128 else None


def text_of(value: object) -> str | None:
    """Return a text that is not empty, or None."""
    return value if type(value) is str and value else None


def number_of(value: object) -> float:
    """Return a finite number, which may be written as text, or NaN."""
    if type(value) is str:
        value = decimal_of(value.strip(" \t\r\n"))
    if type(value) is not int and type(value) is not float:
        return nan
    try:
        number = float(value)
    except OverflowError:
        return nan
    return number if isfinite(number) else nan


_from_iso = datetime.fromisoformat


def seconds_of(stamp: object) -> float:
    """Return seconds since 1970, from an ISO 8601 time, milliseconds, or (small numbers) seconds; or NaN."""
    # More than eight digits are a number: the parser would read the ninth as the "T" of a time.
    if type(stamp) is str and not (len(stamp) > 8 and stamp[4:9].isdecimal()):
        try:
            moment = _from_iso(stamp)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            pass
    number = number_of(stamp)
    return number if abs(number) < 1e11 else number / 1e3
