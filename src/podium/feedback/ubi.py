"""User Behavior Insights (UBI 1.3) logs: query records and events as NDJSON, plain or in bulk form."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite, nan
from typing import Any, NoReturn

import numpy as np

from podium.data.files import Path_, Progress, read_blocks
from podium.errors import EmptyDataError, MalformedLineError, UsageError
from podium.feedback.actions import ACTIONS, KIND, kind_codes
from podium.feedback.dwell_time import LONGEST_DWELL_SECONDS
from podium.feedback.feedback import Feedback
from podium.feedback.log_counts import MAX_ACTION_NAMES, OTHER_ACTIONS, LogCounts
from podium.feedback.open_lists import OpenLists
from podium.feedback.phi import PhiFunction
from podium.feedback.ubi_events import (
    NO_ATTRIBUTES,
    NOT_USUAL_ERRORS,
    UbiAttributes,
    UbiEvent,
    event_of,
    usual_event,
)  # fmt: skip
from podium.feedback.ubi_fields import (
    first_id,
    identifier_of,
    key_of,
    number_of,
    seconds_of,
    text_of,
)
from podium.feedback.user_classes import UserClass, class_reader

CLOSED_WITHIN_SECONDS = 5.0
"""Seconds within which a document that is closed was not what it seemed (mu_8)."""

WINDOW_EVENTS = 500_000
"""Events within which duplicates and openings are followed."""

_HIT, _IMPRESSION, _SEARCH, _BACK = (KIND[k] for k in ("hit", "impression", "search", "back"))
_TIMED = (KIND["view"], KIND["exit"])


def read_ubi(
    paths: Path_ | Sequence[Path_],
    *,
    user_class: UserClass | None = None,
    actions: Mapping[str, str] = ACTIONS,
    phi: PhiFunction | None = None,
    closed_within: float = CLOSED_WITHIN_SECONDS,
    window: int = WINDOW_EVENTS,
    strict: bool = False,
    progress: Progress | None = None,
) -> Feedback:
    """Read UBI logs: the eight factors of every list (one list = one query_id), and alpha.

    Query records and events may stand in one file or in several, in any order, plain (one a line),
    in bulk form (action lines between them) or as search hits (``{"_id": ..., "_source": {...}}``),
    compressed as their endings say. Times are ISO 8601 (UTC unless they say otherwise) or numbers:
    milliseconds since 1970, or seconds where that would lie before 1973.

    An event is a duplicate if its id came before (``event_id`` of its attributes or of the event or,
    without it, the bulk or hit ``_id``) or, without an id, if all of query, action, document, position,
    time, session, client and dwell did. Neither the order of events nor duplicates change the result,
    as long as the events of a list lie within `window`: a list is open for at least ``window / 2``
    events (and hits of query records) after its first; what comes later is added to it, but not
    compared with what came before. Memory is bounded by the window and by the result, not by the
    number of events.

    Parameters
    ----------
    user_class
        Where the user class stands: a path such as ``"query_attributes.user_class"`` or
        ``"event_attributes.segment"``, a table of users (user_id or client_id -> class, see
        ``read_classes``), or a function of the record. Lists without a class belong to the
        population only.
    actions
        Names of actions -> kinds, instead of ``ACTIONS``.
    phi
        The factors (n, 8) -> alpha in [0, 1]; ``Phi()`` by default.
    closed_within
        Seconds within which a document that is closed counts as closed at once (mu_8).
    window
        Events within which duplicates and openings are followed.
    strict
        Stop at the first line that is malformed or lacks what UBI requires, instead of counting it.
    progress
        Called with the number of bytes of text read since the last call.
    """
    names = [os.fspath(p) for p in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not names:
        raise UsageError("expected at least one file of events, got none")
    reader = UbiReader(user_class, actions, closed_within, window, strict)
    for name in names:
        reader.start(name)
        for text in read_blocks(name):
            reader.feed(_lines(text.tobytes()))
            if progress is not None:
                progress(len(text))
    return reader.feedback(phi)


def parse_ubi(
    lines: Iterable[str],
    *,
    user_class: UserClass | None = None,
    actions: Mapping[str, str] = ACTIONS,
    phi: PhiFunction | None = None,
    closed_within: float = CLOSED_WITHIN_SECONDS,
    window: int = WINDOW_EVENTS,
    strict: bool = False,
) -> Feedback:
    """The same from lines of text that are at hand; see ``read_ubi``.

    Examples
    --------
    >>> lines = [
    ...     '{"query_id": "1", "user_query": "fonts", "query_response_hit_ids": ["a", "b"]}',
    ...     '{"action_name": "click", "query_id": "1", "timestamp": "2025-03-03T10:00:02Z",'
    ...     ' "event_attributes": {"object": {"object_id": "b"}, "position": {"ordinal": 2}}}',
    ... ]
    >>> feedback = parse_ubi(lines)
    >>> feedback.factors.tolist()                  # clicks 1/2, ignored 1/2; the rest is never carried
    [[0.5, nan, nan, nan, nan, 0.5, nan, nan]]
    """
    reader = UbiReader(user_class, actions, closed_within, window, strict)
    reader.start("events")
    reader.feed(lines)
    return reader.feedback(phi)


def _lines(text: bytes) -> Iterable[str | None]:
    """Lines of a block; None for one that is not UTF-8."""
    try:
        lines: list[str | None] = [*text.decode().split("\n")]
    except UnicodeDecodeError:
        lines = [_decode(line) for line in text.split(b"\n")]
    if lines[-1] == "":  # a block ends with a line end
        del lines[-1]
    return lines


def _decode(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_usual_action = re.compile(
    r'\{"index": ?\{"_index": ?"([^"\\]*)", ?"_id": ?"([^"\\]+)"\}\}\s*'
).fullmatch
_scan: Callable[[str | None, int], tuple[Any, int]] = json.JSONDecoder(
    parse_constant=_refuse
).scan_once  # type: ignore[attr-defined]


class UbiReader:
    """Lines of logs in, Feedback out at any time: for logs that are not files, line by line.

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
        user_class: UserClass | None = None,
        actions: Mapping[str, str] = ACTIONS,
        closed_within: float = CLOSED_WITHIN_SECONDS,
        window: int = WINDOW_EVENTS,
        strict: bool = False,
    ) -> None:
        if not (isfinite(closed_within) and closed_within >= 0):
            raise UsageError(f"expected closed_within of 0 seconds or more, got {closed_within}")
        whole = isinstance(window, int | np.integer) and not isinstance(window, bool)
        if not whole or window < 2:
            raise UsageError(
                f"expected a window that is a whole number of 2 events or more, got {window!r}"
            )
        self._kinds, self._class_of = kind_codes(actions), class_reader(user_class)
        self._strict, self._closed_within = strict, float(closed_within)
        self._counts: Counter[str] = Counter()
        self._actions: dict[str, int] = {}
        self._open = OpenLists(int(window) // 2, self._closed_within, self._counts)
        self._sources: list[str] = []
        self._line = self._n_bulk = 0
        self._bulk: tuple[str, object] | None = None  # index and id of an action line just read
        self._first_wrong: MalformedLineError | None = None

    def start(self, source: str) -> None:
        """Lines come from here now: a file, a stream; its name is for messages."""
        self._sources.append(source)
        self._line, self._bulk = 0, None

    def feed(self, lines: Iterable[str | None]) -> None:
        """More lines of the source; None is a line that is not text."""
        if not self._sources:
            self.start("events")
        usual = usual_event if self._class_of is None else None  # a class may stand in any field
        for line in lines:
            self._line += 1
            if line is not None and not isinstance(line, str):
                raise UsageError(f"expected lines of text, got {line!r:.60}")
            # Half the lines of a bulk file: what is usual needs no parser.
            if line and line.startswith('{"index"') and (action := _usual_action(line)):
                self._n_bulk += 1
                self._bulk = action.groups()  # type: ignore[assignment]
                continue
            if usual is not None:
                try:
                    event = usual(line)
                except NOT_USUAL_ERRORS:
                    pass
                else:
                    bulk, self._bulk = self._bulk, None
                    self._event(event, None if bulk is None else bulk[1])
                    if self._open.room <= 0:
                        self._open.make_room()
                    continue
            try:
                record, end = _scan(line, 0)
            except (ValueError, StopIteration, RecursionError, TypeError):
                if line is None or (line := line.strip()):
                    self._feed_oddly(line)
                continue
            if end != len(line) and line[end:].strip():  # type: ignore[arg-type,index]
                self._malformed("one JSON object a line", line)
            elif type(record) is dict:
                self._record(record, line)
                if self._open.room <= 0:
                    self._open.make_room()
            else:
                self._malformed("a JSON object", line)

    def feedback(self, phi: PhiFunction | None = None) -> Feedback:
        """What was read so far, as feedback; reading may go on."""
        parts, open_counts = self._open.all_sums()
        counts = self._counts + open_counts
        queries, events = counts["queries"], sum(self._actions.values())
        source = ", ".join(self._sources)
        if queries + events == 0:
            wrong = counts["malformed"] + counts["missing_action"]
            content = (
                f"{wrong:,} lines of something else ({self._first_wrong})" if wrong else "none"
            )
            raise EmptyDataError(f"expected UBI queries and events, got {content}", path=source)
        log_counts = LogCounts(
            lines=counts["malformed"] + queries + events + counts["missing_action"] + self._n_bulk,
            events=events, actions=self._actions,
            unknown_actions={n: c for n, c in self._actions.items() if n not in self._kinds},
            **counts,
        )  # fmt: skip
        return Feedback.of_parts(parts, log_counts, phi, self._closed_within, source=source)

    def _feed_oddly(self, line: str | None) -> None:
        """A line that is no JSON as it stands: white space around it is allowed."""
        try:
            record, end = _scan(line, 0)
        except (ValueError, StopIteration, RecursionError, TypeError):
            self._malformed("JSON", line)
            return
        if end == len(line or "") and type(record) is dict:
            self._record(record, line)
            self._open.make_room()
        else:
            self._malformed("a JSON object", line)

    def _malformed(self, expected: str, line: str | None) -> None:
        """A line to leave aside, or to stop at."""
        got = "bytes that are not UTF-8" if line is None else repr(line[:60])
        self._wrong("malformed", expected, got)
        self._bulk = None

    def _wrong(self, count: str, expected: str, got: str) -> None:
        self._counts[count] += 1
        if self._strict or self._first_wrong is None:
            self._first_wrong = MalformedLineError(
                f"expected {expected}, got {got}", path=self._sources[-1], line=self._line
            )
        if self._strict:
            raise self._first_wrong

    def _record(self, record: dict[str, Any], line: str | None) -> None:
        """A query record, an event, or an action line of the bulk form."""
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
        index, ident = bulk or ("", None)
        if name is not None or index.endswith("events"):
            self._event(event_of(record), ident, record)
        elif index.endswith("queries") or "user_query" in record or "query_id" in record:
            self._query(record, ident)
        else:
            self._malformed("a UBI query or event", line)

    def _is_action(self, record: dict[str, Any]) -> bool:
        """Whether this is ``{"index": {"_index": ..., "_id": ...}}``, which speaks of the next line."""
        (name, about), *_ = record.items()
        if name not in ("index", "create", "update", "delete") or type(about) is not dict:
            return False
        self._n_bulk += 1
        if name in ("index", "create"):
            self._bulk = (str(about.get("_index", "")), about.get("_id"))
        return True

    def _event(self, event: UbiEvent, ident: object, record: dict[str, Any] | None = None) -> None:
        name = event.action_name
        if type(name) is not str or not name:
            self._wrong("missing_action", "an event with an action_name", f"{name!r}")
            return
        kind, actions = self._kinds.get(name), self._actions
        if kind is None:
            name = name if name in actions or len(actions) < MAX_ACTION_NAMES else OTHER_ACTIONS
            actions[name] = actions.get(name, 0) + 1
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
            self._wrong("missing_timestamp", "an event with a timestamp", f"{stamp!r:.60}")
        about = event.event_attributes or NO_ATTRIBUTES
        document = None if about.object is None else identifier_of(about.object.object_id)
        ordinal = nan if about.position is None else number_of(about.position.ordinal)
        dwell = self._dwell(about) if kind in _TIMED else nan
        ident = first_id(about.event_id, event.event_id, ident)
        if document is None and kind != _BACK and kind != _SEARCH:
            self._wrong("missing_object", f"a document (object_id) for {name!r}", "none")
            return
        if kind == _IMPRESSION and ordinal != ordinal:
            self._counts["missing_position"] += 1
        opened = self._open
        key = key_of(
            ident, event.session_id, event.client_id, query_id, name, document, ordinal, time, dwell
        )
        code = opened.event(query_id, key, document, kind, ordinal, time, dwell)
        if code < 0:
            self._counts["duplicates"] += 1
            return
        if record is not None or event.user_query != opened.texts[1].get(code):
            self._describe(code, event.user_query, record, False)

    def _query(self, query: dict[str, Any], ident: object) -> None:
        self._counts["queries"] += 1
        query_id, text = identifier_of(query.get("query_id")), text_of(query.get("user_query"))
        if query_id is None:
            self._wrong("missing_query_id", "a query with a query_id", "none")
            return
        opened, time = self._open, seconds_of(query.get("timestamp"))
        if time != time:
            self._counts["missing_timestamp"] += 1
        who = query.get("session_id"), query.get("client_id")
        key = key_of(ident, *who, query_id, None, text, nan, time, nan)
        if key is not None and opened.came_before(key):
            self._counts["duplicates"] += 1
            return
        code = opened.code(query_id)
        opened.query(code, time)
        hits = query.get("query_response_hit_ids")
        if type(hits) is not list:
            if hits is not None:
                expected = "query_response_hit_ids that are a list"
                self._wrong("malformed_hits", expected, f"{hits!r:.60}")
            hits = []
        opened.room -= 1 + len(hits)
        for place, hit in enumerate(hits, start=1):
            document = identifier_of(hit)
            if document is not None:
                opened.add(code, document, _HIT, place, nan, nan)
        self._describe(code, text, query, True)

    def _describe(
        self, code: int, text: object, record: dict[str, Any] | None, is_query: bool
    ) -> None:
        """What a record says of its list: the query's text, the user's class."""
        user_class = None if self._class_of is None or record is None else self._class_of(record)
        self._open.describe(code, text_of(text), identifier_of(user_class), is_query)

    def _dwell(self, attributes: UbiAttributes) -> float:
        """Seconds on the document, where the event says so."""
        for value, scale in ((attributes.dwell_ms, 1e-3), (attributes.dwell_time, 1.0)):
            if value is not None:
                dwell = number_of(value) * scale
                if 0 <= dwell <= LONGEST_DWELL_SECONDS:
                    return dwell
                self._counts["negative_dwell"] += 1
        return nan
