"""Dates and queries of a rule: the days and the queries on which it is active."""

from __future__ import annotations

import datetime
import fnmatch
import re
from functools import lru_cache

from podium.work_budget import spend

CHARACTERS_PER_STEP = 16
"""The number of characters that a pattern compares with a query in one step of `spend`."""


def reason_off_on(
    today: datetime.date, starts: datetime.date | None, ends: datetime.date | None
) -> str:
    """Return why a rule with these dates is off on this day; empty if it is on."""
    if starts is not None and today < starts:
        return f"starts on {starts}"
    if ends is not None and today > ends:
        return f"ended on {ends}"
    return ""


def reason_off_for(query: str | None, rule_query: str | None, pattern: str | None) -> str:
    """Return why a rule with this query or pattern is off for a query; empty if it is on."""
    if rule_query is not None and (
        query is None or normalise_query(query) != normalise_query(rule_query)
    ):
        return f"is for the query {rule_query!r}"
    if pattern is not None and (query is None or not matches_pattern(pattern, query)):
        return f"is for queries like {pattern!r}"
    return ""


def normalise_query(query: str) -> str:
    """Return a query in the form for comparisons: lower case, without extra spaces."""
    return " ".join(query.casefold().split())


def matches_pattern(pattern: str, query: str) -> bool:
    """Whether a query matches a pattern."""
    spend(len(pattern) * len(query) // CHARACTERS_PER_STEP)
    return _compile_pattern(normalise_query(pattern)).match(normalise_query(query)) is not None


@lru_cache(maxsize=10_000)  # clients may send a service any number of patterns
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    # fnmatch's expressions do not backtrack from one star into another, so no query is slow.
    return re.compile(
        fnmatch.translate(pattern.replace("[", "[[]"))
    )  # brackets are plain text here
