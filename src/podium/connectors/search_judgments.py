"""Judgments of Quepid (CSV) and of OpenSearch's Search Relevance Workbench (JSON), read and written."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from podium.connectors.document_columns import qrels_of
from podium.data import Qrels
from podium.data.atomic_files import atomic_writer
from podium.data.strict_json import read_json
from podium.errors import CorruptFileError, DataError, MalformedLineError
from podium.typing import Path_

QUEPID_COLUMNS = ("query", "docid", "rating")
WORKBENCH_TYPE = "IMPORT_JUDGMENT"

RatingRow = tuple[str, str, float]


def read_quepid(path: Path_, queries: Mapping[str, str] | None = None) -> Qrels:
    """Read the ratings of a Quepid case, exported as CSV: query, docid, rating.

    Queries without ratings are left out.

    Parameters
    ----------
    path
        The CSV file.
    queries
        Texts by query id: queries get their ids. None: the texts are the ids.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "ratings.csv")
    >>> _ = path.write_text("query,docid,rating\\nred dress,a7,3\\nred dress,b2,0\\nblue shoes\\n")
    >>> qrels = read_quepid(path, {"q1": "red dress"})
    >>> qrels.qids.tolist(), list(qrels.docids), qrels.values.tolist()
    (['q1'], ['a7', 'b2'], [3.0, 0.0])
    """
    name = os.fspath(path)
    return qrels_of(_with_ids(_quepid_rows(name), queries, name), name)


def _quepid_rows(name: str) -> Iterator[RatingRow]:
    with open(name, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = tuple(cell.strip().lower() for cell in next(reader, []))
        if header[:3] != QUEPID_COLUMNS:
            raise MalformedLineError(
                f"expected the columns {', '.join(QUEPID_COLUMNS)}, got {', '.join(header)!r:.80}; export "
                "the ratings of a case as basic CSV",
                path=name, line=1,
            )  # fmt: skip
        for cells in reader:
            # Quepid puts a space before a text that a spreadsheet would take for a formula.
            query, docid, rating = (cell.strip() for cell in (*cells, "", "", "")[:3])
            if docid and rating:
                yield query, docid, _rating(rating, name, reader.line_num)


def write_quepid(qrels: Qrels, path: Path_, queries: Mapping[str, str] | None = None) -> None:
    """Write judgments as a CSV file that Quepid imports into a case.

    Parameters
    ----------
    qrels
        The judgments.
    path
        The CSV file.
    queries
        Texts by query id, which Quepid needs. None: the ids are the texts.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(QUEPID_COLUMNS)
    writer.writerows((q, d, _number(label)) for q, d, label in _with_texts(qrels, queries))
    _write(path, text.getvalue())


def read_workbench(path: Path_, queries: Mapping[str, str] | None = None) -> Qrels:
    """Read a judgment list of the Search Relevance Workbench.

    The file is the body that imports the list, or what OpenSearch answers to
    ``GET _plugins/_search_relevance/judgments/<id>``.

    Parameters
    ----------
    path
        The JSON file.
    queries
        Texts by query id: queries get their ids. None: the texts are the ids.
    """
    name = os.fspath(path)
    try:
        ratings = _find_ratings(read_json(Path(path).read_bytes()))
        rows = list(_workbench_rows(ratings, name))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise CorruptFileError(
            "expected a judgment list of the Search Relevance Workbench, with judgmentRatings of query, "
            f"docId and rating, got another file ({type(error).__name__}: {error!s:.80})",
            path=name,
        ) from None
    return qrels_of(_with_ids(rows, queries, name), name)


def _find_ratings(body: Any) -> Any:
    """Return the ratings of a body, of a document of the index, or of a search's answer."""
    if "hits" in body:
        body = body["hits"]["hits"][0]
    return body.get("_source", body)["judgmentRatings"]


def _workbench_rows(ratings: Any, name: str) -> Iterator[RatingRow]:
    # OpenSearch 3.1 had a mapping of queries; later versions have a list.
    if isinstance(ratings, Mapping):
        ratings = [{"query": query, "ratings": own} for query, own in ratings.items()]
    for own in ratings:
        for rated in own["ratings"]:
            yield str(own["query"]), str(rated["docId"]), _rating(str(rated["rating"]), name)


def write_workbench(
    qrels: Qrels,
    path: Path_,
    queries: Mapping[str, str] | None = None,
    *,
    name: str = "podium",
    description: str = "Judgments from podium",
) -> None:
    """Write judgments as the body of ``PUT _plugins/_search_relevance/judgments``.

    Parameters
    ----------
    qrels
        The judgments.
    path
        The JSON file.
    queries
        Texts by query id, which the workbench needs. None: the ids are the texts.
    name, description
        What the workbench shows.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "judgments.json")
    >>> write_workbench(qrels_of([("q1", "a7", 3)], "a list"), path, {"q1": "red dress"}, name="Shop")
    >>> json.loads(path.read_text())["judgmentRatings"]
    [{'query': 'red dress', 'ratings': [{'docId': 'a7', 'rating': '3'}]}]
    """
    ratings: dict[str, list[dict[str, str]]] = {}
    for query, docid, label in _with_texts(qrels, queries):
        ratings.setdefault(query, []).append({"docId": docid, "rating": _number(label)})
    body = {
        "name": name, "description": description, "type": WORKBENCH_TYPE,
        "judgmentRatings": [{"query": query, "ratings": own} for query, own in ratings.items()],
    }  # fmt: skip
    _write(path, json.dumps(body, indent=1, ensure_ascii=False) + "\n")


def _rating(text: str, name: str, line: int | None = None) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"expected a number as rating, got {text!r:.80}", path=name, line=line)
    return value


def _with_ids(
    rows: Iterable[RatingRow], queries: Mapping[str, str] | None, name: str
) -> Iterator[RatingRow]:
    """Yield rows with query ids in place of texts."""
    if queries is None:
        yield from rows
        return
    id_of = _ids_by_text(queries)
    for text, docid, label in rows:
        if text not in id_of:
            raise DataError(f"no query has the text {text!r:.80}; expected all of them", path=name)
        yield id_of[text], docid, label


def _ids_by_text(queries: Mapping[str, str]) -> dict[str, str]:
    id_of: dict[str, str] = {}
    for qid, text in queries.items():
        if id_of.setdefault(text.strip(), str(qid)) != str(qid):
            raise DataError(
                f"the queries {id_of[text.strip()]!r:.80} and {str(qid)!r:.80} have the same text "
                f"{text!r:.80}, by which judgments find their query; leave one of them out"
            )
    return id_of


def _with_texts(qrels: Qrels, queries: Mapping[str, str] | None) -> Iterator[RatingRow]:
    """Yield rows with the texts of queries."""
    docids, values = list(qrels.docids), qrels.values.tolist()
    if queries is not None:
        if lacking := [q for q in qrels.qids.tolist() if q not in queries]:
            raise DataError(
                f"the query {lacking[0]!r:.80} has no text; expected one for every query"
            )
        _ids_by_text({qid: queries[qid] for qid in qrels.qids.tolist()})  # raises if two are equal
    for qid, rows in zip(qrels.qids.tolist(), qrels.groups.slices(), strict=True):
        text = qid if queries is None else queries[qid]
        for docid, label in zip(docids[rows], values[rows], strict=True):
            yield text, docid, label


def _number(label: float) -> str:
    return f"{label:.17g}"


def _write(path: Path_, text: str) -> None:
    with atomic_writer(path) as write:
        write(text.encode())
