"""Feedback: lists with their factors and alpha, documents with their gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data import Groups, RankingData, Strings
from podium.data.trec import match
from podium.errors import DataError, EmptyDataError, UsageError
from podium.feedback.actions import FACTORS
from podium.feedback.list_sums import ListSums, combine
from podium.feedback.log_counts import LogCounts
from podium.feedback.phi import Phi, PhiFunction, checked
from podium.feedback.sources import check_sizes

Floats = NDArray[np.float64]

_COUNTED = (
    "clicks", "bookmarks", "dwell", "downloads", "shares", None, "back", "closed",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class FeedbackSummary:
    """Means over lists, a row for each query or each class; None is the population.

    Factors that the log never carries are NaN.
    """

    kind: str
    names: tuple[str | None, ...]
    n_lists: NDArray[np.int64]
    n_documents: NDArray[np.int64]
    factors: Floats
    alpha: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Feedback:
    """What users did with the lists they were shown: eight factors and alpha in [0, 1] for each list.

    mu_j of a list is the mean over its documents of what happened to them (``reactions``): clicks,
    bookmarks, seconds of dwell, downloads, shares; ignored (shown above a clicked document, and left
    alone), returns by the back button, closings within `closed_within` seconds. alpha = phi(mu).
    Columns of factors that a log never carries are NaN. (CFBRS, Definition 4.)

    Lists come by query id, documents by their position. Made by ``read_ubi``.

    Parameters
    ----------
    list_sums
        Sums by list and document.
    carried
        Which of the eight factors the log carries.
    counts
        What was read, and what was wrong.
    phi
        The function that made alpha.
    closed_within
        Seconds within which a document that is closed counts as closed at once.
    """

    list_sums: ListSums
    carried: NDArray[np.bool_]
    counts: LogCounts
    phi: PhiFunction
    closed_within: float

    def __post_init__(self) -> None:
        _ = self.alphas  # a phi that does not do is told at once

    @classmethod
    def of_parts(
        cls, parts: Sequence[ListSums], counts: LogCounts, phi: PhiFunction | None = None,
        closed_within: float = 5.0, *, source: str | None = None,
    ) -> Feedback:  # fmt: skip
        """Put together what was read in parts; lists of which no document is known are left out."""
        if not parts:
            raise EmptyDataError("expected events of lists, got none with a query id", path=source)
        whole = combine(parts)
        list_sums = whole.presented()
        if len(list_sums.groups) == 0:
            raise EmptyDataError(
                f"expected lists with documents, got {len(whole.groups):,} lists and no document",
                path=source,
            )
        counts = replace(
            counts,
            split_lists=counts.split_lists + sum(len(p.groups) for p in parts) - len(whole.groups),
            lists_without_query=int((~whole.has_record).sum()),
            lists_without_documents=len(whole.groups) - len(list_sums.groups),
        )
        return cls(
            list_sums, _carried(list_sums), counts, Phi() if phi is None else phi, closed_within
        )

    def __len__(self) -> int:
        return len(self.list_sums.groups)

    def __repr__(self) -> str:
        carried = ", ".join(name for name, c in zip(FACTORS, self.carried, strict=True) if c)
        n = self.list_sums.groups.n_rows
        lists = f"{len(self):,} list{'s' * (len(self) != 1)}, {n:,} document{'s' * (n != 1)}"
        classes = f"classes: {', '.join(self.classes)}, " if self.classes else ""
        return f"Feedback({lists}, {classes}carried: {carried or 'none'})"

    @property
    def groups(self) -> Groups:
        """Which documents belong to which list."""
        return self.list_sums.groups

    @cached_property
    def query_ids(self) -> NDArray[np.object_]:
        """The query id of each list."""
        return self.list_sums.query_ids.to_array()

    @cached_property
    def queries(self) -> NDArray[np.object_]:
        """The text of each list's query, or None."""
        return self.list_sums.text.to_array()

    @cached_property
    def user_classes(self) -> NDArray[np.object_]:
        """The user class of each list, or None."""
        return self.list_sums.user_class.to_array()

    @property
    def classes(self) -> tuple[str, ...]:
        """The user classes that have lists, by name."""
        table, codes = self.list_sums.user_class.table, self.list_sums.user_class.codes
        return tuple(table[c] for c in np.unique(codes[codes >= 0]).tolist())

    @cached_property
    def docids(self) -> NDArray[np.object_]:
        """The id of each document."""
        return self.list_sums.docs.to_array()

    @cached_property
    def positions(self) -> Floats:
        """Where each document stood in its list, or NaN; logs count from 0 or from 1."""
        return self.list_sums.positions

    @cached_property
    def reactions(self) -> Floats:
        """What happened to each document: (documents, 8), NaN in columns that are never carried."""
        columns = [self.list_sums.ignored if c is None else self.list_sums[c] for c in _COUNTED]
        return np.where(self.carried, np.stack(columns, axis=1).astype(np.float64), np.nan)

    @cached_property
    def factors(self) -> Floats:
        """mu_1..mu_8 of each list: (lists, 8), NaN in columns that are never carried."""
        mu = self.groups.reduce(np.add, self.reactions)
        mu[:, FACTORS.index("back")] += self.list_sums.returns
        return np.asarray(mu / self.groups.sizes[:, None])

    @cached_property
    def alphas(self) -> Floats:
        """phi of each list's factors."""
        return checked(self.phi, self.factors)

    @cached_property
    def gains(self) -> Floats:
        """What each document was worth, in [0, 1]: how far what happened to it lifts phi.

        (phi(its reactions) - phi(none)) / (1 - phi(none)), and 0 where that is below: a document that
        nobody touched, or that was rather disliked, gains nothing.
        """
        nothing = float(checked(self.phi, np.where(self.carried, 0.0, np.nan)[None, :])[0])
        lift = checked(self.phi, self.reactions) - nothing
        return np.maximum(lift, 0.0) / (1 - nothing) if nothing < 1 else np.zeros_like(lift)

    def of_class(self, user_class: str | None) -> Feedback:
        """The lists of one user class; None: of the whole population."""
        if user_class is None:
            return self
        table = self.list_sums.user_class.table
        code = table.index(user_class) if user_class in table else -2
        lists = np.flatnonzero(self.list_sums.user_class.codes == code)
        if len(lists) == 0:
            raise DataError(
                f"expected a user class with feedback ({', '.join(self.classes) or 'there is none'}), "
                f"got {user_class!r}"
            )
        return replace(self, list_sums=self.list_sums.take(lists))

    def by_class(self) -> dict[str, Feedback]:
        """Each user class with its lists."""
        return {name: self.of_class(name) for name in self.classes}

    def summary(self, by: str = "query") -> FeedbackSummary:
        """Mean factors and alpha over the lists of each query (by text), or of each user class."""
        if by not in ("query", "class"):
            raise UsageError(f"expected a summary by 'query' or 'class', got {by!r}")
        column = self.list_sums.text if by == "query" else self.list_sums.user_class
        codes, rows = np.unique(column.codes, return_inverse=True)
        rows = rows.reshape(-1)
        n_lists = np.bincount(rows)
        order = np.argsort(rows, kind="stable")
        groups = Groups.from_sizes(n_lists)

        def mean(values: Floats) -> Floats:
            return (groups.reduce(np.add, values[order]).T / n_lists).T

        return FeedbackSummary(
            by,
            tuple(None if c < 0 else column.table[c] for c in codes.tolist()),
            n_lists,
            groups.reduce(np.add, self.groups.sizes[order]).astype(np.int64),
            mean(self.factors),
            mean(self.alphas),
        )

    def merge(self, other: Feedback) -> Feedback:
        """This feedback and more of it: lists that stand in both add up.

        A factor that one of the two logs carries counts in both.
        """
        for name in ("phi", "closed_within"):
            if getattr(self, name) != getattr(other, name):
                raise UsageError(
                    f"expected feedback made with the same {name}, "
                    f"got {getattr(self, name)} and {getattr(other, name)}"
                )
        list_sums = combine([self.list_sums, other.list_sums]).presented()
        carried = self.carried | other.carried | _carried(list_sums)
        return Feedback(
            list_sums, carried, self.counts + other.counts, self.phi, self.closed_within
        )

    def alpha(self, sizes: Sequence[int] | ArrayLike) -> float:
        """The feedback on a composition: the mean alpha of all lists, whatever its blocks.

        A log does not say which composition made a list; ``of_class`` gives that of a class.
        """
        check_sizes(sizes)
        return float(self.alphas.mean())

    def labels(
        self, data: RankingData, user_class: str | None = None,
        queries: Mapping[str, str] | None = None,
    ) -> Floats:  # fmt: skip
        """A label for each row of data: the mean gain of its document, over lists that showed it.

        NaN where the document was never shown for its query. A list belongs to the query whose text is
        the list's or, failing that, whose qid is the list's text or its query id.

        Parameters
        ----------
        user_class
            Only lists of this class; None: all lists.
        queries
            Text (or query id) of lists -> qid of the data, where they are not the same.
        """
        own = self.of_class(user_class)
        row_codes = own.groups.spread(own.query_numbers(data, queries))
        matched = np.flatnonzero(row_codes >= 0)
        labels = np.full(len(data), np.nan)
        if len(matched) == 0:
            return labels
        docids = Strings.of(own.docids[matched].tolist())
        at = match(
            row_codes[matched], docids, data.groups.codes, data.require_docids("joining feedback")
        )
        in_data = at >= 0
        shown = np.bincount(at[in_data], minlength=len(data))
        gain = np.bincount(at[in_data], own.gains[matched][in_data], minlength=len(data))
        labels[shown > 0] = gain[shown > 0] / shown[shown > 0]
        return labels

    def query_alphas(
        self, data: RankingData, user_class: str | None = None,
        queries: Mapping[str, str] | None = None,
    ) -> Floats:  # fmt: skip
        """The mean alpha of the lists of each query of data; NaN where there is none.

        Parameters
        ----------
        user_class, queries
            As in ``labels``.
        """
        own = self.of_class(user_class)
        codes = own.query_numbers(data, queries)
        matched = codes >= 0
        n = np.bincount(codes[matched], minlength=data.n_queries)
        total = np.bincount(codes[matched], own.alphas[matched], minlength=data.n_queries)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    def query_numbers(
        self, data: RankingData, queries: Mapping[str, str] | None
    ) -> NDArray[np.int64]:
        """Return the number of each list's query in data; -1 where it is none of them."""
        number = _query_numbers(data, queries)
        ids, texts = self.query_ids.tolist(), self.queries.tolist()
        numbers = [number.get(t, number.get(i, -1)) for i, t in zip(ids, texts, strict=True)]
        return np.array(numbers, dtype=np.int64)


def _carried(list_sums: ListSums) -> NDArray[np.bool_]:
    """Which factors a log carries: those of which it has an event at all."""
    clicked = list_sums["clicks"] > 0
    opened = bool(list_sums["openings"].any())
    special = {
        "dwell": opened,
        "closed": opened,
        "ignored": bool((clicked & np.isfinite(list_sums.positions)).any()),
        "back": bool(list_sums["back"].any() or list_sums.returns.any()),
    }
    return np.array(
        [special[f] if f in special else bool(list_sums[f].any()) for f in FACTORS], dtype=bool
    )


def _query_numbers(data: RankingData, queries: Mapping[str, str] | None) -> dict[str, int]:
    """Names of lists -> number of the query in the data."""
    by_qid = {str(qid): q for q, qid in enumerate(data.qids.tolist())}
    if queries is not None:
        missing = [qid for qid in queries.values() if str(qid) not in by_qid]
        if missing:
            raise DataError(f"expected qids of the data, got {missing[0]!r}")
        return {name: by_qid[str(qid)] for name, qid in queries.items()}
    texts = {} if data.query_text is None else {t: q for q, t in enumerate(data.query_text) if t}
    return by_qid | texts
