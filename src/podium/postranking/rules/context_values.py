"""What a request carries: its query, its time, and other values such as device or category."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from podium.errors import UsageError
from podium.postranking.rules.dates_and_queries import normalise_query
from podium.postranking.rules.field_conditions import short_repr

MAX_CONTEXT_VALUES = 1_000
"""The largest number of values of a request."""
MAX_CONTEXT_TEXT = 10_000
"""The longest text of a request, in characters."""
MAX_CONTEXT_DEPTH = 4
"""The largest number of levels of a context, such as filters in a mapping."""
QUERY, TIME = "query", "time"
"""The names of the query and of the time."""


@dataclass(frozen=True)
class ContextValues:
    """The values of a request by name, as texts and as numbers, and its moment.

    Parameters
    ----------
    texts
        The texts of each name, in lower case, with single spaces. Numbers and truth values are
        texts, too.
    numbers
        The numbers of each name.
    moment
        The time of the request, with its offset from UTC.
    day
        The date of the time that the request carries; None if it carries none.
    """

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    moment: datetime.datetime = field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC), compare=False
    )
    day: datetime.date | None = None

    def with_query(self, query: str) -> ContextValues:
        """Return the same values with another query."""
        return ContextValues(
            {**self.texts, QUERY: (normalise_query(query),)}, self.numbers, self.moment, self.day
        )


def read_context(
    context: Mapping[str, Any] | None,
    query: str | None = None,
    today: datetime.date | None = None,
) -> ContextValues:
    """Return the values of a context; raise `UsageError` if it is wrong or too large.

    Mappings in it have names with a dot, and lists have several values. ``time`` is the time of the
    request; without it, it is now, on the day `today` if this is set.

    Examples
    --------
    >>> values = read_context({"device": "Mobile", "filters": {"brand": ["DGT", "Leap"], "price": 20}})
    >>> values.texts
    {'device': ('mobile',), 'filters.brand': ('dgt', 'leap'), 'filters.price': ('20',)}
    >>> values.numbers
    {'filters.price': (20.0,)}
    """
    if not isinstance(context, Mapping | None):
        raise UsageError(
            f"expected a context as a mapping, such as {{'device': 'mobile'}}, got {short_repr(context)}"
        )
    time = None if context is None else context.get(TIME)
    moment = _moment(time, today)
    texts: dict[str, tuple[str, ...]] = {} if query is None else {QUERY: (normalise_query(query),)}
    numbers: dict[str, tuple[float, ...]] = {}
    for count, (name, value) in enumerate(_pairs(context or {}), start=1):
        if count > MAX_CONTEXT_VALUES:
            raise UsageError(
                f"expected at most {MAX_CONTEXT_VALUES:,} values in a context, got more"
            )
        texts[name] = (*texts.get(name, ()), context_text(value))
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers[name] = (*numbers.get(name, ()), float(value))
    return ContextValues(texts, numbers, moment, None if time is None else moment.date())


def context_text(value: str | float | bool) -> str:
    """Return a value as text, as conditions compare it.

    Examples
    --------
    >>> context_text(" Chess  Clock"), context_text(3.0), context_text(True)
    ('chess clock', '3', 'true')
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return normalise_query(str(value))


def _pairs(
    context: Mapping[str, Any], prefix: str = "", depth: int = 1
) -> Iterator[tuple[str, str | float | bool]]:
    """Yield each name and value; raise if one is neither text nor number nor truth value."""
    for key, value in context.items():
        if not isinstance(key, str) or not key:
            raise UsageError(f"expected names as keys of a context, got {short_repr(key)}")
        name = prefix + key
        if name == QUERY:
            raise UsageError("expected the query apart from the context, as query")
        if name == TIME:
            continue
        if isinstance(value, Mapping):
            if depth == MAX_CONTEXT_DEPTH:
                raise UsageError(
                    f"expected at most {MAX_CONTEXT_DEPTH} levels in a context, got more"
                )
            yield from _pairs(value, f"{name}.", depth + 1)
            continue
        for one in value if isinstance(value, list | tuple | set | frozenset) else (value,):
            if one is None:
                continue
            if not isinstance(one, str | int | float):
                raise UsageError(
                    f"expected text, numbers, true or false as {name} of a context, "
                    f"got {short_repr(one)}"
                )
            if isinstance(one, str) and len(one) > MAX_CONTEXT_TEXT:
                raise UsageError(
                    f"expected at most {MAX_CONTEXT_TEXT:,} characters as {name} of a context, "
                    f"got {len(one):,}"
                )
            if isinstance(one, int) and abs(one) >= 2**63:
                raise UsageError(f"expected a number of 64 bits as {name} of a context, got more")
            yield name, one


def _moment(time: object, today: datetime.date | None) -> datetime.datetime:
    """Return the time of a request, with its offset."""
    if time is None:
        now = datetime.datetime.now(datetime.UTC)
        return now if today is None else datetime.datetime.combine(today, now.timetz())
    moment: object = time
    if isinstance(time, str):
        with suppress(ValueError):
            moment = datetime.datetime.fromisoformat(time)
    if not isinstance(moment, datetime.datetime) or moment.tzinfo is None:
        raise UsageError(
            "expected a time with its offset from UTC as time of a context, such as "
            f"2026-11-19T08:00:00+01:00, got {short_repr(time)}"
        )
    return moment
