"""Click labels: relevance of documents from clicks, corrected for examination, for any ranker and any loss.

Let document d of a query have clicks c_i and P(examined) e_i in the sessions i that showed it. As
P(c_i = 1) = e_i r, clicks divided by examination estimate its relevance r without bias (Joachims,
Swaminathan and Schnabel, WSDM 2017). The doubly robust estimate (Oosterhuis, ACM TOIS 2023) begins with the
relevance that features predict, and corrects it by the clicks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from podium.clicks.click_model import ClickModel
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import DocumentPairs, translate
from podium.clicks.feature_relevance import predicted_relevance
from podium.clicks.fit_tables import sums_by_code
from podium.clicks.propensities import PropensityEstimate
from podium.clicks.true_models import query_names, require_different_documents
from podium.data import RankingData
from podium.data.row_selection import select_queries
from podium.errors import DataError, UnknownNameError, UsageError
from podium.feedback.list_sums import StringCodes
from podium.typing import Bools, Floats, Ints

LABEL_METHODS = {
    "none": "clicks / sessions that showed the document: follows positions",
    "ips": "clicks weighted by 1 / P(examined)",
    "dr": "relevance that features predict, corrected by clicks / P(examined): doubly robust",
    "model": "how likely a look becomes a click, by a click model",
}
"""Ways to turn clicks into labels."""

MIN_EXAMINATION = 1e-6
"""P(examined) is at least this, so that a wrong model cannot divide by 0."""

LIST_LABEL = 10.0
"""The label of the relevant document of a list: that of position 1 in top-10 truth.

Losses that turn labels into probabilities by exp(label) or 2^label, such as ListNet's, then put nearly all of
it on this document. To other losses the scale says nothing.
"""
MAX_LISTS_PER_QUERY = 50
"""Only so many documents of a query, the most relevant, have a list: lists of n documents each cost n^2."""


@dataclass(frozen=True)
class LabelSettings:
    """Settings of click labels.

    Parameters
    ----------
    clip
        The least P(examined) by which clicks are divided: less variance. Without `self_normalised`, labels
        of documents that are rarely examined are too low.
    self_normalised
        ips: divide the weights of the clicks of a document by the sum of P(examined) times weight, not by
        the number of sessions. No label is then too low because of `clip`.
    """

    clip: float = 0.1
    self_normalised: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.clip <= 1:
            raise UsageError(f"expected clip in (0, 1], got {self.clip}")


@dataclass(frozen=True, eq=False)
class ClickLabels:
    """The estimated relevance of each document of ranking data.

    Parameters
    ----------
    data
        The documents.
    relevance
        The relevance of each row, 0 or more.
    sessions
        The number of sessions of each query.
    method
        One of ``LABEL_METHODS``.
    messages
        What of the log is not in the data.
    """

    data: RankingData
    relevance: Floats
    sessions: Floats
    method: str
    messages: tuple[str, ...] = ()

    def take(self, queries: Bools) -> ClickLabels:
        """Return the labels of these queries."""
        numbers = np.flatnonzero(queries)
        rows = self.data.groups.take(numbers)[1]
        return replace(
            self, data=self.data.subset(numbers), relevance=self.relevance[rows],
            sessions=self.sessions[numbers],
        )  # fmt: skip

    def graded(self) -> RankingData:
        """Return the queries of the log with relevance as labels; a query weighs as much as its sessions."""
        if not self.sessions.all():
            return self.take(self.sessions > 0).graded()
        weight = self.sessions / self.sessions.mean()
        return replace(self.data, y=self.relevance, query_weight=weight, topk=None)

    def lists(self) -> RankingData:
        """Return one list per relevant document: its query, with label 1 for it and 0 for all others.

        A list weighs as much as the sessions of its query times the relevance. The total loss is then
        sum_d r_d loss(d is the relevant one): linear in the estimates r, so without bias if they are. Any
        ranker takes it that takes weights of queries, whatever its loss is. Of a query with many relevant
        documents, the ``MAX_LISTS_PER_QUERY`` most relevant have lists.
        """
        groups = self.data.groups
        sessions = np.asarray(groups.spread(self.sessions))
        place = np.empty(len(self.data), dtype=np.int64)
        place[groups.order(self.relevance)] = groups.places
        has_list = (self.relevance * sessions > 0) & (place < MAX_LISTS_PER_QUERY)
        rows = np.flatnonzero(has_list)
        _require_clicks(len(rows))
        queries = np.asarray(self.data.groups.codes)[rows]
        lists = select_queries(self.data, queries)
        labels = np.zeros(len(lists))
        labels[lists.groups.offsets[:-1] + self.data.groups.places[rows]] = LIST_LABEL
        weight = self.relevance[rows] * sessions[rows]
        names = np.array(
            [f"{query} {row}" for query, row in zip(lists.qids, rows, strict=True)], dtype=object
        )
        weight /= weight.mean()
        return replace(lists, y=labels, qids=names, query_weight=weight, topk=int(LIST_LABEL))


def _require_clicks(n: int) -> None:
    if not n:
        raise DataError("expected clicks on documents of the data, got none to learn from")


def click_labels(
    sessions: ClickSessions,
    data: RankingData,
    method: str = "ips",
    examination: ClickModel | PropensityEstimate | None = None,
    settings: LabelSettings | None = None,
) -> ClickLabels:
    """Estimate the relevance of the documents of ranking data from clicks.

    Parameters
    ----------
    data
        The documents of each query, with ids; labels are not used.
    method
        One of ``LABEL_METHODS``.
    examination
        Propensities or a click model, for all methods but none; model needs a click model.

    Examples
    --------
    >>> import podium
    >>> from podium.clicks import simulate, true_model
    >>> from podium.clicks.true_models import relevance
    >>> data = podium.make_synthetic(n_queries=50, n_docs=6, seed=1)
    >>> log, users = simulate(data, 0, "pbm", sessions=20_000, seed=1), true_model(data, "pbm")
    >>> for method in ("none", "ips"):
    ...     error = click_labels(log, data, method, users).relevance - relevance(data, noise=0.1)
    ...     print(method, round(float(abs(error).mean()), 2))
    none 0.13
    ips 0.03
    """
    if method not in LABEL_METHODS:
        raise UnknownNameError("kind of click labels", str(method), LABEL_METHODS)
    if method != "none" and examination is None:
        raise UsageError(f"click labels by {method} need P(examined); pass propensities or a model")
    join = ShownDocuments.of(sessions, data)
    model = examination.model() if isinstance(examination, PropensityEstimate) else examination
    if method in ("dr", "model"):  # their labels are above 0 without any click, too
        _require_clicks(int(join.log.clicked[join.row >= 0].sum()))
    relevance = _relevance(join, method, model, settings or LabelSettings())
    return ClickLabels(data, relevance, join.sessions_of_query(), method, join.messages())


@dataclass(frozen=True, eq=False)
class ShownDocuments:
    """The sessions whose queries are in ranking data, and which row of the data each impression shows.

    Parameters
    ----------
    log
        The sessions.
    data
        The documents of each query, with ids.
    row
        The row of the data for each impression; -1 for a document that is not in the data.
    n_lost_sessions
        The number of sessions of other queries.
    """

    log: ClickSessions
    data: RankingData
    row: Ints
    n_lost_sessions: int

    @classmethod
    def of(cls, sessions: ClickSessions, data: RankingData) -> ShownDocuments:
        """Look up the documents of a log in ranking data; raises if none of them is there."""
        sessions.require_sessions()
        require_different_documents(data, "learning from clicks")
        names = query_names(data)
        if len(set(names)) < len(names):
            raise DataError(
                "two queries of the data have the same text; expected different texts, or data without "
                "texts"
            )
        is_known = translate(sessions.query.table, names)[sessions.query.codes] >= 0
        log = sessions.take(np.flatnonzero(is_known))
        docs = StringCodes.of([str(d) for d in data.require_docids("learning from clicks")])
        own, number = DocumentPairs.of(StringCodes.of(names), docs, data.groups)
        row_of_pair = np.full(len(own) + 1, -1)
        row_of_pair[number] = np.arange(len(number))
        pairs, pair = log.pairs
        row = row_of_pair[own.find(pairs)][pair]
        if not (row >= 0).any():
            raise DataError(
                f"no document that the log shows is in the data ({is_known.sum():,} of "
                f"{len(sessions):,} sessions have a query of the data); expected the same query texts "
                "or ids, and the same document ids"
            )
        return cls(log, data, row, int((~is_known).sum()))

    def by_row(self, values: Floats) -> Floats:
        """Return sums of values of the log by row of the data."""
        has_row = self.row >= 0
        return sums_by_code(self.row[has_row], values[has_row], len(self.data))

    def sessions_of_query(self) -> Floats:
        """Return the number of sessions of each query of the data."""
        return sums_by_code(self.query_of_session(), np.ones(len(self.log)), self.data.n_queries)

    def query_of_session(self) -> Ints:
        """Return the number of the query of each session, in the data."""
        return translate(self.log.query.table, query_names(self.data))[self.log.query.codes]

    def messages(self) -> tuple[str, ...]:
        """Return what of the log is not in the data."""
        lines = []
        if self.n_lost_sessions:
            total = self.n_lost_sessions + len(self.log)
            lines.append(
                f"{self.n_lost_sessions:,} of {total:,} sessions have queries that are not in the data: "
                "nothing is learned from them"
            )
        if lost := int((self.row < 0).sum()):
            lines.append(
                f"{lost:,} of {len(self.row):,} impressions show documents that are not in the data: their "
                "clicks are not used"
            )
        return tuple(lines)


def _relevance(
    join: ShownDocuments, method: str, model: ClickModel | None, settings: LabelSettings
) -> Floats:
    """Return the estimate of each row of the data."""
    clicked = join.log.clicked.astype(np.float64)
    impressions = join.by_row(np.ones(len(clicked)))
    if model is None or method == "none":
        return _ratio(join.by_row(clicked), impressions)
    if method == "model":
        values = model.row_attraction(join.log)
        return _ratio(join.by_row(values), impressions)
    examined = np.maximum(model.examination(join.log), MIN_EXAMINATION)
    if method == "dr":
        return _doubly_robust(join, examined, settings)
    weight = 1.0 / np.maximum(examined, settings.clip)
    total = join.by_row(examined * weight) if settings.self_normalised else impressions
    return _ratio(join.by_row(clicked * weight), total)


def _doubly_robust(join: ShownDocuments, examined: Floats, settings: LabelSettings) -> Floats:
    """Return m + (mean of c - e m) / max(mean of e, clip), the means over all sessions of the query.

    m is the relevance that features predict. Where documents are examined less than `clip`, m has the rest of
    the weight; documents that were never shown have m.
    """
    clicks, examinations = (
        join.by_row(join.log.clicked.astype(np.float64)),
        join.by_row(examined),
    )
    model = predicted_relevance(join.data, clicks, examinations)
    sessions = np.maximum(join.data.groups.spread(join.sessions_of_query()), 1.0)
    rate = examinations / sessions
    value = model + (clicks / sessions - rate * model) / np.maximum(rate, settings.clip)
    return np.asarray(np.maximum(value, 0.0))  # rounding: the model's part is never below 0


def _ratio(total: Floats, count: Floats) -> Floats:
    """Return total / count, 0 for 0 / 0."""
    return np.divide(total, count, out=np.zeros(len(total)), where=count > 0)
