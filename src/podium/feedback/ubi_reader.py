"""UbiReader: turns lines of UBI logs into feedback, one query record or event after another."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import isfinite, nan
from typing import Any, NoReturn

import numpy as np

from podium.errors import MalformedLineError, UsageError
from podium.feedback.actions import ACTIONS, KIND_CODES, kind_codes
from podium.feedback.alpha import PhiFunction
from podium.feedback.duplicates import duplicate_key, first_id
from podium.feedback.dwell_time import CLOSED_WITHIN_SECONDS, LONGEST_DWELL_SECONDS
from podium.feedback.feedback import Feedback
from podium.feedback.log_counts import MAX_ACTION_NAMES, OTHER_ACTIONS
from podium.feedback.log_sums import LogSums
from podium.feedback.open_lists import OpenLists
from podium.feedback.ubi_events import (
    DECODE_ERRORS,
    NO_ATTRIBUTES,
    UbiAttributes,
    UbiEvent,
    decode_event,
    event_of,
)  # fmt: skip
from podium.feedback.ubi_fields import identifier_of, number_of, seconds_of, text_of
from podium.feedback.user_classes import UserClassSource, class_reader

WINDOW_EVENTS = 500_000
"""The number of events within which duplicates are detected and dwell times are measured."""

_HIT, _IMPRESSION, _SEARCH, _BACK = (KIND_CODES[k] for k in ("hit", "impression", "search", "back"))
_TIMED = (KIND_CODES["view"], KIND_CODES["exit"])


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_match_action_line = re.compile(
    r'\{"index": ?\{"_index": ?"([^"\\]*)", ?"_id": ?"([^"\\]+)"\}\}\s*'
).fullmatch
_scan: Callable[[str | None, int], tuple[Any, int]] = json.JSONDecoder(
    parse_constant=_refuse_constant
).scan_once  # type: ignore[attr-defined]


class UbiReader:
    """Reads lines of UBI logs and can return Feedback at any time, for logs that are not files.

    Examples
    --------
    >>> reader = UbiReader()
    >>> reader.feed(['{"action_name": "click", "query_id": "1", "timestamp": 1741000000000,'
    ...              ' "event_attributes": {"object": {"object_id": "b"}}}'])
    >>> reader.feedback()
    Feedback(1 list, 1 document, carried: clicks)
    """

    def __init__(
        self,
        user_class: UserClassSource | None = None,
        actions: Mapping[str, str] = ACTIONS,
        closed_within: float = CLOSED_WITHIN_SECONDS,
        window: int = WINDOW_EVENTS,
        strict: bool = False,
    ) -> None:
        if not (isfinite(closed_within) and closed_within >= 0):
            raise UsageError(f"expected closed_within of 0 seconds or more, got {closed_within}")
        is_whole = isinstance(window, int | np.integer) and not isinstance(window, bool)
        if not is_whole or window < 2:
            raise UsageError(
                f"expected a window that is a whole number of 2 events or more, got {window!r}"
            )
        self._kinds, self._class_of = kind_codes(actions), class_reader(user_class)
        self._strict, self._closed_within = strict, float(closed_within)
        self._counts: Counter[str] = Counter()
        self._actions: dict[str, int] = {}
        self._lists = OpenLists(int(window) // 2, self._closed_within, self._counts)
        self._sources: list[str] = []
        self._line = self._n_bulk = 0
        self._bulk: tuple[str, object] | None = None  # index and id of an action line just read
        self._first_error: MalformedLineError | None = None

    def start(self, source: str) -> None:
        """Begin a new source of lines, such as a file; its name is for error messages."""
        self._sources.append(source)
        self._line, self._bulk = 0, None

    def feed(self, lines: Iterable[str | None]) -> None:
        """Read more lines of the source; None is a line that is not UTF-8."""
        if not self._sources:
            self.start("events")
        # A user class may be in any field, so then the whole record is needed.
        decode = decode_event if self._class_of is None else None
        for line in lines:
            self._line += 1
            if line is not None and not isinstance(line, str):
                raise UsageError(f"expected lines of text, got {line!r:.60}")
            # Half of the lines of a bulk file are action lines; a regular expression reads them
            # fastest.
            if line and line.startswith('{"index"') and (action := _match_action_line(line)):
                self._n_bulk += 1
                self._bulk = action.groups()  # type: ignore[assignment]
                continue
            if decode is not None:
                try:
                    event = decode(line)
                except DECODE_ERRORS:
                    pass
                else:
                    bulk, self._bulk = self._bulk, None
                    self._event(event, None if bulk is None else bulk[1])
                    if self._lists.room <= 0:
                        self._lists.make_room()
                    continue
            try:
                record, end = _scan(line, 0)
            except (ValueError, StopIteration, RecursionError, TypeError):
                if line is None or (line := line.strip()):
                    self._feed_stripped(line)
                continue
            if end != len(line) and line[end:].strip():  # type: ignore[arg-type,index]
                self._malformed("one JSON object per line", line)
            elif type(record) is dict:
                self._record(record, line)
                if self._lists.room <= 0:
                    self._lists.make_room()
            else:
                self._malformed("a JSON object", line)

    def feedback(self, phi: PhiFunction | None = None) -> Feedback:
        """Return the feedback so far; reading may continue."""
        return self.sums().feedback(phi, self._closed_within)

    def sums(self) -> LogSums:
        """Return the sums and counts so far; reading may continue."""
        parts, open_counts = self._lists.all_sums()
        unknown = frozenset(name for name in self._actions if name not in self._kinds)
        return LogSums(
            tuple(self._sources), tuple(parts), self._counts + open_counts, dict(self._actions), unknown,
            self._n_bulk, self._first_error,
        )  # fmt: skip

    def _feed_stripped(self, line: str | None) -> None:
        """Read a line that is JSON between white space, or malformed."""
        try:
            record, end = _scan(line, 0)
        except (ValueError, StopIteration, RecursionError, TypeError):
            self._malformed("JSON", line)
            return
        if end == len(line or "") and type(record) is dict:
            self._record(record, line)
            self._lists.make_room()
        else:
            self._malformed("a JSON object", line)

    def _malformed(self, expected: str, line: str | None) -> None:
        """Count a malformed line, or raise if strict."""
        got = "bytes that are not UTF-8" if line is None else repr(line[:60])
        self._count_error("malformed", expected, got)
        self._bulk = None

    def _count_error(self, count: str, expected: str, got: str) -> None:
        self._counts[count] += 1
        if self._strict or self._first_error is None:
            self._first_error = MalformedLineError(
                f"expected {expected}, got {got}", path=self._sources[-1], line=self._line
            )
        if self._strict:
            raise self._first_error

    def _record(self, record: dict[str, Any], line: str | None) -> None:
        """Read a query record, an event, or an action line of the bulk form."""
        bulk, self._bulk = self._bulk, None
        name = record.get("action_name")
        if name is not None:
            self._event(event_of(record), None if bulk is None else bulk[1], record)
            return
        if len(record) == 1 and self._is_action(record):
            return
        if bulk is None:
            source = record.get("_source")
            if type(source) is dict:
                bulk, record = (str(record.get("_index", "")), record.get("_id")), source
                name = record.get("action_name")
        index, record_id = bulk or ("", None)
        if name is not None or index.endswith("events"):
            self._event(event_of(record), record_id, record)
        elif index.endswith("queries") or "user_query" in record or "query_id" in record:
            self._query(record, record_id)
        else:
            self._malformed("a UBI query or event", line)

    def _is_action(self, record: dict[str, Any]) -> bool:
        """Return whether a record is an action line, such as ``{"index": {"_index": ..., "_id": ...}}``."""
        (name, target), *_ = record.items()
        if name not in ("index", "create", "update", "delete") or type(target) is not dict:
            return False
        self._n_bulk += 1
        if name in ("index", "create"):
            self._bulk = (str(target.get("_index", "")), target.get("_id"))
        return True

    def _event(
        self, event: UbiEvent, record_id: object, record: dict[str, Any] | None = None
    ) -> None:
        name = event.action_name
        if type(name) is not str or not name:
            self._count_error("missing_action", "an event with an action_name", f"{name!r}")
            return
        kind, actions = self._kinds.get(name), self._actions
        if kind is None:
            self._count_unknown(name)
            return
        actions[name] = actions.get(name, 0) + 1
        query_id = event.query_id
        if type(query_id) is not str or not query_id:
            query_id = identifier_of(query_id)
            if query_id is None:
                self._counts["missing_query_id"] += 1
                return
        stamp = event.timestamp
        time = seconds_of(stamp)
        if time != time:
            self._count_error("missing_timestamp", "an event with a timestamp", f"{stamp!r:.60}")
        attributes = event.event_attributes or NO_ATTRIBUTES
        item, position = attributes.object, attributes.position
        document = None if item is None else identifier_of(item.object_id)
        ordinal = nan if position is None else number_of(position.ordinal)
        dwell = self._dwell(attributes) if kind in _TIMED else nan
        record_id = first_id(attributes.event_id, event.event_id, record_id)
        if document is None and kind != _BACK and kind != _SEARCH:
            self._count_error("missing_object", f"a document (object_id) for {name!r}", "none")
            return
        if kind == _IMPRESSION and ordinal != ordinal:
            self._counts["missing_position"] += 1
        lists = self._lists
        key = duplicate_key(
            record_id, event.session_id, event.client_id, query_id, name, document, ordinal, time, dwell
        )  # fmt: skip
        code = lists.event(query_id, key, document, kind, ordinal, time, dwell)
        if code < 0:
            self._counts["duplicates"] += 1
            return
        if record is not None or event.user_query != lists.texts[1].get(code):
            self._describe(code, event.user_query, record, False)

    def _count_unknown(self, name: str) -> None:
        actions = self._actions
        name = name if name in actions or len(actions) < MAX_ACTION_NAMES else OTHER_ACTIONS
        actions[name] = actions.get(name, 0) + 1

    def _query(self, query: dict[str, Any], record_id: object) -> None:
        self._counts["queries"] += 1
        query_id, text = identifier_of(query.get("query_id")), text_of(query.get("user_query"))
        if query_id is None:
            self._count_error("missing_query_id", "a query with a query_id", "none")
            return
        lists, time = self._lists, seconds_of(query.get("timestamp"))
        if time != time:
            self._counts["missing_timestamp"] += 1
        user = query.get("session_id"), query.get("client_id")
        key = duplicate_key(record_id, *user, query_id, None, text, nan, time, nan)
        if key is not None and lists.is_duplicate(key):
            self._counts["duplicates"] += 1
            return
        code = lists.code(query_id)
        lists.query(code, time)
        hits = query.get("query_response_hit_ids")
        if type(hits) is not list:
            if hits is not None:
                expected = "query_response_hit_ids that are a list"
                self._count_error("malformed_hits", expected, f"{hits!r:.60}")
            hits = []
        lists.room -= 1 + len(hits)
        for place, hit in enumerate(hits, start=1):
            document = identifier_of(hit)
            if document is not None:
                lists.add(code, document, _HIT, place, nan, nan)
        self._describe(code, text, query, True)

    def _describe(
        self, code: int, text: object, record: dict[str, Any] | None, is_query: bool
    ) -> None:
        """Add the text of the query and the class of the user to a list."""
        user_class = None if self._class_of is None or record is None else self._class_of(record)
        self._lists.describe(code, text_of(text), identifier_of(user_class), is_query)

    def _dwell(self, attributes: UbiAttributes) -> float:
        """Return the dwell time that an event states, in seconds, or NaN."""
        for value, scale in ((attributes.dwell_ms, 1e-3), (attributes.dwell_time, 1.0)):
            if value is not None:
                dwell = number_of(value) * scale
                if 0 <= dwell <= LONGEST_DWELL_SECONDS:
                    return dwell
                self._counts["negative_dwell"] += 1
        return nan
