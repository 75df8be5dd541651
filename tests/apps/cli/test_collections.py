"""Collections on the command line: partition, info, train, predict, evaluate."""

import pytest

from podium.data import make_synthetic, write_letor
from tests.support.cli import answer, flat, run

DATA = make_synthetic(n_queries=40, n_docs=10, seed=2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_letor(DATA, tmp_path / "data.txt")
    monkeypatch.chdir(tmp_path)
    run("data", "partition", "data.txt", "-o", "parts", "--rows", "100")
    return tmp_path


def test_info_comes_from_the_manifest(folder):
    facts = answer("data", "info", "parts")
    assert (facts["queries"], facts["documents"], facts["parts"]) == (40, 400, 4)
    assert facts["documents_per_part"] == "100 to 100"
    assert "40" in run("data", "info", "parts").stdout


def test_a_collection_is_trained_scored_and_evaluated_as_its_file(folder):
    run("train", "listnet", "parts", "-o", "parts.podium")
    run("train", "listnet", "data.txt", "-o", "file.podium")
    run("predict", "parts.podium", "parts", "-o", "parts.scores")
    run("predict", "file.podium", "data.txt", "-o", "file.scores")
    assert (folder / "parts.scores").read_text() == (folder / "file.scores").read_text()
    ours = answer("evaluate", "parts", "parts.scores", "-m", "NDCG@10")["parts.scores"]
    theirs = answer("evaluate", "data.txt", "parts.scores", "-m", "NDCG@10")["parts.scores"]
    assert ours == theirs


def test_a_run_is_written_and_evaluated(folder):
    run("train", "regression", "parts", "-o", "m.podium")
    run("predict", "m.podium", "parts", "-o", "parts.run")
    run("predict", "m.podium", "data.txt", "-o", "data.run")
    assert (folder / "parts.run").read_text() == (folder / "data.run").read_text()
    ours = answer("evaluate", "parts", "parts.run", "-m", "MAP")["parts.run"]
    assert ours == answer("evaluate", "data.txt", "parts.run", "-m", "MAP")["parts.run"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "partition", "data.txt", "-o", "parts"], "got parts, which exists"),
        (["data", "info", "parts", "data.txt"], "podium data partition IN... -o DIR"),
        (["data", "info", "parts", "--query", "q"], "leave out the options about columns"),
        (["train", "listnet", ".", "-o", "m.podium"], "the folder of a collection; . has data.txt"),
    ],
)
def test_wrong_calls_say_what_to_do(folder, arguments, message):
    assert message in flat(run(*arguments, code=2).stderr)


def test_a_damaged_part_is_named(folder):
    (folder / "parts" / "part-00002.parquet").write_bytes(b"PAR1")
    scores = folder / "s.txt"
    scores.write_text("0\n" * 400)
    assert "parts/part-00002.parquet" in run("evaluate", "parts", "s.txt", code=1).stderr
