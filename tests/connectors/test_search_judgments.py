"""Judgments of Quepid and of the Search Relevance Workbench, as those programs write and read them."""

import json

import pytest

from podium.connectors.document_columns import qrels_of
from podium.connectors.search_judgments import (
    read_quepid,
    read_workbench,
    write_quepid,
    write_workbench,
)
from podium.errors import CorruptFileError, DataError, EmptyDataError, MalformedLineError

ROWS = [("q1", "a", 3), ("q1", "b,c", 0), ("q2", "a", 1.5)]
TEXTS = {"q1": 'a "red" dress, size 8', "q2": "blue shoes"}
FORMATS = [(read_quepid, write_quepid), (read_workbench, write_workbench)]
# As the workbench's own scripts import it and its index keeps it.
RATINGS = [
    {"query": "red dress", "ratings": [{"docId": "B07", "rating": "2.000"}, {"docId": "B01", "rating": 0}]},
    {"query": "blue", "ratings": [{"docId": "B07", "rating": 0.5}]},
]  # fmt: skip


def rows_of(qrels):
    docids, values = list(qrels.docids), qrels.values.tolist()
    return [
        (qid, docids[row], values[row])
        for qid, rows in zip(qrels.qids, qrels.groups.slices(), strict=True)
        for row in range(rows.start, rows.stop)
    ]


@pytest.mark.parametrize(("read", "write"), FORMATS)
def test_judgments_come_back(read, write, tmp_path):
    path = tmp_path / "judgments"
    write(qrels_of(ROWS, "rows"), path, TEXTS)
    assert rows_of(read(path, TEXTS)) == ROWS
    assert read(path).qids.tolist() == [*TEXTS.values()]
    write(read(path), path)
    assert rows_of(read(path, TEXTS)) == ROWS


def test_what_quepid_exports(tmp_path):
    path = tmp_path / "case.csv"
    # A query without ratings, one that a spreadsheet would take for a formula, and a byte order mark.
    path.write_text(
        '\ufeffquery,docid,rating\nred dress,B07,3\nnothing rated\n =1+1,B01,0.5\n"a, b",B02,1\n'
    )
    assert rows_of(read_quepid(path)) == [
        ("red dress", "B07", 3), ("=1+1", "B01", 0.5), ("a, b", "B02", 1),
    ]  # fmt: skip


def test_what_quepid_imports(tmp_path):
    path = tmp_path / "case.csv"
    write_quepid(qrels_of(ROWS, "rows"), path, TEXTS)
    assert path.read_text().splitlines() == [
        "query,docid,rating", '"a ""red"" dress, size 8",a,3', '"a ""red"" dress, size 8","b,c",0',
        "blue shoes,a,1.5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x", "type": "IMPORT_JUDGMENT", "judgmentRatings": RATINGS},
        {"hits": {"total": {"value": 1}, "hits": [{"_id": "1", "_source": {"judgmentRatings": RATINGS}}]}},
        {"_id": "1", "_source": {"status": "COMPLETED", "judgmentRatings": RATINGS}},
        {"judgmentRatings": {one["query"]: one["ratings"] for one in RATINGS}},
    ],
    ids=["the body of a request", "the answer of a search", "a document", "version 3.1"],
)  # fmt: skip
def test_what_the_workbench_has(body, tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(body))
    expected = [("red dress", "B07", 2), ("red dress", "B01", 0), ("blue", "B07", 0.5)]
    assert rows_of(read_workbench(path)) == expected


def test_what_the_workbench_imports(tmp_path):
    path = tmp_path / "list.json"
    write_workbench(qrels_of(ROWS, "rows"), path, TEXTS, name="Shop", description="June")
    assert json.loads(path.read_text()) == {
        "name": "Shop", "description": "June", "type": "IMPORT_JUDGMENT",
        "judgmentRatings": [
            {
                "query": TEXTS["q1"],
                "ratings": [{"docId": "a", "rating": "3"}, {"docId": "b,c", "rating": "0"}],
            },
            {"query": TEXTS["q2"], "ratings": [{"docId": "a", "rating": "1.5"}]},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", MalformedLineError, "expected the columns query, docid, rating"),
        ("query,docid,Anna,Ben\n", MalformedLineError, ":1: expected the columns"),
        ("query,docid,rating\nred,a,good\n", DataError, ":2: expected a number as rating, got 'good'"),
        ("query,docid,rating\nred,a,nan\n", DataError, "expected a number as rating"),
        ("query,docid,rating\nred,a,1\nred,a,2\n", DataError, "'red' has document 'a' twice"),
        ("query,docid,rating\nred\n", EmptyDataError, "at least one document"),
    ],
)  # fmt: skip
def test_wrong_files_of_quepid_are_refused(text, error, words, tmp_path):
    path = tmp_path / "case.csv"
    path.write_text(text)
    with pytest.raises(error, match=words):
        read_quepid(path)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"judgmentRatings": 3}', '{"judgmentRatings": [{"query": "x"}]}',
     '{"hits": {"hits": []}}', '{"judgmentRatings": [{"query": "x", "ratings": [{"docId": "a"}]}]}'],
)  # fmt: skip
def test_wrong_files_of_the_workbench_are_refused(text, tmp_path):
    path = tmp_path / "list.json"
    path.write_text(text)
    with pytest.raises(CorruptFileError, match="Search Relevance Workbench"):
        read_workbench(path)


@pytest.mark.parametrize(("read", "write"), FORMATS)
def test_queries_without_a_partner_are_refused(read, write, tmp_path):
    path = tmp_path / "judgments"
    qrels = qrels_of(ROWS, "rows")
    with pytest.raises(DataError, match="'q2' has no text"):
        write(qrels, path, {"q1": "red"})
    assert not path.exists()
    write(qrels, path, TEXTS)
    with pytest.raises(DataError, match="no query has the text 'blue shoes'"):
        read(path, {"q1": TEXTS["q1"]})
    with pytest.raises(DataError, match="same text"):
        read(path, {**TEXTS, "q3": TEXTS["q2"]})
    with pytest.raises(DataError, match="'q1' and 'q2' have the same text"):
        write(qrels, tmp_path / "other", dict.fromkeys(TEXTS, "red"))
    assert not (tmp_path / "other").exists()
    write(qrels, tmp_path / "other", {**TEXTS, "q3": TEXTS["q2"]})  # q3 is not written
