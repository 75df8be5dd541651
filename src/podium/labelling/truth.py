"""What judging came to: one truth a query, from all who judged it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from podium.aggregation import Aggregator
from podium.data import Groups, Qrels, RankingData, Strings
from podium.errors import DataError, EmptyDataError, UnknownNameError, UsageError
from podium.labelling.grading import Grades
from podium.labelling.judgments import Answer, JudgedTopK, Judgment
from podium.labelling.merging import merge_grades, merge_top_k
from podium.labelling.session import ANSWER_CODES
from podium.labelling.tasks import Task

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog

Ties = Literal["shared", "broken"]
Unjudged = Literal["drop", "zero"]


@dataclass(frozen=True)
class JudgedTruth:
    """Labels by query and document; documents best first, then by id.

    Parameters
    ----------
    labels
        Of every document that was judged.
    topk
        The k of y = k + 1 - position, or None for grades.
    """

    labels: Mapping[str, Mapping[str, float]] = field(repr=False)
    topk: int | None = None

    def __len__(self) -> int:
        return sum(map(len, self.labels.values()))

    def qrels(self, *, positive: bool = False) -> Qrels:
        """As TREC judgments; only those above 0 if asked for."""
        kept = {
            query: {d: y for d, y in labels.items() if y > 0 or not positive}
            for query, labels in self.labels.items()
        }
        kept = {query: labels for query, labels in kept.items() if labels}
        if not kept:
            raise EmptyDataError("expected documents with labels, got none")
        return Qrels(
            np.array(list(kept), dtype=object),
            Groups.from_sizes([len(labels) for labels in kept.values()]),
            Strings.of(document for labels in kept.values() for document in labels),
            np.array([y for labels in kept.values() for y in labels.values()], dtype=np.float64),
            topk=self.topk,
        )

    def join(self, features: RankingData, *, unjudged: Unjudged = "drop") -> RankingData:
        """Features with these labels: what a ranker learns from.

        Parameters
        ----------
        features
            Ranking data with document ids that has every judged document; its own labels are left
            aside, and so are queries that were not judged.
        unjudged
            What becomes of other documents of judged queries: ``"drop"``, or ``"zero"`` for label 0.

        Examples
        --------
        >>> data = RankingData.from_arrays([[1.0], [2.0], [3.0]], [0] * 3, qid=["q"] * 3, docid=list("xyz"))
        >>> joined = JudgedTruth({"q": {"y": 2, "x": 1}}, topk=2).join(data)
        >>> joined, joined.docids.tolist(), joined.y.tolist()
        (RankingData(1 query, 2 documents, 1 feature, top-2 truth), ['x', 'y'], [1.0, 2.0])
        """
        if unjudged not in get_args(Unjudged):
            raise UnknownNameError("way with unjudged documents", unjudged, get_args(Unjudged))
        docids = list(features.require_docids("joining labels with features"))
        qids = set(features.qids.tolist())
        rows: list[int] = []
        y: list[float] = []
        for query, places in features.queries():
            labels = self.labels.get(query)
            if labels is None:
                continue
            row_of = {docids[row]: row for row in range(places.start, places.stop)}
            _check_features(query, labels, row_of)
            kept = [row for d, row in row_of.items() if unjudged == "zero" or d in labels]
            rows += kept
            y += [float(labels.get(docids[row], 0.0)) for row in kept]
        if lacking := [query for query in self.labels if query not in qids]:
            raise DataError(
                f"expected features of every judged query, got none of {len(lacking):,} queries, "
                f"such as {lacking[0]!r:.60}"
            )
        if not rows:
            raise EmptyDataError("expected judged documents to join with features, got none")
        qid = features.qids[features.groups.codes[rows]]
        return RankingData.from_arrays(
            features.X[rows],
            y,
            qid=qid,
            docid=[docids[row] for row in rows],
            feature_names=features.feature_names,
            topk=self.topk,
            scaled=features.scaled,
            missing=features.missing,
        )


def _check_features(query: str, labels: Mapping[str, float], row_of: Mapping[str, int]) -> None:
    lacking = [document for document in labels if document not in row_of]
    if lacking:
        raise DataError(
            f"expected features of every judged document, got none of {len(lacking):,} of query "
            f"{query!r:.60}, such as {lacking[0]!r:.60}"
        )


def top_k_truth(
    results: Iterable[tuple[Task, JudgedTopK | Grades | None]],
    merge: str | Aggregator = "majority",
    *,
    log: JudgmentLog | None = None,
    k: int | None = None,
) -> dict[str, JudgedTopK]:
    """The top k of every query, from all assessors who finished it by preferences.

    Parameters
    ----------
    results
        Tasks and what they came to; None, and grades, are passed over.
    merge
        How several assessors become one, see `merge_top_k`.
    log
        All judgments, for bradley-terry, which then has what assessors said, not only the results.
    k
        How many documents; as many as the assessors looked for unless given.
    """
    by_query: dict[str, list[tuple[Task, JudgedTopK]]] = {}
    for task, result in results:
        if isinstance(result, JudgedTopK):
            by_query.setdefault(task.query, []).append((task, result))
    by_task = None
    if log is not None and merge == "bradley-terry":
        by_task = _judgments(
            log, {task.id for of_query in by_query.values() for task, _ in of_query}
        )
    merged = {}
    for query, of_query in by_query.items():
        judgments = None if by_task is None else [by_task[task.id] for task, _ in of_query]
        tops = [top for _, top in of_query]
        try:
            merged[query] = merge_top_k(tops, merge, judgments=judgments, k=k)
        except DataError as error:
            raise DataError(f"query {query!r}: {error}") from error
    return merged


def _judgments(log: JudgmentLog, ids: set[str]) -> dict[str, list[Judgment]]:
    """What stands of these tasks."""
    answers: dict[int, Answer] = {code: answer for answer, code in ANSWER_CODES.items()}  # type: ignore[misc]
    by_task: dict[str, list[Judgment]] = {id_: [] for id_ in ids}
    wanted = np.array([task.id in ids for task in log.tasks], dtype=np.bool_)
    rows = np.flatnonzero(log.standing & wanted[log.task])
    columns = (log.task, log.first, log.second, log.answer)
    for number, a, b, answer in zip(*(column[rows].tolist() for column in columns), strict=True):
        task = log.tasks[number]
        by_task[task.id].append(Judgment(task.documents[a], task.documents[b], answers[answer]))
    return by_task


def position_truth(
    tops: Mapping[str, JudgedTopK], documents: Mapping[str, Sequence[str]], *, ties: Ties = "shared"
) -> JudgedTruth:
    """Position labels of all documents.

    Parameters
    ----------
    tops
        The top k of every query, all of one k.
    documents
        Those of every query; outside the top k the label is 0.
    ties
        ``"shared"``: y = k - (number of documents strictly better), so that tied documents have one
        label. ``"broken"``: y = k + 1 - pi(x), where tied documents stand as the strategy placed them,
        and exactly k documents, where there are as many, have labels above 0.

    Examples
    --------
    >>> tops = {"q": JudgedTopK((("b",), ("a", "d")), k=2, judged=4)}
    >>> position_truth(tops, {"q": "abcd"}).labels
    {'q': {'b': 2.0, 'a': 1.0, 'd': 1.0, 'c': 0.0}}
    >>> position_truth(tops, {"q": "abcd"}, ties="broken").labels
    {'q': {'b': 2.0, 'a': 1.0, 'c': 0.0, 'd': 0.0}}
    """
    if ties not in get_args(Ties):
        raise UnknownNameError("way with ties", ties, get_args(Ties))
    ks = {top.k for top in tops.values()}
    if len(ks) > 1:
        raise UsageError(
            f"expected one k for all queries, got {', '.join(map(str, sorted(ks)))}; say how many documents "
            f"to take, at most {min(ks)} (k=, on the command line --top)"
        )
    if not ks:
        raise EmptyDataError("expected a finished query, got none")
    labels = {}
    for query, top in tops.items():
        if ties == "shared":
            own_labels = top.labels(documents[query])
        else:
            place = {document: i for i, document in enumerate(top.order)}
            own_labels = {d: max(0, top.k - place.get(d, top.k)) for d in documents[query]}
        labels[query] = _sorted(own_labels)
    return JudgedTruth(labels, ks.pop())


def grade_truth(
    results: Iterable[tuple[Task, JudgedTopK | Grades | None]], merge: str = "majority"
) -> JudgedTruth:
    """Grades of every document, from all assessors who finished its query, see `merge_grades`."""
    by_query: dict[str, list[Mapping[str, int]]] = {}
    for task, result in results:
        if isinstance(result, Grades):
            by_query.setdefault(task.query, []).append(result.labels)
    if not by_query:
        raise EmptyDataError("expected a query that was graded, got none")
    return JudgedTruth({query: _sorted(merge_grades(of, merge)) for query, of in by_query.items()})


def _sorted(labels: Mapping[str, float]) -> dict[str, float]:
    ordered = sorted(labels.items(), key=lambda item: (-item[1], item[0]))
    return {document: float(label) for document, label in ordered}
