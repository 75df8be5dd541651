"""What a field of a UBI record says: ids, numbers, times, and what tells a record from others."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite, nan

from podium.data.decimals import decimal_of


def key_of(
    ident: object, session: object, client: object, query_id: str, name: str | None,
    document: str | None, ordinal: float, time: float, dwell: float,
) -> int | None:  # fmt: skip
    """What tells this record from others; None where nothing does."""
    if type(ident) is str or type(ident) is int:
        # As text, since -1 and -2 have one hash.
        return hash(("event" if name else "query", str(ident)))
    if time != time:
        return None
    # NaN differs from itself, even in a hash.
    place, stay = None if ordinal != ordinal else ordinal, None if dwell != dwell else dwell
    return hash((query_id, name, document, place, time, stay, str(session), str(client)))


def first_id(*idents: object) -> object:
    """The first id that is one: an index makes up its own, also for an event that comes twice."""
    for ident in idents:
        if (type(ident) is str and ident) or type(ident) is int:
            return ident
    return None


def identifier_of(value: object) -> str | None:
    """Ids are strings; engines also write numbers."""
    if type(value) is str:
        return value or None
    return str(value) if type(value) is int and abs(value) < 1 << 128 else None


def text_of(value: object) -> str | None:
    """Text that says something."""
    return value if type(value) is str and value else None


def number_of(value: object) -> float:
    """A finite number, also as text, or NaN."""
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
    """Seconds since 1970 of an ISO 8601 time, or of milliseconds (seconds, where they are too few)."""
    # Digits that go on past the day are a number: the parser would take one of them for the "T".
    if type(stamp) is str and not (len(stamp) > 8 and stamp[4:9].isdecimal()):
        try:
            moment = _from_iso(stamp)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            pass
    number = number_of(stamp)
    return number if abs(number) < 1e11 else number / 1e3
