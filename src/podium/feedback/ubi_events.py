"""UBI events, decoded in one step if a line has the usual types, else from a parsed record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

# The usual types of ids, numbers and times. Python's JSON parser reads lines with other types, such
# as text for a number; the values are then checked in the same way.
UbiId = str | int | None
UbiNumber = int | float | None


class UbiObject(msgspec.Struct, gc=False):
    """``event_attributes.object``."""

    object_id: UbiId = None


class UbiPosition(msgspec.Struct, gc=False):
    """``event_attributes.position``."""

    ordinal: UbiNumber = None


class UbiAttributes(msgspec.Struct, gc=False):
    """``event_attributes``: the fields for the eight factors."""

    object: UbiObject | None = None
    position: UbiPosition | None = None
    event_id: UbiId = None
    dwell_ms: UbiNumber = None
    dwell_time: UbiNumber = None


class UbiEvent(msgspec.Struct, gc=False):
    """One line of ``ubi_events``, with the fields that podium uses."""

    action_name: str
    query_id: UbiId = None
    timestamp: str | int | float | None = None
    event_attributes: UbiAttributes | None = None
    event_id: UbiId = None
    user_query: str | None = None
    session_id: UbiId = None
    client_id: UbiId = None


Struct = TypeVar("Struct", bound=msgspec.Struct)

NO_ATTRIBUTES = UbiAttributes()

decode_event: Callable[[Any], UbiEvent] = msgspec.json.Decoder(UbiEvent).decode
"""Decode a line; raises one of ``DECODE_ERRORS`` if a field has an unusual type."""

DECODE_ERRORS = (msgspec.MsgspecError, UnicodeEncodeError, TypeError, RecursionError)


def event_of(record: dict[str, Any]) -> UbiEvent:
    """Return the event of a parsed record, with values of any type.

    Examples
    --------
    >>> event_of({"action_name": "click", "event_attributes": {"object": {"object_id": 1.5}}})
    UbiEvent(action_name='click', query_id=None, timestamp=None, event_attributes=UbiAttributes(\
object=UbiObject(object_id=1.5), position=None, event_id=None, dwell_ms=None, dwell_time=None), \
event_id=None, user_query=None, session_id=None, client_id=None)
    """
    event = _fill(UbiEvent, record)
    attributes = event.event_attributes = _fill_or_none(UbiAttributes, event.event_attributes)
    if attributes is not None:
        attributes.object = _fill_or_none(UbiObject, attributes.object)
        attributes.position = _fill_or_none(UbiPosition, attributes.position)
    return event


def _fill(kind: type[Struct], values: dict[str, Any]) -> Struct:
    return kind(*(values.get(name) for name in kind.__struct_fields__))


def _fill_or_none(kind: type[Struct], values: object) -> Struct | None:
    return _fill(kind, values) if type(values) is dict else None
