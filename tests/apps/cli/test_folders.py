"""Folders on the command line: read where they have folds, named where they have not, never damaged."""

from pathlib import Path

import pytest

import podium
from tests.support.cli import answer, flat, run


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = podium.make_synthetic(n_queries=9, n_docs=5, n_features=2, seed=0)
    podium.write_letor(data, "all.txt")
    run("data", "split", "all.txt", "folds", "--folds", "3")
    return data


def test_info_reads_a_folder_of_folds(data):
    facts = answer("data", "info", "folds")
    assert (facts["queries"], facts["documents"]) == (data.n_queries, len(data))
    note = run("data", "info", "folds").stderr
    assert "folds has folds, for podium compare folds --rankers ...: Fold1/train.txt," in note


def test_info_reads_a_folder_of_parts(data):
    Path("parts").mkdir()
    for number in (1, 2, 3):
        Path(f"folds/Fold{number}/test.txt").rename(f"parts/S{number}.txt")
    assert answer("data", "info", "parts")["queries"] == data.n_queries


def test_info_names_the_files_of_another_folder(data):
    Path("tables").mkdir()
    for name in ("a b.csv", "c.csv.gz", "notes.md"):
        Path("tables", name).touch()
    assert run("data", "info", "tables", code=2).stderr == (
        "podium: expected files, or a folder of folds; tables has a b.csv, c.csv.gz; name those that "
        "belong together, as in 'tables/a b.csv' tables/c.csv.gz\n"
    )
    Path("empty").mkdir()
    assert "empty has no files of ranking data" in run("data", "info", "empty", code=2).stderr
    assert flat(run("train", "listnet", "empty", "-o", "m", code=2).stderr).startswith(
        "podium: expected files of ranking data, got the folder empty, which has none (.csv, .parquet,"
    )
    assert "got 2 paths with a folder" in run("data", "info", "folds", "empty", code=2).stderr


@pytest.mark.parametrize(
    "arguments",
    [
        "train listnet folds -o m.podium",
        "train listnet all.txt --valid folds -o m.podium",
        "tune listnet folds --valid all.txt -o m.podium",
        "predict regression.podium folds -o a.scores",
        "explain regression.podium folds --query 1",
        "evaluate folds all.txt",
        "data convert folds all.parquet",
        "data split folds parts --folds 3",
    ],
)
def test_a_folder_in_place_of_a_file_names_its_files(data, arguments):
    run("train", "regression", "all.txt", "-o", "regression.podium")
    error = flat(run(*arguments.split(), code=2).stderr)
    expected = (
        "expected files, or the folder of a collection; folds has Fold1/test.txt, Fold1/train.txt"
    )
    assert expected in error
    assert (
        "and 4 more; name one of them, as in folds/Fold1/train.txt; podium compare folds" in error
    )


COMPARE = (
    "compare",
    "all.txt",
    "--rankers",
    "regression",
    "--folds",
    "2",
    "--no-tune",
    "--out",
    "out",
)


@pytest.mark.parametrize("name", ["report.html", "report.csv", "times.json"])
def test_compare_keeps_files_of_its_folder(data, name):
    Path("out").mkdir()
    Path("out", name).write_text("mine")
    Path("out/notes.txt").write_text("mine, too")
    assert f"out/{name} already exists; --force replaces the report" in run(*COMPARE, code=2).stderr
    assert Path("out", name).read_text() == "mine"
    run(*COMPARE, "--force")
    assert Path("out", name).read_text() != "mine"
    assert Path("out/notes.txt").read_text() == "mine, too"


def test_compare_writes_no_results_among_files_of_others(data):
    Path("out/cells").mkdir(parents=True)
    Path("out/cells/regression-1.json").write_text('{"mine": 1}')
    for arguments in (COMPARE, (*COMPARE, "--force")):
        assert "got regression-1.json, which podium did not write" in run(*arguments, code=2).stderr
    assert Path("out/cells/regression-1.json").read_text() == '{"mine": 1}'
    Path("out/cells/regression-1.json").unlink()
    Path("out/cells").rmdir()
    Path("out/cells").touch()
    assert "got the file out/cells; choose another --out" in run(*COMPARE, code=2).stderr


def test_compare_never_replaces_its_data(data):
    Path("out").mkdir()
    podium.data.write_csv(data, "out/report.csv")
    before = Path("out/report.csv").read_bytes()
    arguments = [*COMPARE, "--force"]
    arguments[1] = "out/report.csv"
    assert "it is one of the files to be read" in run(*arguments, code=1).stderr
    assert Path("out/report.csv").read_bytes() == before
