"""Keys of conditions: what a request must have to meet one, for the index over conditions."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import NamedTuple

from podium.postranking.rules.context_values import ContextValues
from podium.postranking.rules.request_times import MINUTES_PER_DAY, WEEKDAYS, TimeSpans, time_zone

MINUTES_PER_WEEK = len(WEEKDAYS) * MINUTES_PER_DAY

KeyKind = tuple[str, ...]
"""A kind of key and the name of the value, such as ("is", "device") or ("stem", "query", "english")."""


class Span(NamedTuple):
    """The numbers from `low` to `high`; None leaves an end open."""

    low: float | None
    high: float | None


class IndexKey(NamedTuple):
    """Something that a request has: a text, a word, a piece of a text, or a number within a span."""

    kind: KeyKind
    value: str | int | Span


KeySet = frozenset[IndexKey]
"""Keys of which a request has at least one if it meets a condition."""

SPAN_KINDS = ("number", "week", "date", "day")
"""Kinds of keys whose values are spans: of numbers, of minutes of the week, of dates and of days."""


def complement(spans: Iterable[Span]) -> list[Span]:
    """Return the spans between whole numbers that some spans leave out.

    Examples
    --------
    >>> complement([Span(3, 5), Span(4, 9), Span(12, None)])
    [Span(low=None, high=2), Span(low=10, high=11)]
    """
    gaps: list[Span] = []
    start: float | None = None  # the first number that no span has covered so far
    is_open = True
    for low, high in sorted(spans, key=lambda span: -float("inf") if span[0] is None else span[0]):
        if low is not None and is_open and (start is None or start < low):
            gaps.append(Span(start, low - 1))
        if high is None:
            is_open = False
        elif is_open:
            start = high + 1 if start is None else max(start, high + 1)
    return [*gaps, Span(start, None)] if is_open else gaps


def week_spans(spans: TimeSpans) -> list[Span]:
    """Return the minutes of the week, from Monday 0:00 on, at which days and hours hold.

    Examples
    --------
    >>> week_spans(TimeSpans(days=(6,), hours=((1380, 60),)))  # Sunday 23:00 to 1:00
    [Span(low=10020, high=10079), Span(low=0, high=59)]
    """
    parts: list[Span] = []
    for day in spans.days or range(len(WEEKDAYS)):
        midnight = day * MINUTES_PER_DAY
        for first, end in spans.hours or ((0, MINUTES_PER_DAY),):
            low, high = midnight + first, midnight + end - 1 + MINUTES_PER_DAY * (end <= first)
            parts.append(Span(low, min(high, MINUTES_PER_WEEK - 1)))
            if high >= MINUTES_PER_WEEK:
                parts.append(Span(0, high - MINUTES_PER_WEEK))
    return parts


def time_keys(spans: TimeSpans) -> list[KeySet]:
    """Return the keys of a moment within the spans: its minute of the week, and its date."""
    sets: list[KeySet] = []
    if spans.days or spans.hours:
        sets.append(frozenset(IndexKey(("week", spans.zone), span) for span in week_spans(spans)))
    if spans.dates:
        late = _crosses_midnight(spans)  # such a span belongs to the date before
        dates = [Span(a.toordinal(), b.toordinal() + late) for a, b in spans.dates]
        sets.append(frozenset(IndexKey(("date", spans.zone), span) for span in dates))
    return sets


def other_time_keys(spans: TimeSpans) -> list[KeySet]:
    """Return the keys of a moment outside the spans."""
    if spans.dates and _crosses_midnight(spans):
        return []
    keys: list[IndexKey] = []
    if spans.days or spans.hours:
        week = complement([*week_spans(spans), Span(None, -1), Span(MINUTES_PER_WEEK, None)])
        keys += [IndexKey(("week", spans.zone), span) for span in week]
    if spans.dates:
        dates = complement(Span(a.toordinal(), b.toordinal()) for a, b in spans.dates)
        keys += [IndexKey(("date", spans.zone), span) for span in dates]
    return [frozenset(keys)]


def _crosses_midnight(spans: TimeSpans) -> bool:
    return any(end <= first for first, end in spans.hours)


def span_values(kind: KeyKind, values: ContextValues, today: datetime.date | None) -> list[float]:
    """Return the numbers of a request for a kind of spans."""
    name = kind[1]
    if kind[0] == "number":
        return [number for number in values.numbers.get(name, ()) if number == number]
    if kind[0] == "day":
        return [] if today is None else [today.toordinal()]
    local = values.moment.astimezone(time_zone(name))
    if kind[0] == "date":
        return [local.toordinal()]
    return [local.weekday() * MINUTES_PER_DAY + local.hour * 60 + local.minute]
