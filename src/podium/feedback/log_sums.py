"""LogSums: what was read from a log, or from a part of one; parts are joined exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from podium.errors import EmptyDataError, MalformedLineError
from podium.feedback.alpha import PhiFunction
from podium.feedback.feedback import Feedback
from podium.feedback.list_sums import ListSums
from podium.feedback.log_counts import LogCounts


@dataclass(frozen=True, eq=False)
class LogSums:
    """The sums of lists, and the counts of records and problems.

    Parameters
    ----------
    sources
        The names of the files.
    parts
        The sums of lists; a list may be in several parts.
    counts
        Counts by the names of `LogCounts`.
    actions, unknown
        Events by the name of their action, and which names are unknown.
    n_bulk
        The number of action lines of the bulk form.
    first_error
        The first line that could not be read, if there is one.
    """

    sources: tuple[str, ...]
    parts: tuple[ListSums, ...]
    counts: Mapping[str, int]
    actions: Mapping[str, int]
    unknown: frozenset[str]
    n_bulk: int
    first_error: MalformedLineError | None

    @classmethod
    def join(cls, sums: Sequence[LogSums]) -> LogSums:
        """Return the sums of the parts of a log together."""
        counts, actions = Counter[str](), Counter[str]()
        for one in sums:
            counts.update(one.counts)
            actions.update(one.actions)
        errors = [one.first_error for one in sums if one.first_error is not None]
        return cls(
            tuple(dict.fromkeys(source for one in sums for source in one.sources)),
            tuple(part for one in sums for part in one.parts), counts, actions,
            frozenset[str]().union(*(one.unknown for one in sums)), sum(one.n_bulk for one in sums),
            errors[0] if errors else None,
        )  # fmt: skip

    def query_ids(self) -> Iterator[str]:
        """Yield the id of each list; that of a list in several parts more than once."""
        for part in self.parts:
            yield from part.query_ids

    def feedback(self, phi: PhiFunction | None, closed_within: float) -> Feedback:
        """Return the eight factors and alpha of every list."""
        counts = Counter(self.counts)
        queries, events = counts["queries"], sum(self.actions.values())
        source = ", ".join(self.sources)
        if queries + events == 0:
            n_wrong = counts["malformed"] + counts["missing_action"]
            content = f"{n_wrong:,} other lines ({self.first_error})" if n_wrong else "none"
            raise EmptyDataError(f"expected UBI queries and events, got {content}", path=source)
        log_counts = LogCounts(
            lines=counts["malformed"] + queries + events + counts["missing_action"] + self.n_bulk,
            events=events, actions=self.actions,
            unknown_actions={n: c for n, c in self.actions.items() if n in self.unknown},
            **counts,
        )  # fmt: skip
        return Feedback.of_parts(self.parts, log_counts, phi, closed_within, source=source)
