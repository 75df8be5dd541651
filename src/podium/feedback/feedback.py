"""Feedback: lists with their factors and alpha, documents with their gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data import Groups, RankingData, Strings
from podium.data.trec import match_documents
from podium.errors import DataError, EmptyDataError, UsageError
from podium.feedback.alpha import Phi, PhiFunction, apply_phi, check_sizes
from podium.feedback.dwell_time import CLOSED_WITHIN_SECONDS
from podium.feedback.factor_figures import draw_alphas, draw_factor
from podium.feedback.factors import FACTORS, carried_factors, document_reactions, list_factors
from podium.feedback.list_sums import ListSums, combine
from podium.feedback.log_counts import LogCounts
from podium.figure_style import new_axes
from podium.html_tables import html_table
from podium.typing import Floats

MAX_DRAWN_CLASSES = 12
"""The maximum number of classes in a picture: those with the most lists."""


@dataclass(frozen=True, eq=False)
class FeedbackSummary:
    """Means over lists, one row per query or per user class; None means all users.

    Factors that the log lacks are NaN.
    """

    kind: str
    names: tuple[str | None, ...]
    n_lists: NDArray[np.int64]
    n_documents: NDArray[np.int64]
    factors: Floats
    alpha: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Feedback:
    """The reactions of users to ranked lists: eight factors, and alpha in [0, 1], for each list.

    mu_j of a list is the mean of the ``reactions`` over its documents: clicks, bookmarks, dwell
    time in seconds, downloads, shares, ignored (shown above a clicked document and not used),
    returns by the back button, closings within `closed_within` seconds. alpha = phi(mu). Columns of
    factors that a log lacks are NaN. (CFBRS, Definition 4.)

    Lists are in the order of their query ids, documents in the order of their positions.
    ``read_ubi`` returns a Feedback.

    Parameters
    ----------
    list_sums
        Sums by list and document.
    carried
        Which of the eight factors the log carries.
    counts
        Counts of records and of problems.
    phi
        The function from factors to alpha.
    closed_within
        A document that is closed within this many seconds counts as closed at once.
    propensities
        The probability of a look at each rank, by which reactions are divided; None: they are not. See
        ``with_propensities``.
    """

    list_sums: ListSums
    carried: NDArray[np.bool_]
    counts: LogCounts
    phi: PhiFunction
    closed_within: float
    propensities: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        _ = self.alphas  # raise at once for a wrong phi

    @classmethod
    def of_parts(
        cls, parts: Sequence[ListSums], counts: LogCounts, phi: PhiFunction | None = None,
        closed_within: float = CLOSED_WITHIN_SECONDS, *, source: str | None = None,
    ) -> Feedback:  # fmt: skip
        """Combine parts of a log; lists without documents are left out."""
        if not parts:
            raise EmptyDataError("no event has a query id; expected events of lists", path=source)
        combined = combine(parts)
        list_sums = combined.presented()
        if len(list_sums.groups) == 0:
            raise EmptyDataError(
                f"the {len(combined.groups):,} lists have no documents; expected at least one",
                path=source,
            )
        counts = replace(
            counts,
            split_lists=counts.split_lists
            + sum(len(p.groups) for p in parts)
            - len(combined.groups),
            lists_without_query=int((~combined.has_record).sum()),
            lists_without_documents=len(combined.groups) - len(list_sums.groups),
        )
        return cls(
            list_sums,
            carried_factors(list_sums),
            counts,
            Phi() if phi is None else phi,
            closed_within,
        )

    def __len__(self) -> int:
        return len(self.list_sums.groups)

    def __repr__(self) -> str:
        carried = ", ".join(name for name, c in zip(FACTORS, self.carried, strict=True) if c)
        n = self.list_sums.groups.n_rows
        lists = f"{len(self):,} list{'s' * (len(self) != 1)}, {n:,} document{'s' * (n != 1)}"
        classes = f"classes: {', '.join(self.classes)}, " if self.classes else ""
        return f"Feedback({lists}, {classes}carried: {carried or 'none'})"

    def _repr_html_(self) -> str:
        """Return the mean factors and alpha of all lists and of each user class, for notebooks."""
        names = [name for name, carried in zip(FACTORS, self.carried, strict=True) if carried]
        classes: tuple[str | None, ...] = (None, *self.classes)

        def cells(i: int) -> tuple[object, ...]:
            name, part = classes[i] or "all users", self.of_class(classes[i])
            means = part.factors[:, self.carried].mean(axis=0).tolist()
            return (name, len(part), part.groups.n_rows, *means, float(part.alphas.mean()))

        headers = ("user class", "lists", "documents", *names, "alpha")
        return html_table(
            "Feedback: means over lists", headers, len(classes), cells, repr(self)[:200]
        )

    @property
    def groups(self) -> Groups:
        """The documents of each list."""
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
        """The names of the user classes that have lists."""
        table, codes = self.list_sums.user_class.table, self.list_sums.user_class.codes
        return tuple(table[c] for c in np.unique(codes[codes >= 0]).tolist())

    @cached_property
    def docids(self) -> NDArray[np.object_]:
        """The id of each document."""
        return self.list_sums.docs.to_array()

    @cached_property
    def positions(self) -> Floats:
        """The position of each document in its list, or NaN; logs count from 0 or from 1."""
        return self.list_sums.positions

    @cached_property
    def reactions(self) -> Floats:
        """The reactions to each document: (documents, 8), NaN in columns that the log lacks."""
        return document_reactions(self.list_sums, self.carried, self.propensities)

    @cached_property
    def factors(self) -> Floats:
        """mu_1..mu_8 of each list: (lists, 8), NaN in columns that the log lacks."""
        return list_factors(self.list_sums, self.reactions)

    @cached_property
    def alphas(self) -> Floats:
        """phi of each list's factors."""
        return apply_phi(self.phi, self.factors)

    @cached_property
    def gains(self) -> Floats:
        """The gain of each document in [0, 1]: how much its reactions raise phi.

        (phi(its reactions) - phi(no reactions)) / (1 - phi(no reactions)), at least 0: a document
        without reactions, or with mostly negative ones, has no gain.
        """
        nothing = float(apply_phi(self.phi, np.where(self.carried, 0.0, np.nan)[None, :])[0])
        lift = apply_phi(self.phi, self.reactions) - nothing
        return np.maximum(lift, 0.0) / (1 - nothing) if nothing < 1 else np.zeros_like(lift)

    def with_propensities(self, propensities: ArrayLike, *, clip: float = 0.1) -> Feedback:
        """Return the feedback with reactions that are corrected for positions.

        Users react to what they look at: clicks, bookmarks, dwell time, downloads, shares, returns and
        closings of a document count 1 / P(look at its rank) each. Mean factors are then those of users who
        look at all ranks. alpha and labels apply phi to them, which is not linear: they are corrected, but
        not without bias.

        Parameters
        ----------
        propensities
            The probability of a look at ranks 1, 2, ..., as ``podium.clicks`` estimates it; lower ranks have
            that of the last.
        clip
            Smaller probabilities count as this one: less variance.
        """
        values = np.asarray(propensities, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not ((values > 0) & np.isfinite(values)).all():
            raise UsageError("expected propensities above 0 for ranks 1, 2, ..., got other values")
        if not 0 < clip <= 1:
            raise UsageError(f"expected clip in (0, 1], got {clip}")
        return replace(self, propensities=tuple(np.maximum(values, clip).tolist()))

    def of_class(self, user_class: str | None) -> Feedback:
        """Return the lists of one user class; None means all users."""
        if user_class is None:
            return self
        table = self.list_sums.user_class.table
        code = table.index(user_class) if user_class in table else -2
        lists = np.flatnonzero(self.list_sums.user_class.codes == code)
        if len(lists) == 0:
            raise DataError(
                f"the user class {user_class!r} has no feedback; expected one of: "
                f"{', '.join(self.classes) or 'none'}"
            )
        return replace(self, list_sums=self.list_sums.take(lists))

    def by_class(self) -> dict[str, Feedback]:
        """Return the feedback of each user class."""
        return {name: self.of_class(name) for name in self.classes}

    def summary(self, by: str = "query") -> FeedbackSummary:
        """Return mean factors and alpha over the lists of each query (by text) or of each user class."""
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

    def plot(self, ax: Any = None, *, factor: str = "alpha") -> Any:
        """Draw the distribution of alpha, or the mean of a factor, by user class; return the axes.

        Parameters
        ----------
        factor
            ``"alpha"``, or one of the eight factors, such as ``"clicks"``. `plot_feedback` draws all.
        """
        ax = new_axes("drawing feedback") if ax is None else ax
        parts = self._largest_classes
        if factor == "alpha":
            draw_alphas(ax, {name: part.alphas for name, part in parts.items()})
        else:
            means = {name: part.factors.mean(axis=0) for name, part in parts.items()}
            draw_factor(ax, factor, means)
        return ax

    @cached_property
    def _largest_classes(self) -> dict[str, Feedback]:
        """Return all feedback, and that of the classes with the most lists, by name."""
        largest = sorted(self.by_class().items(), key=lambda item: -len(item[1]))
        return {"all": self} | dict(sorted(largest[:MAX_DRAWN_CLASSES]))

    def merge(self, other: Feedback) -> Feedback:
        """Combine this feedback with another; lists that are in both are added up.

        A factor that only one of the two logs carries counts in both.
        """
        for name in ("phi", "closed_within", "propensities"):
            if getattr(self, name) != getattr(other, name):
                raise UsageError(
                    f"the two feedbacks have different {name}: {getattr(self, name)} and "
                    f"{getattr(other, name)}; expected the same"
                )
        list_sums = combine([self.list_sums, other.list_sums]).presented()
        carried = self.carried | other.carried | carried_factors(list_sums)
        return Feedback(
            list_sums, carried, self.counts + other.counts, self.phi, self.closed_within,
            self.propensities,
        )  # fmt: skip

    def alpha(self, sizes: Sequence[int] | ArrayLike) -> float:
        """Return the feedback on a composition: the mean alpha of all lists, whatever the blocks.

        A log does not record which composition made a list.
        """
        check_sizes(sizes)
        return float(self.alphas.mean())

    def labels(
        self, data: RankingData, user_class: str | None = None,
        queries: Mapping[str, str] | None = None,
    ) -> Floats:  # fmt: skip
        """Return one label per row of data: the mean gain of its document over the lists that showed it.

        The label is NaN if no list of the query showed the document. A list belongs to the query with the
        list's text; otherwise to the query whose qid is the list's text or query id.

        Parameters
        ----------
        user_class
            Only lists of this class; None for all lists.
        queries
            The text (or query id) of lists -> the qid of the data, if they differ.
        """
        own = self.of_class(user_class)
        row_codes = own.groups.spread(own.query_numbers(data, queries))
        matched = np.flatnonzero(row_codes >= 0)
        labels = np.full(len(data), np.nan)
        if len(matched) == 0:
            return labels
        docids = Strings.of(own.docids[matched].tolist())
        at = match_documents(
            row_codes[matched], docids, data.groups.codes, data.require_docids("joining feedback")
        )
        in_data = at >= 0
        n_lists = np.bincount(at[in_data], minlength=len(data))
        gain = np.bincount(at[in_data], own.gains[matched][in_data], minlength=len(data))
        labels[n_lists > 0] = gain[n_lists > 0] / n_lists[n_lists > 0]
        return labels

    def query_alphas(
        self, data: RankingData, user_class: str | None = None,
        queries: Mapping[str, str] | None = None,
    ) -> Floats:  # fmt: skip
        """Return the mean alpha of the lists of each query of data; NaN for a query without lists.

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
        """Return the number of each list's query in data, or -1."""
        number = _query_numbers(data, queries)
        ids, texts = self.query_ids.tolist(), self.queries.tolist()
        numbers = [number.get(t, number.get(i, -1)) for i, t in zip(ids, texts, strict=True)]
        return np.array(numbers, dtype=np.int64)


def _query_numbers(data: RankingData, queries: Mapping[str, str] | None) -> dict[str, int]:
    """Return a table of texts and query ids -> number of the query in the data."""
    by_qid = {str(qid): q for q, qid in enumerate(data.qids.tolist())}
    if queries is not None:
        missing = [qid for qid in queries.values() if str(qid) not in by_qid]
        if missing:
            raise DataError(f"the data has no query {missing[0]!r}; expected qids of the data")
        return {name: by_qid[str(qid)] for name, qid in queries.items()}
    texts = {} if data.query_text is None else {t: q for q, t in enumerate(data.query_text) if t}
    return by_qid | texts
