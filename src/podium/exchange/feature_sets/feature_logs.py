"""Feature logs: answers of search engines with the features of each document, as ranking data.

Elasticsearch and OpenSearch answer with ``fields._ltrlog``, Solr with ``[features]``, Vespa with
``matchfeatures``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from podium.data.json_lines import read_json_lines
from podium.data.ranking_data import RankingData
from podium.data.text_files import Progress
from podium.data.trec import Qrels
from podium.errors import DataError, EmptyDataError, MalformedLineError
from podium.typing import Path_

UnjudgedDocuments = Literal["skip", "zero"]
LoggedDocument = tuple[str, str, dict[str, float]]
"""A query, a document and its features; NaN where the document lacks one."""


@dataclass
class LogTotals:
    """What a feature log had, and what of it was left out."""

    queries: int = 0
    documents: int = 0
    repeated: int = 0
    unjudged: int = 0
    judged_without_features: int = 0

    def notes(self) -> list[str]:
        """Return a sentence for everything that is odd."""
        sentences = {
            "documents are logged twice for a query; the first counts": self.repeated,
            "documents have no judgment and are left out": self.unjudged,
            "judged documents are not in the logs": self.judged_without_features,
        }
        return [f"{count:,} {sentence}" for sentence, count in sentences.items() if count]


@dataclass
class _LoggedRows:
    """Rows in the order of the log."""

    qids: list[str] = field(default_factory=list)
    docids: list[str] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    vectors: list[dict[str, float]] = field(default_factory=list)


def read_feature_logs(
    paths: Sequence[Path_],
    *,
    qrels: Qrels | None = None,
    features: Sequence[str] | None = None,
    unjudged: UnjudgedDocuments = "skip",
    progress: Progress | None = None,
) -> tuple[RankingData, LogTotals]:
    """Read answers of engines, one JSON object per line, as ranking data.

    Parameters
    ----------
    paths
        The logs.
    qrels
        The labels; without qrels, all labels are 0.
    features
        The features in order; by default all of the log.
    unjudged
        Whether documents without a judgment are left out, or have label 0.
    progress
        Is called with the number of bytes of each block that was read.
    """
    labels = {} if qrels is None else _labels(qrels)
    totals, rows, logged_pairs = LogTotals(), _LoggedRows(), set[tuple[str, str]]()
    for qid, docid, vector in _logged_documents(paths, progress):
        if (qid, docid) in logged_pairs:
            totals.repeated += 1
            continue
        logged_pairs.add((qid, docid))
        label = labels.get((qid, docid))
        if label is None and qrels is not None and unjudged == "skip":
            totals.unjudged += 1
            continue
        rows.qids.append(qid)
        rows.docids.append(docid)
        rows.labels.append(max(label or 0.0, 0.0))
        rows.vectors.append(vector)
    totals.judged_without_features = len(labels.keys() - logged_pairs)
    if not rows.vectors:
        why = "none of them is judged" if logged_pairs else "no answer has any"
        raise EmptyDataError(f"expected documents with features and judgments, but {why}")
    data = _ranking_data(rows, features, os.fspath(paths[0]))
    totals.queries, totals.documents = data.n_queries, len(data)
    return data, totals


def _labels(qrels: Qrels) -> dict[tuple[str, str], float]:
    qids = [str(qrels.qids[code]) for code in qrels.groups.codes.tolist()]
    return dict(zip(zip(qids, qrels.docids, strict=True), qrels.values.tolist(), strict=True))


def _ranking_data(rows: _LoggedRows, features: Sequence[str] | None, path: str) -> RankingData:
    logged = list(dict.fromkeys(name for vector in rows.vectors for name in vector))
    absent = [] if features is None else [name for name in features if name not in logged]
    if absent:
        raise DataError(
            f"expected the features {', '.join(features or ())}, but no document has {', '.join(absent)}; "
            f"the log has {', '.join(logged)}",
            path=path,
        )
    names = logged if features is None else list(features)
    X = np.array([[vector.get(name, np.nan) for name in names] for vector in rows.vectors])
    return RankingData.from_arrays(
        X, rows.labels, qid=rows.qids, docid=rows.docids, feature_names=names, missing="nan"
    )


def _logged_documents(
    paths: Iterable[Path_], progress: Progress | None
) -> Iterator[LoggedDocument]:
    for path in paths:
        for line, record in read_json_lines(path, progress):
            answers = record.get("responses", [record])
            for answer in answers if isinstance(answers, list) else [answers]:
                try:
                    yield from _documents_of(answer)
                except _UnreadableLogError as error:
                    raise MalformedLineError(str(error), path=os.fspath(path), line=line) from None


class _UnreadableLogError(Exception):
    """An answer that is no feature log."""


def _documents_of(answer: Any) -> Iterator[LoggedDocument]:
    """Yield the documents of one answer of any of the engines."""
    qid = None
    if isinstance(answer, dict) and "response" in answer and "qid" in answer:
        qid, answer = str(answer["qid"]), answer["response"]
    if not isinstance(answer, dict):
        raise _UnreadableLogError(f"expected the answer of an engine, got {answer!r:.60}")
    if "error" in answer:
        raise _UnreadableLogError(f"the engine answered with an error: {answer['error']!r:.200}")
    for key, read in (("hits", _elasticsearch), ("response", _solr), ("root", _vespa)):
        if isinstance(answer.get(key), dict):
            yield from read(answer, qid)
            return
    raise _UnreadableLogError(
        f"expected the answer of an engine with hits, response or root, got {', '.join(answer)!r:.60}"
    )


def _elasticsearch(answer: dict[str, Any], qid: str | None) -> Iterator[LoggedDocument]:
    for hit in _entries(answer["hits"], "hits"):
        logs = _entries(hit.get("fields"), "_ltrlog")
        if not logs:
            raise _UnreadableLogError(
                "expected fields._ltrlog in every hit, which ext.ltr_log of the request asks for"
            )
        name, entries = next(iter(logs[0].items()), ("", []))
        vector = {str(entry["name"]): _number(entry.get("value")) for entry in entries}
        yield _check_query(qid or name), str(hit.get("_id")), vector


def _solr(answer: dict[str, Any], qid: str | None) -> Iterator[LoggedDocument]:
    header = answer.get("responseHeader")
    params = header.get("params", {}) if isinstance(header, dict) else {}
    qid = _check_query(qid or params.get("qid"))
    for document in _entries(answer["response"], "docs"):
        text = document.get("[features]")
        if not isinstance(text, str) or "id" not in document:
            raise _UnreadableLogError(
                "expected id and [features] in every document (fl=id,[features])"
            )
        pairs = [pair.rpartition("=") for pair in text.split(",") if pair]
        vector = {name: _number(value) for name, _, value in pairs}
        yield qid, str(document["id"]), vector


def _vespa(answer: dict[str, Any], qid: str | None) -> Iterator[LoggedDocument]:
    for child in _entries(answer["root"], "children"):
        fields = child.get("fields")
        fields = fields if isinstance(fields, dict) else {}
        features = fields.get("matchfeatures", fields.get("summaryfeatures"))
        if not isinstance(features, dict):
            raise _UnreadableLogError(
                "expected matchfeatures in every hit, which match-features of the rank profile asks for"
            )
        vector = {_vespa_name(name): _number(value) for name, value in features.items()}
        yield _check_query(qid), _vespa_id(str(fields.get("documentid", child.get("id")))), vector


def _vespa_id(docid: str) -> str:
    """Return the user's part of a document id such as id:shop:product::17."""
    return docid.split("::", 1)[1] if docid.startswith("id:") and "::" in docid else docid


def _vespa_name(name: str) -> str:
    """Return the name of a function; older versions write rankingExpression(NAME)."""
    match = re.fullmatch(r"rankingExpression\((\w+)\)", name)
    return match[1] if match else name


def _entries(holder: Any, key: str) -> list[dict[str, Any]]:
    entries = holder.get(key, []) if isinstance(holder, dict) else []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _UnreadableLogError(f"expected a list of objects in {key}, got {entries!r:.60}")
    return entries


def _check_query(qid: Any) -> str:
    if not isinstance(qid, str) or not qid:
        raise _UnreadableLogError(
            'expected the id of the query; write {"qid": ID, "response": ANSWER} on each line'
        )
    return qid


def _number(value: Any) -> float:
    """Return a feature's value; NaN if the document lacks it."""
    if value is None or value in ("NaN", ""):
        return float("nan")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise _UnreadableLogError(f"expected a number as a feature, got {value!r:.60}") from None
    if np.isinf(number):
        raise _UnreadableLogError(f"expected a finite number as a feature, got {value!r:.60}")
    return number
