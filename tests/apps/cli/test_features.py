"""The commands features build, search and make."""

import json

import pytest

import podium
from podium.features import FormulaParameters, Index
from tests.support.cli import answer, errors_in_a_pipe, flat, run

DOCS = [
    {"id": "d1", "title": "wing lift", "body": "the lift of a wing and the drag of a wing", "n": 3},
    {"id": "d2", "title": "heat", "body": "heat of a slab"},
    {"id": "d3", "title": "slabs slabs", "body": None},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in DOCS))
    (tmp_path / "queries.tsv").write_text("q1\tlift of a wing\nq2\tslab\nq3\tzebra\n")
    (tmp_path / "docs.qrels").write_text("q1 0 d1 2\nq2 0 d2 1\nq2 0 d9 1\nq9 0 d1 1\n")
    (tmp_path / "docs.run").write_text("q1 Q0 d3 1 2.5 x\nq1 Q0 d1 2 1.5 x\n")
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "title": "x"}\n{broken\n')
    (tmp_path / "other.qrels").write_text("x 0 d1 2\n")
    run("features", "build", "docs.jsonl", "-o", "docs.index", "--stemmer", "s", "--keep", "title")
    return tmp_path


def test_build(folder):
    index = Index.load("docs.index")
    assert index.fields == ("title", "body")
    assert index.tokenizer.stemmer == "s"
    told = answer(
        "features", "build", "docs.jsonl", "-o", "more.index", "--field", "body", "--k1", "2",
        "--stop-words", "english", "--identifiers", "split", "--mu", "50", "--jm", "0.2", "--delta",
        "0.5",
    )  # fmt: skip
    assert told == {"file": "more.index", "documents": 3, "terms": 5, "fields": {"body": 6}}
    assert Index.load("more.index").parameters == FormulaParameters(k1=2, mu=50, jm=0.2, delta=0.5)


def test_ids_may_have_another_name(folder):
    (folder / "beir.jsonl").write_text('{"_id": "x", "text": "wings"}\n')
    told = answer("features", "build", "beir.jsonl", "-o", "beir.index", "--id", "_id")
    assert told["fields"] == {"text": 1}


def test_search(folder):
    index = Index.load("docs.index")
    told = answer("features", "search", "docs.index", "slab", "-k", "2")
    hits = index.search("slab", 2)
    assert [(hit["document"], hit["score"]) for hit in told["hits"]] == list(hits)
    assert told["hits"][0]["title"] == "slabs slabs"
    out = flat(run("features", "search", "docs.index", "slab").stdout)
    assert f"1 d3 slabs slabs {hits.scores[0]:.4f}" in out
    assert answer("features", "search", "docs.index", "slab", "--field", "body")["hits"][0][
        "document"
    ] == "d2"  # fmt: skip
    assert answer("features", "search", "docs.index", "zebra")["hits"] == []
    for nothing in ("zebra", ""):
        out = run("features", "search", "docs.index", nothing).stdout
        assert out == f"No document has a word of {nothing!r} in whole\n"


def test_make(folder):
    out = run(
        "features", "make", "docs.index", "queries.tsv", "--qrels", "docs.qrels", "-o", "d.letor"
    )
    assert "queries that find nothing: 1" in out.stderr
    assert "relevant documents among the candidates: 2 of 3" in out.stderr
    data = podium.read_letor("d.letor")
    assert data.feature_names == Index.load("docs.index").feature_names
    assert data.qids.tolist() == ["q1", "q2"]
    labels = dict(zip(data.docids[data.y > 0], data.y[data.y > 0], strict=True))
    assert labels == {"d1": 2, "d2": 1}
    told = answer(
        "features", "make", "docs.index", "queries.tsv", "-o", "d.parquet", "--candidates", "1"
    )
    assert told["documents"] == told["queries"] == 2
    assert told["queries_without_candidates"] == 1
    assert told["relevant"] is None
    assert podium.read_parquet("d.parquet").y.tolist() == [0, 0]


def test_make_from_a_run(folder):
    run("features", "make", "docs.index", "queries.tsv", "--run", "docs.run", "-o", "d.txt")
    assert podium.read_letor("d.txt").docids.tolist() == ["d3", "d1"]


INPUTS = {
    "queries.tsv": "q.txt", "docs.qrels": "q.qrels", "docs.run": "run.txt", "docs.index": "i.txt"
}  # fmt: skip
"""Files to be read under names of files that can be written."""
READ = "one of the files to be read"
BUILD = ["features", "build"]
SEARCH = ["features", "search"]
MAKE = ["features", "make", "docs.index", "queries.tsv"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([*BUILD, "docs.jsonl"], 2, "--out"),
        ([*BUILD, "nothing.jsonl", "-o", "i"], 2, "nothing.jsonl"),
        (
            [*BUILD, "docs.jsonl", "-o", "docs.index"],
            2,
            "docs.index already exists; --force replaces",
        ),
        ([*BUILD, "docs.jsonl", "-o", "docs.jsonl", "--force"], 1, "one of the files to be read"),
        ([*BUILD, "docs.jsonl", "-o", "no/i"], 1, "no folder"),
        ([*BUILD, "bad.jsonl", "-o", "i"], 1, "bad.jsonl:2: expected JSON"),
        ([*BUILD, "docs.jsonl", "-o", "i", "--field", "titel"], 2, "did you mean title"),
        ([*BUILD, "docs.jsonl", "-o", "i", "--field", "n"], 1, "text in field 'n', got 3"),
        ([*BUILD, "docs.jsonl", "-o", "i", "--keep", "n"], 1, "as in --field title"),
        ([*BUILD, "docs.jsonl", "-o", "i", "--mu", "0"], 2, "mu above 0, got 0"),
        ([*BUILD, "docs.jsonl", "-o", "i", "--jm", "1.5"], 2, "--jm"),
        ([*BUILD, "docs.jsonl", "-o", "i", "--stemmer", "snow"], 2, "snow"),
        ([*BUILD, "docs.jsonl", "docs.jsonl", "-o", "i"], 1, "document 'd1' occurs twice"),
        ([*SEARCH, "docs.jsonl", "x"], 1, "docs.jsonl: this is not a podium index"),
        ([*SEARCH, "docs.index", "x", "--field", "bod"], 2, "did you mean body"),
        ([*SEARCH, "docs.index", "x", "-k", "0"], 2, "-k"),
        (["features", "make", "docs.index", "q.txt", "-o", "q.txt", "--force"], 1, READ),
        ([*MAKE, "--qrels", "q.qrels", "-o", "q.qrels", "--force"], 1, READ),
        ([*MAKE, "--run", "run.txt", "-o", "run.txt", "--force"], 1, READ),
        (["features", "make", "i.txt", "queries.tsv", "-o", "i.txt", "--force"], 1, READ),
        ([*MAKE, "--run", "docs.run", "--candidates", "5", "-o", "x.txt"], 2, "got both"),
        ([*MAKE, "-o", "x.what"], 2, "ends in"),
        ([*MAKE, "-o", "docs.run"], 2, "ends in"),
        (
            [*MAKE, "--qrels", "other.qrels", "-o", "x.txt"],
            1,
            "the judgments have none of these queries",
        ),
        (["features", "make", "docs.index", "docs.run", "-o", "x.txt"], 1, "qid<TAB>text"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, arguments, code, message):
    for name, copy in INPUTS.items():
        (folder / copy).write_bytes((folder / name).read_bytes())
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = run(*arguments, code=code)
    assert message in flat(result.output)
    if code == 1:
        assert result.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("command", ["build", "search", "make"])
def test_help_has_an_example(command):
    out = flat(run("features", command, "--help").stdout)
    assert f"Example: podium features {command}" in out


def test_no_progress_bar_in_a_pipe(folder):
    assert errors_in_a_pipe(folder, *MAKE, "-o", "x.txt", "--json") == ""
