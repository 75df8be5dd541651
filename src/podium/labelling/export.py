"""Export: top-k truth, labels, grades and preferences of a store, in four formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from podium.aggregation import Aggregator
from podium.data import RankingData, write_letor, write_qrels
from podium.data.atomic_files import atomic_path, atomic_writer
from podium.data.judged_by import JudgedBy
from podium.errors import EmptyDataError, UnknownNameError, UsageError, require
from podium.labelling.grading import Grades
from podium.labelling.judged_truth import (
    JudgedTruth,
    LevelTies,
    Unjudged,
    grade_truth,
    position_truth,
    top_k_truth,
)
from podium.labelling.judgments import JudgedTopK
from podium.labelling.session import ANSWER_CODES
from podium.labelling.settlements import Settlement
from podium.labelling.tasks import GradeTask, Task
from podium.labelling.truth_origin import check_judges, choose_judges, mark_of, origin_of
from podium.typing import Bools, Path_, Rows

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog, Store

What = Literal["topk", "labels", "grades", "preferences", "judgments"]
JudgmentFormat = Literal["letor", "qrels", "parquet", "csv"]
TableColumns = dict[str, list[Any]]
Results = Sequence[tuple[Task, JudgedTopK | Grades | None]]


@dataclass(frozen=True)
class ExportSummary:
    """The summary of an export.

    Parameters
    ----------
    what, format
        The arguments of `export`.
    queries, rows
        The numbers of queries and rows in the file.
    sessions, unfinished
        Finished sessions of the tool, and unfinished ones, which are left out.
    unjudged
        Documents of judged queries with features that were not judged: left out, or with label 0.
    settlements
        Decisions of admins on the tool's pairs or grades that the export used.
    judged_by
        Who judged: ``"people"``, ``"machines"`` or ``"both"``.
    """

    what: What
    format: JudgmentFormat
    queries: int
    rows: int
    sessions: int
    unfinished: int
    unjudged: int = 0
    settlements: int = 0
    judged_by: JudgedBy = "people"


def export(
    store: Store,
    path: Path_,
    what: What,
    format: JudgmentFormat,  # noqa: A002 - the option's name
    *,
    merge: str | Aggregator | None = "majority",
    ties: LevelTies = "shared",
    k: int | None = None,
    features: RankingData | None = None,
    unjudged: Unjudged = "drop",
    judged_by: JudgedBy | None = None,
) -> ExportSummary:
    """Write the judged truth or the judgments of a store to a file, all or nothing.

    Parameters
    ----------
    store
        The store with the judgments.
    path
        The file; its ending decides how CSV, qrels and LETOR are compressed.
    what
        ``"topk"``: the documents of the top k with their ranks. ``"labels"``: all documents with position
        labels. ``"grades"``: all documents with grades. ``"preferences"``: every judgment of a pair, with
        assessor, time, and whether it was undone or repeated. ``"judgments"``: every judgment of a pair
        or a grade, also with the time of day and the version of the guidelines.
    format
        ``"letor"`` (with features; top-k truth becomes labels), ``"qrels"``, ``"parquet"`` or
        ``"csv"``; preferences and judgments take only the latter two.
    merge
        How to merge assessors, see `merge_top_k` and `merge_grades`; None for one row per assessor
        (Parquet and CSV). Settlements of admins count in merged truth only.
    ties
        See `position_truth`.
    k
        The k of the merged top k; by default that of the assessors.
    features, unjudged
        See `JudgedTruth.join`; needed for letor, possible for parquet.
    judged_by
        Whose judgments to take: ``"people"``, ``"machines"`` or ``"both"``. It is needed for truth if people
        and machines finished queries. Truth that machines judged is marked in the file.
    """
    _check_arguments(what, format, merge, features)
    # Results are read first, so a session that ends in between counts as unfinished.
    finished = store.results()
    log = store.judgments(details=what == "judgments")
    all_results = [(task, finished.get(task.id)) for task in log.tasks]
    results = choose_judges(all_results, log.machines, judged_by)
    tool, unjudged_rows = "grade" if what == "grades" else "preference", 0
    counted = [task for task, _ in results if what == "judgments" or task.tool == tool]
    sessions = [task.id in finished for task in counted if task.id not in log.withdrawn]
    judges = [task.assessor for task in counted if task.id in finished]
    origin = origin_of(judges, log.machines) or judged_by or "people"
    settlements: list[Settlement] = []
    if merge is None or what in _TABLES:
        columns = _tables(log, results, what, ties, k)
        _write_columns(columns, path, format)
        written = len(set(columns["query"])), len(columns["query"])
    else:
        check_judges(judges, log.machines, judged_by)
        settlements = [s for s in store.settlements() if (s.grade is None) == (tool != "grade")]
        truth = _truth(results, what, merge, ties, k, log, settlements)
        truth = replace(truth, judged_by=mark_of(origin))
        written = _write_truth(truth, path, what, format, features, unjudged)
        if features is not None:
            judged_rows = [rows for query, rows in features.queries() if query in truth.labels]
            unjudged_rows = sum(rows.stop - rows.start for rows in judged_rows) - len(truth)
    finished_sessions = sum(sessions)
    return ExportSummary(
        what, format, *written, finished_sessions, len(sessions) - finished_sessions, unjudged_rows,
        len(settlements), origin,
    )  # fmt: skip


_TABLES = ("preferences", "judgments")
"""What has judgments as rows, not truth."""


def _tables(
    log: JudgmentLog, results: Results, what: What, ties: LevelTies, k: int | None
) -> TableColumns:  # fmt: skip
    """Return the columns of an export that merges nothing; one says which assessors are machines."""
    if what in _TABLES:
        chosen = {task.id for task, _ in results}
        rows = np.flatnonzero([task.id in chosen for task in log.tasks])
        is_chosen = np.isin(log.task, rows)
        columns = (
            preference_columns(log, is_chosen)
            if what == "preferences"
            else judgment_columns(log, is_chosen)
        )
    else:
        columns = _by_assessor(results, what, ties, k)
    if not log.machines.isdisjoint(columns["assessor"]):
        columns["machine"] = [assessor in log.machines for assessor in columns["assessor"]]
    return columns


def _check_arguments(
    what: str, format: str, merge: object, features: RankingData | None  # noqa: A002
) -> None:  # fmt: skip
    if what not in get_args(What):
        raise UnknownNameError("what to export", what, get_args(What))
    if format not in get_args(JudgmentFormat):
        raise UnknownNameError("format", format, get_args(JudgmentFormat))
    table = format in ("parquet", "csv")
    if what in _TABLES and not table:
        raise UsageError(f"expected format parquet or csv for {what}, got {format}")
    if merge is None and not table:
        raise UsageError(
            f"{format} has one label per document, so assessors must be merged; choose a way "
            "with merge"
        )
    if format == "letor" and features is None:
        raise UsageError("LETOR rows need features; add ranking data with document ids as features")
    joins = format in ("letor", "parquet") and merge is not None and what not in _TABLES
    if features is not None and not joins:
        got = "assessors kept apart" if merge is None else f"{what} in the format {format}"
        raise UsageError(
            f"expected merged labels in the formats letor or parquet with features, got {got}"
        ).advise(
            python="use what='labels', merge='majority' and format='letor'",
            command_line="use --what labels --merge majority and a file that ends in .txt or .parquet",
        )


def _truth(
    results: Results,
    what: What,
    merge: str | Aggregator,
    ties: LevelTies,
    k: int | None,
    log: JudgmentLog | None = None,
    settlements: Sequence[Settlement] = (),
) -> JudgedTruth:
    if what == "grades":
        if not isinstance(merge, str):
            raise UsageError(f"expected the name of a method to merge grades, got {merge!r}")
        return grade_truth(results, merge, settlements)
    documents: dict[str, dict[str, None]] = {}
    for task, result in results:
        if isinstance(result, JudgedTopK):
            documents.setdefault(task.query, {}).update(dict.fromkeys(task.documents))
    tops = top_k_truth(results, merge, log=log, k=k, settlements=settlements)
    return position_truth(tops, {q: list(d) for q, d in documents.items()}, ties=ties)


def _by_assessor(results: Results, what: What, ties: LevelTies, k: int | None) -> TableColumns:
    """Return the columns of the truth of each assessor, one assessor after another."""
    columns: TableColumns = {}
    ordered = sorted(results, key=lambda result: result[0].assessor)
    for assessor, group in groupby(ordered, key=lambda result: result[0].assessor):
        try:
            assessor_columns = label_columns(_truth(list(group), what, "majority", ties, k), what)
        except EmptyDataError:
            continue
        assessor_columns = {
            "assessor": [assessor] * len(assessor_columns["query"])
        } | assessor_columns
        for name, values in assessor_columns.items():
            columns.setdefault(name, []).extend(values)
    if not columns:
        raise EmptyDataError("no query is finished; expected at least one")
    return columns


def label_columns(truth: JudgedTruth, what: What) -> TableColumns:
    """Return columns query, document and label (or grade); for topk only its documents, with ranks.

    A rank is 1 + the number of documents strictly better.

    Examples
    --------
    >>> label_columns(JudgedTruth({"q": {"b": 2, "a": 1, "d": 1, "c": 0}}, topk=2), "topk")
    {'query': ['q', 'q', 'q'], 'rank': [1, 2, 2], 'document': ['b', 'a', 'd'], 'label': [2, 1, 1]}
    """
    value = "grade" if what == "grades" else "label"
    columns: TableColumns = {"query": [], "rank": [], "document": [], value: []}
    if truth.judged_by is not None:
        columns["judged_by"] = []
    for query, labels in truth.labels.items():
        values = list(labels.values())
        for document, label in labels.items():
            if what == "topk" and label <= 0:
                continue
            rank = 1 + values.index(label)  # labels are in descending order
            number = int(label) if label == int(label) else label
            row = {"query": query, "rank": rank, "document": document, value: number}
            if truth.judged_by is not None:
                row["judged_by"] = truth.judged_by
            for name, entry in row.items():
                columns[name].append(entry)
    if what != "topk":
        del columns["rank"]
    return columns


def preference_columns(log: JudgmentLog, chosen: Bools | None = None) -> TableColumns:
    """Return columns of every judgment of a pair: query, assessor, documents, answer, time, status.

    `chosen` has which judgments of the log to take; all by default.
    """
    is_preference = np.array([task.tool == "preference" for task in log.tasks], dtype=np.bool_)
    is_row = is_preference[log.task]
    return _pair_columns(log, np.flatnonzero(is_row if chosen is None else is_row & chosen))


def judgment_columns(log: JudgmentLog, chosen: Bools | None = None) -> TableColumns:
    """Return columns of every judgment, pairs and grades, with the version of the guidelines.

    For a grade, ``b`` is empty and ``answer`` is the name of the grade. `chosen` has which judgments to
    take; all by default.
    """
    rows = np.arange(len(log.task)) if chosen is None else np.flatnonzero(chosen)
    columns = _pair_columns(log, rows)
    columns |= {
        "tool": [log.tasks[number].tool for number in log.task[rows].tolist()],
        "at": log.at[rows].tolist(),
        "guidelines": log.guidelines[rows].tolist(),
    }
    order = (
        "query", "assessor", "tool", "a", "b", "answer", "seconds", "at", "repeated", "undone", "guidelines",
    )  # fmt: skip
    return {name: columns[name] for name in order}


def _pair_columns(log: JudgmentLog, rows: Rows) -> TableColumns:
    answers = {code: answer for answer, code in ANSWER_CODES.items()}
    tasks = [log.tasks[number] for number in log.task[rows].tolist()]
    first, second = log.first[rows].tolist(), log.second[rows].tolist()
    codes = log.answer[rows].tolist()
    return {
        "query": [task.query for task in tasks],
        "assessor": [task.assessor for task in tasks],
        "a": [task.documents[i] for task, i in zip(tasks, first, strict=True)],
        "b": [task.documents[i] if i >= 0 else "" for task, i in zip(tasks, second, strict=True)],
        "answer": [
            task.grades[code] if isinstance(task, GradeTask) else answers[code]
            for task, code in zip(tasks, codes, strict=True)
        ],
        "seconds": (log.active_ms[rows] / 1000).tolist(),
        "repeated": log.repeated[rows].tolist(),
        "undone": log.undone[rows].tolist(),
    }


def _write_truth(
    truth: JudgedTruth,
    path: Path_,
    what: What,
    format: JudgmentFormat,  # noqa: A002
    features: RankingData | None,
    unjudged: Unjudged,
) -> tuple[int, int]:
    """Write labels; return the numbers of queries and rows."""
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


def _write_columns(columns: Mapping[str, list[Any]], path: Path_, format: JudgmentFormat) -> None:  # noqa: A002
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
