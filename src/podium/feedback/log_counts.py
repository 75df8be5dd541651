"""What was in a log, and what was wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

MAX_ACTION_NAMES = 1000
"""Different action names that are told apart; a hostile log may have as many as events."""

OTHER_ACTIONS = "(others)"


@dataclass(frozen=True)
class LogCounts:
    """Counts of what was read, and of everything that was not as it should be.

    Parameters
    ----------
    lines
        Lines that are not blank.
    queries
        Query records, duplicates included.
    events
        Events, duplicates included.
    actions
        Events by the name of their action.
    unknown_actions
        Those of them that the table of actions does not know: left aside.
    malformed
        Lines that are no JSON object, or no query, event or bulk action: left aside.
    duplicates
        Queries and events that came before: left aside.
    missing_query_id
        Queries and events that belong to no list: left aside.
    missing_action
        Events without a name of their action: left aside.
    missing_timestamp
        Events and queries without a time that can be read; they count, but have no dwell time.
    missing_object
        Events on a document that do not say which: left aside. (A return to the list needs none.)
    malformed_hits
        Query records whose query_response_hit_ids are no list: they count, without these documents.
    missing_position
        Impressions without an ordinal; their documents are never taken as ignored.
    before_query
        Events on documents with a time before that of their query: clocks differ. They count.
    exit_before_view
        Documents left before they were opened: clocks differ. They count where they say their dwell.
    exit_without_view
        Documents left that were never opened and do not say their dwell: left aside.
    negative_dwell
        Dwell times below 0 (or no number, or longer than any): left aside.
    class_conflicts
        Lists that name several user classes: the query record decides, then the first by name.
    split_lists
        Cuts in lists whose events lay further apart than the window: the parts are added up, but
        duplicates and openings are not followed across a cut.
    lists_without_query
        Lists that only events speak of. They count.
    lists_without_documents
        Lists of which no document is known: left aside.
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
        """The counts of two logs."""
        both = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        added: dict[str, Any] = {
            name: a + b if isinstance(a, int) else Counter(a) + Counter(b)
            for name, (a, b) in both.items()
        }
        return LogCounts(**added)

    def to_dict(self) -> dict[str, int | dict[str, int]]:
        """For JSON."""
        values = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: v if isinstance(v, int) else dict(v) for name, v in values}

    @property
    def problems(self) -> dict[str, int]:
        """What was not as it should be, with how often; only what happened.

        Examples
        --------
        >>> LogCounts(events=3, duplicates=1, unknown_actions={"hover": 2}).problems
        {'unknown_actions': 2, 'duplicates': 1}
        """
        counts = {f.name: getattr(self, f.name) for f in fields(self)[4:]}
        totals = {k: v if isinstance(v, int) else sum(v.values()) for k, v in counts.items()}
        return {name: n for name, n in totals.items() if n}
