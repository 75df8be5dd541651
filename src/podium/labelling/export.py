"""Judgments out of a store: top-k truth, labels, grades and preferences, in four formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from podium.aggregation import Aggregator
from podium.data import RankingData, write_letor, write_qrels
from podium.data.files import Path_, atomic_path, atomic_writer
from podium.errors import EmptyDataError, UnknownNameError, UsageError, require
from podium.labelling.grading import Grades
from podium.labelling.judgments import JudgedTopK
from podium.labelling.session import ANSWER_CODES
from podium.labelling.tasks import Task
from podium.labelling.truth import (
    JudgedTruth,
    Ties,
    Unjudged,
    grade_truth,
    position_truth,
    top_k_truth,
)

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog, Store

What = Literal["topk", "labels", "grades", "preferences"]
Format = Literal["letor", "qrels", "parquet", "csv"]
Columns = dict[str, list[Any]]
Results = Sequence[tuple[Task, JudgedTopK | Grades | None]]


@dataclass(frozen=True)
class ExportSummary:
    """What was written.

    Parameters
    ----------
    what, format
        As asked for.
    queries, rows
        In the file.
    sessions, unfinished
        Sessions of the tool: those that are finished, and those left out because they are not.
    unjudged
        Documents of judged queries that have features and were not judged: left out, or in with label 0.
    """

    what: What
    format: Format
    queries: int
    rows: int
    sessions: int
    unfinished: int
    unjudged: int = 0


def export(
    store: Store,
    path: Path_,
    what: What,
    format: Format,  # noqa: A002 - the option's name
    *,
    merge: str | Aggregator | None = "majority",
    ties: Ties = "shared",
    k: int | None = None,
    features: RankingData | None = None,
    unjudged: Unjudged = "drop",
) -> ExportSummary:
    """Write what judging came to; the file appears whole or not at all.

    Parameters
    ----------
    store
        Where the judgments are.
    path
        CSV, qrels and LETOR files are compressed by its ending.
    what
        ``"topk"``: the documents of the top k with their ranks. ``"labels"``: all documents with position
        labels. ``"grades"``: all documents with grades. ``"preferences"``: every judgment of a pair, with
        who, how long, and whether it stands.
    format
        ``"letor"`` (with features, in which top-k truth is labels), ``"qrels"``, ``"parquet"`` or
        ``"csv"``; preferences go into the latter two.
    merge
        How several assessors become one, see `merge_top_k` and `merge_grades`; None for a row for each
        assessor (Parquet and CSV).
    ties
        See `position_truth`.
    k
        Of the merged top k; as the assessors' unless given.
    features, unjudged
        See `JudgedTruth.join`; for letor, and for parquet if given.
    """
    _check(what, format, merge, features)
    # Results first: a session that ends in between is then not finished yet, as it was.
    done = store.results()
    log = store.judgments()
    results = [(task, done.get(task.id)) for task in log.tasks]
    tool, others = "grade" if what == "grades" else "preference", 0
    sessions = [task.id in done for task in log.tasks if task.tool == tool]
    if what == "preferences":
        columns = preference_columns(log)
        _write_columns(columns, path, format)
        written = len(set(columns["query"])), len(columns["query"])
    elif merge is None:
        columns = _by_assessor(results, what, ties, k)
        _write_columns(columns, path, format)
        written = len(set(columns["query"])), len(columns["query"])
    else:
        truth = _truth(results, what, merge, ties, k, log)
        written = _write_truth(truth, path, what, format, features, unjudged)
        if features is not None:
            of_judged = [rows for query, rows in features.queries() if query in truth.labels]
            others = sum(rows.stop - rows.start for rows in of_judged) - len(truth)
    return ExportSummary(
        what, format, *written, sum(sessions), len(sessions) - sum(sessions), others
    )


def _check(
    what: str, format: str, merge: object, features: RankingData | None  # noqa: A002
) -> None:  # fmt: skip
    if what not in get_args(What):
        raise UnknownNameError("what to export", what, get_args(What))
    if format not in get_args(Format):
        raise UnknownNameError("format", format, get_args(Format))
    table = format in ("parquet", "csv")
    if what == "preferences" and not table:
        raise UsageError(f"expected format parquet or csv for preferences, got {format}")
    if merge is None and not table:
        raise UsageError(
            f"expected a way to merge assessors for {format}, which has one label a document, got none"
        )
    if format == "letor" and features is None:
        raise UsageError("expected features for LETOR rows, got none; give ranking data with ids")
    joins = format in ("letor", "parquet") and what != "preferences" and merge is not None
    if features is not None and not joins:
        raise UsageError("expected features only with merged labels as letor or parquet")


def _truth(
    results: Results,
    what: What,
    merge: str | Aggregator,
    ties: Ties,
    k: int | None,
    log: JudgmentLog | None = None,
) -> JudgedTruth:
    if what == "grades":
        if not isinstance(merge, str):
            raise UsageError(f"expected the name of a way to merge grades, got {merge!r}")
        return grade_truth(results, merge)
    documents: dict[str, dict[str, None]] = {}
    for task, result in results:
        if isinstance(result, JudgedTopK):
            documents.setdefault(task.query, {}).update(dict.fromkeys(task.documents))
    tops = top_k_truth(results, merge, log=log, k=k)
    return position_truth(tops, {q: list(d) for q, d in documents.items()}, ties=ties)


def _by_assessor(results: Results, what: What, ties: Ties, k: int | None) -> Columns:
    """The columns of every assessor's own truth, one below the other."""
    columns: Columns = {}
    ordered = sorted(results, key=lambda result: result[0].assessor)
    for assessor, group in groupby(ordered, key=lambda result: result[0].assessor):
        try:
            own = label_columns(_truth(list(group), what, "majority", ties, k), what)
        except EmptyDataError:
            continue
        own = {"assessor": [assessor] * len(own["query"])} | own
        for name, values in own.items():
            columns.setdefault(name, []).extend(values)
    if not columns:
        raise EmptyDataError("expected a finished query, got none")
    return columns


def label_columns(truth: JudgedTruth, what: What) -> Columns:
    """query, document and label (of grades, grade) of all documents; of topk those in it, with ranks.

    A rank is 1 + the number of documents strictly better.

    Examples
    --------
    >>> label_columns(JudgedTruth({"q": {"b": 2, "a": 1, "d": 1, "c": 0}}, topk=2), "topk")
    {'query': ['q', 'q', 'q'], 'rank': [1, 2, 2], 'document': ['b', 'a', 'd'], 'label': [2, 1, 1]}
    """
    value = "grade" if what == "grades" else "label"
    columns: Columns = {"query": [], "rank": [], "document": [], value: []}
    for query, labels in truth.labels.items():
        values = list(labels.values())
        for document, label in labels.items():
            if what == "topk" and label <= 0:
                continue
            rank = 1 + values.index(label)  # labels fall
            whole = int(label) if label == int(label) else label
            row = {"query": query, "rank": rank, "document": document, value: whole}
            for name, entry in row.items():
                columns[name].append(entry)
    if what != "topk":
        del columns["rank"]
    return columns


def preference_columns(log: JudgmentLog) -> Columns:
    """Every judgment of a pair: query, assessor, a, b, answer, seconds, and whether it counts."""
    answers = {code: answer for answer, code in ANSWER_CODES.items()}
    of_pairs = np.array([task.tool == "preference" for task in log.tasks], dtype=np.bool_)
    rows = np.flatnonzero(of_pairs[log.task])
    tasks = [log.tasks[number] for number in log.task[rows].tolist()]
    first, second = log.first[rows].tolist(), log.second[rows].tolist()
    return {
        "query": [task.query for task in tasks],
        "assessor": [task.assessor for task in tasks],
        "a": [task.documents[i] for task, i in zip(tasks, first, strict=True)],
        "b": [task.documents[i] for task, i in zip(tasks, second, strict=True)],
        "answer": [answers[code] for code in log.answer[rows].tolist()],
        "seconds": (log.active_ms[rows] / 1000).tolist(),
        "repeated": log.repeated[rows].tolist(),
        "undone": log.undone[rows].tolist(),
    }


def _write_truth(
    truth: JudgedTruth,
    path: Path_,
    what: What,
    format: Format,  # noqa: A002
    features: RankingData | None,
    unjudged: Unjudged,
) -> tuple[int, int]:
    """Write labels; how many queries and rows that were."""
    if features is not None:
        data = truth.join(features, unjudged=unjudged)
        if format == "letor":
            write_letor(data, path)
        else:
            data.to_parquet(path)
        return data.n_queries, len(data)
    if format == "qrels":
        qrels = truth.qrels(positive=what == "topk")
        write_qrels(qrels, path)
        return len(qrels.groups), len(qrels)
    columns = label_columns(truth, what)
    _write_columns(columns, path, format)
    return len(set(columns["query"])), len(columns["query"])


def _write_columns(columns: Mapping[str, list[Any]], path: Path_, format: Format) -> None:  # noqa: A002
    if format == "parquet":
        pa = require("pyarrow", "arrow", "writing Parquet")
        pq = require("pyarrow.parquet", "arrow", "writing Parquet")
        with atomic_path(path) as temporary:
            pq.write_table(pa.table(dict(columns)), temporary, compression="lz4")
        return
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows(zip(*columns.values(), strict=True))
    with atomic_writer(path) as write:
        write(text.getvalue().encode())
