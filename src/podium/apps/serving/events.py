"""UBI events and query records as requests bring them, checked as `podium feedback` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from podium.apps.serving.errors import Refusal
from podium.feedback.actions import ACTIONS
from podium.feedback.ubi_fields import identifier_of, seconds_of

MOST = 10_000
"""Events of a request."""
_NO_DOCUMENT = ("back", "search")


def check_events(given: Any) -> list[dict[str, Any]]:
    """Events or query records, each as `podium feedback` reads it; one that is none refuses them all.

    An event without a time has that of its arrival.

    Examples
    --------
    >>> check_events({"action_name": "on_search", "query_id": "q1", "timestamp": 0})
    [{'action_name': 'on_search', 'query_id': 'q1', 'timestamp': 0}]
    """
    if isinstance(given, Mapping) and set(given) == {"events"}:
        given = given["events"]
    records = given if isinstance(given, list) else [given]
    if len(records) > MOST:
        raise Refusal(413, "too_many", f"expected at most {MOST:,} events, got {len(records):,}")
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return [_checked(record, f"events[{at}]", now) for at, record in enumerate(records)]


def _checked(record: Any, at: str, now: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise _wrong("a UBI event or query as a JSON object", at)
    if identifier_of(record.get("query_id")) is None:
        raise _wrong("a query_id, which is text or a whole number", f"{at}.query_id")
    if record.setdefault("timestamp", now) is None:
        record["timestamp"] = now
    moment = seconds_of(record["timestamp"])
    if moment != moment:
        raise _wrong("an ISO 8601 time, or milliseconds since 1970", f"{at}.timestamp")
    if "action_name" in record:
        _check_event(record, at)
    elif not isinstance(record.get("user_query", ""), str):
        raise _wrong("text", f"{at}.user_query")
    elif not isinstance(record.get("query_response_hit_ids", []), list):
        raise _wrong("a list of ids", f"{at}.query_response_hit_ids")
    return record


def _check_event(record: dict[str, Any], at: str) -> None:
    name = record["action_name"]
    if not isinstance(name, str) or not name or len(name) > 100:
        raise _wrong("text of 1 to 100 characters", f"{at}.action_name")
    about = record.get("event_attributes")
    if about is not None and not isinstance(about, dict):
        raise _wrong("a JSON object", f"{at}.event_attributes")
    kind = ACTIONS.get(name)
    if kind is None or kind in _NO_DOCUMENT:  # actions of one's own may be about anything
        return
    document = (about or {}).get("object")
    found = document.get("object_id") if isinstance(document, dict) else None
    if identifier_of(found) is None:
        place = f"{at}.event_attributes.object.object_id"
        raise _wrong(f"the document of {name!r}, text or a whole number", place)


def _wrong(expected: str, at: str) -> Refusal:
    return Refusal(422, "bad_event", f"expected {expected} at {at}, got something else", at=at)
