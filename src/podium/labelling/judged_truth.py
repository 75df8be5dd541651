"""Judged truth: one set of labels per query, merged from all assessors who judged it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from podium.aggregation import Aggregator
from podium.data import Groups, Qrels, RankingData, Strings
from podium.data.judged_by import JudgedBy
from podium.errors import DataError, EmptyDataError, UnknownNameError, UsageError
from podium.labelling.grading import Grades
from podium.labelling.judgments import Answer, JudgedTopK, Judgment
from podium.labelling.merging import merge_grades, merge_top_k
from podium.labelling.session import ANSWER_CODES
from podium.labelling.settlements import Settlement, settle_top_k, settlements_by_query
from podium.labelling.tasks import Task

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog

LevelTies = Literal["shared", "broken"]
Unjudged = Literal["drop", "zero"]


@dataclass(frozen=True)
class JudgedTruth:
    """Labels by query and document; documents best first, then by id.

    Parameters
    ----------
    labels
        Labels of every judged document.
    topk
        The k of y = k + 1 - position, or None for grades.
    judged_by
        Who judged, if it is to be marked.
    """

    labels: Mapping[str, Mapping[str, float]] = field(repr=False)
    topk: int | None = None
    judged_by: JudgedBy | None = None

    def __len__(self) -> int:
        return sum(map(len, self.labels.values()))

    def qrels(self, *, positive: bool = False) -> Qrels:
        """Return TREC judgments; with `positive` only labels above 0."""
        by_query = {
            query: {d: y for d, y in labels.items() if y > 0 or not positive}
            for query, labels in self.labels.items()
        }
        by_query = {query: labels for query, labels in by_query.items() if labels}
        if not by_query:
            raise EmptyDataError("there are no labelled documents; expected at least one")
        return Qrels(
            np.array(list(by_query), dtype=object),
            Groups.from_sizes([len(labels) for labels in by_query.values()]),
            Strings.of(document for labels in by_query.values() for document in labels),
            np.array(
                [y for labels in by_query.values() for y in labels.values()], dtype=np.float64
            ),
            topk=self.topk,
            judged_by=self.judged_by,
        )

    def join(self, features: RankingData, *, unjudged: Unjudged = "drop") -> RankingData:
        """Return features with these labels, as data for training.

        Parameters
        ----------
        features
            Ranking data with document ids that has every judged document. Its own labels and queries
            that were not judged are ignored.
        unjudged
            What to do with other documents of judged queries: ``"drop"``, or ``"zero"`` for label 0.

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
            query_rows = [row for d, row in row_of.items() if unjudged == "zero" or d in labels]
            rows += query_rows
            y += [float(labels.get(docids[row], 0.0)) for row in query_rows]
        if lacking := [query for query in self.labels if query not in qids]:
            raise DataError(
                f"the features lack {len(lacking):,} judged queries, such as "
                f"{lacking[0]!r:.60}; expected all of them"
            )
        if not rows:
            raise EmptyDataError("no document is judged, so there is nothing to join with features")
        qid = features.qids[features.groups.codes[rows]]
        X = features.X[rows]
        return RankingData.from_arrays(
            X,
            y,
            qid=qid,
            docid=[docids[row] for row in rows],
            feature_names=features.feature_names,
            topk=self.topk,
            scaled=features.scaled,
            missing="nan" if np.isnan(X).any() else "error",
            categories=features.categories,
            judged_by=self.judged_by,
        )


def _check_features(query: str, labels: Mapping[str, float], row_of: Mapping[str, int]) -> None:
    lacking = [document for document in labels if document not in row_of]
    if lacking:
        raise DataError(
            f"the features lack {len(lacking):,} judged documents of query {query!r:.60}, "
            f"such as {lacking[0]!r:.60}; expected all of them"
        )


def top_k_truth(
    results: Iterable[tuple[Task, JudgedTopK | Grades | None]],
    merge: str | Aggregator = "majority",
    *,
    log: JudgmentLog | None = None,
    k: int | None = None,
    settlements: Iterable[Settlement] = (),
) -> dict[str, JudgedTopK]:
    """Return the top k of every query, merged from all assessors who finished it with preferences.

    Parameters
    ----------
    results
        Tasks and their results; None and grades are ignored.
    merge
        How to merge assessors, see `merge_top_k`.
    log
        All judgments, for bradley-terry: it then uses the judgments instead of the results.
    k
        How many documents; by default as many as the assessors looked for.
    settlements
        Decisions about pairs, which the merged top k follows; see `settle_top_k`.
    """
    decisions = settlements_by_query(settlements)
    by_query: dict[str, list[tuple[Task, JudgedTopK]]] = {}
    for task, result in results:
        if isinstance(result, JudgedTopK):
            by_query.setdefault(task.query, []).append((task, result))
    by_task = None
    if log is not None and merge == "bradley-terry":
        by_task = _standing_judgments(
            log, {task.id for own in by_query.values() for task, _ in own}
        )
    merged = {}
    for query, own in by_query.items():
        judgments = None if by_task is None else [by_task[task.id] for task, _ in own]
        tops = [top for _, top in own]
        try:
            top = merge_top_k(tops, merge, judgments=judgments, k=k)
            merged[query] = settle_top_k(top, decisions.get(query, ()))
        except DataError as error:
            raise DataError(f"query {query!r}: {error.args[0]}").keep_advice(error) from error
    return merged


def _standing_judgments(log: JudgmentLog, ids: set[str]) -> dict[str, list[Judgment]]:
    """Return the judgments of these tasks that were not undone, without repeats."""
    answers: dict[int, Answer] = {code: answer for answer, code in ANSWER_CODES.items()}  # type: ignore[misc]
    by_task: dict[str, list[Judgment]] = {id_: [] for id_ in ids}
    has_id = np.array([task.id in ids for task in log.tasks], dtype=np.bool_)
    rows = np.flatnonzero(log.standing & has_id[log.task])
    columns = (log.task, log.first, log.second, log.answer)
    for number, a, b, answer in zip(*(column[rows].tolist() for column in columns), strict=True):
        task = log.tasks[number]
        by_task[task.id].append(Judgment(task.documents[a], task.documents[b], answers[answer]))
    return by_task


def position_truth(
    tops: Mapping[str, JudgedTopK],
    documents: Mapping[str, Sequence[str]],
    *,
    ties: LevelTies = "shared",
) -> JudgedTruth:
    """Return position labels of all documents.

    Parameters
    ----------
    tops
        The top k of every query, all of one k.
    documents
        The documents of every query; outside the top k the label is 0.
    ties
        ``"shared"``: y = k - (number of documents strictly better), so that tied documents have one
        label. ``"broken"``: y = k + 1 - pi(x), with tied documents in the order of the strategy. Then
        exactly k documents have labels above 0, if there are as many.

    Examples
    --------
    >>> tops = {"q": JudgedTopK((("b",), ("a", "d")), k=2, judged=4)}
    >>> position_truth(tops, {"q": "abcd"}).labels
    {'q': {'b': 2.0, 'a': 1.0, 'd': 1.0, 'c': 0.0}}
    >>> position_truth(tops, {"q": "abcd"}, ties="broken").labels
    {'q': {'b': 2.0, 'a': 1.0, 'c': 0.0, 'd': 0.0}}
    """
    if ties not in get_args(LevelTies):
        raise UnknownNameError("way with ties", ties, get_args(LevelTies))
    ks = {top.k for top in tops.values()}
    if len(ks) > 1:
        raise UsageError(
            f"queries have different k: {', '.join(map(str, sorted(ks)))}; set k to at most "
            f"{min(ks)}"
        ).advise(python="use k=", command_line="use --top")
    if not ks:
        raise EmptyDataError("no query is finished; expected at least one")
    labels = {}
    for query, top in tops.items():
        if ties == "shared":
            query_labels = top.labels(documents[query])
        else:
            place = {document: i for i, document in enumerate(top.order)}
            query_labels = {d: max(0, top.k - place.get(d, top.k)) for d in documents[query]}
        labels[query] = _sorted(query_labels)
    return JudgedTruth(labels, ks.pop())


def grade_truth(
    results: Iterable[tuple[Task, JudgedTopK | Grades | None]],
    merge: str = "majority",
    settlements: Iterable[Settlement] = (),
) -> JudgedTruth:
    """Return the grade of every document: the settled one, or that of `merge_grades` of all assessors."""
    decisions = settlements_by_query(settlements)
    by_query: dict[str, list[Mapping[str, int]]] = {}
    for task, result in results:
        if isinstance(result, Grades):
            by_query.setdefault(task.query, []).append(result.labels)
    if not by_query:
        raise EmptyDataError("no query is graded; expected at least one")
    labels = {}
    for query, grades in by_query.items():
        merged = merge_grades(grades, merge)
        settled_grades = {
            s.documents[0]: float(s.grade)
            for s in decisions.get(query, ())
            if s.grade is not None and s.documents[0] in merged
        }
        labels[query] = _sorted({**merged, **settled_grades})
    return JudgedTruth(labels)


def _sorted(labels: Mapping[str, float]) -> dict[str, float]:
    ordered = sorted(labels.items(), key=lambda item: (-item[1], item[0]))
    return {document: float(label) for document, label in ordered}
