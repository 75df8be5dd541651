"""SessionCounts: how many sessions a log has, and how many were set aside, reason by reason."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

REASONS = {
    "missing_positions": "no position for a document: log the rank of every impression",
    "repeated_positions": "two documents at one position, or one document at two",
    "position_gaps": "a position is missing between the first and the last: impressions were lost",
    "positions_beyond_list": "a position is beyond the end of the list",
    "unshown_clicks": "a click on a document that the list did not show",
    "clock_errors": "a click comes before its query, or more than a day later: clocks differ",
    "missing_query": "the list has no query text and no query id",
    "malformed_clicks": "it cannot be read whether a document was clicked",
    "wrong_base_positions": "positions before the randomisation that are not different numbers from 1 on",
    "busy_users": "the user has more sessions than a person: a bot, or a shared id",
    "clicks_on_everything": "every document was clicked: a bot, or a test",
    "duplicate_sessions": "the same user, query, time, documents and clicks as an earlier session",
}
"""Why a session is set aside -> what that means."""

DOMINANT_SHARE = 0.5
"""A query with a larger share of the sessions than this decides the estimates almost alone."""
SET_ASIDE_SHARE = 0.2
"""If a larger share of the sessions is set aside than this, the rest may not be typical."""
CLICK_BIAS = 0.02
"""If faults set aside shares of sessions with and without clicks that differ by more, rates are wrong."""
NO_FAULTS = ("busy_users", "clicks_on_everything", "duplicate_sessions")
"""Reasons that concern bots and repeats; all others are faults of the log."""


@dataclass(frozen=True)
class SessionCounts:
    """Counts of records, of sessions, and of sessions that were set aside for each reason of ``REASONS``.

    A session that is wrong for several reasons counts for the first of them.

    Parameters
    ----------
    records
        Lines or rows that were read: queries and events, or impressions.
    sessions
        Sessions that were kept.
    malformed
        Records that could not be read, or lack a session, a document or an action.
    duplicates
        Records that came before.
    without_base_positions
        Kept sessions that lack the position of a document before the randomisation, if others have all.
    without_impressions
        Kept sessions that have hits but no impressions, so that it is unknown which hits users could see.
    visible_positions
        The number of hits that were taken as visible in those sessions; 0: all of them.
    clicks_beyond_visible
        Clicks beyond these positions, which were left out.
    untimed
        Sessions without a time, also those that were set aside.
    repeats_without_user
        Kept sessions of unknown users with the same query, time, documents and clicks as an earlier one.
    without_user
        Kept sessions of unknown users.
    quick_repeats
        Kept sessions with the documents and clicks of another of the same user, less than ten seconds later.
    with_clicks, set_aside_with_clicks
        Sessions with clicks that were kept, and that were set aside for a fault of the log.
    largest_query_share
        The share of the kept sessions that belongs to the most frequent query.
    """

    records: int = 0
    sessions: int = 0
    malformed: int = 0
    duplicates: int = 0
    missing_positions: int = 0
    repeated_positions: int = 0
    position_gaps: int = 0
    positions_beyond_list: int = 0
    unshown_clicks: int = 0
    clock_errors: int = 0
    missing_query: int = 0
    malformed_clicks: int = 0
    wrong_base_positions: int = 0
    busy_users: int = 0
    clicks_on_everything: int = 0
    duplicate_sessions: int = 0
    without_base_positions: int = 0
    without_impressions: int = 0
    visible_positions: int = 0
    clicks_beyond_visible: int = 0
    untimed: int = 0
    repeats_without_user: int = 0
    without_user: int = 0
    quick_repeats: int = 0
    with_clicks: int = 0
    set_aside_with_clicks: int = 0
    largest_query_share: float = 0.0
    largest_query: str = ""

    @property
    def set_aside(self) -> dict[str, int]:
        """The number of sessions that were set aside, for each reason that occurred.

        Examples
        --------
        >>> SessionCounts(sessions=7, busy_users=3).set_aside
        {'busy_users': 3}
        """
        counts = {reason: getattr(self, reason) for reason in REASONS}
        return {reason: n for reason, n in counts.items() if n}

    @property
    def messages(self) -> list[str]:
        """What the reader should know before trusting an estimate from these sessions.

        Examples
        --------
        >>> SessionCounts(sessions=7, busy_users=3).messages[-1]
        '30% of the sessions were set aside: the others may not be typical of the users'
        """
        lines = [
            f"{n:,} session{'s' * (n != 1)} set aside: {REASONS[r]}"
            for r, n in self.set_aside.items()
        ]
        if self.malformed:
            lines.append(f"records left out that cannot be read: {self.malformed:,}")
        if self.duplicates:
            lines.append(f"records left out that came before: {self.duplicates:,}")
        return [*lines, *self._doubts(), *self._biases()]

    def _doubts(self) -> list[str]:
        """Say what the log leaves open about sessions that were kept."""
        lines = []
        if self.without_base_positions:
            lines.append(
                f"sessions without the position of a document before the randomisation, which are of no "
                f"use to the method swaps: {self.without_base_positions:,}"
            )
        if self.without_impressions:
            lines.append(self._visibility())
        if self.untimed:
            lines.append(
                f"sessions without a time: {self.untimed:,}; all of them that belong to one user count as "
                "one day, and neither wrong clocks nor duplicates are noticed: log the time of queries"
            )
        if self.without_user:
            lines.append(
                f"sessions of unknown users: {self.without_user:,}; bots among them are not noticed unless "
                "they click on everything: log the user"
            )
        if self.quick_repeats:
            lines.append(
                f"sessions that repeat the documents and clicks of one of the same user within ten seconds: "
                f"{self.quick_repeats:,}; if they are reloads or duplicates they count twice: keep one "
                "query_id per list"
            )
        if self.repeats_without_user:
            lines.append(
                f"sessions of unknown users that repeat the query, time, documents and clicks of another: "
                f"{self.repeats_without_user:,}; if they are duplicates they count twice: log the user"
            )
        return lines

    def _visibility(self) -> str:
        """Say which documents of lists without impressions count as shown."""
        n = f"sessions without impressions: {self.without_impressions:,}"
        if not self.visible_positions:
            return (
                f"{n}; all their hits count as shown, also those that nobody saw, so click rates at low "
                "ranks are too low: log impressions, or say how many positions are visible (--visible of "
                "podium clicks sessions)"
            )
        n_unseen = self.clicks_beyond_visible
        left_out = f"; clicks beyond, left out: {n_unseen:,}" if n_unseen else ""
        return f"{n}; their first {self.visible_positions} hits count as shown{left_out}"

    def _biases(self) -> list[str]:
        """Say how the sessions that were kept differ from all sessions."""
        lines = []
        n_aside = sum(self.set_aside.values())
        share = n_aside / max(1, n_aside + self.sessions)
        if share > SET_ASIDE_SHARE:
            lines.append(
                f"{share:.0%} of the sessions were set aside: the others may not be typical of the users"
            )
        n_faulty = sum(n for reason, n in self.set_aside.items() if reason not in NO_FAULTS)
        clicked = _share(self.set_aside_with_clicks, self.with_clicks)
        others = _share(n_faulty - self.set_aside_with_clicks, self.sessions - self.with_clicks)
        if abs(clicked - others) > CLICK_BIAS:
            rates = "low" if clicked > others else "high"
            lines.append(
                f"{clicked:.0%} of the sessions with clicks were set aside, and {others:.0%} of those "
                f"without: the click rates of the rest are too {rates}"
            )
        if self.largest_query_share > DOMINANT_SHARE:
            lines.append(
                f"the query {self.largest_query!r:.80} has {self.largest_query_share:.0%} of the "
                "sessions: estimates describe this query, and intervals over queries are wide"
            )
        return lines

    def to_dict(self) -> dict[str, int | float | str]:
        """Return the counts as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, object]) -> SessionCounts:
        """Return counts from JSON, 0 for missing ones; raises ValueError for other names or types."""
        kinds = {f.name: type(f.default) for f in fields(cls)}
        if any(type(v) is not kinds.get(k) for k, v in values.items()):
            raise ValueError("counts of other names or types")
        return cls(**values)  # type: ignore[arg-type]


def _share(n_aside: int, n_kept: int) -> float:
    """Return the share of sessions that was set aside; 0 of none."""
    return n_aside / max(1, n_aside + n_kept)
