"""ClickSessions: lists that users saw, and what they clicked, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.clicks.document_pairs import DocumentPairs
from podium.clicks.session_counts import SessionCounts
from podium.data import Groups, check_seed
from podium.data.argument_checks import to_array
from podium.errors import DataError, EmptyDataError, UsageError
from podium.feedback.list_sums import StringCodes
from podium.typing import Bools, Floats, Ints


@dataclass(frozen=True, eq=False, repr=False)
class ClickSessions:
    """Sessions: one list that one user saw for one query, each with its documents in order.

    A row is a document of a list. The first row of a session is at position 1, and no position is missing.

    Parameters
    ----------
    groups
        The rows of each session.
    query
        The query of each session, by its text or its id.
    doc
        The document of each row.
    click_order
        1 for the document that was clicked first, 2 for the next, ...; 0 without a click.
    time
        Seconds since 1970 of each session; NaN if the log does not say.
    variant, user_class
        The ranker (or version) that served each session, and the class of its user; or None.
    base_positions
        The position of each row before the logger's own randomisation (swaps, shuffles), from 1, if the log
        says; 0 in all rows of a session that lacks one.
    counts
        What was read, and what was set aside.

    Examples
    --------
    >>> sessions = ClickSessions.from_lists(["tea", "tea"], [["a", "b"], ["b", "a"]], [["b"], []])
    >>> sessions
    ClickSessions(2 sessions, 1 query, 2 documents, 4 impressions, 1 click)
    >>> sessions.positions.tolist(), sessions.clicked.tolist()
    ([1, 2, 1, 2], [False, True, False, False])
    """

    groups: Groups
    query: StringCodes
    doc: StringCodes
    click_order: NDArray[np.int16]
    time: Floats
    variant: StringCodes
    user_class: StringCodes
    base_positions: Ints | None = None
    counts: SessionCounts = field(default_factory=SessionCounts)

    @classmethod
    def from_lists(
        cls,
        queries: Sequence[str],
        lists: Sequence[Sequence[str]],
        clicks: Sequence[Sequence[str]],
        *,
        variants: Sequence[str | None] | None = None,
    ) -> ClickSessions:
        """Return sessions from the documents of each list, and its clicked documents in order."""
        n = len(queries)
        if not n == len(lists) == len(clicks):
            raise DataError(f"expected {n} lists and clicks, got {len(lists)} and {len(clicks)}")
        order: list[int] = []
        for documents, clicked in zip(lists, clicks, strict=True):
            if not set(clicked) <= set(documents) or len(set(documents)) < len(documents):
                raise DataError(f"expected clicks in a list without repeats, got {documents!r:.80}")
            order += [clicked.index(d) + 1 if d in clicked else 0 for d in documents]
        empty = [None] * n
        return cls(
            Groups.from_sizes([len(documents) for documents in lists]), StringCodes.of(queries),
            StringCodes.of([d for documents in lists for d in documents]),
            np.array(order, dtype=np.int16), np.full(n, np.nan),
            StringCodes.of(empty if variants is None else variants), StringCodes.of(empty),
            counts=SessionCounts(records=len(order), sessions=n),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        parts = [
            _counted(len(self), "session"), _counted(len(np.unique(self.query.codes)), "query"),
            _counted(len(np.unique(self.doc.codes)), "document"),
            _counted(self.groups.n_rows, "impression"), _counted(int(self.clicked.sum()), "click"),
        ]  # fmt: skip
        if self.variant.table:
            parts.append(f"variants: {', '.join(self.variant.table[:5])}")
        return f"ClickSessions({', '.join(parts)})"

    @cached_property
    def clicked(self) -> Bools:
        """Whether each document was clicked."""
        return self.click_order > 0

    @property
    def positions(self) -> Ints:
        """The position of each row, from 1."""
        return self.groups.places + 1

    @property
    def has_base(self) -> Bools:
        """Whether each session has the positions before the randomisation."""
        if self.base_positions is None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.groups.reduce(np.minimum, self.base_positions) > 0)

    @property
    def depth(self) -> int:
        """The length of the longest list."""
        return int(self.groups.sizes.max(initial=0))

    @cached_property
    def pairs(self) -> tuple[DocumentPairs, Ints]:
        """The different pairs of query and document, and the number of the pair of each row."""
        return DocumentPairs.of(self.query, self.doc, self.groups)

    def take(self, sessions: ArrayLike) -> ClickSessions:
        """Return these sessions, in this order."""
        numbers = to_array(sessions, "session numbers", np.int64)
        groups, rows = self.groups.take(numbers)
        base = self.base_positions
        counts = replace(self.counts, sessions=len(numbers))
        return ClickSessions(
            groups, self.query.take(numbers), self.doc.take(rows), self.click_order[rows],
            self.time[numbers], self.variant.take(numbers), self.user_class.take(numbers),
            None if base is None else base[rows], counts,
        )  # fmt: skip

    def by_query(self) -> tuple[ClickSessions, Groups]:
        """Return the sessions query by query, and the sessions of each query."""
        groups, order = Groups.from_codes(self.query.codes, len(self.query.table))
        return (self if order is None else self.take(order)), groups

    def split(self, share: float = 0.8, *, seed: int = 0) -> tuple[ClickSessions, ClickSessions]:
        """Return a random share of the sessions, and the others: to fit on one and measure on the other.

        Examples
        --------
        >>> one, other = ClickSessions.from_lists(["q"] * 10, [["a"]] * 10, [[]] * 10).split(0.7)
        >>> len(one), len(other)
        (7, 3)
        """
        check_seed(seed)
        n_first = round(share * len(self))
        if not 0 < n_first < len(self):
            raise UsageError(f"expected a share that leaves sessions in both parts, got {share}")
        order = np.random.default_rng(seed).permutation(len(self))
        return self.take(np.sort(order[:n_first])), self.take(np.sort(order[n_first:]))

    def with_clicks(self, clicked: Bools) -> ClickSessions:
        """Return the same lists with these clicks, in the order of the positions."""
        self.groups.check(clicked, "clicks")
        total = np.concatenate([[0], np.cumsum(clicked)])
        order = np.where(
            clicked, total[1:] - self.groups.spread(total[self.groups.offsets[:-1]]), 0
        )
        return replace(self, click_order=order.astype(np.int16))

    def require_sessions(self) -> None:
        """Raise EmptyDataError if there are no sessions, or no documents in any."""
        if len(self) == 0:
            reasons = "; ".join(self.counts.messages)
            raise EmptyDataError(f"expected sessions, got none{reasons and f' ({reasons})'}")
        if self.groups.n_rows == 0:
            raise EmptyDataError("expected lists with documents, got empty lists only")


def _counted(n: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"
