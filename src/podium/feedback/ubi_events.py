"""Events as their fields: decoded in one step where a line is as usual, from any record otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

# What ids, numbers and times may be for a line to be as usual. Everything else, such as text for a
# number, goes through Python's own parser; values are looked at the same way wherever they come from.
_Id = str | int | None
_Number = int | float | None


class UbiObject(msgspec.Struct, gc=False):
    """``event_attributes.object``."""

    object_id: _Id = None


class UbiPosition(msgspec.Struct, gc=False):
    """``event_attributes.position``."""

    ordinal: _Number = None


class UbiAttributes(msgspec.Struct, gc=False):
    """``event_attributes``: what the eight factors are made of."""

    object: UbiObject | None = None
    position: UbiPosition | None = None
    event_id: _Id = None
    dwell_ms: _Number = None
    dwell_time: _Number = None


class UbiEvent(msgspec.Struct, gc=False):
    """One line of ``ubi_events``: the fields that count; others are passed over."""

    action_name: str
    query_id: _Id = None
    timestamp: str | int | float | None = None
    event_attributes: UbiAttributes | None = None
    event_id: _Id = None
    user_query: str | None = None
    session_id: _Id = None
    client_id: _Id = None


Fields = TypeVar("Fields", bound=msgspec.Struct)

NO_ATTRIBUTES = UbiAttributes()

usual_event: Callable[[Any], UbiEvent] = msgspec.json.Decoder(UbiEvent).decode
"""A line of text -> an event; raises (``NOT_USUAL_ERRORS``) for any line that is not as usual."""

NOT_USUAL_ERRORS = (msgspec.MsgspecError, UnicodeEncodeError, TypeError, RecursionError)


def event_of(record: dict[str, Any]) -> UbiEvent:
    """The same fields of any record, whatever their values are.

    Examples
    --------
    >>> event_of({"action_name": "click", "event_attributes": {"object": {"object_id": 1.5}}})
    UbiEvent(action_name='click', query_id=None, timestamp=None, event_attributes=UbiAttributes(\
object=UbiObject(object_id=1.5), position=None, event_id=None, dwell_ms=None, dwell_time=None), \
event_id=None, user_query=None, session_id=None, client_id=None)
    """
    event = _filled(UbiEvent, record)
    attributes = event.event_attributes = _filled_or_none(UbiAttributes, event.event_attributes)
    if attributes is not None:
        attributes.object = _filled_or_none(UbiObject, attributes.object)
        attributes.position = _filled_or_none(UbiPosition, attributes.position)
    return event


def _filled(kind: type[Fields], values: dict[str, Any]) -> Fields:
    return kind(*(values.get(name) for name in kind.__struct_fields__))


def _filled_or_none(kind: type[Fields], values: object) -> Fields | None:
    return _filled(kind, values) if type(values) is dict else None
