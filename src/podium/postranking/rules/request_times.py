"""Times of requests: weekdays, hours and dates, in a time zone."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from podium.errors import UnknownNameError, UsageError
from podium.postranking.rules.field_conditions import short_repr

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MINUTES_PER_DAY = 24 * 60
MAX_SPANS = 100
"""The largest number of spans of days, hours or dates in a condition."""

_CLOCK = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
T = TypeVar("T")


@dataclass(frozen=True)
class TimeSpans:
    """Weekdays, hours and dates in a time zone; an empty one puts no bound.

    Parameters
    ----------
    zone
        The time zone, such as ``Europe/Berlin``.
    days
        Weekdays, from 0 (Monday).
    hours
        The first minute of the day and the minute after the last. A span over midnight belongs to
        the day on which it begins.
    dates
        The first and the last date.

    Examples
    --------
    >>> nights = TimeSpans("Europe/Berlin", days=(4,), hours=((22 * 60, 6 * 60),))
    >>> nights.has(datetime.datetime.fromisoformat("2026-11-21T03:00:00+01:00"))  # Saturday morning
    True
    >>> nights.has(datetime.datetime.fromisoformat("2026-11-20T03:00:00+01:00"))
    False
    """

    zone: str = "UTC"
    days: tuple[int, ...] = ()
    hours: tuple[tuple[int, int], ...] = ()
    dates: tuple[tuple[datetime.date, datetime.date], ...] = ()

    def has(self, moment: datetime.datetime) -> bool:
        """Whether a moment is in one of the spans of each kind."""
        local = moment.astimezone(time_zone(self.zone))
        minute = local.hour * 60 + local.minute
        return any(
            self._has_day((local - datetime.timedelta(days=days_before)).date())
            for days_before in self._days_before(minute)
        )

    def _days_before(self, minute: int) -> list[int]:
        """Return how many days before each span that has this minute began."""
        if not self.hours:
            return [0]
        today = [
            0
            for first, end in self.hours
            if first <= minute < (end if end > first else MINUTES_PER_DAY)
        ]
        return today + [1 for first, end in self.hours if minute < end <= first]

    def _has_day(self, day: datetime.date) -> bool:
        return (not self.days or day.weekday() in self.days) and (
            not self.dates or any(first <= day <= last for first, last in self.dates)
        )

    def entry(self) -> dict[str, Any]:
        """Return the spans as a file has them."""
        parts: dict[str, Any] = {"zone": self.zone}
        if self.days:
            parts["days"] = [WEEKDAYS[day] for day in self.days]
        if self.hours:
            parts["hours"] = [f"{_clock(first)} to {_clock(end)}" for first, end in self.hours]
        if self.dates:
            parts["dates"] = [f"{first} to {last}" for first, last in self.dates]
        return parts

    def example(self) -> datetime.datetime | None:
        """Return a moment within the spans; None if no day of a span of dates is one of the weekdays."""
        start = self.dates[0][0] if self.dates else datetime.date(2026, 1, 5)
        first = self.hours[0][0] if self.hours else 12 * 60
        for day in range(7):
            moment = datetime.datetime.combine(
                start + datetime.timedelta(days=day),
                datetime.time(first // 60 % 24, first % 60),
                time_zone(self.zone),
            )
            if self.has(moment):
                return moment
        return None


def read_time_spans(entry: object) -> TimeSpans:
    """Return the spans of an entry; raise `UsageError` if it is wrong.

    Examples
    --------
    >>> read_time_spans({"days": "monday to friday", "hours": "08:00 to 20:00"})
    TimeSpans(zone='UTC', days=(0, 1, 2, 3, 4), hours=((480, 1200),), dates=())
    """
    keys = ("zone", "days", "hours", "dates")
    if not isinstance(entry, dict) or not set(entry) & set(keys[1:]):
        raise UsageError(
            "expected days, hours or dates as time, such as {hours: 08:00 to 20:00}, "
            f"got {short_repr(entry)}"
        )
    for key in entry:
        if key not in keys:
            raise UnknownNameError("key of time", str(key), keys)
    zone = str(entry.get("zone", "UTC"))
    time_zone(zone)
    days = [day for text in _texts(entry, "days") for day in _read_days(text)]
    hours = [_read_hours(text) for text in _texts(entry, "hours")]
    dates = [_read_dates(text) for text in _texts(entry, "dates")]
    return TimeSpans(zone, tuple(sorted(set(days))), tuple(hours), tuple(dates))


@lru_cache(maxsize=1_000)
def time_zone(name: str) -> ZoneInfo:
    """Return a time zone; raise `UsageError` if there is none of this name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UsageError(
            f"expected a time zone, such as Europe/Berlin or UTC, got {short_repr(name)}"
        ) from None


def _texts(entry: dict[str, Any], key: str) -> Sequence[str]:
    values = entry.get(key, ())
    listed = [values] if isinstance(values, str) else values
    if not isinstance(listed, list | tuple) or not all(isinstance(text, str) for text in listed):
        raise UsageError(f"expected text or a list of texts as {key}, got {short_repr(values)}")
    if len(listed) > MAX_SPANS:
        raise UsageError(f"expected at most {MAX_SPANS} values as {key}, got {len(listed):,}")
    return [str(text) for text in listed]


def _ends(text: str) -> tuple[str, str, bool]:
    first, to, last = (part.strip() for part in text.lower().partition(" to "))
    return first, last if to else first, bool(to)


def _read_days(text: str) -> list[int]:
    first, last, _ = _ends(text)
    for day in (first, last):
        if day not in WEEKDAYS:
            raise UnknownNameError("weekday", day, WEEKDAYS)
    a, b = WEEKDAYS.index(first), WEEKDAYS.index(last)
    return [day % 7 for day in range(a, (b if b >= a else b + 7) + 1)]


def _read_hours(text: str) -> tuple[int, int]:
    first, last, is_span = _ends(text)
    minutes = []
    for clock in (first, last):
        match = _CLOCK.fullmatch(clock)
        minute = int(match[1]) * 60 + int(match[2]) if match else MINUTES_PER_DAY + 1
        minutes.append(minute)
    if not is_span or max(minutes) > MINUTES_PER_DAY or minutes[0] in (minutes[1], MINUTES_PER_DAY):
        raise UsageError(f"expected hours such as 08:00 to 20:00, got {short_repr(text)}")
    return minutes[0], minutes[1]


def _read_dates(text: str) -> tuple[datetime.date, datetime.date]:
    first, last, _ = _ends(text)
    try:
        if not (_DATE.fullmatch(first) and _DATE.fullmatch(last)):
            raise ValueError
        span = datetime.date.fromisoformat(first), datetime.date.fromisoformat(last)
    except ValueError:
        raise UsageError(
            f"expected dates such as 2026-11-27 to 2026-11-30, got {short_repr(text)}"
        ) from None
    if span[1] < span[0]:
        raise UsageError(f"expected an end after the start of dates, got {short_repr(text)}")
    return span


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
