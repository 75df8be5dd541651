"""LogCounts: counts of the records of a log, and of its problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

MAX_ACTION_NAMES = 1000
"""The maximum number of different action names; a hostile log may have one per event."""

OTHER_ACTIONS = "(others)"


@dataclass(frozen=True)
class LogCounts:
    """Counts of records, and of all problems.

    Parameters
    ----------
    lines
        Lines that are not blank.
    queries
        Query records, including duplicates.
    events
        Events, including duplicates.
    actions
        Events by the name of their action.
    unknown_actions
        Events with unknown action names: left out.
    malformed
        Lines that are not a JSON object, or not a query, event or bulk action: left out.
    duplicates
        Repeated queries and events: left out.
    missing_query_id
        Queries and events without a list: left out.
    missing_action
        Events without an action name: left out.
    missing_timestamp
        Events and queries without a readable time; they count, but have no dwell time.
    missing_object
        Events on a document that do not name it: left out. (A return to the list needs no document.)
    malformed_hits
        Query records whose query_response_hit_ids are not a list: they count, but without these
        documents.
    missing_position
        Impressions without an ordinal; their documents never count as ignored.
    before_query
        Events on documents with a time before that of their query: clocks differ. They count.
    exit_before_view
        Exits before the view: clocks differ. They count if they state a dwell time.
    exit_without_view
        Exits without a view that state no dwell time: left out.
    negative_dwell
        Dwell times that are below 0, too long, or not a number: left out.
    class_conflicts
        Lists with several user classes: the query record decides, otherwise the first in
        alphabetical order.
    split_lists
        Cuts in lists whose events are further apart than the window. The parts are added up, but
        duplicates and dwell times across a cut are lost.
    lists_without_query
        Lists with events but without a query record. They count.
    lists_without_documents
        Lists without any document: left out.
    """

    lines: int = 0
    queries: int = 0
    events: int = 0
    actions: Mapping[str, int] = field(default_factory=dict)
    unknown_actions: Mapping[str, int] = field(default_factory=dict)
    malformed: int = 0
    duplicates: int = 0
    missing_query_id: int = 0
    missing_action: int = 0
    missing_timestamp: int = 0
    missing_object: int = 0
    malformed_hits: int = 0
    missing_position: int = 0
    before_query: int = 0
    exit_before_view: int = 0
    exit_without_view: int = 0
    negative_dwell: int = 0
    class_conflicts: int = 0
    split_lists: int = 0
    lists_without_query: int = 0
    lists_without_documents: int = 0

    def __post_init__(self) -> None:
        for name in ("actions", "unknown_actions"):
            table = sorted(getattr(self, name).items(), key=lambda item: (-item[1], item[0]))
            object.__setattr__(self, name, MappingProxyType(dict(table)))

    def __add__(self, other: LogCounts) -> LogCounts:
        """Return the counts of two logs together."""
        both = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        added: dict[str, Any] = {
            name: a + b if isinstance(a, int) else Counter(a) + Counter(b)
            for name, (a, b) in both.items()
        }
        return LogCounts(**added)

    def to_dict(self) -> dict[str, int | dict[str, int]]:
        """Return the counts as JSON."""
        values = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: v if isinstance(v, int) else dict(v) for name, v in values}

    @property
    def problems(self) -> dict[str, int]:
        """The counts of problems, without zeros.

        Examples
        --------
        >>> LogCounts(events=3, duplicates=1, unknown_actions={"hover": 2}).problems
        {'unknown_actions': 2, 'duplicates': 1}
        """
        counts = {f.name: getattr(self, f.name) for f in fields(self)[4:]}
        totals = {k: v if isinstance(v, int) else sum(v.values()) for k, v in counts.items()}
        return {name: n for name, n in totals.items() if n}
