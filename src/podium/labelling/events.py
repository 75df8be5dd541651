"""Events of a judging session: judgments, undos, pauses, comments. A session is the replay of its events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from podium.errors import EventError

EventKind = Literal["shown", "judgment", "pause", "resume", "undo", "skip", "comment"]
KINDS: tuple[EventKind, ...] = get_args(EventKind)

MAX_EVENT_ID_LENGTH = 200
"""The maximum number of characters of an id."""

MAX_DATA_CHARS = 64 << 10
"""The maximum number of characters of an event's data as JSON."""

LATEST_TIME_MS = 2**53 - 1
"""The largest whole number of milliseconds that JavaScript can send."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class JudgingEvent:
    """An event of a session; events never change.

    The client creates the id, so that an event sent twice counts once.

    Parameters
    ----------
    id
        Unique among all events, such as a UUID.
    task_id
        The id of the task. A task is judged in one session, which has no id of its own. In JSON this
        field is called ``session``.
    kind
        ``"shown"`` (a question came on screen), ``"judgment"``, ``"pause"``, ``"resume"``, ``"undo"``,
        ``"skip"`` or ``"comment"``.
    at
        The time by the client's clock: milliseconds since 1970 (UTC).
    data
        JSON, by kind:

        - judgment: ``a``, ``b``, ``answer``, or ``document``, ``grade`` (0 is the worst); ``"repeat": true``
          says that the question is asked again
        - shown: ``a``, ``b``, or ``document``
        - skip: ``document``, if documents are graded; ``"repeat": true`` if it was asked again
        - undo: ``judgment``, the id of the last judgment that counts, repeats included; without it the
          last ``steps`` judgments (1 by default), repeats not counted
        - comment: ``text``
        - any kind: ``segments``, the active time since the last event: [start, end) in milliseconds

    Examples
    --------
    >>> event = JudgingEvent("e1", "s1", "judgment", 1_700_000_000_000, {"a": "x", "b": "y", "answer": ">"})
    >>> event.time.isoformat()
    '2023-11-14T22:13:20+00:00'
    >>> JudgingEvent.from_json(event.to_json()) == event
    True
    """

    id: str
    task_id: str
    kind: EventKind
    at: int
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_id(self.id, "an event")
        _check_id(self.task_id, "a task")
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise EventError(f"expected an event of kind {', '.join(KINDS)}, got {self.kind!r:.60}")
        is_whole = isinstance(self.at, int) and not isinstance(self.at, bool)
        if not is_whole or abs(self.at) > LATEST_TIME_MS:
            raise EventError(
                f"expected a time in whole milliseconds since 1970, got {self.at!r:.60} "
                f"in event {self.id!r}"
            )
        if not isinstance(self.data, Mapping) or not all(isinstance(k, str) for k in self.data):
            raise EventError(
                f"expected the data of event {self.id!r} as an object, got {self.data!r:.60}"
            )
        try:
            text = data_text(self.data)
        except (TypeError, ValueError, RecursionError) as error:
            raise EventError(
                f"the data of event {self.id!r} cannot be written as JSON: {error}"
            ) from None
        if len(text) > MAX_DATA_CHARS:
            raise EventError(
                f"expected at most {MAX_DATA_CHARS:,} characters of data in event {self.id!r}, "
                f"got {len(text):,}"
            )

    @property
    def time(self) -> datetime:
        """The time as a date in UTC, limited to the years that Python's dates have."""
        try:
            return _EPOCH + timedelta(milliseconds=self.at)
        except OverflowError:
            return (datetime.max if self.at > 0 else datetime.min).replace(tzinfo=UTC)

    @property
    def content(self) -> str:
        """Everything except the id, as text: equal texts mean equal events."""
        return f"{self.task_id} {self.kind} {self.at} {data_text(self.data)}"

    def to_json(self) -> str:
        """Return the event as one line of JSON."""
        return json.dumps(
            {
                "id": self.id,
                "session": self.task_id,
                "kind": self.kind,
                "at": self.at,
                "data": dict(self.data),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> JudgingEvent:
        """Return the event of a line of JSON; anything else raises EventError."""
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise EventError(f"expected an event as JSON, got {text!r:.60} ({error})") from None
        return cls.from_record(record)

    @classmethod
    def from_record(cls, record: object) -> JudgingEvent:
        """Return the event of a JSON object; a missing or an unknown field raises EventError."""
        expected = "expected an event with id, session, kind, at and data"
        if not isinstance(record, Mapping):
            raise EventError(f"{expected}, got {record!r:.60}")
        missing = [n for n in ("id", "session", "kind", "at") if n not in record]
        unknown = [str(n) for n in record if n not in ("id", "session", "kind", "at", "data")]
        if missing or unknown:
            got = f"none of {missing}" if missing else f"{unknown[0]!r:.40} too"
            raise EventError(f"{expected}, got {got}")
        at = record["at"]
        if isinstance(at, float) and at.is_integer():  # some clients write 1.7e12
            at = int(at)
        return cls(record["id"], record["session"], record["kind"], at, record.get("data", {}))


def data_text(data: Mapping[str, Any]) -> str:
    """Return JSON in one canonical form and in ASCII, which every database stores unchanged.

    Examples
    --------
    >>> data_text({"b": "é", "a": 1})
    '{"a":1,"b":"\\\\u00e9"}'
    """
    return json.dumps(dict(data), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _check_id(value: object, owner: str) -> None:
    if (
        not isinstance(value, str)
        or not 0 < len(value) <= MAX_EVENT_ID_LENGTH
        or not value.isprintable()
    ):
        raise EventError(
            f"expected the id of {owner} to have 1 to {MAX_EVENT_ID_LENGTH} printable "
            f"characters, got {value!r:.60}"
        )
