"""Read UBI logs (User Behavior Insights 1.3): NDJSON files or lines, plain or in bulk form."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from podium.data.text_files import Progress
from podium.errors import UsageError
from podium.feedback.actions import ACTIONS
from podium.feedback.alpha import PhiFunction
from podium.feedback.dwell_time import CLOSED_WITHIN_SECONDS
from podium.feedback.feedback import Feedback
from podium.feedback.logs_on_workers import UbiSettings, read_lines, read_on_workers
from podium.feedback.ubi_reader import WINDOW_EVENTS, UbiReader
from podium.feedback.user_classes import UserClassSource
from podium.task_runner import current_runner
from podium.typing import Path_


def read_ubi(
    paths: Path_ | Sequence[Path_],
    *,
    user_class: UserClassSource | None = None,
    actions: Mapping[str, str] = ACTIONS,
    phi: PhiFunction | None = None,
    closed_within: float = CLOSED_WITHIN_SECONDS,
    window: int = WINDOW_EVENTS,
    strict: bool = False,
    progress: Progress | None = None,
) -> Feedback:
    """Read UBI logs; return the eight factors and alpha of every list (one list per query_id).

    Query records and events may be in one file or in several, in any order. They may be plain (one
    per line), in bulk form (with action lines between them) or search hits (``{"_id": ...,
    "_source": {...}}``). Files may be compressed, according to their endings. Times are ISO 8601
    (UTC by default) or numbers: milliseconds since 1970, or seconds if the time in milliseconds
    would be before 1973.

    An event is a duplicate if its id is repeated: ``event_id`` of its attributes or of the event,
    otherwise the bulk or hit ``_id``. An event without an id is a duplicate if query, action,
    document, position, time, session, client and dwell are all repeated. The order of events and
    duplicates do not change the result if the events of a list lie within `window`. A list stays
    open for at least ``window / 2`` events (and hits of query records) after its first event. Later
    events are added to it, but not compared with earlier ones. Memory depends on the window and the
    result, not on the number of events.

    On a cluster, each worker reads whole files, which it needs at the same path. The result is the same.

    Parameters
    ----------
    user_class
        The source of the user class: a path such as ``"query_attributes.user_class"`` or
        ``"event_attributes.segment"``, a table of users (user_id or client_id -> class, see
        ``read_classes``), or a function of the record. Lists without a class count only for all
        users.
    actions
        Names of actions -> kinds; by default ``ACTIONS``.
    phi
        The factors (n, 8) -> alpha in [0, 1]; ``Phi()`` by default.
    closed_within
        A document that is closed within this many seconds counts as closed at once (mu_8).
    window
        The number of events within which duplicates are detected and dwell times are measured.
    strict
        Whether to stop at the first line that is malformed or lacks a required field, instead of
        counting it.
    progress
        Called with the number of bytes of text read since the last call.
    """
    names = [os.fspath(p) for p in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not names:
        raise UsageError("there is no file of events; expected at least one")
    settings = UbiSettings(user_class, actions, closed_within, window, strict)
    reader = settings.reader()
    if current_runner() is not None and len(names) > 1:
        sums = read_on_workers(names, settings, progress)
        if sums is not None:
            return sums.feedback(phi, float(closed_within))
        progress = None  # it has seen all bytes
    for name in names:
        reader.start(name)
        for lines, n_bytes in read_lines(name):
            reader.feed(lines)
            if progress is not None:
                progress(n_bytes)
    return reader.feedback(phi)


def parse_ubi(
    lines: Iterable[str],
    *,
    user_class: UserClassSource | None = None,
    actions: Mapping[str, str] = ACTIONS,
    phi: PhiFunction | None = None,
    closed_within: float = CLOSED_WITHIN_SECONDS,
    window: int = WINDOW_EVENTS,
    strict: bool = False,
) -> Feedback:
    """Read a UBI log from lines of text; see ``read_ubi``.

    Examples
    --------
    >>> lines = [
    ...     '{"query_id": "1", "user_query": "fonts", "query_response_hit_ids": ["a", "b"]}',
    ...     '{"action_name": "click", "query_id": "1", "timestamp": "2025-03-03T10:00:02Z",'
    ...     ' "event_attributes": {"object": {"object_id": "b"}, "position": {"ordinal": 2}}}',
    ... ]
    >>> feedback = parse_ubi(lines)
    >>> feedback.factors.tolist()                  # clicks 1/2, ignored 1/2; the log lacks the rest
    [[0.5, nan, nan, nan, nan, 0.5, nan, nan]]
    """
    reader = UbiReader(user_class, actions, closed_within, window, strict)
    reader.start("events")
    reader.feed(lines)
    return reader.feedback(phi)
