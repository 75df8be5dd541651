"""Checks of UBI events and query records in requests: `podium feedback` must be able to read them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from podium.apps.http.refusals import Refusal
from podium.feedback.actions import ACTIONS
from podium.feedback.ubi_fields import identifier_of, seconds_of

MAX_EVENTS = 10_000
"""Events of a request."""
_KINDS_WITHOUT_DOCUMENT = ("back", "search")


def check_events(body: Any) -> list[dict[str, Any]]:
    """Return the events and query records of a body; 422 for all of them if one is wrong.

    An event without a time gets the time of its arrival.

    Examples
    --------
    >>> check_events({"action_name": "on_search", "query_id": "q1", "timestamp": 0})
    [{'action_name': 'on_search', 'query_id': 'q1', 'timestamp': 0}]
    """
    if isinstance(body, Mapping) and set(body) == {"events"}:
        body = body["events"]
    records = body if isinstance(body, list) else [body]
    if len(records) > MAX_EVENTS:
        raise Refusal(
            413, "too_many", f"expected at most {MAX_EVENTS:,} events, got {len(records):,}"
        )
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return [_check_record(record, f"events[{at}]", now) for at, record in enumerate(records)]


def _check_record(record: Any, at: str, now: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise _bad_event("a UBI event or query as a JSON object", at)
    if identifier_of(record.get("query_id")) is None:
        raise _bad_event("a query_id, which is text or a whole number", f"{at}.query_id")
    if record.setdefault("timestamp", now) is None:
        record["timestamp"] = now
    moment = seconds_of(record["timestamp"])
    if moment != moment:
        raise _bad_event("an ISO 8601 time, or milliseconds since 1970", f"{at}.timestamp")
    if "action_name" in record:
        _check_event(record, at)
    elif not isinstance(record.get("user_query", ""), str):
        raise _bad_event("text", f"{at}.user_query")
    elif not isinstance(record.get("query_response_hit_ids", []), list):
        raise _bad_event("a list of ids", f"{at}.query_response_hit_ids")
    return record


def _check_event(record: dict[str, Any], at: str) -> None:
    name = record["action_name"]
    if not isinstance(name, str) or not name or len(name) > 100:
        raise _bad_event("text of 1 to 100 characters", f"{at}.action_name")
    attributes = record.get("event_attributes")
    if attributes is not None and not isinstance(attributes, dict):
        raise _bad_event("a JSON object", f"{at}.event_attributes")
    kind = ACTIONS.get(name)
    if kind is None or kind in _KINDS_WITHOUT_DOCUMENT:  # other actions may be about anything
        return
    document = (attributes or {}).get("object")
    object_id = document.get("object_id") if isinstance(document, dict) else None
    if identifier_of(object_id) is None:
        place = f"{at}.event_attributes.object.object_id"
        raise _bad_event(f"the document of {name!r}, text or a whole number", place)


def _bad_event(expected: str, at: str) -> Refusal:
    return Refusal(422, "bad_event", f"expected {expected} at {at}, got something else", at=at)
